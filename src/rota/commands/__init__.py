"""Parsers of the options of Slurm's commands."""
