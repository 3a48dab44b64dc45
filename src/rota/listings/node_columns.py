"""The columns of ``sinfo``, by letter (``-o``) and by name (``-O``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rota.config.hostlist import fold_sorted
from rota.listings.clock import duration
from rota.listings.columns import Column
from rota.listings.node_facts import gres_used
from rota.listings.text import NULL, or_null, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.listings.clock import Clock
    from rota.listings.node_groups import Group
    from rota.listings.view import View
    from rota.model.lines import NodeLine

_T = TypeVar("_T")
#: Letters of ``-o``.
LETTERS = "aAbBcCdDeEfFgGhHIlLmMnNoOpPrRsStTuUvVwXYZz"
_LETTERS = {
    "allocnodes": "S",
    "available": "a",
    "cluster": "V",
    "cores": "Y",
    "cpus": "c",
    "cpusload": "O",
    "cpusstate": "C",
    "defaulttime": "L",
    "disk": "d",
    "features": "f",
    "features_act": "b",
    "freemem": "e",
    "gres": "G",
    "groups": "g",
    "maxcpuspernode": "B",
    "memory": "m",
    "nodeaddr": "o",
    "nodeai": "A",
    "nodeaiot": "F",
    "nodehost": "n",
    "nodelist": "N",
    "nodes": "D",
    "oversubscribe": "h",
    "partition": "P",
    "partitionname": "R",
    "preemptmode": "M",
    "priority": "p",
    "priorityjobfactor": "I",
    "prioritytier": "p",
    "reason": "E",
    "root": "r",
    "size": "s",
    "socketcorethread": "z",
    "sockets": "X",
    "statecompact": "t",
    "statelong": "T",
    "threads": "Z",
    "time": "l",
    "timestamp": "H",
    "user": "u",
    "userlong": "U",
    "version": "v",
    "weight": "w",
}
_COMPACT = {
    "ALLOCATED": "alloc",
    "COMPLETING": "comp",
    "DRAINING": "drng",
    "DRAINED": "drain",
    "FAILING": "failg",
    "MIXED": "mix",
    "PLANNED": "plnd",
    "RESERVED": "resv",
    "UNKNOWN": "unk",
}
#: Marks that may stand behind a state.
_MARKS = "*$+~#!%@^-"


class NodeColumns:
    """The columns of one listing.

    Args:
        view: The cluster.
        clock: Formats times.
    """

    def __init__(self, view: View, clock: Clock) -> None:
        self._view = view
        self._clock = clock

    def by_letter(self) -> dict[str, Column[Group]]:
        """Give the columns of ``-o``."""
        return {**_OF_PARTITION, **_COUNTED, **self._of_nodes()}

    def by_name(self) -> dict[str, Column[Group]]:
        """Give the columns of ``-O``."""
        letters = self.by_letter()
        found = {name: letters[letter] for name, letter in _LETTERS.items()}
        return found | {
            "allocmem": Column("ALLOCMEM", lambda group: str(_first(group, lambda node: node.memory_allocated, 0))),
            "comment": Column("COMMENT", lambda _: NULL),
            "extra": Column("EXTRA", lambda _: NULL),
            "gresused": Column("GRES_USED", lambda group: _first(group, gres_used, "") or NULL),
            "port": Column("PORT", lambda group: str(_first(group, lambda node: node.port, 0))),
            "statecomplete": Column("STATECOMPLETE", lambda group: _first(group, _complete_state, "n/a")),
        }

    @staticmethod
    def letters_of(names: frozenset[str]) -> frozenset[str]:
        """Give the letters of columns' names; names without a letter stay."""
        return frozenset(_LETTERS.get(name, name) for name in names)

    def _of_nodes(self) -> dict[str, Column[Group]]:
        config = self._view.config
        return {
            "b": Column("ACTIVE_FEATURES", lambda group: _first(group, _features, NULL)),
            "E": Column("REASON", lambda group: _first(group, lambda node: plain(node.reason), "") or "none"),
            "f": Column("AVAIL_FEATURES", lambda group: _first(group, _features, NULL)),
            "G": Column("GRES", lambda group: _first(group, _gres, NULL)),
            "H": Column("TIMESTAMP", lambda group: _first(group, self._since, "Unknown")),
            "M": Column("PREEMPT_MODE", lambda _: config.get("PreemptMode", "OFF").upper()),
            "n": Column("HOSTNAMES", lambda group: _hosts(node.host or node.name for node in group.nodes)),
            "N": Column("NODELIST", lambda group: group.hostlist, cut_heading=False),
            "o": Column("NODE_ADDR", lambda group: _hosts(node.address or node.name for node in group.nodes)),
            "t": Column("STATE", lambda group: _first(group, compact_state, "n/a")),
            "T": Column("STATE", lambda group: _first(group, lambda node: node.state.lower(), "n/a")),
            "u": Column("USER", lambda group: _first(group, self._user, "Unknown")),
            "U": Column("USER", lambda group: _first(group, self._long_user, "Unknown")),
            "v": Column("VERSION", lambda group: _first(group, lambda node: node.version, "") or "N/A"),
            "V": Column("CLUSTER", lambda _: "N/A"),
        }

    def _since(self, node: NodeLine) -> str:
        return self._clock.moment(node.reason_time) if node.reason and node.reason_time else "Unknown"

    def _user(self, node: NodeLine) -> str:
        return self._view.user_name(node.reason_uid) if node.reason else "Unknown"

    def _long_user(self, node: NodeLine) -> str:
        return f"{self._view.user_name(node.reason_uid)}({node.reason_uid})" if node.reason else "Unknown"


