"""The language of Slurm's commands: their options as requests."""
