"""Accounting: the tree of associations, their usage, and fair-share."""

from rota.accounting.fair_tree import fair_tree
from rota.accounting.fairshare import FairShares, classic, depth_oblivious, linear
from rota.accounting.reset import next_reset
from rota.accounting.tree import AssociationTree, TreeColumns
from rota.accounting.usage import Usage

__all__ = [
    "AssociationTree",
    "FairShares",
    "TreeColumns",
    "Usage",
    "classic",
    "depth_oblivious",
    "fair_tree",
    "linear",
    "next_reset",
]
