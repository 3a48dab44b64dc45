"""Whether runs differ in their policies alone: else what differs is said first, and no difference is marked.

The jobs are the same if each field on which a schedule depends is, not if files have the same name. Results keep
digests of these fields (`rota.results.inputs`); of older ones, schedules and the files that they read are compared.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError, JobState
from rota.results.inputs import differing
from rota.results.report import wording
from rota.results.schedule import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.results.inputs import Inputs
    from rota.results.schedule import ReplayResult, Schedule

_COMPLETED = STATES.index(JobState.COMPLETED)
_NOTHING_MARKED = "Nothing is marked"


def check_same_jobs(first: ReplayResult, other: ReplayResult, first_name: str, name: str) -> None:
    """Compare job numbers and submit times: without these, rows of two schedules are of different jobs.

    Args:
        first: A result, sorted by job number.
        other: Another one, sorted likewise.
        first_name: What they are called.
        name: The name of the other.

    Raises:
        InputError: they are of different workloads.
    """
    ours, theirs = first.schedule, other.schedule
    if len(ours) != len(theirs):
        why = f"{len(theirs)} jobs against {len(ours)}"
    elif not np.array_equal(ours.job_id, theirs.job_id):
        row = int(np.argmax(ours.job_id != theirs.job_id))
        why = f"job {theirs.job_id[row]} against job {ours.job_id[row]}"
    elif not np.array_equal(ours.submit, theirs.submit):
        row = int(np.argmax(ours.submit != theirs.submit))
        why = f"job {ours.job_id[row]} submitted at {theirs.submit[row]} against {ours.submit[row]}"
    else:
        return
    raise InputError(f"{name} is of another workload than {first_name}: {why}")


def other_than_policy(results: Sequence[ReplayResult], names: Sequence[str]) -> list[str]:
    """Say what else than the policy differs between runs, a sentence for each kind; none: nothing does."""
    inputs = [result.inputs for result in results]
    told = [_other_jobs(results, names, inputs), _other_versions(results, names)]
    if all(one is not None for one in inputs):
        told += [_other_machines(inputs), _other_conditions(inputs)]
    return [f"{one} {_NOTHING_MARKED}." for one in told if one]


def machine_rows(results: Sequence[ReplayResult]) -> list[tuple[str, tuple[str, ...]]]:
    """Give what is counted of machines, where runs differ: label, and the text of each run; none: they do not."""
    counted = [_counted(result) for result in results]
    return [(name[0].upper() + name[1:], tuple(one.get(name, "") for one in counted)) for name in differing(counted)]


def policy_rows(results: Sequence[ReplayResult]) -> list[tuple[str, tuple[str, ...]]]:
    """Give the plugins in which runs differ, and their files: label, and the text of each run; none: they do not."""
    rows = [
        ("Scheduler", tuple(result.scheduler for result in results)),
        ("Priority", tuple(result.priority for result in results)),
        *((f"File of {role}", tuple(file_names(results, role))) for role in file_roles(results) if "/" in role),
    ]
    return [row for row in rows if len(set(row[1])) > 1]


def file_names(results: Sequence[ReplayResult], role: str) -> list[str]:
    """Name the files of a kind, with the beginning of the hash where names do not tell them apart; empty: the same."""
    files = [[one for one in result.provenance.files if one.role == role] for result in results]
    same = set[str]().union(*([one.sha256 for one in mine] for mine in files[:1]))
    same = same.intersection(*([one.sha256 for one in mine] for mine in files))
    others = [[one for one in mine if one.sha256 not in same] for mine in files]
    files = others if any(others) else files
    names = [" ".join(PurePath(one.path).name for one in mine) for mine in files]
    hashes = [" ".join(one.sha256[:8] for one in mine) for mine in files]
    if len(set(hashes)) > len(set(names)):
        return [f"{name} {digest}".strip() for name, digest in zip(names, hashes, strict=True)]
    return names if len(set(hashes)) > 1 else [""] * len(results)


def file_roles(results: Sequence[ReplayResult]) -> list[str]:
    """Name the kinds of files that were read: ``workload``, ``config``; of plugins that are not rota's, their types."""
    return [*dict.fromkeys(one.role for result in results for one in result.provenance.files)]


def setting_rows(results: Sequence[ReplayResult]) -> list[tuple[str, tuple[str, ...]]]:
    """Give the settings in which runs differ: key, and its value in each run; empty: not given."""
    if any(result.inputs is None for result in results):
        return []
    settings = [result.inputs.settings for result in results if result.inputs is not None]
    return [(key, tuple(one.get(key, "") for one in settings)) for key in differing(settings)]


