"""sacctmgr's formats: dumps, scripts of commands, and lists of QOS."""

from rota.sacctmgr.dump import write_dump
from rota.sacctmgr.files import LoadedTree, read_associations

__all__ = ["LoadedTree", "read_associations", "write_dump"]
