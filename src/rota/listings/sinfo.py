"""``sinfo``: partitions and nodes.

A row stands for all nodes that are equal in what the format shows. Numbers of CPUs, memory, disk, weight and shape do
not divide rows: the smallest is shown, with ``+`` if others have more; with ``-e`` they do. If the format shows the
partition, every partition has a row, even without nodes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.forms import form_of
from rota.commands.getopt import NEEDED, Option, Parsed, UsageError, parse, table
from rota.config.hostlist import expand_hostlist, fold_sorted
from rota.listings.answer import Answer
from rota.listings.clock import full_duration
from rota.listings.columns import Format, parse_format, parse_named_format
from rota.listings.columns import table as as_table
from rota.listings.common import ALONE, HIDDEN, VERBOSE, about, clock_of, cluster_heading, seconds_between, words_of
from rota.listings.node_columns import LETTERS, NodeColumns, partition_text
from rota.listings.node_groups import Group, group_nodes, state_number
from rota.listings.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.forms import Form
    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import NodeLine

_OPTIONS = table(
    "sinfo",
    [
        Option("all", "a", ignored=HIDDEN),
        Option("dead", "d"),
        Option("exact", "e"),
        Option("federation", ignored=ALONE),
        Option("help"),
        Option("hide", ignored=HIDDEN),
        Option("iterate", "i", NEEDED),
        Option("local", ignored=ALONE),
        Option("long", "l"),
        Option("clusters cluster", "M", NEEDED),
        Option("nodes", "n", NEEDED),
        Option("noconvert", ignored="sizes are shown in MiB in any case"),
        Option("noheader", "h"),
        Option("Node", "N"),
        Option("format", "o", NEEDED),
        Option("Format", "O", NEEDED),
        Option("partition", "p", NEEDED),
        Option("responding", "r"),
        Option("list-reasons", "R"),
        Option("summarize", "s"),
        Option("sort", "S", NEEDED),
        Option("states", "t", NEEDED),
        Option("reservation", "T"),
        Option("json"),
        Option("yaml"),
        Option("usage"),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
    ],
)
_USAGE = """\
Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]
             [-S fields] [-o format]
