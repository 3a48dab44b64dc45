"""``UsageThreshold`` of a QOS with the flag ``EnforceUsageThreshold``: the smallest fair-share of its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.limits.start_limits import Excess, Limit
from rota.model import Reason
from rota.model.association import QosFlag

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Qos


class UsageThreshold:
    """Holds back the jobs of one association in one QOS while their fair-share is too low.

    Args:
        name: Name of the QOS.
        least: Smallest fair-share with which jobs start.
        fair_share: Function that gives the fair-share at the end of the last period; ``None``: usage is not kept.
    """

    __slots__ = ("_fair_share", "_limit")

    def __init__(self, name: str, least: float, fair_share: Callable[[], float | None]) -> None:
        self._limit = Limit(Reason.QOS_USAGE_THRESHOLD, f"QOS {name}", "UsageThreshold", least, decays=True)
        self._fair_share = fair_share

    def _excess(self) -> Excess | None:
        share = self._fair_share()
        return Excess(self._limit, share, 0) if share is not None and share < self._limit.most else None

    def holds_back_all(self) -> bool:
        """Whether the fair-share is too low."""
        return self._excess() is not None

    def holds_back(self, job: object, resources: int) -> Excess | None:  # noqa: ARG002 - they are all the same
        """Give the threshold if the fair-share is below it, else ``None``."""
        return self._excess()

    def started(self, job: object) -> None:
        """Do nothing: running jobs are not counted."""

    def ended(self, job: object) -> None:
        """Do nothing: running jobs are not counted."""


def usage_threshold(qos: Qos) -> float | None:
    """Give the smallest fair-share with which jobs of a QOS start; ``None``: any."""
    return qos.usage_threshold if qos.has(QosFlag.ENFORCE_USAGE_THRESHOLD) else None
