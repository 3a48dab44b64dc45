"""The words of ``scontrol create reservation``, read into a request.

::

    ReservationName=maint StartTime=2-08:00:00 Duration=4:00:00 Nodes=n[01-04] Flags=MAINT
    ReservationName=course StartTime=2022-01-03T09:00:00 EndTime=2022-01-03T17:00:00 PartitionName=gpu Users=ann,bob
    ReservationName=tests StartTime=0 Duration=10-00:00:00 NodeCnt=2 PartitionName=gpu Features=a100 Accounts=dev

``NodeCnt`` asks for so many nodes of a partition, of the default one unless ``PartitionName`` names another; with
``Features`` each of them must have these. ``PartitionName`` alone, or with ``Nodes=ALL``, asks for all nodes of the
partition; other ``Nodes`` are taken as they are named. Durations are minutes, or Slurm's notations with a colon or a
hyphen, and rounded up to minutes.

What cannot be used is said in the words of Slurm 22.05, in its order: first what scontrol finds, then what slurmctld
refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import OptionError
from rota.commands.reservation_words import Word, read_flags, read_words
from rota.config.hostlist import expand_hostlist
from rota.model import Errno, RequestError
from rota.model.reservation import Reservation
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.model import ClusterConfig

_COUNT = re.compile(r"[0-9]{1,9}")
_YEAR = 365 * 86400


class ReservationRequest(NamedTuple):
    """A reservation as it is asked for. All is checked but its times."""

    #: The words by key; no value is empty.
    words: Mapping[str, Word]
    #: Bitmap of its nodes; with ``node_cnt``, of the nodes from which they are chosen.
    nodes: int
    #: How many nodes are to be chosen; 0: all.
    node_cnt: int
    flags: frozenset[str]
    #: Name of the partition of which it is; empty: none.
    partition: str
    #: After how many seconds without jobs it ends; 0: it does not.
    purge_after: int
    #: How messages end.
    after: str

    def value(self, key: str) -> str:
        """Give the value of a key; empty: it is not given."""
        return self.words[key].value if key in self.words else ""

    @property
    def users(self) -> tuple[str, ...]:
        """The users who may use it; see `rota.model.reservation.Reservation`."""
        return _names(self.value("Users"))

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts whose jobs may use it."""
        return _names(self.value("Accounts"))

    def reservation(self, name: str, start: int, end: int | None) -> Reservation:
        """Make the reservation.

        Args:
            name: Its name.
            start: ``StartTime``, Unix seconds.
            end: ``EndTime``, Unix seconds; ``None``: it is not given.

        Raises:
            OptionError: the times go against each other.
        """
        if "Duration" in self.words:
            later = start + duration_of(self.value("Duration"), self.words["Duration"].text, self.after)
            if end is not None and end != later:
                raise OptionError("EndTime", f"StartTime + Duration does not equal EndTime.{self.after}")
            end = later
        if end is None or end < start:
            raise OptionError("StartTime", f"Start time cannot be after end time.{self.after}")
        return Reservation(
            name=name,
            start_time=start,
            end_time=end,
            nodes=self.nodes,
            node_cnt=self.node_cnt,
            features=self.value("Features"),
            users=self.users,
            accounts=self.accounts,
            flags=self.flags,
            partition=self.partition,
            purge_after=self.purge_after,
        )