"""
#: Formats; ``#`` is the width of the longest partition or node list.
_DEFAULT = "%{part}P %.5a %.10l %.6D %.6t %N"
_LONG = "%{part}P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
_SUMMARY = "%{part}P %.5a %.10l %.16F %N"
_NODES = "%{node}N %.6D %.{part}P %6t"
_LONG_NODES = "%{node}N %.6D %.{part}P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
_REASONS = "%20E %9u %19H %N"
_LONG_REASONS = "%20E %12U %19H %6t %N"
_LEAST_PART, _LEAST_NODE = 9, 9
_STATES = (
    "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,cloud,completing,"
    "powering_down,powered_down,power_down,powering_up,fail,maint,reboot,reboot^,unknown"
)
#: States by abbreviation.
_SHORT = {"alloc": "allocated", "comp": "completing", "resv": "reserved", "unk": "unknown", "mix": "mixed"}
_OTHER = frozenset(
    [
        "perfctrs",
        "npc",
        "cloud",
        "powering_down",
        "powered_down",
        "power_down",
        "powering_up",
        "fail",
        "failing",
        "future",
        "futr",
        "reboot_issued",
        "reboot_requested",
        "blocked",
        "no_respond",
        "error",
        "inval",
    ]
)
_FLAGS = {"completing": "COMPLETING", "maint": "MAINTENANCE", "reserved": "RESERVED", "planned": "PLANNED"}


class _Shape(NamedTuple):
    """The format, with the letters or names that it uses."""

    form: Format[Group]
    keys: frozenset[str]
    complaint: str


#: What is said of a value of ``--iterate`` that cannot be used.
_ITERATE = "sinfo: error: Error: invalid entry for --iterate={}\n"


def sinfo(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``sinfo``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    dated = bool(seconds_between(parsed, _ITERATE))
    answer = _answer(parsed, environ, view, dated=dated)
    return answer._replace(out=f"{answer.out}\n") if dated else answer


def every(argv: Sequence[str]) -> int:
    """Give the seconds after which a command line is to be answered again; 0: once is enough.

    Raises:
        UsageError: the command line is refused.
    """
    return seconds_between(parse(argv, _OPTIONS), _ITERATE)


def _answer(parsed: Parsed, environ: Mapping[str, str], view: View, *, dated: bool) -> Answer:
    clock = clock_of(view, environ)
    heading = cluster_heading("sinfo", parsed, view)
    if not parsed.has("reservation"):
        view.privacy.require("partitions")
        view.privacy.require("nodes")
    if (asked := form_of(parsed)) is not None:
        return _document(parsed, environ, view, asked)
    if parsed.has("reservation"):
        return Answer(heading + _reservations(view, clock, header=not parsed.has("noheader")))
    shown, wanted = _filter(parsed), _partitions(parsed, environ)
    partitions = [part for part in view.partitions() if not wanted or part.name in wanted]
    nodes = [node for node in view.nodes() if shown(node)]
    shape = _shape(parsed, environ, view, clock)
    groups = group_nodes(
        partitions,
        nodes,
        shape.keys,
        exact=parsed.has("exact"),
        by_node=_by_node(parsed),
        counted=not parsed.has("exact"),
    )
    _sort(groups, parsed, environ)
    given = parsed.has("format") or parsed.has("Format")
    form = _sized(shape, "" if given else _text(parsed, environ), NodeColumns(view, clock), groups)
    if (parsed.has("long") or dated) and not parsed.has("noheader"):
        heading += f"{clock.heading()}\n"
    return Answer(heading + as_table(form, groups, header=not parsed.has("noheader")), shape.complaint)


def _partitions(parsed: Parsed, environ: Mapping[str, str]) -> frozenset[str]:
    """Give the names after ``-p``; none: all partitions are shown."""
    return words_of(parsed.last("partition") or environ.get("SINFO_PARTITION"))


def _document(parsed: Parsed, environ: Mapping[str, str], view: View, form: Form) -> Answer:
    """Give the nodes as a document."""
    from rota.listings.openapi.document import document, text_of
    from rota.listings.openapi.machine import node_object

    shown, wanted = _filter(parsed), _partitions(parsed, environ)
    nodes = [one for one in view.nodes() if shown(one) and (not wanted or not wanted.isdisjoint(one.partitions))]
    return Answer(text_of(document("nodes", (node_object(node, view) for node in nodes)), form))


def _by_node(parsed: Parsed) -> bool:
    return parsed.has("Node")


# ---- formats ----------------------------------------------------------------------------------------------------


def _text(parsed: Parsed, environ: Mapping[str, str]) -> str:
    """Give the format of ``-o``, in which ``{part}`` and ``{node}`` stand for widths."""
    given = parsed.last("format")
    if given is None and not any(parsed.has(one) for one in ("Node", "long", "summarize", "list-reasons")):
        given = environ.get("SINFO_FORMAT")
    if given is not None:
        return _all_letters(given).replace("{", "{{").replace("}", "}}")
    long = parsed.has("long")
    if parsed.has("summarize"):
        return _SUMMARY
    if parsed.has("list-reasons"):
        return _LONG_REASONS if long else _REASONS
    if parsed.has("Node"):
        return _LONG_NODES if long else _NODES
    return _LONG if long else _DEFAULT


def _all_letters(text: str) -> str:
    if "%all" not in text:
        return text
    lower, upper = (sorted(one for one in LETTERS if one.isupper() is case) for case in (False, True))
    every = "|".join(f"%{one}" for one in lower) + "|" + "|".join(f"%{one} " for one in upper)
    return text.replace("%all", every)


def _shape(parsed: Parsed, environ: Mapping[str, str], view: View, clock: Clock) -> _Shape:
    columns = NodeColumns(view, clock)
    named = parsed.last("Format")
    if named is not None and named.strip().lower() != "all":
        by_name = columns.by_name()
        form = parse_named_format(named, by_name)
        complaint = "".join(f"sinfo: error: Invalid job format specification: {one}\n" for one in form.unknown)
        keys = frozenset(word.partition(":")[0].strip().lower() for word in named.split(","))
        return _Shape(form, columns.letters_of(keys), complaint)
    text = _all_letters("%all") if named is not None else _text(parsed, environ)
    letters = columns.by_letter()
    form = parse_format(text.format(part=_LEAST_PART, node=_LEAST_NODE), letters)
    complaint = "".join(f"Invalid node format specification: {one}\n" for one in form.unknown)
    keys = frozenset(letter for letter, column in letters.items() if any(one.column is column for one in form.fields))
    return _Shape(form, keys, complaint)


def _sized(shape: _Shape, text: str, columns: NodeColumns, groups: list[Group]) -> Format[Group]:
    """Set the widths that depend on what is shown, and mark the default partition within its width.

    Args:
        shape: The format with the least widths.
        text: A format of sinfo's own; empty: the user has given one, with widths.
        columns: The columns.
        groups: The rows.
    """
    form = shape.form
    if text:
        names = [len(group.part.name) + group.part.default for group in groups]
        part = max(names, default=0)
        node = max((len(group.hostlist) for group in groups), default=0)
        widths = {"part": max(part, _LEAST_PART), "node": max(node, _LEAST_NODE)}
        form = parse_format(text.format(**widths), columns.by_letter())
    fields = [
        one._replace(column=one.column._replace(text=partial(partition_text, size=one.size)))
        if one.column is not None and one.column.text is partition_text
        else one
        for one in form.fields
    ]
    return form._replace(fields=fields)


# ---- order ------------------------------------------------------------------------------------------------------


def _sort(groups: list[Group], parsed: Parsed, environ: Mapping[str, str]) -> None:
    """Sort rows; letters that are not known are passed over, as in Slurm."""
    keys = parsed.last("sort") or environ.get("SINFO_SORT") or ("N" if parsed.has("Node") else "#P,-t")
    by: dict[str, Callable[[Group], float | str]] = {
        "#P": lambda group: group.place,
        "P": lambda group: group.part.name,
        "t": state_number,
        "T": state_number,
        "N": lambda group: group.names[0] if group.names else "",
        "D": lambda group: len(group.names),
        "c": lambda group: group.least("cpus"),
        "m": lambda group: group.least("memory"),
        "d": lambda group: group.least("tmp_disk"),
        "w": lambda group: group.least("weight"),
        "l": lambda group: group.part.max_time or 2**62,
        "E": lambda group: group.nodes[0].reason if group.nodes else "",
        "H": lambda group: group.nodes[0].reason_time if group.nodes else 0,
        "f": lambda group: ",".join(group.nodes[0].features) if group.nodes else "",
        "p": lambda group: group.part.priority_tier,
        "I": lambda group: group.part.priority_job_factor,
    }
    by["R"] = by["P"]
    for word in reversed(dict.fromkeys(keys.split(","))):
        key = by.get(word.strip().lstrip("+-"))
        if key is not None:
            groups.sort(key=key, reverse=word.strip().startswith("-"))


# ---- filters ----------------------------------------------------------------------------------------------------


def _filter(parsed: Parsed) -> Callable[[NodeLine], bool]:
    conditions: list[Callable[[NodeLine], bool]] = []
    if (text := parsed.last("nodes")) is not None:
        try:
            named = frozenset(expand_hostlist(text)) if text else frozenset()
        except ValueError:
            raise UsageError(f"sinfo: error: '{text}' is an invalid node list\n") from None
        conditions.append(lambda node: node.name in named)
    if (text := parsed.last("states")) is not None:
        wanted = [[_state(word) for word in words.split("&")] for words in text.split(",")]
        conditions.append(lambda node: any(all(_is(node, one) for one in some) for some in wanted))
    elif parsed.has("list-reasons"):
        flags = {"DRAIN", "FAIL"}
        conditions.append(
            lambda node: bool(node.reason) and (node.base_state == "DOWN" or not flags.isdisjoint(node.flags))
        )
    if parsed.has("dead"):
        conditions.append(_silent)
    if parsed.has("responding"):
        conditions.append(lambda node: not _silent(node))
    return lambda node: all(one(node) for one in conditions)


def _silent(node: NodeLine) -> bool:
    return "*" in node.state or "NOT_RESPONDING" in node.flags


def _state(word: str) -> str:
    name = word.strip().lower()
    name = _SHORT.get(name, name)
    if name == "all":
        return name
    known = name in {"down", "idle", "allocated", "mixed", "unknown", "drain", "drained", "draining", "drng"}
    if not known and name not in _FLAGS and name not in _OTHER:
        raise UsageError(f'sinfo: error: Bad state string: "{word}"\nsinfo: error: valid states: {_STATES}\n')
    return "draining" if name == "drng" else name


def _is(node: NodeLine, name: str) -> bool:
    if name in {"drained", "draining"}:
        return node.state.startswith(name.upper())
    if name == "allocated":  # also those that are allocated in part
        return node.base_state in {"ALLOCATED", "MIXED"} and node.state.rstrip("*$+") != "IDLE"
    if name in _FLAGS:
        return _FLAGS[name] in node.flags
    if name == "drain":
        return "DRAIN" in node.flags
    if name in {"idle", "mixed"}:
        return node.base_state.lower() == name and not node.flags
    return name == "all" or node.base_state.lower() == name or (name == "no_respond" and _silent(node))


# ---- reservations -----------------------------------------------------------------------------------------------


def _reservations(view: View, clock: Clock, *, header: bool) -> str:
    found = view.reservations()
    if not found:
        return "No reservations in the system\n"
    rows = [("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST")] if header else []
    rows += [
        (
            plain(one.name),
            one.state,
            clock.moment(one.start_time),
            clock.moment(one.end_time),
            full_duration(one.end_time - one.start_time),
            fold_sorted(one.nodes),
        )
        for one in found
    ]
    width = max(10, *(len(row[0]) for row in rows))
    return "".join(
        f"{name:<{width}} {state:>8}  {start:>19}  {end:>19}  {length:>11}  {nodes}\n"
        for name, state, start, end, length, nodes in rows
    )
