"""Slurm's commands that only read, in Slurm's words and columns: ``squeue``, ``sinfo``, ``scontrol show``, ``sacct``.

`run` evaluates a command line on a `View` of a cluster. The tests compare what it answers with recorded output of Slurm
22.05.8.
"""

from rota.listings.answer import VERSION, Answer
from rota.listings.render import LISTINGS, check, render, split_commands, to_json
from rota.listings.run import run
from rota.listings.view import AccountingQuery, View

__all__ = [
    "LISTINGS",
    "VERSION",
    "AccountingQuery",
    "Answer",
    "View",
    "check",
    "render",
    "run",
    "split_commands",
    "to_json",
]
