"""``PartitionName`` and ``NodeSet`` lines."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from rota.config.hostlist import expand
from rota.config.lines import Line, Pair
from rota.config.nodes import ReadNodes
from rota.config.text import partition_line
from rota.config.values import MAX_16, Record
from rota.model import Partition, PartitionState
from rota.model.bounds import MOST_GROUPS, quoted
from rota.model.partition import MAX_SHARE
from rota.model.read_only import write
from rota.model.tres import cluster_tres, parse_tres_weights
from rota.model.units import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.model import ClusterConfig

_OVERSUBSCRIBE = re.compile(r"NO|EXCLUSIVE|(?P<how>YES|FORCE)(:(?P<jobs>\d{1,9}))?")
#: Slurm's default of the number after ``YES:`` and ``FORCE:``.
_JOBS_OF_A_CORE = 4
#: Largest OverTimeLimit, in minutes.
_MOST_OVER_TIME = 65533
#: What partitions can have of their own, as in Slurm.
_SELECT_PARAMETERS = ("NONE", "CR_CORE", "CR_CORE_MEMORY", "CR_SOCKET", "CR_SOCKET_MEMORY")
#: Keys that mean the same as others, or of which only one can be set.
_INSTEAD = {
    "defmempercpu": ("defmempernode",),
    "defmempernode": ("defmempercpu",),
    "maxmempercpu": ("maxmempernode",),
    "maxmempernode": ("maxmempercpu",),
    "shared": ("oversubscribe",),
}
#: Keys that are attributes of `Partition`; other keys are kept as text.
READ = frozenset(
    [
        "partitionname",
        "nodes",
        "state",
        "default",
        "maxtime",
        "defaulttime",
        "minnodes",
        "maxnodes",
        "priority",
        "prioritytier",
        "priorityjobfactor",
        "qos",
        "tresbillingweights",
        "defmempercpu",
        "defmempernode",
        "oversubscribe",
        "shared",
        "gracetime",
        "overtimelimit",
        "lln",
        "allowgroups",
        "allowaccounts",
        "denyaccounts",
        "allowqos",
        "denyqos",
        "defcpupergpu",
        "defmempergpu",
        "maxcpuspernode",
        "maxmempercpu",
        "maxmempernode",
        "reqresv",
        "rootonly",
        "selecttypeparameters",
    ]
)


def read_node_sets(lines: Iterable[Line], machine: ReadNodes) -> dict[str, tuple[str, ...]]:
    """Read the ``NodeSet`` lines: give the names of the nodes of each set, in the order of the file.

    Raises:
        InputError: a node is not defined.
    """
    bits = _bits({}, machine)
    sets: dict[str, tuple[str, ...]] = {}
    for line in lines:
        record = Record(line, {})
        feature, named = record.text("feature"), _bitmap(record, bits)
        name = record.values["nodeset"]
        sets[name] = tuple(node.name for node in machine.nodes if feature in node.features or named & bits[node.name])
    return sets


def read_partitions(
    lines: Iterable[Line],
    node_sets: Mapping[str, tuple[str, ...]],
    machine: ReadNodes,
    tres: Sequence[str],
    warnings: list[str],
    *,
    over_time_limit: int | None = 0,
) -> tuple[Partition, ...]:
    """Read the partitions, in the order of the file.

    Args:
        lines: ``PartitionName`` lines, with those of ``PartitionName=DEFAULT``.
        node_sets: Names of the nodes of each node set.
        machine: The nodes of the configuration.
        tres: Names of the cluster's TRES.
        warnings: Warnings are appended here.
        over_time_limit: Default for partitions without an OverTimeLimit of their own, seconds; ``None``: UNLIMITED.

    Raises:
        InputError: a value cannot be used, a partition is defined twice, or a node is not defined.
    """
    bits = _bits(node_sets, machine)
    partitions: dict[str, Partition] = {}
    defaults: dict[str, tuple[Pair, Line]] = {}
    chosen: Partition | None = None
    for line in lines:
        record = Record(line, defaults)
        name = record.values["partitionname"]
        if name.upper() == "DEFAULT":
            defaults = record.defaults()
            continue
        if name in partitions:
            raise record.error("partitionname", f"partition {name} is defined twice")
        partition = _partition(name, record, _nodes(record, bits, machine), tres, node_sets)
        write(partition, over_time_limit=read_over_time_limit(record, over_time_limit))
        partitions[name] = partition
        if not partition.nodes:
            warnings.append(record.warning("nodes", f"partition {name} has no nodes: it can run no jobs"))
        if partition.allow_users is not None and not partition.allow_users and line.number:
            warnings.append(record.warning("allowgroups", f"this system knows no user who may use partition {name}"))
        if partition.default:
            if chosen is not None:
                # Only one partition can be the default, and Slurm takes the last.
                write(chosen, default=False)
                warnings.append(record.warning("default", f"{name} takes the place of {chosen.name}"))
            chosen = partition
    return tuple(partitions.values())


def with_keys(config: ClusterConfig, before: Partition, keys: Mapping[str, str]) -> Partition:
    """Give a partition as if its line had these keys, too.

    Args:
        config: The configuration.
        before: The partition, of this configuration or of its nodes.
        keys: Values by lower-case key.

    Raises:
        InputError: a value cannot be used.
    """
    machine = ReadNodes(config.nodes, frozenset())
    bits, tres = _bits(config.node_sets, machine), cluster_tres(config.get("AccountingStorageTRES"))

    def read(line: Line) -> Partition:
        record = Record(line, {})
        partition = _partition(before.name, record, _nodes(record, bits, machine), tres, config.node_sets)
        write(partition, over_time_limit=read_over_time_limit(record, before.over_time_limit))
        return partition

    line = partition_line(config, before)
    replaced = keys.keys() | {other for key in keys for other in _INSTEAD.get(key, ())}
    kept = (pair for pair in line.pairs if pair.key.lower() not in replaced)
    one, other = read(line), read(line._replace(pairs=(*kept, *(Pair(key, value) for key, value in keys.items()))))
    if other.default_time is None and keys.get("defaulttime", "UNLIMITED").lower() not in UNLIMITED:
        raise line.error(f"{keys['defaulttime']} is more than MaxTime", "DefaultTime")
    # What no line says, such as which users are in its groups by now, stays.
    names = [each.name for each in fields(Partition) if getattr(one, each.name) != getattr(other, each.name)]
    return replace(before, **{name: getattr(other, name) for name in names})


def read_over_time_limit(record: Record, otherwise: int | None) -> int | None:
    """Read ``OverTimeLimit`` of a line in seconds; ``None`` for UNLIMITED, ``otherwise`` if the line does not set it.

    Raises:
        InputError: the value cannot be used.
    """
    text = record.text("overtimelimit")
    if text is None:
        return otherwise
    return None if text.lower() in UNLIMITED else record.integer("overtimelimit", 0, most=_MOST_OVER_TIME) * 60


def _bits(node_sets: Mapping[str, tuple[str, ...]], machine: ReadNodes) -> dict[str, int]:
    """Give a bitmap for every name that ``Nodes`` may have: nodes, future nodes (0) and node sets."""
    bits = dict.fromkeys(machine.future, 0) | {node.name: 1 << i for i, node in enumerate(machine.nodes)}
    return {name: sum(bits.get(node, 0) for node in nodes) for name, nodes in node_sets.items()} | bits


def _sets_of(record: Record, node_sets: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    named = expand(text, record.line, "Nodes") if node_sets and (text := record.text("nodes")) else ()
    return tuple(name for name in node_sets if name in named)


def _nodes(record: Record, bits: Mapping[str, int], machine: ReadNodes) -> int:
    """Read a partition's ``Nodes``: ``ALL`` or a hostlist. An empty value is a partition without nodes."""
    text = record.text("nodes")
    if text is None:
        name = record.values["partitionname"]
        raise record.error("partitionname", f"partition {name} has no nodes: set Nodes=, or Nodes=ALL")
    return (1 << len(machine.nodes)) - 1 if text.upper() == "ALL" else _bitmap(record, bits)


