"""The view of the listings, taken from the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings.privacy import Privacy
from rota.model.step import StepClient

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.core import ClusterView
    from rota.listings import AccountingQuery
    from rota.model import ClusterConfig, MultifactorConf, PriorityFactors, StepRecord, TaskUsage
    from rota.model.accounting import Accounted, JobDetails
    from rota.model.association import AccountingLines, QosUsage
    from rota.model.lines import (
        AllocationLine,
        AssociationLine,
        JobLine,
        LicenseLine,
        NodeLine,
        PartitionLine,
        ReservationLine,
        Statistics,
    )


class EngineView:
    """What an engine knows, as `rota.listings.View`. A live cluster knows more: see there.

    Everything is read when it is asked for.

    Args:
        cluster: The engine's view.
        user: Name of the user who asks.
    """

    def __init__(self, cluster: ClusterView, user: str = "root") -> None:
        self._cluster = cluster
        self._user = user

    @property
    def now(self) -> int:
        """The time now, Unix seconds."""
        return self._cluster.now

    @property
    def config(self) -> ClusterConfig:
        """The configuration (slurm.conf) in force."""
        return self._cluster.config

    @property
    def priority_conf(self) -> MultifactorConf:
        """The priority configuration in slurm.conf.

        Raises:
            InputError: a value cannot be used.
        """
        return self._cluster.priority_conf

    @property
    def tres(self) -> tuple[str, ...]:
        """Names of the TRES in associations' usage."""
        return self._cluster.tres

    @property
    def user(self) -> str:
        """Name of the user who asks."""
        return self._user

    @property
    def privacy(self) -> Privacy:
        """What is hidden from the user who asks: nothing."""
        return Privacy()

    def utc_offset(self, time: int, /) -> int:
        """Give local time minus UTC in seconds, at a Unix time."""
        return self._cluster.utc_offset(time)

    def knows_user(self, name: str) -> bool:
        """Whether there is such a user: an engine takes all names."""
        return bool(name)

    def user_name(self, user_id: int) -> str:
        """Give the name of a user: an engine knows root only."""
        return str(user_id) if user_id else "root"

    def user_id(self, name: str) -> int | None:
        """Give the id of a user: an engine knows root only."""
        return 0 if name == "root" else None

    def group_name(self, group_id: int) -> str:
        """Give the name of a group: an engine knows root only."""
        return str(group_id) if group_id else "root"

    def jobs(self, *, ended: bool = True) -> tuple[JobLine, ...]:  # noqa: ARG002 - an engine keeps no others
        """Give all live jobs."""
        return self._cluster.jobs()

    def all_jobs(self) -> tuple[JobLine, ...]:
        """Give all live jobs, whoever may see them."""
        return self._cluster.jobs()

    def details(self, _job_id: int) -> JobDetails | None:
        """Give what is kept of a job beside its line: nothing."""
        return None

    def steps(self, _job_id: int) -> Sequence[StepRecord]:
        """Give the steps of a job: none."""
        return ()

    def tasks(self, _job_id: int) -> Sequence[TaskUsage]:
        """Give what the tasks of a job use: there are no processes."""
        return ()

    def step_client(self, _job_id: int, _step_id: str) -> StepClient:
        """Give what is known of a step that is not recorded: nothing."""
        return StepClient()

    def allocation(self, job_id: int) -> tuple[AllocationLine, ...]:
        """Give what a live job has of each node."""
        return self._cluster.allocation(job_id)

    def gpus(self, job_id: int) -> dict[str, dict[str, tuple[int, ...]]]:
        """Give the GPUs of a live job."""
        return self._cluster.gpus(job_id)

    def nodes(self) -> tuple[NodeLine, ...]:
        """Give the nodes."""
        return self._cluster.nodes()

    def partitions(self) -> tuple[PartitionLine, ...]:
        """Give the partitions."""
        return self._cluster.partitions()

    def reservations(self) -> tuple[ReservationLine, ...]:
        """Give the advance reservations."""
        return self._cluster.reservations()

    def licenses(self) -> tuple[LicenseLine, ...]:
        """Give the licences."""
        return self._cluster.licenses()

    def factors(self) -> tuple[PriorityFactors, ...]:
        """Give the priority factors of pending jobs."""
        return self._cluster.factors()

    def associations(self) -> tuple[AssociationLine, ...]:
        """Give the associations, in tree order."""
        return self._cluster.associations()

    def accounting(self) -> AccountingLines:
        """Give the accounts, users and QOS."""
        return self._cluster.accounting()

    def qos_usage(self, name: str) -> QosUsage:
        """Give what jobs of a QOS have used."""
        return self._cluster.qos_usage(name)

    def statistics(self) -> Statistics:
        """Give the statistics of ``sdiag``."""
        return self._cluster.statistics()

    def accounted(self, _query: AccountingQuery) -> Iterable[Accounted]:
        """Give the jobs for ``sacct``: none are kept."""
        return ()

    def down_times(self) -> Iterable[tuple[str, int, int | None]]:
        """Give the times for which nodes were set down: none are kept."""
        return ()
