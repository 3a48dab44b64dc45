"""Reading gres.conf: which GPUs of a node are near which of its cores.

As in Slurm, slurm.conf says which GPUs a node has. For each type in turn, the lines of gres.conf with that type are
taken in their order until there are enough; where slurm.conf gives no type, lines of all types are. GPUs without
``Cores`` are near all cores. Of other GRES only the number matters, which slurm.conf says too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand, fold
from rota.config.lines import read_lines
from rota.config.options import did_you_mean
from rota.config.values import Record
from rota.model.gres import GPU, near_cores, parse_cores
from rota.model.tres import gres_counts, read_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rota.config.lines import Line
    from rota.model import Node

_KEYS = {
    key.lower(): key
    for key in (
        *("AutoDetect", "Count", "Cores", "CPUs", "File", "Files", "Flags", "Link", "Links", "MultipleFiles"),
        *("Name", "NodeName", "Type"),
    )
}
#: Values of ``AutoDetect`` by which nothing is asked of the machine.
_OFF = frozenset({"", "off", "none"})


class _Gpus(NamedTuple):
    """GPUs of a line."""

    #: In lower case; empty: none.
    type_: str
    number: int
    cores: tuple[int, ...]
    line: Line


def read_gres_conf(path: Path, nodes: Sequence[Node], types: Iterable[str], warnings: list[str]) -> tuple[Node, ...]:
    """Give the nodes with the cores near their GPUs.

    Args:
        path: The file, gres.conf.
        nodes: The cluster's nodes.
        types: Names of GRES that the cluster has, ``GresTypes``; without any, all are known.
        warnings: Is told of what is not there, or is not modelled.

    Raises:
        InputError: the file cannot be read, a key does not exist or is used twice, or a value cannot be used. The
            message names file, line and key.
    """
    known = frozenset(name.strip().lower() for name in types)
    found: dict[str, list[_Gpus]] = {node.name: [] for node in nodes}
    told: set[str] = set()
    for line in read_lines(path):
        record = _record(line)
        names = expand(record.values["nodename"], line, "NodeName") if "nodename" in record.values else [*found]
        if unknown := [name for name in names if name not in found]:
            warnings.append(record.warning("nodename", f"there are no nodes {fold(unknown)}"))
        if "autodetect" not in told and record.values.get("autodetect", "").lower() not in _OFF:
            told.add("autodetect")
            what = "GPUs are near the cores that Cores says, and else near all"
            warnings.append(record.warning("autodetect", f"is not modelled: {what}"))
        name = record.values.get("name", "").lower()
        if name and known and name not in known:
            warnings.append(record.warning("name", f"GresTypes does not name {name}; the line is not heeded"))
        elif name == GPU:
            one = _gpus(record)
            for each in names:
                found.get(each, []).append(one)
        elif name and "cores" in record.values and name not in told:
            told.add(name)
            warnings.append(record.warning("cores", f"is modelled of GPUs only, not of {name}"))
    return tuple(_merged(node, found[node.name], warnings) for node in nodes)


def _record(line: Line) -> Record:
    seen: set[str] = set()
    for key, _ in line.pairs:
        if key.lower() not in _KEYS:
            raise line.error(f"no key of gres.conf{did_you_mean(key, _KEYS.values())}", key)
        if key.lower() in seen:
            raise line.error("set more than once", key)
        seen.add(key.lower())
    if not seen & {"name", "autodetect"}:
        raise line.error("has no Name", line.pairs[0].key)
    return Record(line, {})


def _gpus(record: Record) -> _Gpus:
    """Read a line about GPUs."""
    files = 0
    for key in ("file", "files"):
        if text := record.values.get(key):
            files = len(expand(text.replace("/", "."), record.line, _KEYS[key]))
    if "multiplefiles" in record.values:
        if files:
            raise record.error("multiplefiles", "File is there too: give one of them")
        files = 1
    count = files or 1
    if text := record.values.get("count"):
        try:
            count = read_count(text)
        except ValueError:
            count = 0
        if not count or count > 2**16 or (files and count != files):
            raise record.error("count", f"{text!r} is not the number of GPUs" + (f", {files}" if files else ""))
    cores: tuple[int, ...] = ()
    for key in ("cpus", "cores"):
        if key in record.values:
            try:
                cores = parse_cores(record.values[key])
            except ValueError as error:
                raise record.error(key, str(error)) from None
    return _Gpus(record.values.get("type", "").lower(), count, cores, record.line)


def _merged(node: Node, lines: list[_Gpus], warnings: list[str]) -> Node:
    """Give a node with the cores near its GPUs."""
    if not any(one.cores for one in lines):
        return node
    left = [one._replace(cores=_there(node, one, warnings)) for one in lines]
    gres: list[str] = []
    for item in node.gres:
        counts = gres_counts(item)
        gres += [item] if not counts.get(GPU) else _near(max(counts, key=len), counts[GPU], left)
    return node._replace(gres=tuple(gres))


def _there(node: Node, one: _Gpus, warnings: list[str]) -> tuple[int, ...]:
    """Give the cores of a line; none, if the node does not have all of them, as in Slurm."""
    count = node.sockets * node.cores_per_socket
    if one.cores and one.cores[-1] >= count:
        what = f"node {node.name} has cores 0 to {count - 1} only: these GPUs are near all"
        warnings.append(one.line.warning(what, "Cores"))
        return ()
    return one.cores


def _near(kind: str, count: int, left: list[_Gpus]) -> Iterator[str]:
    """Give the GPUs of one type, with the cores near them; lines are used up."""
    type_ = kind.partition(":")[2].lower()
    runs: list[tuple[int, tuple[int, ...]]] = []
    for place, one in enumerate(left):
        taken = min(one.number, count) if not type_ or one.type_ == type_ else 0
        if not taken:
            continue
        left[place] = one._replace(number=one.number - taken)
        count -= taken
        if runs and runs[-1][1] == one.cores:
            runs[-1] = (runs[-1][0] + taken, one.cores)
        else:
            runs.append((taken, one.cores))
    if count:
        runs.append((count, ()))
    return (near_cores(kind, number, cores) for number, cores in runs)
