"""What priority plugins may build on: the tree of associations, usage, and Slurm's fair-share algorithms.

Apart from the rest of `rota.interfaces`, since only such plugins need NumPy.
"""

from rota.accounting import (
    AssociationTree,
    FairShares,
    TreeColumns,
    Usage,
    classic,
    depth_oblivious,
    fair_tree,
    linear,
    next_reset,
)

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
