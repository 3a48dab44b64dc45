"""The options of ``sbatch`` about GPUs, in combination.

GPUs for the job, a node and a task: two of these determine the number of nodes or of tasks. Tasks for each GPU
determine the number of tasks or, if no GPUs are asked for, that of GPUs. GPUs for a socket need the number of sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.commands.option_error import FAILURE, OptionError, WordedError
from rota.commands.option_values import no_gres
from rota.model.tres import gres_counts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def settle_gpus(fields: dict[str, Any]) -> None:
    """Replace the options by GRES, and derive numbers of nodes, tasks and processors from them."""
    check_tasks_of_gpus(fields)
    job, task, node = (fields.pop(name, "") for name in ("gpus", "gpus_per_task", "gpus_per_node"))
    gres = fields.get("gres", "")
    listed = ",".join(item for item in gres.split(",") if item.partition(":")[0] == "gpu")
    counts = [gres_counts(text) for text in (job, task, listed, node)]
    if len({len(count) > 1 for count in counts if count}) > 1:
        wrong = WordedError("Invalid GRES specification (with and without type identification)", status=FAILURE)
        raise OptionError("--gpus", "GPUs are asked for with and without a type", worded=wrong)
    if not listed:  # --gres overrides --gpus-per-node
        fields["gres"] = ",".join(filter(None, (node, gres)))
    fields["gres_per_job"], fields["gres_per_task"] = job, task
    per_job, per_task, per_node = (count.get("gpu", 0) for count in (*counts[:2], counts[2] or counts[3]))
    least, most = fields.get("min_nodes", 0), fields.get("max_nodes", 0)
    per_socket = _settle_sockets(fields, others=bool(per_job or per_task or per_node))
    if per_job and least > per_job:
        worded = no_gres("Failed to validate job spec, --gpus < -N")
        raise OptionError("--gpus", f"{per_job} GPUs are too few for {least} nodes: each gets one", worded=worded)
    if job and most:  # there is a GPU of each type on each node
        fields["max_nodes"] = max(min(most, *(gres_counts(item)["gpu"] for item in job.split(","))), least)
    if "ntasks_per_gpu" in fields:
        per_job = _settle_tasks_of_gpus(fields, per_job, per_node)
    if per_task:
        _settle_tasks(fields, per_job, per_task)
    if per_job and per_node:
        nodes = _ratio("--gpus", per_job, "--gpus-per-node", per_node)
        if nodes < least or nodes > (most or nodes):
            words = f"Based on --gpu and --gres=gpu/--gpus-per-node required nodes ({nodes}) doesn't fall between"
            worded = no_gres(
                f"Failed to validate job spec. {words} min_nodes ({least}) and max_nodes ({most}) boundaries."
            )
            own = f"{per_job} with {per_node} a node take {nodes} nodes, against --nodes"
            raise OptionError("--gpus", own, worded=worded)
        fields["min_nodes"] = fields["max_nodes"] = nodes
    if per_node and per_task:
        tasks = _ratio("--gpus-per-node", per_node, "--gpus-per-task", per_task)
        if fields.setdefault("ntasks_per_node", tasks) != tasks:
            raise OptionError("--ntasks-per-node", f"GPUs of node and task make it {tasks}")
    if "mem_per_gpu" in fields and not (per_job or per_task or per_node or per_socket):
        wanted = f"Requested mem_per_tres=gres:gpu:{fields['mem_per_gpu']} but did not request any GPU."
        raise OptionError("--mem-per-gpu", "no GPUs are asked for", worded=no_gres(wanted))
    if "cpus_per_gpu" in fields and "cpus_per_task" in fields:
        worded = no_gres("--cpus-per-gpu is mutually exclusive with --cpus-per-task")
        raise OptionError("--cpus-per-gpu", "--cpus-per-task is there too: give one of them", worded=worded)


def check_tasks_of_gpus(fields: Mapping[str, Any], of_variables: Collection[str] = ()) -> None:
    """Check that what excludes ``--ntasks-per-gpu`` is not there beside it.

    Args:
        fields: The fields of a request, or of a step.
        of_variables: Long names of the options that come from variables.

    Raises:
        OptionError: there are both.
    """
    for field in ("gpus_per_task", "ntasks_per_node") if "ntasks_per_gpu" in fields else ():
        if field in fields:
            option = field.replace("_", "-")
            name = f"SLURM_{field.upper()}" if option in of_variables else f"--{option}"
            words = f"fatal: {name} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
            own = f"{name} is there too: give one of them"
            raise OptionError("--ntasks-per-gpu", own, worded=WordedError(words, status=FAILURE))


def _settle_sockets(fields: dict[str, Any], *, others: bool) -> int:
    """Check the GPUs for each socket; give their number."""
    fields["gres_per_socket"] = text = fields.pop("gpus_per_socket", "")
    if not any(gres_counts(text).values()):
        return 0
    if "sockets_per_node" not in fields:
        missing = no_gres("--gpus-per-socket option requires --sockets-per-node specification")
        raise OptionError("--gpus-per-socket", "needs --sockets-per-node", worded=missing)
    if others or "ntasks_per_gpu" in fields:
        raise OptionError("--gpus-per-socket", "other options about GPUs are there too: give one of them")
    nodes = fields.get("min_nodes", 0)
    if nodes and fields.get("max_nodes", 0) == nodes and not fields.keys() & {"num_tasks", "ntasks_per_node"}:
        fields["num_tasks"] = nodes * fields["sockets_per_node"]  # one on each socket
    return gres_counts(text).get("gpu", 0)


def _settle_tasks(fields: dict[str, Any], per_job: int, per_task: int) -> None:
    """Determine the number of tasks that ``--gpus-per-task`` requires."""
    tasks, per_node = fields.get("num_tasks", 0), fields.get("ntasks_per_node", 0)
    least, most = fields.get("min_nodes", 0), fields.get("max_nodes", 0)
    if not tasks and (per_node or (least and most == least)):
        tasks = max(least, 1) * max(per_node, 1)
    if per_job:
        known, tasks = tasks, _ratio("--gpus", per_job, "--gpus-per-task", per_task)
        if known not in {0, tasks}:
            raise OptionError("--gpus-per-task", f"{per_job} GPUs are for {tasks} tasks, and there are {known}")
    elif not tasks:
        missing = "--gpus-per-task used without either --gpus or -n/--ntasks is not allowed."
        worded = no_gres(f"Failed to validate job spec. {missing}")
        raise OptionError("--gpus-per-task", "needs --ntasks, or --gpus", worded=worded)
    fields["num_tasks"] = tasks


def _settle_tasks_of_gpus(fields: dict[str, Any], per_job: int, per_node: int) -> int:
    """Determine the number of tasks from that of GPUs or, without GPUs, the reverse; give the GPUs of the whole job."""
    each, tasks, nodes = fields["ntasks_per_gpu"], fields.get("num_tasks", 0), fields.get("min_nodes", 0)
    if not (per_job or per_node):
        if not (tasks or fields.get("max_nodes")):
            missing = "--ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification"
            worded = no_gres(f"gres_job_state_validate: {missing}")
            raise OptionError("--ntasks-per-gpu", "needs GPUs, --ntasks or --nodes", worded=worded)
        per_job = _ratio("--ntasks", tasks, "--ntasks-per-gpu", each) if tasks else nodes
        fields["gres_per_job"] = f"gpu:{per_job}"
    fields["num_tasks"] = max(tasks, each * (per_job or per_node * max(nodes, 1)))
    return per_job


#: What Slurm calls a number of which another has to be a multiple.
_MULTIPLES = {"--gpus-per-node": "is not multiple of --gres=gpu/--gpus-per-node"}


def _ratio(option: str, total: int, other: str, part: int) -> int:
    if total % part:
        worded = no_gres(f"Failed to validate job spec, {option} {_MULTIPLES.get(other, f'not multiple of {other}')}")
        raise OptionError(option, f"{total} is no multiple of the {part} of {other}", worded=worded)
    return total // part
