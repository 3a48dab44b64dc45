"""Tests of who loads a Lustre file system: a package only so that its modules have names of their own."""
