"""``UsageThreshold`` of a QOS with the flag ``EnforceUsageThreshold``: the fair-share that its jobs need.

What Slurm compares with it is not quite the fair-share factor that it documents, but that factor times
``PriorityWeightFairshare``; and where that is 0, the factor that classic fair-share makes of an association's effective
usage and its shares, also with Fair Tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.limits.start_limits import Excess, Limit
from rota.model import Reason
from rota.model.association import QosFlag
from rota.model.multifactor import MultifactorConf

if TYPE_CHECKING:
    from rota.core.limits.policy import AccountingPolicy
    from rota.core.state import ClusterState
    from rota.model import Association, Job, Qos


class UsageThreshold:
    """Holds back the jobs of one association in one QOS while their fair-share is too low.

    The priority plugin says what it is, as of the end of the last period.
    """

    __slots__ = ("_association", "_conf", "_limit", "_policy", "_state")

    def __init__(
        self, policy: AccountingPolicy, state: ClusterState, association: Association, name: str, least: float
    ) -> None:
        self._policy = policy
        self._state = state
        self._association = association
        self._limit = Limit(Reason.QOS_USAGE_THRESHOLD, f"QOS {name}", "UsageThreshold", least)
        #: What slurm.conf says of fair-share, once somebody has asked.
        self._conf: MultifactorConf | None = None

    def holds_back_all(self) -> bool:
        """Whether the fair-share is too low."""
        if not self._policy.keeps_usage or self._fair_share() >= self._limit.most:
            return False
        self._policy.look_again()
        return True

    def holds_back(self, job: Job, resources: int) -> Excess | None:  # noqa: ARG002 - they are all the same
        """Give the threshold, if the fair-share is below it."""
        return Excess(self._limit, self._fair_share(), 0) if self.holds_back_all() else None

    def _fair_share(self) -> float:
        """Give what is compared with the threshold."""
        if self._conf is None:
            self._conf = MultifactorConf.of(self._state.config, self._state.accounts.tres)
        one = self._state.accounts.with_shares(self._association)
        if share := self._conf.weights.fairshare * one.fs_factor:
            return share
        if one.shares_norm <= 0:
            return 0.0
        return float(2 ** -(one.usage_efctv / one.shares_norm / self._conf.damping))

    def started(self, job: Job) -> None:
        """Nothing changes by a job that starts."""

    def ended(self, job: Job) -> None:
        """Nor by one that ends."""


def usage_threshold(qos: Qos) -> float | None:
    """Give the fair-share that the jobs of a QOS need; ``None``: any."""
    return qos.usage_threshold if qos.has(QosFlag.ENFORCE_USAGE_THRESHOLD) else None