def parse_reservation(
    words: Iterable[str], config: ClusterConfig, after: str = "", *, uid: int = 0
) -> ReservationRequest:
    """Read the words of one ``scontrol create reservation``.

    Args:
        words: Keys and values.
        config: The machine on which nodes are to be reserved.
        after: How messages of scontrol end: with what it has not done.
        uid: Who asks; who is not 0, an operator, is refused before anything that the words name is looked for.

    Raises:
        OptionError: a key is not known, is missing, or has a value that cannot be used; so says scontrol.
        RequestError: there are no such nodes, partitions or users; so says slurmctld.
    """
    given: dict[str, Word] = {}
    signed = False
    names: set[str] = set()
    purge_after = 0
    for word in read_words(words, after):
        if word.key == "Flags":
            flags = read_flags(word.value, after)
            names |= flags.names
            purge_after = flags.purge_after or purge_after
        elif word.key == "NodeCnt" and not _COUNT.fullmatch(word.value):
            raise OptionError(word.key, f"Invalid node count {word.value}")
        elif word.key == "Duration":
            duration_of(word.value, word.text, after)
        signed |= bool(word.sign) and word.key in {"Users", "Accounts"}
        given[word.key] = word
    given = {key: word for key, word in given.items() if word.value}
    values = {key: word.value for key, word in given.items()}
    if "StartTime" not in values:
        raise OptionError("StartTime", f"A start time must be given.{after}")
    if not {"EndTime", "Duration"} & values.keys():
        raise OptionError("EndTime", f"An end time or duration must be given.{after}")
    count = 0 if "Nodes" in values else int(values.get("NodeCnt", "0"))
    if not count and not {"Nodes", "PartitionName"} & values.keys():
        problem = "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified."
        raise OptionError("Nodes", f"{problem}{after}")
    every = values.get("Nodes", "" if count else "ALL").upper() == "ALL"
    if "PART_NODES" in names and not (every and {"Nodes", "PartitionName"} <= values.keys()):
        raise OptionError("Flags", f"PART_NODES flag requires specifying a Partition and ALL nodes.{after}")
    if not (values.get("Users") or values.get("Accounts")) and "MAINT" not in names:
        raise OptionError("Users", f"Either Users/Groups and/or Accounts must be specified.{after}")
    if uid:
        raise RequestError("Invalid user id: only operators reserve nodes", Errno.INVALID_USER_ID)
    if signed:
        raise RequestError("Invalid user id: there is nobody yet", Errno.INVALID_USER_ID)
    nodes, partition = _nodes(values, config)
    if "REPLACE_DOWN" in names and "Nodes" in values:
        raise RequestError("Invalid node name specified: nodes that are named stay", Errno.INVALID_NODE_NAME)
    if not count:
        names |= {"SPEC_NODES", "PART_NODES"} if every and partition else flags_of_nodes(values["Nodes"])
    return ReservationRequest(given, nodes, count, frozenset(names - {"REPLACE_DOWN"}), partition, purge_after, after)


def duration_of(value: str, text: str, after: str) -> int:
    """Read a duration in seconds, rounded up to minutes.

    Args:
        value: The value.
        text: The word.
        after: How a message ends.

    Raises:
        OptionError: it is none.
    """
    try:
        seconds = parse_time_seconds(value)
    except ValueError:
        raise OptionError("Duration", f"Invalid duration {text}.{after}") from None
    return _YEAR if seconds is None else -(-seconds // 60) * 60


def flags_of_nodes(nodes: str) -> frozenset[str]:
    """Give the flags of a reservation whose nodes are given by name."""
    return frozenset({"SPEC_NODES", "ALL_NODES"} if nodes.upper() == "ALL" else {"SPEC_NODES"})


def _nodes(values: Mapping[str, str], config: ClusterConfig) -> tuple[int, str]:
    """Give the bitmap of the nodes that are reserved, or from which they are to be chosen, and the partition's name."""
    name, named = values.get("PartitionName", ""), values.get("Nodes", "")
    if name or not named:
        found = (part for part in config.partitions if (part.name == name if name else part.default))
        own = next(found, None)
        if own is None:
            problem = f"there is no partition {name!r}" if name else "name one: none is the default"
            raise RequestError(f"Invalid partition name specified: {problem}", Errno.INVALID_PARTITION_NAME)
        if not named or named.upper() == "ALL":
            return own.nodes, own.name
    if named.upper() == "ALL":
        return (1 << len(config.nodes)) - 1, name
    place = {node.name: index for index, node in enumerate(config.nodes)}
    nodes = 0
    try:
        for one in expand_hostlist(named):
            nodes |= 1 << place[one]
    except KeyError as error:
        problem = f"the machine has no node {error.args[0]!r}"
        raise RequestError(f"Invalid node name specified: {problem}", Errno.INVALID_NODE_NAME) from None
    except ValueError as error:
        raise RequestError(f"Invalid node name specified: {error}", Errno.INVALID_NODE_NAME) from None
    return nodes, name


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
