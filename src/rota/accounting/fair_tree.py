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


def fair_tree(tree: TreeColumns, usage: NDArray[np.float64], *, cluster_usage: float, merge: bool = True) -> FairShares:
    """Compute Fair Tree's factors.

    Args:
        tree: The associations.
        usage: Raw usage by row.
        cluster_usage: What `FairShares.usage_norm` is normalised by: the root's.
        merge: Sort the children of tied accounts together; see above.
    """
    above = usage[tree.fs_parent]
    part = np.divide(usage, above, out=np.zeros(len(usage)), where=above > 0)
    shares = tree.shares_level.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        level_fs = np.where(part > 0, shares / part, np.inf)
    level_fs[shares == 0] = 0.0
    without = ~tree.has_shares
    level_fs[without] = np.inf
    part[0], level_fs[0] = 1.0, np.inf
    shown = shares.copy()
    shown[0] = 0.0
    without[0] = False
    for rows in tree.levels:
        passed = rows[without[rows]]
        shown[passed] = shown[tree.fs_parent[passed]]
        part[passed] = part[tree.fs_parent[passed]]
    return FairShares(
        shares_norm=shown,
        usage_norm=usage_norm(usage, cluster_usage),
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
    users = _users_below(tree)
    place = np.zeros(count, np.int64)
    tied = np.zeros(count, bool)
    # By row of a fair-share parent: which group its children are in, where that begins, whether its first is tied.
    group = np.zeros(count, np.int64)
    begins = np.zeros(count, np.int64)
    hands_on = np.zeros(count, bool)
    for level in tree.levels:
        rows = level[tree.is_user[level] | tree.has_shares[level]]
        if not len(rows):
            continue
        account = ~tree.is_user[rows]
        order = np.lexsort((tree.lineage[rows], account, -level_fs[rows], group[tree.fs_parent[rows]]))
        rows, account = rows[order], account[order]
        above = tree.fs_parent[rows]
        siblings = _equal_to_previous(group[above])
        same = siblings & _equal_to_previous(level_fs[rows])
        tied[rows] = same | (~siblings & hands_on[above])
        before = np.cumsum(users[rows]) - users[rows]
        first = np.maximum.accumulate(np.where(siblings, 0, np.arange(len(rows))))
        place[rows] = begins[above] + before - before[first]
        joins = same & account & np.concatenate(([False], account[:-1])) if merge else np.zeros(len(rows), bool)
        leader = rows[np.maximum.accumulate(np.where(joins, 0, np.arange(len(rows))))]
        group[rows], begins[rows], hands_on[rows] = leader, place[leader], tied[leader]
    ranked = np.flatnonzero(tree.is_user)
    ranked = ranked[np.argsort(place[ranked])]
    total = len(ranked)
    untied = np.maximum.accumulate(np.where(tied[ranked], 0, np.arange(total))) if total else ranked
    factor = np.zeros(count)
    factor[ranked] = (total - untied) / max(total, 1)
    return factor


def _equal_to_previous(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.concatenate(([False], values[1:] == values[:-1]))


def _users_below(tree: TreeColumns) -> NDArray[np.int64]:
    """Count the users that each association is or has below it."""
    users = tree.is_user.astype(np.int64)
    for level in reversed(tree.levels):
        np.add.at(users, tree.fs_parent[level], users[level])
    return users
