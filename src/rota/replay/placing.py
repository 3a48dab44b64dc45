"""On which nodes jobs run, as text: ``n[01-04],m7`` and ``32(x4),8``, as Slurm writes them for each job.

A replay has tens of thousands of sets of nodes. They are runs of the configuration, and are written run by run: a
general hostlist library takes 30 µs for each node of each set.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from rota.resources import SharedNodePool
from rota.resources.nodeset import indices
from rota.resources.requests import CPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.core import Engine
    from rota.model import Job
    from rota.replay.result import Schedule

#: Bitmap of nodes and, where these are shared, processors of each of them.
_Given = tuple[int, bytes]
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
#: One name, or one prefix with numbers.
_PART = re.compile(r"([^\[\],]+)(?:\[([\d,-]+)\])?(?:,|$)")
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?(?:,|$)")


class NodeNames:
    """Writes sets of one machine's nodes as hostlists, and reads them back.

    Args:
        names: Of all nodes, in the order of the configuration.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._place = {name: place for place, name in enumerate(self._names)}
        #: Each name as (prefix, digits); no digits: it does not end in a number.
        self._parts = [
            (match[1], match[2]) if (match := _NUMBERED.fullmatch(one)) else (one, "") for one in self._names
        ]
        #: Whether each node's name is the next number after that of the node before.
        self._follows = [False, *map(_is_next, self._parts, self._parts[1:])]

    def fold(self, nodes: int) -> str:
        """Write a bitmap of nodes as a hostlist; empty for none."""
        runs: list[list[int]] = []
        for place in indices(nodes):
            if runs and runs[-1][-1] == place - 1 and self._follows[place]:
                runs[-1][1:] = [place]
            else:
                runs.append([place])
        return ",".join(self._folded(prefix, list(some)) for prefix, some in groupby(runs, self._prefix))

    def _prefix(self, run: list[int]) -> str:
        return self._parts[run[0]][0]

    def _folded(self, prefix: str, runs: list[list[int]]) -> str:
        if len(runs) == len(runs[0]) == 1:
            return self._names[runs[0][0]]
        return f"{prefix}[{','.join('-'.join(self._parts[place][1] for place in run) for run in runs)}]"

    def places(self, text: str) -> list[int]:
        """Read a hostlist that `fold` has written: the places of its nodes, ascending.

        Raises:
            ValueError: it is none, or not of this machine.
        """
        found: list[int] = []
        at = 0
        while at < len(text):
            part = _PART.match(text, at)
            if part is None:
                raise ValueError(f"{text!r} is not a list of nodes")
            at = part.end()
            for item in part[2].split(",") if part[2] else ("",):
                low, _, high = item.partition("-")
                first, last = (self._place.get(part[1] + digits) for digits in (low, high or low))
                if first is None or last is None:
                    raise ValueError(f"{text!r} names other nodes than the machine has")
                found.extend(range(first, last + 1))
        return found


class Placements:
    """Writes down on which nodes each job runs, and with how many processors of each.

    Args:
        engine: Of a machine of nodes.
        count: Jobs that there are, one a row.
    """

    def __init__(self, engine: Engine, count: int) -> None:
        state = engine.state
        self._pool = state.pool
        self._cpus = [node.cpus for node in state.nodes]
        self._names = NodeNames(node.name for node in state.nodes)
        #: By row: bitmap of nodes and, where these are shared, processors of each; ``None``: never started.
        self._given: list[_Given | None] = [None] * count

    def launched(self, row: int, job: Job) -> None:
        """Note a job that has just been started; of one that is started again the last time counts."""
        cpus = b""
        if isinstance(self._pool, SharedNodePool):
            of_nodes = self._pool.view(job.alloc)[CPU]
            cpus = of_nodes[of_nodes > 0].tobytes()
        self._given[row] = job.alloc_nodes, cpus

    def added_to(self, schedule: Schedule) -> Schedule:
        """Give the schedule with the nodes of the jobs that ran."""
        known: dict[_Given | None, tuple[str, str]] = {None: ("", "")}
        texts = []
        for given, start in zip(self._given, schedule.start.tolist(), strict=True):
            key = given if start >= 0 else None
            if key is not None and key not in known:
                known[key] = self._texts(*key)
            texts.append(known[key])
        return replace(schedule, nodes=tuple(nodes for nodes, _ in texts), node_cpus=tuple(cpus for _, cpus in texts))

    def _texts(self, nodes: int, cpus: bytes) -> tuple[str, str]:
        counts = memoryview(cpus).cast("I").tolist() or [self._cpus[place] for place in indices(nodes)]
        return self._names.fold(nodes), fold_counts(counts)


def fold_counts(counts: Sequence[int]) -> str:
    """Write numbers as Slurm does in ``SLURM_JOB_CPUS_PER_NODE``: ``32(x4),8``."""
    runs = ((count, len(list(same))) for count, same in groupby(counts))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)


def read_counts(text: str) -> list[int]:
    """Read what `fold_counts` has written.

    Raises:
        ValueError: it is something else.
    """
    found: list[int] = []
    at = 0
    while at < len(text):
        item = _COUNT.match(text, at)
        if item is None:
            raise ValueError(f"{text!r} is not a list of numbers")
        at = item.end()
        found += [int(item[1])] * int(item[2] or 1)
    return found


def _is_next(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether one name, as prefix and digits, has the number after the other's."""
    (prefix, low), (same, high) = before, after
    return bool(low) and prefix == same and f"{int(low) + 1:0{len(low)}}" == high
