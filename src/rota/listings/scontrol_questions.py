"""Smaller questions that ``scontrol`` answers: processes of steps, texts of errors, whether a job's nodes are ready."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_id
from rota.commands.slurm_messages import MESSAGES
from rota.listings.answer import Answer
from rota.listings.squeue_steps import running_steps
from rota.model import Errno

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.listings.squeue_steps import Step
    from rota.listings.view import View

_PIDS = "PID      JOBID    STEPID   LOCALID GLOBALID\n"


def error_text(number: str) -> Answer:
    """Give the text of an error number: Slurm's, or the system's."""
    if not (number.isascii() and number.isdigit()):
        raise UsageError("numeric arguments required for keyword:errnumstr\n")
    code = int(number[:9])
    if not code:
        return Answer("No error\n")
    known = MESSAGES.get(Errno(code)) if code in set(Errno) else None
    return Answer(f"{known or os.strerror(code)}\n")


def wait_job(name: str, view: View) -> Answer:
    """Say whether a job can begin on its nodes, which need no time to be ready."""
    wanted = parse_job_id(name)
    job = None if wanted is None else next((one for one in view.jobs() if one.job_id == wanted.job_id), None)
    if job is None:
        return Answer(err=f"scontrol: Problem running job {name}\n", code=1)
    if job.base_state in {"RUNNING", "SUSPENDED"}:
        return Answer(err=f"scontrol: Nodes are ready for job {name}\n")
    return Answer(err=f"scontrol: Job {name} no longer running\n", code=1)


def list_pids(words: Sequence[str], view: View) -> Answer:
    """List the processes of running steps.

    Args:
        words: A job or step, or nothing for all, and a node.
        view: The cluster.
    """
    steps, node = running_steps(view), words[1] if len(words) > 1 else ""
    if words:
        wanted = parse_job_id(words[0])
        if wanted is None:
            raise UsageError(f"scontrol: error: Invalid job id specified: {words[0]}\n")
        steps = [one for one in steps if one.job.job_id == wanted.job_id and wanted.step in {"", one.step.step_id}]
        if not steps:
            missing = f"There are no steps for job {wanted.job_id} on node {node or '(null)'}.\n"
            return Answer(_PIDS, missing, 1)
    steps.sort(key=lambda one: (one.step.step_id.isdigit(), one.job.job_id))
    return Answer(_PIDS + "".join(line for one in steps for line in _lines(one, node, view)))


def _lines(one: Step, node: str, view: View) -> Iterator[str]:
    """Give the lines of a step: of each task its first process with its numbers on the node and in the step."""
    local: dict[str, int] = {}
    for task in view.tasks(one.job.job_id):
        if task.step_id != one.step.step_id or node not in {"", task.node}:
            continue
        place = local.setdefault(task.node, 0)
        local[task.node] += 1
        for index, pid in enumerate(task.pids):
            numbers = ("-", "-") if index else (str(place), str(task.task))
            yield f"{pid:<8} {one.job.job_id:<8} {one.step.step_id:<8} {numbers[0]:<7} {numbers[1]:<8}\n"
