"""``sreport``: the use of the cluster in a time, by accounts and users.

It is computed from the jobs that ``sacct`` knows, to the second; Slurm adds up whole hours when they are over. As in
Slurm, the time begins and ends with an hour; without ``start=`` and ``end=`` it is yesterday.

What the cluster was doing, in processor seconds: *allocated* to jobs; *down* are nodes that an administrator had set
down; *planned* is what jobs that waited were to get, as far as it was idle; the rest was *idle*.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.commands.getopt import NEEDED, Option, Parsed, UsageError, parse, table
from rota.commands.moments import parse_slurm_time
from rota.listings.answer import VERSION, Answer
from rota.listings.common import ALONE, VERBOSE, about, clock_of, cluster_heading
from rota.listings.sacct_table import put
from rota.listings.sreport_rows import Asked, Row, accounts_rows, cluster_rows, top_users_rows, users_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.listings.view import View

_OPTIONS = table(
    "sreport",
    [
        Option("all_clusters", "a", ignored=ALONE),
        Option("cluster", "M", NEEDED),
        Option("federation", ignored=ALONE),
        Option("help", "h"),
        Option("local", ignored=ALONE),
        Option("noheader", "n"),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("quiet", "Q", ignored="Slurm prints the same with it"),
        Option("time", "t", NEEDED),
        Option("tres", "T", NEEDED),
        Option("usage"),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
    ],
)
_USAGE = "Usage: sreport [OPTIONS] cluster Utilization|AccountUtilizationByUser|UserUtilizationByAccount | user Top\n"
_HOUR, _DAY = 3600, 86400
_LINE = "-" * 80
_WORD = re.compile(r"(?P<key>[^=]*)(?P<equals>=?)(?P<value>.*)", re.DOTALL)
_FORMAT = re.compile(r"(?P<name>[^%]*)(%(?P<width>-?\d+))?")
#: The reports: keyword, name, and the fewest letters of the name.
_REPORTS = {
    "cluster": ("AccountUtilizationByUser", "UserUtilizationByAccount", "UserUtilizationByWckey", "Utilization",
                "WCKeyUtilizationByUser"),
    "user": ("TopUsage",),
}  # fmt: skip
_VALID = {
    "cluster": 'Valid cluster reports are, "AccountUtilizationByUser", "UserUtilizationByAccount", '
    '"UserUtilizationByWckey", "Utilization", and "WCKeyUtilizationByUser"\n',
    "user": 'Valid user reports are, "Top"\n',
}
_NOT_DONE = frozenset({"UserUtilizationByWckey", "WCKeyUtilizationByUser"})
#: Ways to show a time: seconds of the unit, its name, and whether the percentage follows.
_TIMES = {
    "seconds": (1, "Seconds", False),
    "minutes": (60, "Minutes", False),
    "hours": (3600, "Hours", False),
    "percent": (0, "", True),
    "secper": (1, "Seconds", True),
    "minper": (60, "Minutes", True),
    "hourper": (3600, "Hours", True),
}
_WIDE = 17
#: Older names of fields.
_ALIASES = {"accounts": "account", "cpucount": "trescount", "reserved": "planned"}


def sreport(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``sreport``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    cluster_heading("sreport", parsed._replace(options=tuple(_renamed(parsed))), view)
    if parsed.words in {("help",), ("version",)}:
        return Answer(_USAGE if parsed.words == ("help",) else f"{VERSION}\n")
    if not parsed.words:
        raise UsageError("sreport: error: rota has no interactive mode: give a report\n")
    report = _report(parsed.words)
    asked = _read(parsed, view)
    cluster = "Cluster,Allocated,Down,PlannedDown,Idle,Planned,Reported"
    user = "Cluster,Login,Proper,Account,Used"
    reports: dict[str, tuple[str, str, Callable[[Asked, View], list[Row]]]] = {
        "AccountUtilizationByUser": (
            "Cluster/Account/User Utilization",
            "Cluster,Account,Login,Proper,Used",
            accounts_rows,
        ),
        "UserUtilizationByAccount": ("Cluster/User/Account Utilization", user, users_rows),
        "TopUsage": (f"Top {asked.top} Users", user, top_users_rows),
        "Utilization": ("Cluster Utilization", cluster, cluster_rows),
    }
    title, form, rows = reports[report]
    several = parsed.last("tres") is not None
    if several:
        first, last = ("Used", "TRESName,Used") if form.endswith("Used") else ("Cluster,", "Cluster,TRESName,")
        form = form.replace(first, last)
    elif form.endswith("Used"):
        form += ",Energy"
    fields = _fields(asked, asked.format or form)
    head = "" if parsed.has("noheader") else _heading(asked, title, view, environ, several=several, report=report)
    return Answer(head + put(fields, rows(asked, view), parsed))


def _renamed(parsed: Parsed) -> list[tuple[str, str | None]]:
    return [("clusters" if name == "cluster" else name, value) for name, value in parsed.options]


# ---- what is asked ---------------------------------------------------------------------------------------------


def _report(words: Sequence[str]) -> str:
    """Find the report.

    Raises:
        UsageError: there is none of this name.
    """
    keyword = words[0].lower()
    kind = next((name for name in _REPORTS if name.startswith(keyword) and (len(keyword) > 1 or name == "user")), None)
    if kind is None:
        if any(len(keyword) > 1 and name.startswith(keyword) for name in ("job", "reservation")):
            raise UsageError(f"sreport: error: {words[0]} reports are not supported by rota\n")
        raise UsageError(f"invalid keyword: {words[0]}\n")
    if len(words) < 2:
        raise UsageError(f"too few arguments for keyword:{words[0]}\n")
    short = words[1].lower()
    found = next((name for name in _REPORTS[kind] if name.lower().startswith(short)), None)
    if found is None:
        raise UsageError(f"Not valid report {words[1]}\n{_VALID[kind]}")
    if found in _NOT_DONE:
        raise UsageError(f"sreport: error: {found} is not supported by rota\n")
    return found


def _read(parsed: Parsed, view: View) -> Asked:
    """Read the words after the report.

    Raises:
        UsageError: one cannot be used.
    """
    given: dict[str, str] = {}
    flags: set[str] = set()
    for word in parsed.words[2:]:
        match = _WORD.fullmatch(word)
        key = match["key"].lower() if match else ""
        known = ("accounts", "clusters", "end", "format", "start", "topcount", "users")
        name = next((one for one in known if key and one.startswith(key)), None)
        if match is None or not match["equals"]:
            flags |= {one for one in ("group", "tree") if one.startswith(word.lower())}
        elif name is None:
            raise UsageError(f" Unknown condition: {word}\nUse keyword set to modify value\n")
        else:
            given[name] = match["value"]
    if given.get("format") == "":
        raise UsageError(" Unknown field ''\n")
    if not re.fullmatch(r"-?[0-9]{1,9}", given.get("topcount", "10")):
        raise UsageError(f"sreport: error: Invalid value for TopCount ({given['topcount']})\n")
    start, end = _period(given, view)
    way = (parsed.last("time") or "minutes").lower()
    unit = next((one for name, one in _TIMES.items() if name.startswith(way)), None)
    if unit is None:
        raise UsageError(f"sreport: error: unknown time format {parsed.last('time')}\n")
    lists = {name: frozenset(one.strip().lower() for one in text.split(",")) for name, text in given.items()}
    return Asked(
        parsed, start, end, _tres(parsed, view), unit[0], unit[2], given.get("format", ""), lists, frozenset(flags)
    )


def _period(given: Mapping[str, str], view: View) -> tuple[int, int]:
    offset = view.utc_offset(view.now)
    today = (view.now + offset) // _DAY * _DAY - offset
    moments = {"start": today - _DAY, "end": today}
    for name in moments:
        if name in given:
            moments[name] = parse_slurm_time(given[name], view.now, view.utc_offset, past=True)
    start, end = (-(-(one + offset) // _HOUR) * _HOUR - offset for one in moments.values())
    return start, end if end > start else start + _HOUR


def _tres(parsed: Parsed, view: View) -> tuple[str, ...]:
    text = parsed.last("tres")
    if text is None:
        return ("cpu",)
    if text.lower() == "all":
        return tuple(name for name in view.tres if name != "node")
    names = tuple(one.strip().lower() for one in text.split(","))
    for name in names:
        if name not in view.tres:
            raise UsageError(f"sreport: error: no TRES {name}: there are {', '.join(view.tres)}\n")
    return names


def _heading(asked: Asked, title: str, view: View, environ: Mapping[str, str], *, several: bool, report: str) -> str:
    clock = clock_of(view, environ)
    length = "" if report == "Utilization" else f" ({asked.end - asked.start} secs)"
    name = next(one[1] for one in _TIMES.values() if one[0] == asked.unit)
    unit = f"{'TRES' if several else 'CPU'} {name}" if asked.unit else ""
    share = "Percentage of Total" if asked.percent else ""
    return (
        f"{_LINE}\n{title} {clock.moment(asked.start)} - {clock.moment(asked.end - 1)}{length}\n"
        f"Usage reported in {'/'.join(filter(None, (unit, share)))}\n{_LINE}\n"
    )


# ---- fields ----------------------------------------------------------------------------------------------------


def _fields(asked: Asked, form: str) -> list[tuple[str, int, Callable[[Row], str]]]:
    """Find the fields of a format.

    Raises:
        UsageError: there is none of this name.
    """
    wide = _WIDE if asked.percent and asked.unit else 8
    tree = "tree" in asked.flags

    def time(name: str) -> Callable[[Row], str]:
        return lambda row: asked.of(row.seconds.get(name, 0.0), row.total)

    known: dict[str, tuple[str, int, Callable[[Row], str]]] = {
        "account": ("Account", -20 if tree else 15, lambda row: " " * (row.depth if tree else 0) + row.account),
        "allocated": ("Allocated", wide, time("allocated")),
        "cluster": ("Cluster", 9, lambda row: row.cluster),
        "down": ("Down", wide, time("down")),
        "energy": ("Energy", wide, time("energy")),
        "idle": ("Idle", wide, time("idle")),
        "login": ("Login", 9, lambda row: row.user),
        "planned": ("Planned", wide, time("planned")),
        "planneddown": ("PLND Down", wide, time("planned down")),
        "proper": ("Proper Name", 15, lambda row: row.user),
        "reported": ("Reported", wide, lambda row: asked.of(row.seconds.get("reported", 0.0), row.possible)),
        "trescount": ("TRES Count", 10, lambda row: str(row.tres_count)),
        "tresname": ("TRES Name", 14, lambda row: row.tres),
        "used": ("Used", wide, time("used")),
    }
    fields = []
    for word in form.split(","):
        match = _FORMAT.fullmatch(word.strip())
        short = match["name"].lower() if match else ""
        name = _ALIASES.get(short) or next((one for one in known if short and one.startswith(short)), None)
        if match is None or name is None:
            raise UsageError(f" Unknown field '{word.strip()}'\n")
        heading, width, text = known[name]
        fields.append((heading, int(match["width"] or width), text))
    return fields
