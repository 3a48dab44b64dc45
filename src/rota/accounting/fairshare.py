"""Fair-share algorithms before Fair Tree: *classic* and *depth-oblivious*.

Let S be an association's share of the cluster, U its part of the cluster's usage, and UE its effective usage, in which
the usage of the whole account weighs on each of its children:

* S is the product of shares/level from the association up to the root.
* Classic: UE = U under the root; further down UE = U + (UE of the parent − U) · shares/level.
* Depth-oblivious: with the parent's ratio Rp = UEp/Sp and the association's ratio within its level,
  Rl = (U/S) / (Σ U of the level / Sp), UE = Rp · Rl^k · S, where k = 1 if both ratios are on the same side of 1, else
  1/(1 + (5 ln Rp)²). If S, Sp, UEp or U is 0, UE = U.

An association with `SHARES_PARENT` has the S and UE of its fair-share parent.

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
    """The fair-share of all associations: arrays by row."""

    #: S; with Fair Tree, shares over the level's shares.
    shares_norm: NDArray[np.float64]
    #: U: part of the cluster's usage.
    usage_norm: NDArray[np.float64]
    #: UE; with Fair Tree, the part of the fair-share parent's usage.
    usage_efctv: NDArray[np.float64]
    #: Fair Tree's level fair-share; ``None`` without Fair Tree.
    level_fs: NDArray[np.float64] | None
    #: Fair-share factor, 0 to 1; with Fair Tree, 0 for accounts.
    factor: NDArray[np.float64]


def classic(
    tree: TreeColumns, usage: NDArray[np.float64], *, damping: float, before: NDArray[np.float64] | None = None
) -> FairShares:
    """Compute classic fair-share, F = 2^(−(UE/S)/damping).

    Args:
        tree: The associations as arrays.
        usage: Raw usage by row; it is normalised by that of the root.
        damping: ``FairShareDampeningFactor``.
        before: Raw usage of accounts, by row, if it is to be another: Slurm takes that of accounts at the beginning of
            a period and that of users at its end.
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
    """Compute fair-share as Slurm 2.0 did, F = (S − UE + 1)/2 with classic UE, normalised by ``cluster_usage``."""
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
    """Give each association's part of the cluster's usage, at most 1; 0 if there is no usage."""
    return np.minimum(usage / cluster_usage, 1.0) if cluster_usage > 0 else np.zeros(len(usage))


def classic_usage(tree: TreeColumns, used: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute classic effective usage from normalised usage, by row."""
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
    """Overwrite the values of associations without shares of their own by those of their fair-share parents."""
    without = ~tree.has_shares
    without[0] = False
    values[without] = values[tree.fs_parent[without]]


def _factor(shares: NDArray[np.float64], effective: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    ratio = np.divide(effective, shares, out=np.full(len(shares), np.inf), where=shares > 0)
    factor: NDArray[np.float64] = np.exp2(-ratio / damping)
    return factor
