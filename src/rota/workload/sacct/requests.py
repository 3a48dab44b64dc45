"""What jobs asked for, from the columns of ``sacct``.

Of processors a job asks for what it asked for or, if that was more, for what it was given: so a job that had whole
nodes asks for all of them, which ``sacct`` does not say. It asks for as many nodes as it did, and for no more than it
was given: whether it named their number (``--nodes``) is not told. If it had several, and as many as it asked for, its
processors are divided evenly among them if that can be. Memory is divided evenly among its processors, and GRES among
its nodes if that can be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rota.model import InputError, JobSpec
from rota.workload.checks import shown
from rota.workload.fields import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rota.workload.sacct.table import Table

T = TypeVar("T")
_MEMORY = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGTP]?)(?P<of>[cn]?)")
#: What Slurm adds to memory for each processor, MiB; older versions print it as if it were memory of a node.
_PER_CPU = 2**31
_COUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMG]?)")
_TIMES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_MIB = {"K": 2**-10, "": 1, "M": 1, "G": 2**10, "T": 2**20, "P": 2**30}
_LICENSE, _GRES = "license/", "gres/"
#: Columns of which a request is made: from the same texts comes the same request.
_OF_SIZE = (
    *("ReqTRES", "AllocTRES", "ReqCPUS", "AllocCPUS", "ReqNodes", "NNodes", "ReqMem", "memory of a node"),
    *("GPUs", "GRES of a node", "tasks on a node"),
)
_SIZES = ("ReqTRES", "AllocTRES", "ReqCPUS", "AllocCPUS", "ReqNodes", "NNodes")
_NAMED = ("User", "Account", "Partition", "QOS", "Constraints", "Reservation")


class Tres(NamedTuple):
    """Counts of a TRES text; 0: not in it."""

    cpus: int = 0
    nodes: int = 0
    #: MiB.
    memory: float = 0
    #: Counts by name, ``gpu`` or ``gpu:a100``.
    gres: tuple[tuple[str, int], ...] = ()
    licenses: str = ""


def read_tres(text: str) -> Tres:
    """Parse ``billing=8,cpu=8,gres/gpu=2,mem=800M,node=2``. Kinds of which a job asks nothing are passed over.

    Raises:
        ValueError: it has another form.
    """
    counts = dict(item.split("=", 1) for item in text.split(",") if item) if text else {}
    gres = {name.removeprefix(_GRES): _whole(count) for name, count in counts.items() if name.startswith(_GRES)}
    typed = {name.partition(":")[0] for name in gres if ":" in name}
    licenses = [(name.removeprefix(_LICENSE), count) for name, count in counts.items() if name.startswith(_LICENSE)]
    return Tres(
        _whole(counts.get("cpu", "0")),
        _whole(counts.get("node", "0")),
        read_memory(counts.get("mem", ""))[0],
        # A typed kind is counted a second time without its type.
        tuple((name, count) for name, count in gres.items() if count and name not in typed),
        ",".join(f"{name}:{count}" for name, count in licenses),
    )


def _whole(text: str) -> int:
    """Parse a count.

    Raises:
        ValueError: it is none.
    """
    number = int(text)
    if not 0 <= number <= LIMIT:
        raise ValueError(text)
    return number


def read_memory(text: str) -> tuple[float, str]:
    """Parse ``800M``, or as older versions write it ``4Gc`` and ``500Mn``: MiB, and ``c`` for a CPU, ``n`` for a node.

    Raises:
        ValueError: it has another form.
    """
    if not text:
        return 0, ""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    memory = float(match["number"]) * _MIB[match["unit"]]
    return (memory - _PER_CPU, "c") if memory >= _PER_CPU and match["of"] != "c" else (memory, match["of"])


def read_requests(table: Table) -> list[JobSpec]:
    """Make the requests, without times. A job of which a text cannot be read is left out.

    Raises:
        InputError: no column has a size.
    """
    if not table.columns.keys() & set(_SIZES):
        raise InputError(f"a size is missing: one of the columns {', '.join(_SIZES)}", path=table.path, line=1)
    made: dict[tuple[str, ...], JobSpec] = {}
    requests = []
    names = (*_NAMED, *_OF_SIZE)
    for row, key in enumerate(_texts(table, names)):
        spec = made.get(key)
        if spec is None:
            text = dict(zip(names, key, strict=True))
            try:
                spec = made[key] = _request(text)
            except _OddTextError as error:
                table.leave_out(row, error.column, error.problem)
                spec = _NOTHING
        requests.append(spec)
    return requests


def _texts(table: Table, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    nothing = ("",) * len(table.lines)
    return zip(*(table.columns.get(name, nothing) for name in names), strict=True)


class _OddTextError(Exception):
    """A text cannot be read."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(column, problem)
        self.column = column
        self.problem = problem


