"""A job that runs and of which the database says nothing: what the supervisor, its process and the spool tell of it.

Its environment is its user's, who can write there what they like. So user and group are the kernel's, and what it names
beside is asked for in the user's own name.
"""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand_hostlist
from rota.executor.traces import environment_of
from rota.model import JobSpec
from rota.model.accounting import JobDetails
from rota.model.submission import Submission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.executor.traces import TracedRun

#: Begins of the names of variables that rota sets, and a user does not.
_OURS = ("SLURM", "ROTA_RUN")
#: A number of processors, and of how many nodes; `rota.config.hostlist.read_counts` would make a list of them.
_COUNT = re.compile(r"(\d{1,9})(?:\(x(\d{1,9})\))?", re.ASCII)
#: The group of somebody who has none.
_NOBODY = 65534


class FoundJob(NamedTuple):
    """A job, as far as it can be known."""

    spec: JobSpec
    submission: Submission
    #: Names of its nodes; empty: they are not known.
    nodes: tuple[str, ...]


def describe(run: TracedRun, directory: Path) -> FoundJob:
    """Say what is known of the job of a run.

    Args:
        run: The run.
        directory: The job's directory in the spool.
    """
    environment = environment_of(run)
    nodes = _nodes(environment.get("SLURM_JOB_NODELIST", ""))
    script = directory / "slurm_script"
    text = script.read_text(errors="surrogateescape") if script.is_file() else ""
    uid = run.uid if run.uid >= 0 else os.geteuid()
    user, group = _user_of(uid)
    spec = JobSpec(
        user_id=uid,
        user=user,
        group_id=_group_of(run) if environment else group,
        num_cpus=max(_cpus(environment.get("SLURM_JOB_CPUS_PER_NODE", "")), len(nodes), 1),
        min_nodes=len(nodes),
        partition=environment.get("SLURM_JOB_PARTITION", ""),
        account=environment.get("SLURM_JOB_ACCOUNT", ""),
        name=environment.get("SLURM_JOB_NAME", "recovered"),
        payload=str(run.job_id),
        requeue=False,
    )
    own = {name: value for name, value in environment.items() if not name.startswith(_OURS)}
    details = JobDetails(
        work_dir=_link(run, "cwd") or "/",
        std_out=_link(run, "fd/1"),
        std_err=_link(run, "fd/2"),
        comment="found by rota recover",
        batch=bool(text),
    )
    return FoundJob(spec, Submission(details=details, script=text, environment=own, append=True), nodes)


def conf_of(runs: Iterable[TracedRun]) -> str:
    """Give the path of the slurm.conf with which some runs were started; empty: it is not known, or gone."""
    found = (environment_of(run).get("SLURM_CONF", "") for run in runs)
    return next((path for path in found if path and Path(path).is_file()), "")


def _nodes(text: str) -> tuple[str, ...]:
    try:
        return tuple(expand_hostlist(text)) if text else ()
    except ValueError:
        return ()


def _cpus(text: str) -> int:
    """Add up processors as Slurm writes them by node: ``4(x2),2``; 0: it is something else."""
    total = 0
    for part in filter(None, text.split(",")):
        match = _COUNT.fullmatch(part)
        if match is None:
            return 0
        total += int(match[1]) * int(match[2] or 1)
    return total


def _user_of(uid: int) -> tuple[str, int]:
    """Give the name and the group of a user."""
    try:
        found = pwd.getpwuid(uid)
    except KeyError:
        return "", _NOBODY
    return found.pw_name, found.pw_gid


def _group_of(run: TracedRun) -> int:
    """Give the group of the script's process, which it has by the kernel."""
    try:
        return Path(f"/proc/{run.pid}").stat().st_gid
    except OSError:
        return _NOBODY


def _link(run: TracedRun, name: str) -> str:
    """Give what a link of the kernel leads to, of the script's process; empty: to no file."""
    try:
        found = str(Path(f"/proc/{run.pid}/{name}").readlink())
    except OSError:
        return ""
    return found if found.startswith("/") and Path(found).exists() else ""
