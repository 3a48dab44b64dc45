"""Slurm's variables in the environment of a step's tasks, beside those that its job gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.binding import cpu_binding_environment, memory_binding_environment
from rota.commands.gpu_binding import GpuBinding, read_gpu_binding
from rota.config.hostlist import fold
from rota.controller.run_environment import counts_text, visible_gpus
from rota.controller.steps.gres import NodeGres
from rota.model.gres import GPU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.commands.srun import StepRequest
    from rota.controller.steps.layout import Layout

#: Variables that have the text of an option.
_OF_OPTIONS = {
    "ntasks-per-core": "SLURM_NTASKS_PER_CORE",
    "ntasks-per-node": "SLURM_NTASKS_PER_NODE",
    "ntasks-per-socket": "SLURM_NTASKS_PER_SOCKET",
}
#: How much ``srun`` says by default, as programs read it in ``SRUN_DEBUG``.
_LEVEL = 3


def step_environment(
    step_id: int, request: StepRequest, layout: Layout, tasks_by_node: Sequence[int], umask: int
) -> dict[str, str]:
    """Give the variables that all tasks of a step have."""
    tasks = str(len(layout.node_of_task))
    per_node = counts_text(tasks_by_node)
    found = {
        "SLURM_DISTRIBUTION": request.distribution.named(layout.distribution),
        "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1",
        "SLURM_NNODES": str(len(layout.nodes)),
        "SLURM_NPROCS": tasks,
        "SLURM_NTASKS": tasks,
        "SLURM_PRIO_PROCESS": "0",
        "SLURM_SRUN_COMM_HOST": "127.0.0.1",
        "SLURM_STEPID": str(step_id),
        "SLURM_STEP_ID": str(step_id),
        "SLURM_STEP_NODELIST": fold(layout.nodes),
        "SLURM_STEP_NUM_NODES": str(len(layout.nodes)),
        "SLURM_STEP_NUM_TASKS": tasks,
        "SLURM_STEP_TASKS_PER_NODE": per_node,
        "SLURM_TASKS_PER_NODE": per_node,
        "SLURM_UMASK": f"{umask:04o}",
    }
    if request.distribution.plane_size:
        found["SLURM_DIST_PLANESIZE"] = str(request.distribution.plane_size)
    texts = request.texts
    found |= {variable: texts[option] for option, variable in _OF_OPTIONS.items() if texts.get(option)}
    if request.threads_per_core:
        found["SLURM_THREADS_PER_CORE"] = str(request.threads_per_core)
    found["SRUN_DEBUG"] = str(_LEVEL + ("verbose" in texts) - ("quiet" in texts))
    found |= cpu_binding_environment(texts, uses_threads=bool(request.threads_per_core))
    found |= memory_binding_environment(texts.get("mem-bind", ""))
    if "label" in texts:
        found["SLURM_LABELIO"] = "1"
    if request.cpus_per_task:
        found["SLURM_CPUS_PER_TASK"] = str(request.cpus_per_task)
    return found


def node_environment(index: int, layout: Layout, tasks: Sequence[int]) -> dict[str, str]:
    """Give the variables that the tasks on a node have, which have these numbers."""
    node = layout.nodes[index]
    gpus = layout.gres[index].number(GPU)
    return {
        **({"SLURM_GPUS_ON_NODE": str(gpus)} if gpus else {}),
        "SLURMD_NODENAME": node,
        "SLURM_CPUS_ON_NODE": str(layout.cpus[index]),
        "SLURM_GTIDS": ",".join(map(str, tasks)),
        "SLURM_NODEID": str(index),
        "SLURM_TOPOLOGY_ADDR": node,
    }


def gpu_environment(gpus: Sequence[int], binding: GpuBinding, local: int) -> dict[str, str]:
    """Give the variables about the GPUs that a task may use; nothing: it is not told of any.

    Args:
        gpus: Ids of the step's GPUs on the node of the task.
        binding: How tasks share them.
        local: Number of the task among those of the node.
    """
    own = binding.of_task(gpus, local) if gpus else None
    if own is None:
        return {}
    shown = ",".join(map(str, own))
    return {**visible_gpus(shown), "SLURM_STEP_GPUS": shown}


def gpu_binding(request: StepRequest) -> GpuBinding:
    """Say how tasks share GPUs: as was said, or so that each has those that were asked for it."""
    if text := request.texts.get("gpu-bind"):
        return read_gpu_binding(text)
    if request.ntasks_per_gpu:
        return GpuBinding("single", (request.ntasks_per_gpu,))
    of_task = NodeGres(request.gres.per_task, ()).number(GPU) if request.gres else 0
    return GpuBinding("per_task", (of_task,)) if of_task else GpuBinding("closest", ())
