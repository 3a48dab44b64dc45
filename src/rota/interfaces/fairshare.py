"""Building blocks of priority plugins: the tree of associations, usage, and Slurm's fair-share algorithms.

They are not in `rota.interfaces` itself because they need NumPy.
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
