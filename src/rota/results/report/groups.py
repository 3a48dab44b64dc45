"""Jobs by partition, QOS, account and node type; what a result does not tell, or all jobs share, is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rota.results.report.account_figures import NAMELESS, GroupFigures, group_figures, summed
from rota.results.report.distribution import Classes
from rota.results.report.tables import finished

if TYPE_CHECKING:
    from rota.results.schedule import ReplayResult

#: Largest number of groups with a row of their own in a comparison; the others share one.
MAX_GROUPS = 20
_OTHERS = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """A way to divide the jobs, with the name of each job's group."""

    key: str
    label: str
    names: tuple[str, ...]

    def figures(self, result: ReplayResult) -> list[GroupFigures]:
        """Give the figures of each group, by descending CPU hours."""
        rows = np.flatnonzero(finished(result.schedule))
        jobs = result.schedule.take(rows)
        keys = [(self.names[row],) for row in rows.tolist()]
        return [group_figures(name, None, figures) for (name,), figures in summed(jobs, keys)] if keys else []

    def classes(self, result: ReplayResult) -> Classes:
        """Divide all jobs into classes, by descending CPU hours of a run; small ones share the last."""
        order = dict.fromkeys([one.name for one in self.figures(result)] + sorted(set(self.names)))
        labels = list(order)
        if len(labels) > MAX_GROUPS:
            labels = [*labels[: MAX_GROUPS - 1], f"{len(labels) - MAX_GROUPS + 1} {_OTHERS}"]
        place = {name: min(i, len(labels) - 1) for i, name in enumerate(order)}
        return Classes(labels=tuple(labels), place=np.array([place[name] for name in self.names], np.int64))


def groupings(result: ReplayResult) -> list[Grouping]:
    """Give the ways to divide the jobs of a result into more than one group."""
    schedule = result.schedule
    found = [
        ("partition", "Partition", schedule.partition),
        ("qos", "QOS", schedule.qos),
        ("account", "Account", schedule.account),
        ("node_type", "Node type", schedule.node_type),
    ]
    named = [(key, label, tuple(name or NAMELESS for name in names)) for key, label, names in found if names]
    return [Grouping(key=key, label=label, names=names) for key, label, names in named if len(set(names)) > 1]
