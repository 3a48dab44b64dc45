"""Usage and waits of each account and its users, compared with their target shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rota.results.report.tables import by_group, finished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.results.schedule import Schedule

_HOUR = 3600
#: Shown in place of an empty name.
NAMELESS = "(none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """The finished jobs of an account or user; waits in seconds."""

    name: str
    jobs: int
    cpu_hours: float
    #: Part of all CPU hours, 0 to 1.
    share: float
    #: Target share of the cluster, 0 to 1; ``None`` if unknown, and for users.
    target: float | None
    mean_wait: float
    median_wait: float
    mean_bounded_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFigures:
    """An account, and its users by descending CPU hours."""

    total: GroupFigures
    users: tuple[GroupFigures, ...]


def account_figures(schedule: Schedule, targets: Mapping[str, float]) -> list[AccountFigures]:
    """Sum up the finished jobs by account and user, by descending CPU hours.

    Args:
        schedule: The jobs. Without names of accounts the result is empty; without names of users their ids are used.
        targets: Target share of the cluster by name of the account.
    """
    jobs = schedule.take(np.flatnonzero(finished(schedule)))
    if jobs.account is None or not len(jobs):
        return []
    names = [str(user) for user in jobs.user_id.tolist()] if jobs.user is None else jobs.user
    pairs = list(zip(jobs.account, names, strict=True))
    users: dict[str, list[GroupFigures]] = {}
    for (account, user), figures in summed(jobs, pairs):
        users.setdefault(account, []).append(group_figures(user, None, figures))
    return [
        AccountFigures(total=group_figures(account, targets.get(account), figures), users=tuple(users[account]))
        for (account,), figures in summed(jobs, [(account,) for account in jobs.account])
    ]


def summed(jobs: Schedule, keys: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], dict[str, float]]]:
    """Sum up jobs by key, by descending processor seconds, then by key."""
    distinct = sorted(set(keys))
    place = {key: i for i, key in enumerate(distinct)}
    columns = by_group(jobs, np.array([place[key] for key in keys], np.intp))
    columns["share"] = columns["work"] / max(columns["work"].sum(), 1.0)
    order = np.argsort(-columns["work"], kind="stable").tolist()
    return [(distinct[i], {name: column[i].item() for name, column in columns.items()}) for i in order]


def group_figures(name: str, target: float | None, figures: dict[str, float]) -> GroupFigures:
    """Make a row of what `summed` gives for a group."""
    return GroupFigures(
        name=name or NAMELESS,
        jobs=int(figures["jobs"]),
        cpu_hours=figures["work"] / _HOUR,
        share=figures["share"],
        target=target,
        mean_wait=figures["mean_wait"],
        median_wait=figures["median_wait"],
        mean_bounded_slowdown=figures["mean_bounded_slowdown"],
    )
