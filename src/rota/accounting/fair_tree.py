"""Fair Tree: users ranked so that of two accounts the better served one never has a user before the other's.

Within each level an association's *level fair-share* is LF = S/U, with S its shares over the level's and U its usage
over that of its fair-share parent: 0 when it has no shares, infinite when it has used nothing or, a user, has
`SHARES_PARENT`. Siblings are sorted by LF, highest first, users before accounts where it is equal. A walk through the
tree in that order meets the users from best to worst: the first gets the factor 1, the last 1/users.

Ties: a user with the LF of the sibling before it gets the same factor, and an account with the LF of the sibling
before it hands that on to its first child. Accounts with equal LF have their children sorted together, as if they
were one account: so Slurm documents it. What Slurm really does is ``merge=False``: each is walked through by itself,
and the best user of the second gets the factor of the last one of the first.

Source: Cox and Morrison, *Fair Tree: Fairshare Algorithm for Slurm*, Slurm User Group Meeting 2014. O(n log n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.accounting.fairshare import FairShares, usage_norm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.accounting.tree import TreeColumns


def fair_tree(tree: TreeColumns, usage: NDArray[np.float64], *, merge: bool = True) -> FairShares:
    """Compute Fair Tree's factors.

    Args:
        tree: The associations.
        usage: Raw usage by row.
        merge: Sort the children of tied accounts together; see above.
    """
    count = len(usage)
    above = usage[tree.fs_parent]
    part = np.divide(usage, above, out=np.zeros(count), where=above > 0)
    part[0] = 1.0
    shares = tree.shares_level
    level_fs = np.divide(shares, part, out=np.full(count, np.inf), where=part > 0)
    level_fs[shares == 0] = 0.0
    level_fs[~tree.has_shares] = level_fs[0] = np.inf
    shares = shares.copy()
    without = ~tree.has_shares
    shares[without] = shares[tree.fs_parent[without]]
    return FairShares(
        shares_norm=shares,
        usage_norm=usage_norm(usage, float(usage[0])),
        usage_efctv=part,
        level_fs=level_fs,
        factor=_rank(tree, level_fs, merge=merge),
    )


def _rank(tree: TreeColumns, level_fs: NDArray[np.float64], *, merge: bool) -> NDArray[np.float64]:
    """Walk through the tree, a level at a time.

    Where a user comes in the walk follows from how many users come before: so each level needs only the places of the
    groups of siblings, not the order of everything above it.
    """
    count = len(level_fs)
    place = np.zeros(count, np.int64)
    tied = np.zeros(count, bool)
    # By row of a fair-share parent: which group its children are in, where that begins, whether its first is tied.
    group = np.zeros(count, np.int64)
    begins = np.zeros(count, np.int64)
    hands_on = np.zeros(count, bool)
    for level in tree.levels:
        # Stable sorts of what is in order already: users before accounts, then by lineage.
        order = np.argsort(-level_fs[level.rows], kind="stable")
        order = order[np.argsort(group[level.above[order]], kind="stable")]
        rows, above, account = level.rows[order], level.above[order], level.account[order]
        siblings, same = _equal_to_previous(group[above]), _equal_to_previous(level_fs[rows])
        same &= siblings
        tied[rows] = same | (~siblings & hands_on[above])
        own = tree.users[rows]
        before = np.cumsum(own) - own
        place[rows] = begins[above] + before - before[_first(siblings)]
        if account.any():
            joins = same & account if merge else np.zeros(len(rows), bool)
            joins[1:] &= account[:-1]
            leader = rows[_first(joins)]
            group[rows], begins[rows], hands_on[rows] = leader, place[leader], tied[leader]
    ranked = tree.user_rows
    ranked = ranked[np.argsort(place[ranked])]
    factor = np.zeros(count)
    factor[ranked] = (len(ranked) - _first(tied[ranked])) / max(len(ranked), 1)
    return factor


def _equal_to_previous(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.bool_]:
    equal = np.empty(len(values), bool)
    equal[:1] = False
    np.equal(values[1:], values[:-1], out=equal[1:])
    return equal


def _first(follows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Give for each place the last one before it, or itself, that does not follow on its predecessor."""
    first: NDArray[np.int64] = np.maximum.accumulate(np.where(follows, 0, np.arange(len(follows))))
    return first
