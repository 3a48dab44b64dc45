"""Command lines of ``sbatch`` in event files, parsed into requests.

Combinations of options mean what they mean in Slurm 22.05: there are no more nodes than tasks, nodes of ``--nodelist``
are included in the number of nodes, GPUs for two of job, node and task determine the number of nodes or tasks, and
``--mem`` and ``--mem-per-cpu`` exclude each other. If no number of tasks is given, it follows from the nodes and the
tasks on each.
"""

from __future__ import annotations

import shlex
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.gpus import settle_gpus
from rota.commands.option_error import FAILURE, OptionError, Problem, WordedError
from rota.commands.option_values import ALL_MEMORY, MOST
from rota.commands.sbatch_options import ALIASES, OF_VARIABLES, OPTIONS, SHORT, Flag, Option
from rota.model import Errno, JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Fields about the sockets, cores and threads of nodes.
_SHAPE = {"extra_node_info", "hint", "sockets_per_node", "cores_per_socket", "threads_per_core"}
#: Fields about GPUs, which are evaluated together.
_GPUS = {"gpus", "gpus_per_node", "gpus_per_socket", "gpus_per_task", "cpus_per_gpu", "ntasks_per_gpu", "mem_per_gpu"}
_MEMORY = {"mem_per_gpu": "--mem-per-gpu", "mem_per_cpu": "--mem-per-cpu", "mem_per_node": "--mem"}
#: The text of an option without a value that is given more than once.
AGAIN = "again"
#: Fields that determine the number of tasks.
_TASKS = {"num_tasks", "ntasks_per_node"}

__all__ = ["OptionError", "Options", "options_of", "parse_options", "parse_request", "request", "split_words"]


class Options(NamedTuple):
    """The options of a command line."""

    #: Fields of the request; some are evaluated together by `request`.
    fields: dict[str, Any]
    #: The texts of all options, by long name; empty: the option has none. `AGAIN`: one that has none was repeated.
    texts: dict[str, str]
    #: The script and its arguments.
    rest: list[str]


def split_words(line: str) -> list[str]:
    """Split a command line as a shell does.

    Raises:
        ValueError: a quote is not closed.
    """
    return shlex.split(line) if "'" in line or '"' in line or "\\" in line else line.split()


def parse_request(words: Sequence[str]) -> JobSpec:
    """Parse a command line without the word ``sbatch``: options, then the script, which is ignored.

    Returns:
        The request. Its ``begin_time`` and ``deadline`` are seconds after submission, 0 if not given.

    Raises:
        OptionError: an option is unknown, has no value or a wrong one, or contradicts another.
    """
    return request(parse_options(words).fields)


def request(fields: dict[str, Any]) -> JobSpec:
    """Make a request of the fields that options have set.

    Raises:
        OptionError: options contradict each other.
    """
    fields = {name: value for name, value in fields.items() if name}
    if sharing := fields.pop("sharing", ""):
        fields[sharing] = True
    if fields.pop("arbitrary", False):
        _settle_arbitrary(fields)
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


def parse_options(
    words: Sequence[str], table: Mapping[str, Option | Flag] = OPTIONS, letters: Mapping[str, str] = SHORT
) -> Options:
    """Parse options up to the first word that is none. Long names may be abbreviated.

    Args:
        words: The words after the command.
        table: The options by long name.
        letters: The long names of options by their letters.

    Raises:
        OptionError: an option is unknown or ambiguous, or has no value or a wrong one.
    """
    fields: dict[str, Any] = {}
    texts: dict[str, str] = {}
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        if not word.startswith("-") or word == "-":
            queue.append(word)  # the script and its arguments
            break
        if word == "--":
            break
        long = word.startswith("--")
        if long:
            given, equals, value = word[2:].partition("=")
            name = _full_name(given, table, word)
            shown, attached = f"--{name}", bool(equals)
        else:
            name, value, shown, attached = letters.get(word[1], word[1]), word[2:], word[:2], len(word) > 2
        option = table.get(name)
        if option is None:
            raise OptionError(word if long else shown, "no option that rota knows", Problem.UNKNOWN)
        if isinstance(option, Flag):
            if attached and long:
                raise OptionError(shown, "takes no value", Problem.UNWANTED_VALUE)
            if attached:  # short options can be combined: -Hn2
                queue.append(f"-{value}")
            texts[name] = AGAIN if name in texts else ""
            fields[option.target] = option.value
            continue
        if not attached and option.needed:
            if not queue:
                raise OptionError(shown, "has no value", Problem.NO_VALUE)
            value = queue.pop()
        try:
            fields[option.target] = read = option.read(value)
        except WordedError as error:
            raise OptionError(shown, str(error), name=name, worded=error) from None
        except ValueError as error:
            raise OptionError(shown, str(error), name=name) from None
        texts[ALIASES.get(name, name)] = value
        if isinstance(read, dict):
            fields.update(read)
    return Options(fields, texts, queue[::-1])


def options_of(
    environment: Mapping[str, str], variables: Mapping[str, str], table: Mapping[str, Option | Flag]
) -> Iterable[Options]:
    """Give the options that variables set; those that are flags are set by any value.

    Raises:
        OptionError: a value cannot be used.
    """
    table = {**table, **OF_VARIABLES}
    for variable, option in variables.items():
        value = environment.get(variable)
        if value is not None:
            takes = isinstance(table[option], Option)
            yield parse_options([f"--{option}={value}" if takes else f"--{option}"], table)


