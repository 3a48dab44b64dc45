"""What commands ask of a cluster. A replay, a live cluster and a test each have their own `View`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.listings.privacy import Privacy
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
    from rota.model.step import StepClient


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingQuery:
    """Which jobs ``sacct`` needs. Each filter is a superset of what is shown: more records than asked for do no harm.

    An empty filter lets all jobs through.
    """

    #: Job ids; a record matches by its own id or that of its job array.
    job_ids: frozenset[int] = frozenset()
    #: User names, or user ids as text.
    users: frozenset[str] = frozenset()
    #: In lower case.
    accounts: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    #: Base states: COMPLETED, RUNNING.
    states: frozenset[str] = frozenset()
    #: Whether the earlier runs of requeued jobs are wanted, too, each before the later ones.
    every_run: bool = False
    #: Jobs that were pending or running at some time from start to end, Unix seconds; ``None``: open.
    start: int | None = None
    end: int | None = None


class View(Protocol):
    """A cluster at one moment, as one user sees it. Everything is read only when a command needs it."""

    @property
    def now(self) -> int:
        """The time now, Unix seconds."""

    @property
    def config(self) -> ClusterConfig:
        """The configuration (slurm.conf) in force."""

    @property
    def priority_conf(self) -> MultifactorConf:
        """The priority configuration in slurm.conf."""

    @property
    def tres(self) -> tuple[str, ...]:
        """Names of the TRES in associations' usage."""

    @property
    def user(self) -> str:
        """Name of the user who asks."""

    @property
    def privacy(self) -> Privacy:
        """What is hidden from the user who asks."""

    def utc_offset(self, time: int, /) -> int:
        """Give local time minus UTC in seconds, at a Unix time."""

    def knows_user(self, name: str) -> bool:
        """Whether there is a user of this name or, if it is a number, of this user id."""

    def user_name(self, user_id: int) -> str:
        """Give the name of a user; the number as text if there is none."""

    def user_id(self, name: str) -> int | None:
        """Give the id of a user; ``None``: it is not known."""

    def group_name(self, group_id: int) -> str:
        """Give the name of a group; the number as text if there is none."""

    def jobs(self, *, ended: bool = True) -> Iterable[JobLine]:
        """Give all live jobs and, with ``ended``, those that ended in the last ``MinJobAge`` seconds, in any order."""

    def all_jobs(self) -> Iterable[JobLine]:
        """Give all live jobs, in order of submission and whoever may see them: for sums only."""

    def details(self, job_id: int) -> JobDetails | None:
        """Give what is kept of a job beside its line; ``None``: nothing."""

    def steps(self, job_id: int) -> Sequence[StepRecord]:
        """Give the steps of a job, in the order in which they were started."""

    def tasks(self, job_id: int) -> Sequence[TaskUsage]:
        """Give what the tasks of a job's running steps use at this moment, in any order."""

    def step_client(self, job_id: int, step_id: str) -> StepClient:
        """Give what is known of a running step that is not recorded."""

    def allocation(self, job_id: int) -> Sequence[AllocationLine]:
        """Give what a live job has of each node; none of a job without an allocation, or that has ended."""

    def gpus(self, job_id: int) -> Mapping[str, Mapping[str, tuple[int, ...]]]:
        """Give the GPUs of a live job by node and type; nodes of which only their number is known are left out."""

    def nodes(self) -> Sequence[NodeLine]:
        """Give the nodes, in the order of slurm.conf."""

    def partitions(self) -> Sequence[PartitionLine]:
        """Give the partitions, in the order of slurm.conf."""

    def reservations(self) -> Sequence[ReservationLine]:
        """Give the advance reservations."""

    def licenses(self) -> Sequence[LicenseLine]:
        """Give the licences."""

    def factors(self) -> Sequence[PriorityFactors]:
        """Give the priority factors of pending jobs, in any order."""

    def associations(self) -> Sequence[AssociationLine]:
        """Give the associations, in tree order."""

    def accounting(self) -> AccountingLines:
        """Give the accounts, users and QOS."""

    def qos_usage(self, name: str) -> QosUsage:
        """Give what jobs of a QOS have used."""

    def statistics(self) -> Statistics:
        """Give the statistics of ``sdiag``."""

    def accounted(self, query: AccountingQuery) -> Iterable[Accounted]:
        """Give the jobs that ``sacct`` is to choose from, live and ended, each with its steps."""

    def down_times(self) -> Iterable[tuple[str, int, int | None]]:
        """Give the times for which nodes were set down: node, start, and end, ``None``: it still is."""