def _bitmap(record: Record, bits: Mapping[str, int]) -> int:
    nodes = 0
    text = record.text("nodes")
    for name in expand(text, record.line, "Nodes") if text else ():
        if name not in bits:
            raise record.error("nodes", f"node {name} is not defined: add a NodeName line for it")
        nodes |= bits[name]
    return nodes


def _partition(
    name: str, record: Record, nodes: int, tres: Sequence[str], node_sets: Mapping[str, tuple[str, ...]]
) -> Partition:
    max_time, default_time = record.seconds("maxtime"), record.seconds("defaulttime")
    if max_time is not None and default_time is not None and default_time > max_time:
        default_time = None
    # Priority is the old key for both of these, and overrides them.
    tier, factor = ("priority",) * 2 if "priority" in record.values else ("prioritytier", "priorityjobfactor")
    exclusive, max_share, force_share = _sharing(record)
    sets = {"nodesets": ",".join(named)} if (named := _sets_of(record, node_sets)) else {}
    return Partition(
        name=name,
        nodes=nodes,
        state=_state(record),
        default=record.flag("default"),
        max_time=max_time,
        default_time=default_time,
        min_nodes=record.integer("minnodes", 0),
        max_nodes=record.limit("maxnodes"),
        priority_tier=record.integer(tier, 1, most=MAX_16),
        priority_job_factor=record.integer(factor, 1, most=MAX_16),
        qos=record.text("qos") or "",
        billing_weights=_billing_weights(record, tres),
        def_mem_per_cpu=record.limit("defmempercpu") or 0,
        def_mem_per_node=record.limit("defmempernode") or 0,
        def_cpu_per_gpu=record.limit("defcpupergpu") or 0,
        def_mem_per_gpu=record.limit("defmempergpu") or 0,
        max_mem_per_cpu=record.limit("maxmempercpu") or 0,
        max_mem_per_node=record.limit("maxmempernode") or 0,
        max_cpus_per_node=record.limit("maxcpuspernode") or 0,
        select_parameters=_select_parameters(record),
        root_only=record.flag("rootonly"),
        req_resv=record.flag("reqresv"),
        exclusive=exclusive,
        max_share=max_share,
        force_share=force_share,
        least_loaded=record.flag("lln"),
        grace_time=record.integer("gracetime", 0),
        allow_users=_allowed_users(groups := _groups(record)),
        allow_groups=groups,
        allow_accounts=_names(record, "allowaccounts"),
        deny_accounts=_names(record, "denyaccounts"),
        allow_qos=_names(record, "allowqos"),
        deny_qos=_names(record, "denyqos"),
        options={key: value for key, value in record.values.items() if key not in READ} | sets,
    )


