"""``sacct.txt.gz``: a schedule as a file of ``sacct -P``, which a replay can read in again.

It has the columns that docs/workloads.md asks for; times are Unix seconds. Memory is as older versions of Slurm write
it, for a CPU (``c``) or a node (``n``), since that is what jobs ask for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.config.hostlist import read_counts
from rota.model import JobSpec, JobState
from rota.model.tres import gres_counts
from rota.results.report import wording
from rota.results.schedule import STATES
from rota.workload.files import packed, write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rota.results.schedule import Schedule
    from rota.workload import Workload

_HEADER = (
    *("JobID", "JobIDRaw", "User", "UID", "Account", "Partition", "QOS", "State", "Submit", "Eligible", "Start", "End"),
    *("ElapsedRaw", "Timelimit", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "Constraints", "Reservation"),
)
_UNKNOWN = "Unknown"
_NOWHERE = "None assigned"


def write_sacct(schedule: Schedule, workload: Workload, path: Path) -> None:
    """Write a schedule, gzip if the name ends in ``.gz``. The same schedule gives the same bytes.

    Args:
        schedule: The schedule.
        workload: The workload that was replayed, for what the schedule does not have.
        path: The file, which is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    lines = ["|".join(_HEADER), *_lines(schedule, workload), ""]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    write_bytes(path, packed(data) if path.name.endswith(".gz") else data)


def _lines(schedule: Schedule, workload: Workload) -> Iterator[str]:
    whole = workload.whole_jobs()
    row_of = {number: row for row, number in enumerate(whole.job_number.tolist())}
    groups = whole.group_id.tolist()
    columns = (schedule.job_id, schedule.user_id, schedule.submit, schedule.start, schedule.end, schedule.procs)
    for place, (job_id, user_id, submit, start, end, procs) in enumerate(
        zip(*(one.tolist() for one in columns), strict=True)
    ):
        row = row_of[job_id]
        spec = JobSpec(num_cpus=procs) if whole.requests is None else whole.requests[row]
        state = STATES[schedule.state[place]]
        ran = start >= 0
        nodes = schedule.nodes[place] if schedule.nodes is not None and ran else ""
        counts = [] if schedule.node_cpus is None or not ran else read_counts(schedule.node_cpus[place])
        yield "|".join(
            (
                str(job_id),
                str(job_id),
                spec.user or f"user{user_id}",
                str(max(user_id, 0)),
                spec.account or (f"group{groups[row]}" if whole.requests is None else ""),
                spec.partition,
                spec.qos,
                state.value,
                str(submit),
                str(max(spec.begin_time, submit)),
                str(start) if ran else _UNKNOWN,
                str(end) if end >= 0 and state not in {JobState.PENDING, JobState.RUNNING} else _UNKNOWN,
                str(max(end - start, 0) if ran and end >= 0 else 0),
                _limit(int(schedule.time_limit[place])),
                str(spec.num_cpus),
                f"{spec.mem_per_node}Mn"
                if spec.mem_per_node > 0
                else f"{spec.mem_per_cpu}Mc"
                if spec.mem_per_cpu
                else "",
                _tres(spec),
                f"cpu={sum(counts)},node={len(counts)}" if counts else "",
                nodes or _NOWHERE,
                spec.constraint,
                spec.reservation,
            )
        )


def _limit(seconds: int) -> str:
    return wording.duration(seconds) if seconds > 0 else "Partition_Limit"


def _tres(spec: JobSpec) -> str:
    """Write what a job asked for but memory; GRES of a node count for all of its nodes."""
    gres = Counter[str]()
    for text, times in ((spec.gres, max(spec.min_nodes, 1)), (spec.gres_per_job, 1)):
        gres.update({name: count * times for name, count in gres_counts(text).items()})
    counts = {"cpu": spec.num_cpus, **{f"gres/{name}": count for name, count in sorted(gres.items())}}
    licenses = (one.partition(":") for one in spec.licenses.split(",") if one)
    counts |= {f"license/{name}": int(count or 1) for name, _, count in licenses}
    if spec.min_nodes:
        counts["node"] = spec.min_nodes
    return ",".join(f"{name}={count}" for name, count in counts.items())
