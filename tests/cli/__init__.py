"""Tests of whole commands: a package only so that its modules have names of their own."""
