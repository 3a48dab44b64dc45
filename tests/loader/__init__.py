"""Tests of `rota.loader`: a package only so that its `conftest` has a name of its own."""
