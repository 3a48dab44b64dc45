"""sacctmgr's formats: dumps, scripts of commands, and lists of QOS."""

from rota.sacctmgr.builder import Place, TreeBuilder, first_tree
from rota.sacctmgr.dump import read_dump, write_dump
from rota.sacctmgr.files import LoadedTree, read_associations

__all__ = ["LoadedTree", "Place", "TreeBuilder", "first_tree", "read_associations", "read_dump", "write_dump"]
