"""Slurm's variables in the environment of a batch script, and patterns in the names of its files."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.model.array import MOST_TASKS, parse_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.allocation import Allocation
    from rota.controller.run import Run
    from rota.model.lines import JobLine

_PATTERN = re.compile(r"%(?P<width>\d*)(?P<letter>[%AajJNnstux])")
_WIDEST = 10
#: Variables that make programs use a job's GPUs only.
VISIBLE = ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
#: A variable of ``srun`` whose job was made for it.
OWN_JOB = "ROTA_OWN_JOB"
#: Variables of an allocation.
_OF_ALLOCATIONS = [
    "SLURM_CLUSTER_NAME",
    "SLURM_CONF",
    "SLURM_JOBID",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_NNODES",
    "SLURM_NODELIST",
    "SLURM_NODE_ALIASES",
    "SLURM_TASKS_PER_NODE",
]


def run_environment(run: Run, cluster: str, conf: str) -> dict[str, str]:
    """Give the variables that depend on the allocation.

    Args:
        run: The run.
        cluster: Name of the cluster.
        conf: Path of slurm.conf; empty: there is none.
    """
    job, first = run.job, run.allocation[0]
    nodes = fold(job.nodes)
    cpus = [one.cpus for one in run.allocation]
    tasks = tasks_per_node(run)
    found = {
        "SLURMD_NODENAME": first.node,
        "SLURM_CLUSTER_NAME": cluster,
        "SLURM_CPUS_ON_NODE": str(first.cpus),
        "SLURM_GTIDS": "0",
        "SLURM_JOBID": str(job.job_id),
        "SLURM_JOB_ACCOUNT": job.account,
        "SLURM_JOB_CPUS_PER_NODE": counts_text(cpus),
        "SLURM_JOB_GID": str(job.group_id),
        "SLURM_JOB_ID": str(job.job_id),
        "SLURM_JOB_NAME": job.name,
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_JOB_NUM_NODES": str(len(job.nodes)),
        "SLURM_JOB_PARTITION": job.partition,
        "SLURM_JOB_QOS": job.qos,
        "SLURM_JOB_UID": str(job.user_id),
        "SLURM_JOB_USER": job.user,
        "SLURM_LOCALID": "0",
        "SLURM_NNODES": str(len(job.nodes)),
        "SLURM_NODEID": "0",
        "SLURM_NODELIST": nodes,
        "SLURM_NODE_ALIASES": "(null)",
        "SLURM_PROCID": "0",
        "SLURM_TASKS_PER_NODE": counts_text(tasks),
        "SLURM_TOPOLOGY_ADDR": first.node,
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_WORKING_CLUSTER": f"{cluster}:localhost:0:0:0",
    }
    if job.request.ntasks_per_node and not job.request.num_tasks:
        found |= dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), str(len(job.nodes) * job.request.ntasks_per_node))
    if conf:
        found["SLURM_CONF"] = conf
    if job.request.reservation:
        found["SLURM_JOB_RESERVATION"] = job.request.reservation
    if job.restart_count:
        found["SLURM_RESTART_COUNT"] = str(job.restart_count)
    if run.mem_per_cpu:
        found["SLURM_MEM_PER_CPU"] = str(run.mem_per_cpu)
    if gpus := run.gpus_on_first_node:
        shown = ",".join(map(str, gpus))
        found |= visible_gpus(shown)
        found |= {"SLURM_JOB_GPUS": shown, "SLURM_GPUS_ON_NODE": str(len(gpus))}
    return found | array_environment(job)


def allocation_environment(run: Run, wanted: Allocation, cluster: str, conf: str) -> dict[str, str]:
    """Give the variables of ``salloc``'s command, by which ``srun`` finds the allocation; see `run_environment`."""
    spec, details = wanted.spec, wanted.submission.details
    every = run_environment(run, cluster, conf)
    found = {name: every[name] for name in _OF_ALLOCATIONS if name in every}
    found |= {"SLURM_SUBMIT_DIR": details.work_dir, "SLURM_SUBMIT_HOST": details.submit_host}
    if spec.num_tasks or spec.ntasks_per_node:
        tasks = str(len(run.allocation) * spec.ntasks_per_node or spec.num_tasks)
        found |= {"SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks}
    if spec.ntasks_per_node:
        found["SLURM_NTASKS_PER_NODE"] = str(spec.ntasks_per_node)
    if spec.overcommit:
        found["SLURM_OVERCOMMIT"] = "1"
    if "cpus-per-task" in wanted.texts:
        found["SLURM_CPUS_PER_TASK"] = str(spec.cpus_per_task)
    return found


def visible_gpus(shown: str) -> dict[str, str]:
    """Give the variables that make programs use some GPUs only."""
    return dict.fromkeys(VISIBLE, shown)


def array_environment(job: JobLine) -> dict[str, str]:
    """Give the variables that say which task of a job array a job is; none, if it is no task."""
    if job.array_job_id is None:
        return {}
    own = {"SLURM_ARRAY_JOB_ID": str(job.array_job_id), "SLURM_ARRAY_TASK_ID": job.array_task}
    return own | _of_all_tasks(job.request.array)


@lru_cache(maxsize=64)
def _of_all_tasks(array: str) -> dict[str, str]:
    """Give the variables that all tasks of an array have; they are made once, not for each of its many tasks."""
    ids = parse_array(array, MOST_TASKS).ids
    return {
        "SLURM_ARRAY_TASK_COUNT": str(len(ids)),
        "SLURM_ARRAY_TASK_MIN": str(ids[0]),
        "SLURM_ARRAY_TASK_MAX": str(ids[-1]),
        "SLURM_ARRAY_TASK_STEP": str(ids[1] - ids[0] if len(ids) > 1 else 1),
    }


def tasks_per_node(run: Run) -> list[int]:
    """Count the tasks on each node: as many as were asked for, one node after the other, else as many as fit."""
    request, counts = run.job.request, []
    if request.ntasks_per_node:
        return [request.ntasks_per_node] * len(run.allocation)
    if request.overcommit and request.num_tasks:
        each, more = divmod(request.num_tasks, len(run.allocation))
        return [each + (place < more) for place in range(len(run.allocation))]
    left = request.num_tasks
    later = len(run.allocation)
    for one in run.allocation:
        later -= 1
        room = max(one.cpus // max(request.cpus_per_task, 1), 1)
        count = min(room, max(left - later, 1)) if request.num_tasks else room
        left -= count
        counts.append(count)
    return counts


def counts_text(counts: Sequence[int]) -> str:
    """Write counts by node as Slurm does: ``4(x2),2``."""
    parts = []
    for count, same in groupby(counts):
        number = len(list(same))
        parts.append(f"{count}(x{number})" if number > 1 else str(count))
    return ",".join(parts)


def expand(path: str, job: JobLine, node: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """Replace the patterns in the name of a file: ``%j %A %a %N %u %x`` and so on; ``%4j`` is padded with zeros.

    A backslash in the name switches patterns off.

    Args:
        path: The name.
        job: The job.
        node: The node.
        more: Values of further letters, or of other ones than a batch script has.
    """
    if "\\" in path:
        return path.replace("\\", "")
    array_job_id = job.array_job_id or job.job_id
    texts: Mapping[str, str] = {
        "A": str(array_job_id),
        "a": job.array_task if job.array_task.isdecimal() else "4294967294",
        "J": str(job.job_id),
        "j": str(job.job_id),
        "N": node,
        "n": "0",
        "s": "batch",
        "t": "0",
        "u": job.user,
        "x": job.name,
        "%": "%",
        **more,
    }

    def replace(match: re.Match[str]) -> str:
        text = texts[match["letter"]]
        return text.zfill(min(int(match["width"] or 0), _WIDEST)) if text.isdigit() else text

    return _PATTERN.sub(replace, path)