def _full_name(given: str, table: Mapping[str, Option | Flag], word: str) -> str:
    """Give the long name that an abbreviation stands for; itself if it stands for none.

    Raises:
        OptionError: it could be several.
    """
    if given in table or word == "--":
        return given
    found = [name for name in table if name.startswith(given)]
    if len({ALIASES.get(name, name) for name in found}) > 1:
        raise OptionError(word, " ".join(f"'--{name}'" for name in found), Problem.AMBIGUOUS)
    return found[0] if found else given


# ---- combinations of options ------------------------------------------------------------------------------------


def _settle_arbitrary(fields: dict[str, Any]) -> None:
    """Determine the number of tasks that are on nodes that are named: one on each if it is not given."""
    if not fields.get("required_nodes"):
        why = "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"
        raise OptionError("--distribution", why, worded=WordedError(why, status=FAILURE))
    if not _TASKS & fields.keys():
        fields["num_tasks"] = len(fields["required_nodes"])


def _settle_nodes(fields: dict[str, Any]) -> None:
    """Determine the number of nodes: it includes those of ``--nodelist``, and no node is without a task."""
    if not fields.get("required_nodes", "none") and "nodes" not in fields:
        worded = WordedError(errno=Errno.INVALID_NODE_COUNT, status=FAILURE)
        raise OptionError("--nodelist", "names no nodes", name="nodelist", worded=worded)
    least, most = fields.pop("nodes", (0, 0))
    named: tuple[str, ...] = fields.pop("required_nodes", ())
    excluded: tuple[str, ...] = fields.pop("excluded_nodes", ())
    if most and most < len(named):
        worded = WordedError(f"invalid number of nodes (-N {len(named)}-{most})", status=FAILURE)
        raise OptionError("--nodelist", f"{len(named)} nodes are named, and --nodes allows {most}", worded=worded)
    least = max(least, len(named))
    tasks = fields.get("num_tasks", 0)
    if tasks and least > tasks:
        least = most = tasks
        named = named[:tasks]
    elif tasks:
        most = min(most, tasks)
    if both := set(named).intersection(excluded):
        own = f"{min(both)} is in --nodelist too: take it out of one"
        worded = WordedError(errno=Errno.INVALID_NODE_NAME, status=FAILURE, own=own)
        raise OptionError("--exclude", own, worded=worded)
    fields["min_nodes"], fields["max_nodes"] = least, most
    fields["required_nodes"], fields["excluded_nodes"] = ",".join(named), ",".join(excluded)


def _settle_shape(fields: dict[str, Any]) -> None:
    """Determine the number of tasks from sockets, cores and threads if it is not given: one for each core named."""
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
        worded = WordedError("fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", status=FAILURE)
        raise OptionError(first, f"{second} is there too: give one of them", worded=worded)
    if fields.get("mem_per_cpu") == ALL_MEMORY:
        fields["mem_per_node"] = fields.pop("mem_per_cpu")
    elif fields.get("mem_per_gpu") == ALL_MEMORY:
        del fields["mem_per_gpu"]


def _check_times(fields: dict[str, Any]) -> None:
    limit, shortest = fields.get("time_limit"), fields.get("time_min")
    if shortest and limit and shortest > limit:
        worded = WordedError(errno=Errno.INVALID_TIME_MIN_LIMIT, status=FAILURE)
        raise OptionError("--time-min", "is more than --time", worded=worded)
    if deadline := fields.get("deadline", 0):
        if fields.get("begin_time", 0) > deadline:
            worded = WordedError("Incompatible begin and deadline time specification", status=FAILURE)
            raise OptionError("--deadline", "is before --begin", worded=worded)
        if shortest and shortest > deadline:
            raise OptionError("--time-min", "is more than there is until --deadline")


def _check_plane(fields: dict[str, Any]) -> None:
    size, nodes = fields.pop("plane_size"), fields.get("min_nodes", 0)
    tasks = fields.get("num_tasks", nodes * fields.get("ntasks_per_node", 1))
    if size and nodes > 1 and tasks <= size * (nodes - 1):
        words = "Too few processes for the requested {plane,node} distribution"
        own = f"{words}: {tasks} tasks in planes of {size} leave some of {nodes} nodes without"
        raise OptionError("--distribution", own, worded=WordedError(words, status=FAILURE))


def _settle_processors(fields: dict[str, Any]) -> JobSpec:
    """Determine the number of processors, in all and on each node, from tasks and nodes."""
    tasks, per_node = fields.get("num_tasks", 0), fields.get("ntasks_per_node", 0)
    cpus, nodes = fields.get("cpus_per_task", 1), fields.get("min_nodes", 0)
    most = fields.get("max_nodes", 0)
    if tasks and per_node and most and (needed := -(-tasks // per_node)) > most:  # the largest number on a node
        own = f"{tasks} tasks need {needed} nodes, and --nodes allows {most}"
        worded = WordedError(errno=Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE, status=FAILURE, own=own)
        raise OptionError("--ntasks-per-node", own, worded=worded)
    each = nodes if per_node or most in {0, nodes} else 1  # as in Slurm, a range of nodes is for one task at least
    num_cpus = (tasks or max(each, 1) * max(per_node, 1)) * cpus
    if shares := fields.get("overcommit", False):
        num_cpus = max(nodes, 1)
    if num_cpus > MOST:
        raise OptionError("--ntasks", f"{num_cpus} CPUs are too many")
    on_each = cpus * per_node if per_node and tasks != 1 and not shares else cpus
    on_each = max(on_each, fields.get("min_cpus_per_node", 0))
    fields["min_cpus_per_node"] = on_each if on_each > 1 else 0
    return JobSpec(num_cpus=num_cpus, **fields)
