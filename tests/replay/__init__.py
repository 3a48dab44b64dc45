"""Tests of `rota.replays`: a package only so that its modules have names of their own."""
