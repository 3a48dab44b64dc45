"""The options of ``scontrol create reservation``, read into a request.

::

    ReservationName=maint StartTime=2-08:00:00 Duration=4:00:00 Nodes=n[01-04] Flags=MAINT
    ReservationName=course StartTime=2022-01-03T09:00:00 EndTime=2022-01-03T17:00:00 PartitionName=gpu Users=ann,bob
    ReservationName=tests StartTime=0 Duration=10-00:00:00 NodeCnt=2 PartitionName=gpu Features=a100 Accounts=dev

``NodeCnt`` asks for so many nodes of a partition, of the default one unless ``PartitionName`` names another; with
``Features`` each of them must have these. ``PartitionName`` without ``NodeCnt`` asks for all nodes of the partition.

Times are dates in local time, or the time since the log's start: ``days-hours:minutes:seconds``, or seconds. Durations
are minutes, or Slurm's notations with a colon or a hyphen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import OptionError
from rota.config.hostlist import expand_hostlist
from rota.config.local_time import parse_moment
from rota.model import InputError
from rota.model.reservation import FLAGS, Reservation
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rota.model import ClusterConfig

_OPTIONS = (
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


class ReservationRequest(NamedTuple):
    """A reservation as it is asked for. All is checked but its times, which depend on the log."""

    #: Values by option, as in `_OPTIONS`.
    values: Mapping[str, str]
    #: Bitmap of its nodes; with ``node_cnt``, of the nodes from which they are chosen.
    nodes: int
    #: How many nodes are to be chosen; 0: all.
    node_cnt: int
    flags: frozenset[str]

    def reservation(self, origin: int, utc_offset: Callable[[int], int]) -> Reservation:
        """Make the reservation.

        Args:
            origin: When the log begins, Unix seconds.
            utc_offset: Local time minus UTC, seconds, at a Unix time.

        Raises:
            OptionError: a time cannot be used.
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

    def _moment(self, option: str, origin: int, utc_offset: Callable[[int], int]) -> int:
        try:
            return parse_moment(self.values[option], origin, utc_offset)
        except InputError as error:
            raise OptionError(option, error.problem) from None

    def _duration(self) -> int:
        try:
            seconds = parse_time_seconds(self.values["Duration"])
        except ValueError as error:
            raise OptionError("Duration", str(error)) from None
        if not seconds:
            raise OptionError("Duration", f"{self.values['Duration']!r} is no time that ends: write minutes")
        return seconds


def parse_reservation(pairs: Iterable[tuple[str, str]], config: ClusterConfig) -> ReservationRequest:
    """Read the options of one ``scontrol create reservation``.

    Args:
        pairs: Option, in any case, and value.
        config: The machine on which nodes are to be reserved.

    Raises:
        OptionError: an option is not known, is missing, has a value that cannot be used, or goes against another.
    """
    values = _values(pairs)
    flags = frozenset(_names(values.get("Flags", "").upper()))
    if unknown := flags.difference(FLAGS):
        raise OptionError("Flags", f"{min(unknown)} is none of {', '.join(sorted(FLAGS))}")
    if not (values.get("Users") or values.get("Accounts")) and "MAINT" not in flags:
        raise OptionError("Users", "say for whom it is: Users or Accounts, or Flags=MAINT")
    node_cnt = values.get("NodeCnt", "0")
    if "NodeCnt" in values and not _COUNT.fullmatch(node_cnt):
        raise OptionError("NodeCnt", f"{node_cnt!r} is no number of nodes")
    if "Nodes" in values:
        flags |= flags_of_nodes(values["Nodes"])
    return ReservationRequest(values, _nodes(values, config), int(node_cnt), flags)


def flags_of_nodes(nodes: str) -> frozenset[str]:
    """Give the flags of a reservation whose nodes are given by name."""
    return frozenset({"SPEC_NODES", "ALL_NODES"} if nodes.upper() == "ALL" else {"SPEC_NODES"})


def _values(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Give the values by option, once it is clear that the right options are there."""
    known = {option.lower(): option for option in _OPTIONS} | {"reservation": "ReservationName"}
    values: dict[str, str] = {}
    for option, value in pairs:
        if option.lower() not in known:
            raise OptionError(option, f"{option} is none of {', '.join(_OPTIONS)}")
        values[known[option.lower()]] = value
    for option in ("ReservationName", "StartTime"):
        if not values.get(option):
            raise OptionError(option, "is missing")
    if ("EndTime" in values) == ("Duration" in values):
        raise OptionError("EndTime", "give either EndTime or Duration")
    if ("Nodes" in values) == bool({"NodeCnt", "PartitionName"} & values.keys()):
        raise OptionError("Nodes", "give either Nodes, or NodeCnt or PartitionName or both")
    if "Features" in values and "NodeCnt" not in values:
        raise OptionError("Features", "goes with NodeCnt")
    return values


def _nodes(values: Mapping[str, str], config: ClusterConfig) -> int:
    """Give the bitmap of the nodes that are reserved, or from which they are to be chosen."""
    if "Nodes" not in values:
        name = values.get("PartitionName")
        for part in config.partitions:
            if part.name == name if name else part.default:
                return part.nodes
        raise OptionError(
            "PartitionName", f"there is no partition {name!r}" if name else "name one: none is the default"
        )
    if values["Nodes"].upper() == "ALL":
        return (1 << len(config.nodes)) - 1
    place = {node.name: index for index, node in enumerate(config.nodes)}
    nodes = 0
    try:
        named = expand_hostlist(values["Nodes"])
    except ValueError as error:
        raise OptionError("Nodes", str(error)) from None
    for one in named:
        if one not in place:
            raise OptionError("Nodes", f"the machine has no node {one!r}")
        nodes |= 1 << place[one]
    return nodes


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