def _first(group: Group, text: Callable[[NodeLine], _T], none: _T) -> _T:
    return text(group.nodes[0]) if group.nodes else none


def compact_state(node: NodeLine) -> str:
    """Give a node's state as short as ``sinfo -o %t`` shows it."""
    word = node.state.rstrip(_MARKS)
    return _COMPACT.get(word, word.lower()) + node.state[len(word) :]


def _complete_state(node: NodeLine) -> str:
    flags = [one for one in node.flags if one != "NOT_RESPONDING"] + [
        one for one in node.flags if one == "NOT_RESPONDING"
    ]
    return "+".join([node.base_state, *flags]).lower()


def _features(node: NodeLine) -> str:
    return or_null(",".join(node.features))


def _gres(node: NodeLine) -> str:
    return ",".join(node.gres) or NULL


def _hosts(names: Iterable[str]) -> str:
    return fold_sorted(dict.fromkeys(names))


# ---- partitions -------------------------------------------------------------------------------------------------


def partition_text(group: Group, size: int = 0) -> str:
    """Give the partition's name; the star of the default one replaces the last character if there is no room."""
    name = group.part.name
    if not group.part.default:
        return name
    return f"{name}*" if not size or len(name) < size else f"{name[: size - 1]}*"


def _job_size(group: Group) -> str:
    least, most = max(group.part.min_nodes, 1), group.part.max_nodes
    return f"{least}-infinite" if most is None else str(least) if most == least else f"{least}-{most}"


def share_text(*, exclusive: bool, most: int, force: bool) -> str:
    """Give ``OverSubscribe`` of a partition: ``NO``, ``EXCLUSIVE``, ``YES:4``, ``FORCE:2``."""
    if exclusive:
        return "EXCLUSIVE"
    if most <= 1 and not force:
        return "NO"
    return f"{'FORCE' if force else 'YES'}:{most}"


def _sharing(group: Group) -> str:
    return share_text(exclusive=group.part.exclusive, most=group.part.max_share, force=group.part.force_share)


def _limit(seconds: int | None, none: str) -> str:
    return none if seconds is None else duration(seconds)


