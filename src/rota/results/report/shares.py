"""What accounts used against what is theirs, over time: the curves of the fair-share chart.

Accounts are in one another, so only those of one *level* are drawn together: the accounts at one depth of the tree,
and those above it that have no accounts below. Of each level the accounts that used most get a line of their own; the
others, and users directly in accounts further up, are one line more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report.render import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.results.priority_history import PriorityHistory

#: Accounts with a line of their own: as many as there are colours.
MAX_LINES = 8
#: Samples of one curve, so that the page stays small.
MAX_SAMPLES = 300
#: The farthest that the axis of level fair-share reaches, either way of 1: more tells nobody more.
FARTHEST = 1000.0
#: Usage outside of the accounts drawn below which it gets no line: what rounding leaves.
_NOTHING = 0.0005


def share_data(history: PriorityHistory) -> dict[str, Any]:
    """Compute what the fair-share chart draws. Shares are from 0 to 1; an infinite level fair-share is ``None``."""
    kept = _samples(len(history.times))
    usage, fairshare = history.usage_share[kept], history.fairshare[kept]
    # Whatever is used is used in some account at the top.
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
        # One account alone has nobody to be compared with.
        "level": next((i for i, size in enumerate(sizes) if size > 1), 0),
        "limits": log_limits(fairshare[:, shown]) if history.fair_tree else [0, 1],
    }


def log_limits(values: NDArray[np.float64]) -> list[float]:
    """Give the ends of a logarithmic axis around 1: powers of ten about the values, no farther than `FARTHEST`."""
    drawn = values[np.isfinite(values) & (values > 0)]
    low, high = float(drawn.min(initial=0.1)), float(drawn.max(initial=10.0))
    farthest = round(np.log10(FARTHEST))
    return [
        float(f"1e{max(int(np.floor(np.log10(low))), -farthest)}"),
        float(f"1e{min(int(np.ceil(np.log10(high))), farthest)}"),
    ]


def _samples(count: int) -> NDArray[np.int64]:
    """Choose samples, evenly and with the first and the last."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, MAX_SAMPLES)).round().astype(np.int64))


def _level(depth: Sequence[int], level: int) -> list[int]:
    """Give the accounts that together make up the cluster at one depth. ``depth`` is in tree order, depth first."""
    leaf = [below <= own for own, below in zip(depth, [*depth[1:], -1], strict=True)] if depth else []
    return [i for i, own in enumerate(depth) if own == level or (own < level and leaf[i])]


def _most_used(usage: NDArray[np.float64], members: Sequence[int]) -> list[int]:
    """Choose the accounts that used most on average, most first; equal ones in the order of the tree."""
    return sorted(members, key=lambda account: -float(usage[:, account].sum()))[:MAX_LINES]


def _significant(values: NDArray[np.float64]) -> list[float | None]:
    """Give numbers to three places, whatever their size; ``None`` for what is infinite."""
    return [float(f"{value:.3g}") if np.isfinite(value) else None for value in values.tolist()]
