"""What a letter says: its subject, and the environment of the program that sends it, both as Slurm's.

Nothing of a job may look like more than it is: characters of its texts that cannot be printed are blanks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from rota.config.hostlist import fold
from rota.controller.run_environment import array_environment
from rota.listings.clock import full_duration
from rota.model import JobState, Reason
from rota.model.mail import Letter
from rota.users import group_name

if TYPE_CHECKING:
    from rota.model.accounting import JobDetails
    from rota.model.lines import JobLine

_SAID = {
    "INVALID_DEPEND": "Invalid dependency",
    "BEGIN": "Began",
    "END": "Ended",
    "FAIL": "Failed",
    "REQUEUE": "Requeued",
    "TIME_LIMIT_50": "Reached 50% of time limit",
    "TIME_LIMIT_80": "Reached 80% of time limit",
    "TIME_LIMIT_90": "Reached 90% of time limit",
    "TIME_LIMIT": "Reached time limit",
}
_ENDS = frozenset({"END", "FAIL"})
#: States in which a job's own exit code is 0, as in Slurm.
_NO_CODE = frozenset({JobState.CANCELLED.value, JobState.TIMEOUT.value})


class Ends(NamedTuple):
    """How the tasks of a job array have ended."""

    #: The lowest and the highest status: 256 × the exit code + the signal.
    lowest: int
    highest: int
    #: Whether one of them was requeued.
    requeued: bool

    @classmethod
    def of(cls, exit_code: int, signal: int, restart_count: int) -> Self:
        """Give how one task has ended."""
        status = 256 * exit_code + signal
        return cls(status, status, restart_count > 0)

    def with_(self, other: Ends) -> Ends:
        """Add others."""
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return Ends(lowest, highest, self.requeued or other.requeued)


class Occasion(NamedTuple):
    """Why a letter is written."""

    #: The type of mail.
    kind: str
    job: JobLine
    details: JobDetails
    #: For how many seconds the job had waited, for BEGIN, or had run.
    seconds: int
    #: Of a letter about the end of a whole job array: how its tasks have ended.
    ends: Ends | None = None


def letter(occasion: Occasion, cluster: str, domain: str) -> Letter:
    """Write a letter.

    Args:
        occasion: Why it is written.
        cluster: Name of the cluster.
        domain: ``MailDomain``, for users who have given no address; empty: none.
    """
    job, details = occasion.job, occasion.details
    to = details.mail_user or (f"{job.user}@{domain}" if domain else job.user)
    subject = f"{_head(occasion)} Name={job.name} {_SAID[occasion.kind]}{_time(occasion)}{_end(occasion)}"
    return Letter(to, _plain(subject), {name: _plain(text) for name, text in _environment(occasion, cluster).items()})


def is_of_array(occasion: Occasion) -> bool:
    """Whether a letter is about all tasks of a job array."""
    return occasion.job.array_job_id is not None and "ARRAY_TASKS" not in occasion.details.mail_type.split(",")


def _plain(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)


def _head(occasion: Occasion) -> str:
    job = occasion.job
    if job.array_job_id is None:
        return f"Slurm Job_id={job.job_id}"
    if is_of_array(occasion):
        return f"Slurm Array Summary Job_id={job.array_job_id}_* ({job.array_job_id})"
    return f"Slurm Array Task Job_id={job.array_job_id}_{job.array_task} ({job.job_id})"


def _time(occasion: Occasion) -> str:
    if occasion.kind == "INVALID_DEPEND" or is_of_array(occasion):
        return ""
    return f", {'Queued' if occasion.kind == 'BEGIN' else 'Run'} time {full_duration(occasion.seconds)}"


def _end(occasion: Occasion) -> str:
    if occasion.kind not in _ENDS:
        return ""
    if occasion.ends is not None:
        return _end_of_array(occasion.ends, occasion.job.base_state)
    code, signal = _status(occasion.job)
    if occasion.job.reason == Reason.SYSTEM_FAILURE.value:
        return f", {occasion.job.base_state}, ExitCode unknown"
    return f", {occasion.job.base_state}" + ("" if signal else f", ExitCode {code}")


def _end_of_array(ends: Ends, state: str) -> str:
    (lowest, first), (highest, last) = divmod(ends.lowest, 256), divmod(ends.highest, 256)
    if last:
        text = f", Mixed, MaxSignal [{last}]"
    elif first:
        text = f", Mixed, MaxExitCode [{highest}]"
    else:
        text = f", {'Mixed' if highest and not lowest else state}, ExitCode [{lowest}-{highest}]"
    return text + (", with requeued tasks" if ends.requeued else "")


def _status(job: JobLine) -> tuple[int, int]:
    return (0, 0) if job.base_state in _NO_CODE else (job.exit_code, job.signal)


def _environment(occasion: Occasion, cluster: str) -> dict[str, str]:
    job, details, kind = occasion.job, occasion.details, occasion.kind
    group = group_name(job.group_id)
    found = {
        "SLURM_CLUSTER_NAME": cluster,
        "SLURM_JOBID": str(job.job_id),
        "SLURM_JOB_ACCOUNT": job.account,
        "SLURM_JOB_GID": str(job.group_id),
        "SLURM_JOB_GROUP": group,
        "SLURM_JOB_ID": str(job.job_id),
        "SLURM_JOB_MAIL_TYPE": _SAID[kind],
        "SLURM_JOB_NAME": job.name,
        "SLURM_JOB_NODELIST": fold(job.nodes) or "(null)",
        "SLURM_JOB_PARTITION": job.partition,
        "SLURM_JOB_RESTART_COUNT": str(job.restart_count),
        "SLURM_JOB_STATE": job.base_state,
        "SLURM_JOB_STDIN": details.std_in,
        "SLURM_JOB_STDOUT": details.std_out,
        "SLURM_JOB_UID": str(job.user_id),
        "SLURM_JOB_USER": job.user,
        "SLURM_JOB_WORK_DIR": details.work_dir,
    }
    if job.nodes:
        found["SLURM_JOB_NUM_NODES"] = str(len(job.nodes))
    if kind != "INVALID_DEPEND" and not (kind == "BEGIN" and is_of_array(occasion)):
        found["SLURM_JOB_QUEUED_TIME" if kind == "BEGIN" else "SLURM_JOB_RUN_TIME"] = full_duration(occasion.seconds)
    if kind in _ENDS:
        code, signal = _status(job)
        found |= {
            "SLURM_JOB_DERIVED_EC": str(details.derived_exit_code),
            "SLURM_JOB_EXIT_CODE": str(256 * code + signal),
            "SLURM_JOB_EXIT_CODE2": f"{code}:{signal}",
            "SLURM_JOB_EXIT_CODE_MAX": str(code),
        }
    if (ends := occasion.ends) is not None:
        found |= {"SLURM_JOB_EXIT_CODE_MIN": str(ends.lowest >> 8), "SLURM_JOB_EXIT_CODE_MAX": str(ends.highest >> 8)}
        if ends.highest & 255:
            found["SLURM_JOB_TERM_SIGNAL_MAX"] = str(ends.highest & 255)
    return found | (array_environment(job) if job.array_task.isdecimal() else {})
