"""GPUs of a node, and the cores that are near them.

Among the GRES of a node, GPUs near some of its cores say which, as ``gpu:a100:2(C:0-3+8)``, with ``+`` for a comma,
which ends an item. Users see what Slurm shows, the sockets: ``gpu:a100:2(S:0)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.model.bounds import count_numbers, quoted
from rota.model.numbers import fold_numbers
from rota.model.tres import gres_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rota.model.node import Node

GPU = "gpu"
_CORES = re.compile(r"\(C:([\d+-]+)\)$")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
#: Cores of a list, and the largest number of one.
_MOST_CORES = 2**16


class Gpus(NamedTuple):
    """GPUs of a node that follow each other."""

    #: ``gpu``, ``gpu:a100``.
    kind: str
    number: int
    #: Numbers of the cores near them; empty: all are.
    cores: tuple[int, ...]


def gpus_of(gres: Iterable[str]) -> Iterator[Gpus]:
    """Give the GPUs among the GRES of a node, in their order."""
    for item in gres:
        counts = gres_counts(item)
        if counts.get(GPU):
            found = _CORES.search(item)
            cores = parse_cores(found[1].replace("+", ",")) if found else ()
            yield Gpus(max(counts, key=len), counts[GPU], cores)


def have_cores(gres: Iterable[str]) -> bool:
    """Whether GPUs among the GRES of a node are near some of its cores."""
    return any(_CORES.search(item) for item in gres)


def near_cores(kind: str, count: int, cores: Sequence[int]) -> str:
    """Write GPUs as a node has them among its GRES."""
    return f"{kind}:{count}" + (f"(C:{fold_numbers(cores, '+')})" if cores else "")


def parse_cores(text: str) -> tuple[int, ...]:
    """Read numbers of cores, ``0-3,8``.

    Raises:
        ValueError: the text has another form.
    """
    found: set[int] = set()
    if count_numbers(text) > _MOST_CORES:
        raise ValueError(f"{quoted(text)} names more than {_MOST_CORES:,} cores")
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or int(match[2] or match[1]) > _MOST_CORES:
            raise ValueError(f"{quoted(text)} is no list of cores such as 0-3,8")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(found))


def shown(node: Node) -> tuple[str, ...]:
    """Give the GRES of a node as Slurm shows them: GPUs of a type together, with the sockets of the cores near them."""
    if not have_cores(node.gres):
        return node.gres
    counts: dict[str, int] = {}
    sockets: dict[str, set[int]] = {}
    for one in gpus_of(node.gres):
        counts[one.kind] = counts.get(one.kind, 0) + one.number
        sockets.setdefault(one.kind, set()).update(core // node.cores_per_socket for core in one.cores)
    found: dict[str, None] = {}
    for item in node.gres:
        own = max(gres_counts(item), key=len, default="")
        near = sockets.get(own)
        text = item if own not in counts else f"{own}:{counts[own]}"
        found[f"{text}(S:{fold_numbers(sorted(near))})" if near else text] = None
    return tuple(found)
