"""Fair-share before Fair Tree: *classic* and *depth-oblivious* effective usage.

With S the share of an association in the whole cluster, U its part of the cluster's usage and UE its effective usage,
which lets siblings feel what the account as a whole has used:

* S is the product of shares/level from the association up to the root.
* Classic: UE = U under the root; further down UE = U + (UE of the parent − U) · shares/level.
* Depth-oblivious: with the parent's ratio Rp = UEp/Sp and the association's own within its level, Rl = (U/S) / (Σ U of
  the level / Sp), UE = Rp · Rl^k · S, where k = 1 if both ratios are on the same side of 1, else 1/(1 + (5 ln Rp)²).
  If one of S, Sp, UEp, U is 0, UE = U.

An association with `SHARES_PARENT` has S and UE of its fair-share parent.

Sources: Slurm's pages *Classic Fairshare Algorithm* and *Depth-Oblivious Fair-share Factor*. O(associations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.accounting.tree import TreeColumns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairShares:
    """What fair-share makes of a tree and its usage: arrays by row."""

    #: S; with Fair Tree shares/level.
    shares_norm: NDArray[np.float64]
    #: U: part of the cluster's usage.
    usage_norm: NDArray[np.float64]
    #: UE; with Fair Tree the part of the fair-share parent's usage.
    usage_efctv: NDArray[np.float64]
    #: Fair Tree's shares/usage; ``None`` without Fair Tree.
    level_fs: NDArray[np.float64] | None
    #: 0 to 1; with Fair Tree 0 for accounts.
    factor: NDArray[np.float64]


def classic(
    tree: TreeColumns, usage: NDArray[np.float64], *, damping: float, before: NDArray[np.float64] | None = None
) -> FairShares:
    """Compute classic fair-share, F = 2^(−(UE/S)/damping).

    Args:
        tree: The associations.
        usage: Raw usage by row; the root's is what it is normalised by.
        damping: ``FairShareDampeningFactor``.
        before: Raw usage that accounts go by, if not the same: Slurm looks at them when a period begins, and at users
            when it is over.
    """
    shares, used = _shares_norm(tree), usage_norm(usage, float(usage[0]))
    if before is not None:
        accounts = ~tree.is_user
        used[accounts] = usage_norm(before, float(before[0]))[accounts]
    effective = classic_usage(tree, used)
    return FairShares(
        shares_norm=shares,
        usage_norm=used,
        usage_efctv=effective,
        level_fs=None,
        factor=_factor(shares, effective, damping),
    )


def depth_oblivious(tree: TreeColumns, usage: NDArray[np.float64], *, damping: float) -> FairShares:
    """Compute depth-oblivious fair-share, F = 2^(−(UE/S)/damping). Arguments as for `classic`."""
    shares, used = _shares_norm(tree), usage_norm(usage, float(usage[0]))
    effective = used.copy()
    effective[0] = 1.0
    for rows, above, _ in tree.levels[1:]:
        s, s_above, ue_above, u = shares[rows], shares[above], effective[above], used[rows]
        usable = (s > 0) & (s_above > 0) & (ue_above > 0) & (u > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parent_ratio = ue_above / s_above
            level_ratio = (u / s) / (np.bincount(above, u)[above] / s_above)
            log_parent = np.log(parent_ratio)
            k = np.where(log_parent * np.log(level_ratio) >= 0, 1.0, 1 / (1 + (5 * log_parent) ** 2))
            own = np.where(usable, parent_ratio * level_ratio**k * s, u)
        effective[rows] = np.where(tree.has_shares[rows], own, ue_above)
    _use_parents(tree, effective)
    return FairShares(
        shares_norm=shares,
        usage_norm=used,
        usage_efctv=effective,
        level_fs=None,
        factor=_factor(shares, effective, damping),
    )


def linear(tree: TreeColumns, usage: NDArray[np.float64], *, cluster_usage: float) -> FairShares:
    """Compute fair-share as Slurm 2.0 did, F = (S − UE + 1)/2, with classic UE; ``cluster_usage`` normalises it."""
    shares, used = _shares_norm(tree), usage_norm(usage, cluster_usage)
    effective = classic_usage(tree, used)
    return FairShares(
        shares_norm=shares,
        usage_norm=used,
        usage_efctv=effective,
        level_fs=None,
        factor=np.clip((shares - effective + 1) / 2, 0.0, 1.0),
    )


def usage_norm(usage: NDArray[np.float64], cluster_usage: float) -> NDArray[np.float64]:
    """Give each association's part of the cluster's usage, at most 1; 0 when nothing was used."""
    return np.minimum(usage / cluster_usage, 1.0) if cluster_usage > 0 else np.zeros(len(usage))


def classic_usage(tree: TreeColumns, used: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute classic effective usage from normalised usage."""
    effective = used.copy()
    effective[0] = 1.0
    for rows, above, _ in tree.levels[1:]:
        u = used[rows]
        effective[rows] = u + (effective[above] - u) * tree.shares_level[rows]
    _use_parents(tree, effective)
    return effective


def _shares_norm(tree: TreeColumns) -> NDArray[np.float64]:
    shares = tree.shares_level.copy()
    shares[0] = 1.0
    for rows, above, _ in tree.levels:
        shares[rows] *= shares[above]
    _use_parents(tree, shares)
    return shares


def _use_parents(tree: TreeColumns, values: NDArray[np.float64]) -> None:
    """Give associations without shares of their own what their fair-share parents have."""
    without = ~tree.has_shares
    without[0] = False
    values[without] = values[tree.fs_parent[without]]


def _factor(shares: NDArray[np.float64], effective: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    ratio = np.divide(effective, shares, out=np.full(len(shares), np.inf), where=shares > 0)
    factor: NDArray[np.float64] = np.exp2(-ratio / damping)
    return factor
