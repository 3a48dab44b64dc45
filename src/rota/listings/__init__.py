"""The output of ``squeue``, ``sprio`` and ``sshare``, in Slurm's columns.

The tests compare it with recorded output of Slurm 22.05.8.
"""

from rota.listings.render import LISTINGS, check, render, split_commands, to_json
from rota.listings.view import View

__all__ = ["LISTINGS", "View", "check", "render", "split_commands", "to_json"]
