"""What ``squeue``, ``sprio`` and ``sshare`` print: the state of a cluster as text, in Slurm's columns.

Compared with the commands of Slurm 22.05.8, whose recorded output the tests hold.
"""

from rota.listings.render import LISTINGS, check, render, split_commands, to_json
from rota.listings.view import View

__all__ = ["LISTINGS", "View", "check", "render", "split_commands", "to_json"]
