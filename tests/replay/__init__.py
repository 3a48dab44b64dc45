"""Tests of `rota.replay`: a package only so that its modules have names of their own."""