_NOTHING = JobSpec()


def _request(text: dict[str, str]) -> JobSpec:
    """Make the request of a job.

    Raises:
        _OddTextError: one of the texts cannot be read.
    """

    def count(column: str) -> int:
        return _parsed(column, text[column], _count)

    asked = _parsed("ReqTRES", text["ReqTRES"], read_tres)
    given = _parsed("AllocTRES", text["AllocTRES"], read_tres)
    least_nodes = asked.nodes or count("ReqNodes") or given.nodes or count("NNodes")
    cpus = max(asked.cpus or count("ReqCPUS"), given.cpus or count("AllocCPUS"), least_nodes)
    most_nodes = max(given.nodes or count("NNodes"), least_nodes if least_nodes > 1 else 0)
    by_node = count("tasks on a node")
    if 1 < most_nodes == least_nodes and cpus == (asked.cpus or count("ReqCPUS")) and cpus % most_nodes == 0:
        by_node = by_node or cpus // most_nodes
    gpus = count("GPUs")
    # A job with whole nodes is given their GRES too, without having asked.
    gres = (asked if text["ReqTRES"] else given).gres or ((("gpu", gpus),) if gpus else ())
    per_node = all(number % max(least_nodes, 1) == 0 for _, number in gres)
    texts = [f"{name}:{number // (max(least_nodes, 1) if per_node else 1)}" for name, number in gres]
    memory, of = _parsed("ReqMem", text["ReqMem"], read_memory)
    whole = asked.memory or (memory if not of else 0)
    for_node, _ = _parsed("memory of a node", text["memory of a node"], read_memory)
    if of == "n" and not whole:
        for_node = memory
    for_cpu = memory if of == "c" and not whole else whole / max(cpus, 1)
    return JobSpec(
        num_cpus=cpus,
        min_nodes=least_nodes,
        max_nodes=most_nodes,
        user=text["User"],
        account=text["Account"],
        partition=text["Partition"],
        qos=text["QOS"],
        constraint=text["Constraints"],
        reservation=text["Reservation"],
        num_tasks=cpus if by_node else 0,
        ntasks_per_node=by_node,
        mem_per_node=int(for_node),
        mem_per_cpu=0 if for_node else _floor(for_cpu),
        gres=text["GRES of a node"] or (",".join(texts) if per_node else ""),
        gres_per_job="" if per_node else ",".join(texts),
        licenses=asked.licenses,
    )


def _parsed(column: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except ValueError:
        raise _OddTextError(column, f"{shown(text)} cannot be read: {_LIKE[parse]}") from None


def _floor(memory: float) -> int:
    """Round memory down, or all of a node's would be more than it has; but something stays something."""
    return max(int(memory), int(memory > 0))


def _count(text: str) -> int:
    if not text:
        return 0
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    number = float(match["number"]) * _TIMES[match["unit"]]
    if number > LIMIT or (not match["unit"] and not number.is_integer()):
        raise ValueError(text)
    return round(number)


_LIKE: dict[Callable[[str], object], str] = {
    read_tres: "write it like cpu=8,mem=800M,node=2",
    read_memory: "write it like 800M",
    _count: "write a whole number",
}
