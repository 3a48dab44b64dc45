"""Jobs that were refused: how many, why, and what to do about it if none has run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.model import Errno, InputError
from rota.model.counts import counted
from rota.workload.fields import FIELD_NAMES, label

if TYPE_CHECKING:
    from rota.core.effects import Refused
    from rota.workload import Workload

#: Errors of jobs that are larger than the machine.
_TOO_LARGE = {Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE, Errno.INVALID_NODE_COUNT, Errno.TOO_MANY_REQUESTED_CPUS}

#: Likely causes, by error.
_CAUSES = {
    **dict.fromkeys((Errno.INVALID_ACCOUNT, Errno.INVALID_QOS), "do --associations have the accounts and QOS of then?"),
    Errno.INVALID_PARTITION_NAME: "is --config the slurm.conf of this cluster and of then?",
    Errno.DEFAULT_PARTITION_NOT_SET: "the workload names no partitions: give one of --config Default=YES",
    Errno.INVALID_GRES: "does --config define the GRES of then?",
    Errno.INVALID_FEATURE: "does --config define the features of then?",
    Errno.RESERVATION_INVALID: "is --reservations missing?",
    Errno.INVALID_LICENSES: "does --config define the licences of then?",
    Errno.INVALID_TIME_LIMIT: "are the limits of the partitions those of then?",
    Errno.ACCOUNTING_POLICY: "are the limits of --associations those of then?",
    **dict.fromkeys(
        (
            Errno.TOO_MANY_REQUESTED_CPUS,
            Errno.INVALID_NODE_COUNT,
            Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
            Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
        ),
        "is the machine smaller than that of the workload? See --config and --procs",
    ),
}


class Refusals:
    """Counts jobs that were refused by reason: what their messages have before the first colon."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._errors: dict[str, Errno] = {}

    def add(self, count: int, effect: Refused) -> bool:
        """Count jobs; say whether they are the first of their reason."""
        reason = " ".join(effect.message.partition(":")[0].split())
        self._counts[reason] += count
        first = reason not in self._errors
        self._errors.setdefault(reason, effect.errno)
        return first

    @property
    def total(self) -> int:
        """Number of jobs."""
        return self._counts.total()

    def told(self, jobs: int) -> str:
        """Say how many of all jobs were refused, and why; the commonest reason first."""
        reasons = "; ".join(f"{count:,} × {reason}" for reason, count in self._counts.most_common())
        return f"{self.total:,} of {jobs:,} jobs {counted(self.total, 'was', 'were')} refused: {reasons}"

    def cause(self) -> str:
        """Give the likely cause of the commonest reason; empty: none is known."""
        commonest = self._counts.most_common(1)
        return _CAUSES.get(self._errors[commonest[0][0]], "") if commonest else ""

    def shortfall(self, ran: int, jobs: int, left: str) -> InputError:
        """Make the error for a replay in which no job has run, or so few that its figures say nothing.

        Args:
            ran: Number of jobs that have run.
            jobs: Number of all jobs.
            left: In which states jobs are left and why; empty: none is left.
        """
        parts = [self.told(jobs) if self.total else "", f"{left} at the end" if left else "", self.cause()]
        have, these = counted(ran, "has", "have"), counted(ran, "it", "these")
        few = f"only {ran:,} of {jobs:,} jobs {have} run to an end, and the figures are of {these} alone"
        return InputError(f"{few if ran else 'no job has run'}: {'; '.join(filter(None, parts))}")


def never_runs(workload: Workload, row: int, effect: Refused) -> InputError:
    """Make the error for a job that can never run: with its line of the workload."""
    is_size = effect.errno in _TOO_LARGE and workload.requests is None
    size = "requested_procs" if workload.requested_procs[row] > 0 else "allocated_procs"
    return InputError(
        f"job {effect.job_id} cannot be replayed: {effect.message}; without --strict it is left out and counted",
        path=workload.source,
        line=int(workload.line[row]),
        field=label(FIELD_NAMES.index(size)) if is_size else None,
    )
