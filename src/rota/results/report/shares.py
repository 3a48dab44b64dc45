"""The curves of the fair-share chart: usage of accounts against their target shares, over time.

Accounts contain each other, so the chart shows one *level* at a time: the accounts at one depth of the tree, and those
above it without subaccounts. The accounts with the largest usage of a level have a line each; the others, and users
directly in accounts further up, share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report.render import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.results.priority_history import PriorityHistory

#: Largest number of accounts with a line of their own, which is the number of colours.
MAX_LINES = 8
#: Largest number of samples of a curve.
MAX_SAMPLES = 300
#: Largest distance of the axis of level fair-share from 1, as a ratio.
FARTHEST = 1000.0
#: Usage outside of the drawn accounts that is ignored as rounding error.
_NOTHING = 0.0005


def share_data(history: PriorityHistory) -> dict[str, Any]:
    """Compute the data of the chart. Shares are from 0 to 1; an infinite level fair-share is ``None``."""
    kept = _samples(len(history.times))
    usage, fairshare = history.usage_share[kept], history.fairshare[kept]
    # All usage is in accounts below the root.
    top = _level(history.depth, min(history.depth, default=0))
    whole, whole_target = usage[:, top].sum(axis=1), history.target_share[top].sum()
    levels, sizes, drawn = [], [], dict[int, int]()
    for depth in sorted(set(history.depth)):
        members = _level(history.depth, depth)
        lines = _most_used(usage, members)
        left = np.maximum(whole - usage[:, lines].sum(axis=1), 0.0)
        others = None
        if len(members) > len(lines) or left.max(initial=0.0) > _NOTHING:
            target = max(float(whole_target - history.target_share[lines].sum()), 0.0)
            others = {"count": len(members) - len(lines), "target": round(target, 4), "used": numbers(left)}
        places = [drawn.setdefault(account, len(drawn)) for account in lines]
        levels.append({"accounts": places, "count": len(members), "others": others})
        sizes.append(len(members))
    shown = list(drawn)
    return {
        "t": history.times[kept].tolist(),
        "fairTree": history.fair_tree,
        "accounts": [
            {
                "name": history.accounts[account],
                "target": round(float(history.target_share[account]), 4),
                "used": numbers(usage[:, account]),
                "fairshare": _significant(fairshare[:, account]),
            }
            for account in shown
        ],
        "levels": levels,
        # A single account has no siblings to be compared with.
        "level": next((i for i, size in enumerate(sizes) if size > 1), 0),
        "limits": log_limits(fairshare[:, shown]) if history.fair_tree else [0, 1],
    }


def log_limits(values: NDArray[np.float64]) -> list[float]:
    """Give the ends of a logarithmic axis around 1: powers of ten that include the values, up to `FARTHEST`."""
    drawn = values[np.isfinite(values) & (values > 0)]
    low, high = float(drawn.min(initial=0.1)), float(drawn.max(initial=10.0))
    farthest = round(np.log10(FARTHEST))
    return [
        float(f"1e{max(int(np.floor(np.log10(low))), -farthest)}"),
        float(f"1e{min(int(np.ceil(np.log10(high))), farthest)}"),
    ]


def _samples(count: int) -> NDArray[np.int64]:
    """Choose samples at equal distances, the first and the last included."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, MAX_SAMPLES)).round().astype(np.int64))


def _level(depth: Sequence[int], level: int) -> list[int]:
    """Give the accounts that make up the cluster at one depth. ``depth`` is in tree order, depth first."""
    leaf = [below <= own for own, below in zip(depth, [*depth[1:], -1], strict=True)] if depth else []
    return [i for i, own in enumerate(depth) if own == level or (own < level and leaf[i])]


def _most_used(usage: NDArray[np.float64], members: Sequence[int]) -> list[int]:
    """Choose the accounts with the largest mean usage, in this order; equal ones in tree order."""
    return sorted(members, key=lambda account: -float(usage[:, account].sum()))[:MAX_LINES]


def _significant(values: NDArray[np.float64]) -> list[float | None]:
    """Round numbers to three significant digits; ``None`` for infinity."""
    return [float(f"{value:.3g}") if np.isfinite(value) else None for value in values.tolist()]
