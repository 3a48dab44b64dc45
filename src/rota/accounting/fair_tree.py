"""Fair Tree: all users of an account with a higher level fair-share rank before those of its siblings.

Within each level an association's *level fair-share* is LF = S/U, where S is its shares over the level's shares and U
its usage over that of its fair-share parent. LF is 0 without shares, and infinite without usage or for a user with
`SHARES_PARENT`. Siblings are sorted by LF, highest first, users before accounts among equals. A depth-first traversal
in this order visits the users from best to worst: the first gets the factor 1, the last 1/users.

Ties: a user with the LF of the sibling before it gets the same factor. An account with the LF of the sibling before it
passes this on to its first child. According to Slurm's documentation, the children of accounts with equal LF are
sorted together, as if they were one account. What Slurm actually does is ``merge=False``: accounts are traversed one
after the other, and the best user of the second gets the factor of the last user of the first.

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
    """Compute the factors of Fair Tree.

    Args:
        tree: The associations as arrays.
        usage: Raw usage of each association, by row.
        merge: Whether the children of tied accounts are sorted together; see above.
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
    """Rank the users, level by level from the top.

    The rank of a user is the number of users before it in the traversal, so a level needs only the position of each
    group of siblings, not the order of all associations above it.
    """
    count = len(level_fs)
    place = np.zeros(count, np.int64)
    tied = np.zeros(count, bool)
    # By row of a fair-share parent: the group of its children, the group's position, and whether its first child is
    # tied.
    group = np.zeros(count, np.int64)
    begins = np.zeros(count, np.int64)
    hands_on = np.zeros(count, bool)
    for level in tree.levels:
        # Stable sorts of rows that are already in order: users before accounts, then by lineage.
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
    """Give for each index the last one, up to and including it, at which no tie with the predecessor is marked."""
    first: NDArray[np.int64] = np.maximum.accumulate(np.where(follows, 0, np.arange(len(follows))))
    return first
