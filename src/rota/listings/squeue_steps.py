"""``squeue -s``: the steps of running jobs, the batch step among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_ids
from rota.config.hostlist import fold_sorted
from rota.listings.answer import Answer
from rota.listings.clock import duration
from rota.listings.columns import Column, parse_format, parse_named_format, sort_records
from rota.listings.columns import table as as_table
from rota.listings.common import words_of
from rota.listings.squeue_ids import choose, parse_ids
from rota.listings.text import NULL, or_null, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.commands.getopt import Parsed
    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import JobLine
    from rota.model.step import StepRecord

_DEFAULT = "%.15i %.8j %.9P %.8u %.9M %N"
#: Letters by name.
_LETTERS = {
    "stepid": "i",
    "stepname": "j",
    "timelimit": "l",
    "timeused": "M",
    "numtasks": "A",
    "nodes": "N",
    "username": "u",
    "userid": "U",
    "starttime": "S",
    "partition": "P",
}


class Step(NamedTuple):
    """A step, with its job."""

    job: JobLine
    step: StepRecord

    @property
    def shown_id(self) -> str:
        """The step id as it is listed: ``7_1.batch``."""
        return f"{self.job.shown_id}.{self.step.step_id}"

    def used(self, now: int) -> int:
        """Give the seconds for which the step has run."""
        end = self.step.end_time
        if end is None:
            end = now if self.job.suspended_since is None else self.job.suspended_since
        return max(end - self.step.start_time, 0)


def running_steps(view: View) -> list[Step]:
    """Give the steps of all live jobs that have not ended, by job id."""
    live = sorted((job for job in view.jobs() if job.base_state in _LIVE), key=lambda job: job.job_id)
    running = [Step(job, step) for job in live for step in view.steps(job.job_id) if step.end_time is None]
    return sorted(running, key=lambda one: (one.job.job_id, not one.step.step_id.isdigit()))


_LIVE = frozenset({"RUNNING", "SUSPENDED"})


def steps_table(chosen: str, jobs: str | None, parsed: Parsed, view: View, clock: Clock) -> Answer:
    """List steps.

    Args:
        chosen: Step ids; empty: all.
        jobs: Job ids; ``None``: those of all jobs.
        parsed: The command line.
        view: The cluster.
        clock: Formats times.
    """
    letters = _columns(clock)
    if (named := parsed.last("Format")) is not None:
        form = parse_named_format(named, _named_columns(letters, view))
    else:
        form = parse_format(parsed.last("format") or _DEFAULT, letters)
    err = "".join(f"squeue: error: Invalid job step format specification: {one}\n" for one in form.unknown)
    ids = {(one.job_id, one.step) for one in parse_job_ids("squeue", [chosen], _no_step, steps=True)}
    running = running_steps(view)
    if jobs is not None:
        of_jobs = {job.job_id for job in choose(parse_ids(jobs), [one.job for one in running], list(view.jobs()))}
        running = [one for one in running if one.job.job_id in of_jobs]
    shown = [
        one
        for one in running
        if (not ids or (one.job.job_id, one.step.step_id) in ids) and _passes(one.job, parsed, view)
    ]
    if unknown := sort_records(shown, parsed.last("sort") or "P,i", letters):
        return Answer("", f"{err}squeue: error: Invalid sort specification: {unknown[:1]}\n", 1)
    return Answer(as_table(form, shown, header=not parsed.has("noheader")), err)


def _passes(job: JobLine, parsed: Parsed, view: View) -> bool:
    users = view.user if parsed.has("me") else parsed.last("user")
    partitions = parsed.last("partitions")
    return (users is None or not words_of(users).isdisjoint({job.user, str(job.user_id)})) and (
        partitions is None or job.partition in words_of(partitions)
    )


def _no_step(word: str) -> UsageError:
    return UsageError(f"squeue: error: Invalid job_step id: {word}.??\n")


def _columns(clock: Clock) -> dict[str, Column[Step]]:
    columns: dict[str, Column[Step]] = {
        "A": Column("TASKS", lambda one: str(one.step.tasks), lambda one: one.step.tasks),
        "b": Column("TRES_PER_JOB", _no_tres),
        "i": Column("STEPID", lambda one: one.shown_id, lambda one: one.job.job_id),
        "j": Column("NAME", lambda one: or_null(one.step.name)),
        "l": Column("TIME_LIMIT", _limit),
        "M": Column("TIME", lambda one: duration(one.used(clock.now)), lambda one: one.used(clock.now)),
        "N": Column("NODELIST", lambda one: fold_sorted(one.step.nodes)),
        "P": Column("PARTITION", lambda one: one.job.partition),
        "S": Column("START_TIME", lambda one: clock.moment(one.step.start_time), lambda one: one.step.start_time),
        "u": Column("USER", lambda one: plain(one.job.user)),
        "U": Column("UID", lambda one: str(one.job.user_id), lambda one: one.job.user_id),
    }
    return columns


def _no_tres(_: Step) -> str:
    return NULL


def _limit(one: Step) -> str:
    return "UNLIMITED" if one.step.time_limit is None else duration(one.step.time_limit)


def _named_columns(letters: Mapping[str, Column[Step]], view: View) -> dict[str, Column[Step]]:
    found = {name: letters[letter] for name, letter in _LETTERS.items()}
    added: dict[str, Column[Step]] = {
        "arrayjobid": Column("ARRAY_JOB_ID", lambda one: str(one.job.array_job_id or 0)),
        "arraytaskid": Column("ARRAY_TASK_ID", lambda one: one.job.array_task or "N/A"),
        "cluster": Column("CLUSTER", lambda _: view.config.cluster_name),
        "cpufreq": Column("CPU_FREQ", lambda _: "0-0:0"),
        "jobid": Column("JOB_ID", lambda one: str(one.job.job_id)),
        "network": Column("NETWORK", lambda _: NULL),
        "numcpus": Column("NUM_CPUS", lambda one: str(_counted_cpus(one))),
        "resvports": Column("RESERVED_PORTS", lambda _: NULL),
        "stepstate": Column("STATE", lambda one: one.step.state.value),
    }
    return found | added


def _counted_cpus(one: Step) -> int:
    """Give a step's processors; those of a batch step are not counted apart from its job's."""
    return 0 if one.step.step_id == "batch" else one.step.cpus