def _groups(record: Record) -> tuple[str, ...]:
    """Read AllowGroups. ``ALL`` is an empty list."""
    text = record.text("allowgroups") or ""
    if text.count(",") >= MOST_GROUPS:
        raise record.error("allowgroups", f"{quoted(text)} names more than {MOST_GROUPS:,} groups")
    return () if text.upper() == "ALL" else tuple(filter(None, (name.strip() for name in text.split(","))))


def _allowed_users(groups: tuple[str, ...]) -> frozenset[str] | None:
    if not groups:
        return None
    from rota.users import users_of  # not every system has such a database, and it is rarely needed

    return users_of(groups)


def _names(record: Record, key: str) -> tuple[str, ...]:
    """Read a list of names. ``ALL`` is an empty list."""
    text = (record.text(key) or "").lower()
    return () if text == "all" else tuple(filter(None, (name.strip() for name in text.split(","))))


def _select_parameters(record: Record) -> str:
    text = (record.text("selecttypeparameters") or "NONE").upper()
    if text not in _SELECT_PARAMETERS:
        known = ", ".join(_SELECT_PARAMETERS)
        raise record.error("selecttypeparameters", f"{text!r} is nothing that a partition can have: use one of {known}")
    return "" if text == "NONE" else text


def _sharing(record: Record) -> tuple[bool, int, bool]:
    """Read OverSubscribe: whether whole nodes are allocated, how many jobs may share a core, and whether all share.

    The value is NO, EXCLUSIVE, YES or FORCE, the last two perhaps with a number.
    """
    key = "oversubscribe" if "oversubscribe" in record.values else "shared"
    text = (record.text("oversubscribe", "shared") or "NO").upper()
    match = _OVERSUBSCRIBE.fullmatch(text)
    if match is None:
        raise record.error(key, f"{text!r} is none of NO, EXCLUSIVE, YES, YES:4, FORCE, FORCE:4")
    if match["how"] is None:
        return text == "EXCLUSIVE", 1, False
    jobs = int(match["jobs"] or _JOBS_OF_A_CORE)
    if not 1 <= jobs <= MAX_SHARE:
        raise record.error(key, f"{jobs} jobs a core are not from 1 to {MAX_SHARE}")
    return False, jobs, match["how"] == "FORCE"


def _billing_weights(record: Record, tres: Sequence[str]) -> dict[str, float]:
    try:
        return parse_tres_weights(record.text("tresbillingweights") or "", tres)
    except ValueError as error:
        raise record.error("tresbillingweights", str(error)) from None


def _state(record: Record) -> PartitionState:
    text = (record.text("state") or "UP").upper()
    try:
        return PartitionState(text)
    except ValueError:
        known = ", ".join(state.value for state in PartitionState)
        raise record.error("state", f"{text!r} is no partition state: use one of {known}") from None
