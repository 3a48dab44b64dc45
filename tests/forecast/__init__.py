"""Tests of `rota.forecast`: a package only so that its modules have names of their own."""