_OF_PARTITION: dict[str, Column[Group]] = {
    "a": Column("AVAIL", lambda group: group.part.state.lower()),
    "B": Column("MAX_CPUS_PER_NODE", lambda group: str(group.part.max_cpus_per_node or "UNLIMITED")),
    "g": Column(
        "GROUPS", lambda group: or_null(",".join(group.part.allow_groups)) if group.part.allow_groups else "all"
    ),
    "h": Column("OVERSUBSCRIBE", _sharing),
    "I": Column("PRIO_JOB_FACTOR", lambda group: str(group.part.priority_job_factor)),
    "l": Column("TIMELIMIT", lambda group: _limit(group.part.max_time, "infinite")),
    "L": Column("DEFAULTTIME", lambda group: _limit(group.part.default_time, "n/a")),
    "p": Column("PRIO_TIER", lambda group: str(group.part.priority_tier)),
    "P": Column("PARTITION", partition_text),
    "R": Column("PARTITION", lambda group: group.part.name),
    "r": Column("ROOT", lambda group: "yes" if group.part.root_only else "no"),
    "s": Column("JOB_SIZE", _job_size),
    "S": Column("ALLOCNODES", lambda _: "all"),
}


# ---- numbers ----------------------------------------------------------------------------------------------------


def _from(values: Iterable[int]) -> str:
    """Give a number, or the smallest of several with a plus."""
    listed = list(values)
    if not listed:
        return "0"
    return f"{min(listed)}" if min(listed) == max(listed) else f"{min(listed)}+"


def _range(values: list[str | None], order: Callable[[str], float]) -> str:
    """Give the smallest and the largest of what nodes report; ``N/A`` is larger than anything."""
    known = sorted({value for value in values if value is not None}, key=order)
    least, most = (known[0], known[-1]) if known else ("N/A", "N/A")
    if None in values:
        most = "N/A"
    return least if least == most else f"{least}-{most}"


def _load(group: Group) -> str:
    return _range([None if node.load is None else f"{node.load:.2f}" for node in group.nodes], float)


def _free(group: Group) -> str:
    return _range([None if node.memory_free is None else str(node.memory_free) for node in group.nodes], float)


def in_use(node: NodeLine) -> bool:
    """Whether a node counts as allocated."""
    return node.base_state in {"ALLOCATED", "MIXED"} or "COMPLETING" in node.flags


def _is_idle(node: NodeLine) -> bool:
    return not in_use(node) and node.base_state in {"IDLE", "UNKNOWN"} and "DRAIN" not in node.flags


def _nodes_by_state(group: Group) -> tuple[int, int, int, int]:
    used = sum(map(in_use, group.nodes))
    idle = sum(map(_is_idle, group.nodes))
    return used, idle, len(group.nodes) - used - idle, len(group.nodes)


def _cpus_by_state(group: Group) -> str:
    used = idle = other = 0
    for node in group.nodes:
        free = node.cpus - node.cpus_allocated
        used += node.cpus_allocated
        if node.base_state == "DOWN" or "DRAIN" in node.flags:
            other += free
        else:
            idle += free
    return f"{used}/{idle}/{other}/{used + idle + other}"


def _shape(group: Group) -> str:
    names = ("sockets", "cores_per_socket", "threads_per_core")
    return ":".join(_from(getattr(node, name) for node in group.nodes) for name in names)


_COUNTED: dict[str, Column[Group]] = {
    "A": Column("NODES(A/I)", lambda group: "/".join(map(str, _nodes_by_state(group)[:2]))),
    "c": Column("CPUS", lambda group: _from(node.cpus for node in group.nodes)),
    "C": Column("CPUS(A/I/O/T)", _cpus_by_state),
    "d": Column("TMP_DISK", lambda group: _from(node.tmp_disk for node in group.nodes)),
    "D": Column("NODES", lambda group: str(len(group.nodes))),
    "e": Column("FREE_MEM", _free),
    "F": Column("NODES(A/I/O/T)", lambda group: "/".join(map(str, _nodes_by_state(group)))),
    "m": Column("MEMORY", lambda group: _from(node.memory for node in group.nodes)),
    "O": Column("CPU_LOAD", _load),
    "w": Column("WEIGHT", lambda group: _from(node.weight for node in group.nodes)),
    "X": Column("SOCKETS", lambda group: _from(node.sockets for node in group.nodes)),
    "Y": Column("CORES", lambda group: _from(node.cores_per_socket for node in group.nodes)),
    "Z": Column("THREADS", lambda group: _from(node.threads_per_core for node in group.nodes)),
    "z": Column("S:C:T", _shape),
}