def _counted(result: ReplayResult) -> Mapping[str, str]:
    """Give what is counted of a machine, without digests."""
    if result.inputs is None:
        return {"processors": f"{result.machine_procs:,}"}
    return {name: text for name, text in result.inputs.machine.items() if name not in _DIGESTS}


#: What is known of machines, but only as digests.
_DIGESTS = {"what nodes are": "other nodes", "topology": "other switches"}


def _other_jobs(results: Sequence[ReplayResult], names: Sequence[str], inputs: Sequence[Inputs | None]) -> str:
    """Say in which fields the jobs of runs differ, with an example where the schedules have one; empty: in none."""
    known = [one.jobs for one in inputs if one is not None]
    fields = dict.fromkeys(differing(known) if len(known) == len(results) else _in_schedules(results))
    if not fields:
        return ""
    if "job number" in fields:  # and then every other field, of which the digests are of all jobs
        beside = "there were others beside those of the figures, such as withdrawn ones"
        return f"These runs are not of the same jobs: {beside}."
    told = [_example(field, results, names) for field in fields]
    return f"These runs are not of the same jobs, though these have the same numbers: {'; '.join(told)}."


def _in_schedules(results: Sequence[ReplayResult]) -> list[str]:
    """Give the fields in which schedules differ that no policy changes; and the files, if these are others."""
    found = [
        field
        for field, differ in _COLUMNS.items()
        if any(differ(one.schedule, other.schedule).any() for one, other in pairwise(results))
    ]
    files = [{one.sha256 for one in result.provenance.files if one.role == "workload"} for result in results]
    changed = len({frozenset(one) for one in files}) > 1
    return found or (["content of the workload’s file"] if changed and all(files) else [])


def _example(field: str, results: Sequence[ReplayResult], names: Sequence[str]) -> str:
    differ, column = _COLUMNS.get(field), _SHOWN.get(field)
    if differ is None or column is None:
        return f"the {field} differs"
    first = results[0].schedule
    for result, name in zip(results[1:], names[1:], strict=True):
        rows = np.flatnonzero(differ(first, result.schedule))
        if len(rows):
            row = int(rows[0])
            ours, theirs = column(first, row), column(result.schedule, row)
            return (
                f"the {field} of {wording.count(len(rows))} of {wording.count(len(first))} differs "
                f"(job {first.job_id[row]}: {ours}, and {theirs} in {name})"
            )
    return f"the {field} differs"


def _other_runs(one: Schedule, other: Schedule) -> NDArray[np.bool_]:
    """Mark the jobs that completed in both, after different times."""
    completed = (one.state == _COMPLETED) & (other.state == _COMPLETED)
    mask: NDArray[np.bool_] = completed & (one.run != other.run)
    return mask


def _other_users(one: Schedule, other: Schedule) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = np.array(one.user_names) != np.array(other.user_names)
    return mask


#: Fields of the jobs that a schedule has, with the rows that differ; and how a row is shown.
_COLUMNS: dict[str, Callable[[Schedule, Schedule], NDArray[np.bool_]]] = {
    "run time": _other_runs,
    "processors": lambda one, other: one.procs != other.procs,
    "user": _other_users,
}
_SHOWN: dict[str, Callable[[Schedule, int], str]] = {
    "run time": lambda one, row: wording.duration(int(one.run[row])),
    "processors": lambda one, row: str(one.procs[row]),
    "user": lambda one, row: one.user_names[row],
}


def _other_machines(inputs: Sequence[Inputs | None]) -> str:
    machines = [one.machine for one in inputs if one is not None]
    found = differing(machines)
    counted = [name for name in found if name not in _DIGESTS]
    told = [f"{name} {' / '.join(one.get(name, 'none') for one in machines)}" for name in counted]
    told = told or [_DIGESTS[name] for name in found]
    return f"These runs are of different machines: {', '.join(told)}." if told else ""


def _other_conditions(inputs: Sequence[Inputs | None]) -> str:
    found = differing([one.conditions for one in inputs if one is not None])
    return f"These runs were under different conditions: other {' and other '.join(found)}." if found else ""


def _other_versions(results: Sequence[ReplayResult], names: Sequence[str]) -> str:
    versions = [result.provenance.version for result in results]
    if len(set(versions)) < 2:
        return ""
    told = ", ".join(f"{version} ({name})" for version, name in zip(versions, names, strict=True))
    return f"Different versions of rota made these runs: {told}."
