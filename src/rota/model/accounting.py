"""What a live cluster keeps of a job beside the engine's record, and the accounting record of ``sacct``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rota.model.lines import JobLine
from rota.model.step import StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    """What a user has handed in with a job and the engine does not need. Paths are absolute.

    Patterns such as ``%j`` in paths are expanded when the job runs.
    """

    #: Path of the script and its arguments; empty: it was read from standard input, or made by ``--wrap``.
    command: str = ""
    #: The command line of the submission.
    submit_line: str = ""
    submit_host: str = ""
    work_dir: str = "/"
    std_in: str = "/dev/null"
    std_out: str = ""
    std_err: str = ""
    comment: str = ""
    #: An operator's.
    admin_comment: str = ""
    wckey: str = ""
    #: Where its mail goes; empty: to its user.
    mail_user: str = ""
    #: Types of mail, in Slurm's order: ``END,FAIL``; empty: none.
    mail_type: str = ""
    #: Whether there is a batch script; else it is an allocation.
    batch: bool = True
    #: Session of the process that has submitted it; 0: not known.
    alloc_sid: int = 0
    #: Id of the job's association; 0: none.
    assoc_id: int = 0
    #: Smallest size of temporary disk space, MiB.
    tmp_disk: int = 0
    #: The highest exit status of a step: 256 × the exit code + the signal.
    derived_exit_code: int = 0
    #: When the job was last considered for a start, by ``Main`` or ``Backfill``; 0 and empty: never.
    last_sched_eval: int = 0
    scheduler: str = ""
    #: Since when the job gains priority by age; ``None``: since it became eligible.
    accrue_time: int | None = None
    #: User id of who has cancelled the job; ``None``: it was not cancelled.
    cancelled_by: int | None = None


class Accounted(Protocol):
    """A job as ``sacct`` shows it, live or ended."""

    @property
    def job(self) -> JobLine:
        """The job."""

    @property
    def details(self) -> JobDetails:
        """What is kept of it besides."""

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """Its steps, in the order in which they were started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingRecord:
    """What is kept of a job that has ended."""

    job: JobLine
    details: JobDetails
    steps: tuple[StepRecord, ...] = ()
