"""Tests of looking jobs up: a package only so that its modules have names of their own."""
