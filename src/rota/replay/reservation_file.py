"""Files of advance reservations: what ``scontrol create reservation`` takes, one a line.

::

    ReservationName=maint StartTime=2-08:00:00 Duration=4:00:00 Nodes=n[01-04] Flags=MAINT
    ReservationName=course StartTime=2022-01-03T09:00:00 EndTime=2022-01-03T17:00:00 PartitionName=gpu Users=ann,bob
    ReservationName=tests StartTime=0 Duration=10-00:00:00 NodeCnt=2 PartitionName=gpu Features=a100 Accounts=dev

With ``NodeCnt`` so many nodes are chosen, of a partition (else the default one) and with ``Features`` where these are
given; with ``PartitionName`` alone it is all its nodes.

Times are dates in local time, or how long after the log's start: ``days-hours:minutes:seconds``, or seconds. Durations
are minutes, or Slurm's notations with a colon or a hyphen. The syntax is that of slurm.conf: comments begin with ``#``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand
from rota.config.lines import read_lines
from rota.config.local_time import parse_moment
from rota.model import InputError
from rota.model.reservation import FLAGS, Reservation
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rota.config.lines import Line
    from rota.model import ClusterConfig

_KEYS = (
    "ReservationName",
    "StartTime",
    "EndTime",
    "Duration",
    "Nodes",
    "NodeCnt",
    "PartitionName",
    "Features",
    "Users",
    "Accounts",
    "Flags",
)
_COUNT = re.compile(r"[1-9][0-9]{0,8}")


class ReservationLine(NamedTuple):
    """One line of the file, checked as far as the machine alone tells."""

    line: Line
    #: By key, as in `_KEYS`.
    values: Mapping[str, str]
    #: Bitmap of its nodes, or of those from which ``node_cnt`` are chosen.
    nodes: int
    #: 0: all.
    node_cnt: int
    flags: frozenset[str]

    def reservation(self, origin: int, utc_offset: Callable[[int], int]) -> Reservation:
        """Make the reservation for a log that begins at ``origin`` (Unix seconds).

        Raises:
            InputError: a time cannot be used.
        """
        start = self._moment("StartTime", origin, utc_offset)
        end = self._moment("EndTime", origin, utc_offset) if "EndTime" in self.values else start + self._duration()
        return Reservation(
            name=self.values["ReservationName"],
            start_time=start,
            end_time=end,
            nodes=self.nodes,
            node_cnt=self.node_cnt,
            features=self.values.get("Features", ""),
            users=_names(self.values.get("Users", "")),
            accounts=_names(self.values.get("Accounts", "")),
            flags=self.flags,
        )

    def _moment(self, key: str, origin: int, utc_offset: Callable[[int], int]) -> int:
        try:
            return parse_moment(self.values[key], origin, utc_offset)
        except InputError as error:
            raise self.line.error(error.problem, key) from None

    def _duration(self) -> int:
        try:
            seconds = parse_time_seconds(self.values["Duration"])
        except ValueError as error:
            raise self.line.error(str(error), "Duration") from None
        if not seconds:
            raise self.line.error(f"{self.values['Duration']!r} is no time that ends: write minutes", "Duration")
        return seconds


def read_reservations(path: Path, config: ClusterConfig) -> tuple[ReservationLine, ...]:
    """Read a file of reservations.

    Raises:
        InputError: it cannot be read, or has a line that cannot be used.
    """
    found = tuple(_read(line, config) for line in read_lines(path))
    if found and len(config.nodes) == 1:
        raise InputError("a machine of one node has nothing to reserve: give a slurm.conf with nodes", path=path)
    return found


def _read(line: Line, config: ClusterConfig) -> ReservationLine:
    known = {key.lower(): key for key in _KEYS}
    values: dict[str, str] = {}
    for pair in line.pairs:
        if pair.key.lower() not in known:
            raise line.error(f"{pair.key} is none of {', '.join(_KEYS)}", pair.key)
        values[known[pair.key.lower()]] = pair.value
    for key in ("ReservationName", "StartTime"):
        if not values.get(key):
            raise line.error("is missing", key)
    if ("EndTime" in values) == ("Duration" in values):
        raise line.error("give either EndTime or Duration", "EndTime")
    if ("Nodes" in values) == bool({"NodeCnt", "PartitionName"} & values.keys()):
        raise line.error("give either Nodes, or NodeCnt or PartitionName or both", "Nodes")
    if "Features" in values and "NodeCnt" not in values:
        raise line.error("goes with NodeCnt", "Features")
    flags = frozenset(_names(values.get("Flags", "").upper()))
    if unknown := flags - FLAGS:
        raise line.error(f"{min(unknown)} is none of {', '.join(sorted(FLAGS))}", "Flags")
    if not (values.get("Users") or values.get("Accounts")) and "MAINT" not in flags:
        raise line.error("say for whom it is: Users or Accounts, or Flags=MAINT", "Users")
    node_cnt = values.get("NodeCnt", "0")
    if "NodeCnt" in values and not _COUNT.fullmatch(node_cnt):
        raise line.error(f"{node_cnt!r} is no number of nodes", "NodeCnt")
    return ReservationLine(line, values, _nodes(line, values, config), int(node_cnt), flags)


def _nodes(line: Line, values: Mapping[str, str], config: ClusterConfig) -> int:
    """Read which nodes it has, or is to be given some of, as a bitmap."""
    if "Nodes" not in values:
        name = values.get("PartitionName")
        for part in config.partitions:
            if part.name == name if name else part.default:
                return part.nodes
        raise line.error(
            f"there is no partition {name!r}" if name else "name one: none is the default", "PartitionName"
        )
    if values["Nodes"].upper() == "ALL":
        return (1 << len(config.nodes)) - 1
    place = {node.name: index for index, node in enumerate(config.nodes)}
    nodes = 0
    for one in expand(values["Nodes"], line, "Nodes"):
        if one not in place:
            raise line.error(f"the machine has no node {one!r}", "Nodes")
        nodes |= 1 << place[one]
    return nodes


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
