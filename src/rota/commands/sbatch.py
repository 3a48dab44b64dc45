"""Command lines of ``sbatch``, as they stand in event files: what their options ask for, each and together.

Where options meet, it is as with Slurm 22.05: nodes are no more than tasks, those of ``--nodelist`` are counted, of
GPUs for job, node and task two that are given tell the number of nodes or of tasks, ``--mem`` and ``--mem-per-cpu``
exclude each other. A number of tasks follows from nodes and tasks on each where none is given.
"""

from __future__ import annotations

import shlex
from math import prod
from typing import TYPE_CHECKING, Any

from rota.commands.gpus import settle_gpus
from rota.commands.option_error import OptionError
from rota.commands.sbatch_options import ALL_MEMORY, MOST, OPTIONS, SHORT, Flag
from rota.model import JobSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What says how the nodes of a job are built.
_SHAPE = {"extra_node_info", "hint", "sockets_per_node", "cores_per_socket", "threads_per_core"}
#: What says something of GPUs, and is to be worked out together.
_GPUS = {"gpus", "gpus_per_node", "gpus_per_task", "cpus_per_gpu", "ntasks_per_gpu", "mem_per_gpu"}
_MEMORY = {"mem_per_gpu": "--mem-per-gpu", "mem_per_cpu": "--mem-per-cpu", "mem_per_node": "--mem"}
#: What says how many tasks there are.
_TASKS = {"num_tasks", "ntasks_per_node"}

__all__ = ["OptionError", "parse_request", "split_words"]


def split_words(line: str) -> list[str]:
    """Split a command line as a shell does.

    Raises:
        ValueError: a quote is not closed.
    """
    return shlex.split(line) if "'" in line or '"' in line or "\\" in line else line.split()


def parse_request(words: Sequence[str]) -> JobSpec:
    """Make the request of a command line without ``sbatch``: options, then the script, which is not looked at.

    Returns:
        The request; its ``begin_time`` and ``deadline`` are seconds after submission, 0 where there is none.

    Raises:
        OptionError: an option is not known, has no value or one that cannot be used, or goes against another.
    """
    fields = _fields(words)
    fields.pop("", None)
    if sharing := fields.pop("sharing", ""):
        fields[sharing] = True
    if "required_nodes" in fields or "excluded_nodes" in fields or "nodes" in fields:
        _settle_nodes(fields)
    if _SHAPE & fields.keys():
        _settle_shape(fields)
    if "mem_per_cpu" in fields or "mem_per_gpu" in fields:
        _settle_memory(fields)
    if _GPUS & fields.keys():
        settle_gpus(fields)
    if "time_min" in fields or "deadline" in fields:
        _check_times(fields)
    if "plane_size" in fields:
        _check_plane(fields)
    return _settle_processors(fields)


