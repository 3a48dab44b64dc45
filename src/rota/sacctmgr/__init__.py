"""Associations as ``sacctmgr`` writes and takes them: dumps, scripts of commands, lists of QOS."""

from rota.sacctmgr.dump import write_dump
from rota.sacctmgr.files import LoadedTree, read_associations

__all__ = ["LoadedTree", "read_associations", "write_dump"]