def _fields(words: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        if not word.startswith("-") or word == "-":
            break  # the script, and then its own arguments
        long = word.startswith("--")
        if long:
            name, equals, value = word[2:].partition("=")
            shown, attached = f"--{name}", bool(equals)
        else:
            name, value, shown, attached = SHORT.get(word[1], word[1]), word[2:], word[:2], len(word) > 2
        option = OPTIONS.get(name)
        if option is None:
            raise OptionError(shown, "no option of sbatch that rota knows")
        if isinstance(option, Flag) or not (long or option.needed):
            if attached and long:
                raise OptionError(shown, "takes no value")
            if attached:  # letters may follow each other: -Hn2
                queue.append(f"-{value}")
            fields[option.target] = option.value if isinstance(option, Flag) else option.read("")
            continue
        if not attached and option.needed:
            if not queue:
                raise OptionError(shown, "has no value")
            value = queue.pop()
        try:
            fields[option.target] = read = option.read(value)
        except ValueError as error:
            raise OptionError(shown, str(error)) from None
        if isinstance(read, dict):
            fields.update(read)
    return fields


# ---- what options say together ----------------------------------------------------------------------------------


def _settle_nodes(fields: dict[str, Any]) -> None:
    """Work out the number of nodes: those named are part of it, and no node is without a task."""
    least, most = fields.pop("nodes", (0, 0))
    named: tuple[str, ...] = fields.pop("required_nodes", ())
    excluded: tuple[str, ...] = fields.pop("excluded_nodes", ())
    if most and most < len(named):
        raise OptionError("--nodelist", f"{len(named)} nodes are named, and --nodes allows {most}")
    least = max(least, len(named))
    tasks = fields.get("num_tasks", 0)
    if tasks and least > tasks:
        least = most = tasks
        named = named[:tasks]
    elif tasks:
        most = min(most, tasks)
    if both := set(named).intersection(excluded):
        raise OptionError("--exclude", f"{min(both)} is in --nodelist too: take it out of one")
    fields["min_nodes"], fields["max_nodes"] = least, most
    fields["required_nodes"], fields["excluded_nodes"] = ",".join(named), ",".join(excluded)


def _settle_shape(fields: dict[str, Any]) -> None:
    """Work out the number of tasks where nodes are described, and not how many tasks: each core named has one."""
    info, hint = fields.pop("extra_node_info", None), fields.pop("hint", None)
    if hint is not None and info is None and not {"threads_per_core", "ntasks_per_core"} & fields.keys():
        fields |= {"sockets_per_node": 0, "cores_per_socket": 0, "threads_per_core": hint}
    nodes, most = fields.get("min_nodes", 0), fields.get("max_nodes", 0)
    if (nodes or info is not None) and most in {0, nodes} and not _TASKS & fields.keys():
        shape = [fields.get(name, 0) for name in ("sockets_per_node", "cores_per_socket", "threads_per_core")]
        if (each := prod(filter(None, shape))) > 1:
            fields["num_tasks"] = max(nodes, 1) * each


def _settle_memory(fields: dict[str, Any]) -> None:
    given = [name for name in ("mem_per_gpu", "mem_per_cpu", "mem_per_node") if name in fields]
    if len(given) > 1:
        first, second = (_MEMORY[name] for name in given[:2])
        raise OptionError(first, f"{second} is there too: give one of them")
    if fields.get("mem_per_cpu") == ALL_MEMORY:
        fields["mem_per_node"] = fields.pop("mem_per_cpu")
    elif fields.get("mem_per_gpu") == ALL_MEMORY:
        del fields["mem_per_gpu"]


def _check_times(fields: dict[str, Any]) -> None:
    limit, shortest = fields.get("time_limit"), fields.get("time_min")
    if shortest and limit and shortest > limit:
        raise OptionError("--time-min", "is more than --time")
    if deadline := fields.get("deadline", 0):
        if fields.get("begin_time", 0) > deadline:
            raise OptionError("--deadline", "is before --begin")
        if shortest and shortest > deadline:
            raise OptionError("--time-min", "is more than there is until --deadline")


def _check_plane(fields: dict[str, Any]) -> None:
    size, nodes = fields.pop("plane_size"), fields.get("min_nodes", 0)
    tasks = fields.get("num_tasks", 0)
    if tasks and tasks <= size * (nodes - 1):
        raise OptionError("--distribution", f"{tasks} tasks in planes of {size} leave some of {nodes} nodes without")


def _settle_processors(fields: dict[str, Any]) -> JobSpec:
    """Work out processors, in all and on a node, from tasks and nodes."""
    tasks, per_node = fields.get("num_tasks", 0), fields.get("ntasks_per_node", 0)
    cpus, nodes = fields.get("cpus_per_task", 1), fields.get("min_nodes", 0)
    if tasks and per_node:  # then it is the most that a node gets
        most = fields.get("max_nodes", 0)
        nodes = fields["min_nodes"] = max(nodes, -(-tasks // per_node))
        if most and nodes > most:
            raise OptionError("--ntasks-per-node", f"{tasks} tasks need {nodes} nodes, and --nodes allows {most}")
    num_cpus = (tasks or max(nodes, 1) * max(per_node, 1)) * cpus
    num_cpus = max(num_cpus, fields.pop("least_cpus", 0))
    if num_cpus > MOST:
        raise OptionError("--ntasks", f"{num_cpus} CPUs are too many")
    on_each = cpus * per_node if per_node and tasks != 1 else cpus
    on_each = max(on_each, fields.get("min_cpus_per_node", 0))
    fields["min_cpus_per_node"] = on_each if on_each > 1 else 0
    return JobSpec(num_cpus=num_cpus, **fields)
