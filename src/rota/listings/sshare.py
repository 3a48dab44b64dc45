"""``sshare``: shares, usage and fair-share of associations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import NEEDED, Option, Parsed, UsageError, parse, table
from rota.listings.answer import Answer
from rota.listings.common import VERBOSE, about, cluster_heading, words_of
from rota.model import SHARES_PARENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.listings.view import View
    from rota.model import Association

_FIELD = re.compile(r"(?P<name>\w+)(?:%(?P<width>-?\d+))?")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the output."""

    one: Association
    #: Number of blanks before the account.
    indent: int
    tres: tuple[str, ...]
    root: bool


class _Column(NamedTuple):
    #: Width; negative: left-aligned.
    width: int
    value: Callable[[_Row], str | float | None]


def _shares(row: _Row) -> str | None:
    if row.root:
        return None
    return "parent" if row.one.shares_raw == SHARES_PARENT else str(row.one.shares_raw)


def _minutes(row: _Row, seconds: Sequence[float]) -> str:
    return ",".join(f"{name}={int(count // 60)}" for name, count in zip(row.tres, seconds, strict=False))


_COLUMNS: dict[str, _Column] = {
    "Account": _Column(-20, lambda row: " " * row.indent + row.one.account),
    "User": _Column(10, lambda row: row.one.user),
    "Partition": _Column(12, lambda row: row.one.partition),
    "RawShares": _Column(10, _shares),
    "NormShares": _Column(11, lambda row: row.one.shares_norm),
    "RawUsage": _Column(11, lambda row: f"{int(row.one.usage_raw)}"),
    "NormUsage": _Column(11, lambda row: None if row.root else row.one.usage_norm),
    "EffectvUsage": _Column(13, lambda row: row.one.usage_efctv),
    "FairShare": _Column(10, lambda row: row.one.fs_factor),
    "LevelFS": _Column(10, lambda row: row.one.level_fs),
    "GrpTRESMins": _Column(30, lambda row: row.one.limits.get("GrpTRESMins", "")),
    "TRESRunMins": _Column(30, lambda row: _minutes(row, row.one.grp_used_tres_run_secs)),
    "GrpTRESRaw": _Column(30, lambda row: _minutes(row, row.one.usage_tres_raw)),
}
_DEFAULT = ("Account", "User", "RawShares", "NormShares", "RawUsage", "EffectvUsage", "FairShare")


_OPTIONS = table(
    "sshare",
    [
        Option("accounts", "A", NEEDED),
        Option("all", "a"),
        Option("helpformat", "e"),
        Option("help"),
        Option("json", refused=True),
        Option("long", "l"),
        Option("clusters cluster", "M", NEEDED),
        Option("partition", "m"),
        Option("noheader", "n"),
        Option("noheader", "h"),
        Option("format", "o", NEEDED),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("users user", "u", NEEDED),
        Option("Users", "U"),
        Option("usage"),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
    ],
)
#: A user id.
_UID = re.compile(r"[0-9]{1,9}")
_USAGE = "Usage: sshare [OPTIONS]\n"
_NAMES = sorted([*_COLUMNS, "Cluster", "ID"])
_HELP_FORMAT = "".join(
    f"{' '.join(f'{name:<17}' for name in _NAMES[place : place + 4])}\n" for place in range(0, len(_NAMES), 4)
)


def sshare(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:  # noqa: ARG001 -- as all commands
    """Evaluate a command line. Without ``-a`` and ``-u`` only the associations of the user who asks are shown.

    Args:
        argv: The words after ``sshare``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = check(argv)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if parsed.has("helpformat"):
        return Answer(_HELP_FORMAT)
    heading = cluster_heading("sshare", parsed, view)
    fair_tree = view.priority_conf.fair_tree
    long, fmt = parsed.has("long"), parsed.last("format")
    names = _parse_format(fmt or "") or _default(long=long, partitions=parsed.has("partition"), fair_tree=fair_tree)
    users = words_of(parsed.last("users"))
    users = frozenset(view.user_name(int(one)) if _UID.fullmatch(one) else one for one in users)
    wanted = None if parsed.has("all") and not users else users or {view.user}
    accounts = words_of(parsed.last("accounts"))
    associations = _seen(view)
    rows = _rows(associations, view.tres, accounts, wanted, parsed.has("Users"))
    lines = _lines(names, rows, parsed, fair_tree=fair_tree)
    return Answer(heading + "".join(f"{line}\n" for line in lines))


def _seen(view: View) -> list[tuple[Association, int]]:
    """Give the associations that the user may see; those below one that they may not begin at the left margin."""
    seen: list[tuple[Association, int]] = []
    depths: dict[int, int] = {}
    for line in view.associations():
        one = line.association
        if view.privacy.shows_association(one):
            depth = depths[one.id] = depths.get(one.parent_id, -1) + 1
            seen.append((one, depth if view.privacy.kinds else line.depth))
    return seen


def check(argv: Sequence[str]) -> Parsed:
    """Parse a command line.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if parsed.words:
        listed = "".join(f"sshare: error:  {word}\n" for word in parsed.words)
        raise UsageError(f"sshare: error: Unknown arguments:\n{listed}")
    if fmt := parsed.last("format"):
        _parse_format(fmt)
    return parsed


def _lines(names: list[tuple[str, int]], rows: list[_Row], parsed: Parsed, *, fair_tree: bool) -> list[str]:
    header = not parsed.has("noheader")
    if (parsable := parsed.last_of("parsable", "parsable2")) is not None:
        end = "" if parsable == "parsable2" else "|"
        lines = ["|".join(name for name, _ in names) + end] if header else []
        return lines + ["|".join(_plain(_value(name, row, fair_tree)) for name, _ in names) + end for row in rows]
    lines = []
    if header:
        lines.append("".join(_put(name[: abs(width)], width) + " " for name, width in names))
        lines.append("".join("-" * abs(width) + " " for _, width in names))
    return lines + ["".join(_put(_value(name, row, fair_tree), width) + " " for name, width in names) for row in rows]


def _default(*, long: bool, partitions: bool, fair_tree: bool) -> list[tuple[str, int]]:
    names = list(_DEFAULT)
    if partitions:
        names.insert(2, "Partition")
    if long:
        names.insert(names.index("RawUsage") + 1, "NormUsage")
        names += [*(["LevelFS"] if fair_tree else []), "GrpTRESMins", "TRESRunMins"]
    return [(name, _COLUMNS[name].width) for name in names]


def _parse_format(fmt: str) -> list[tuple[str, int]]:
    """Parse ``Account,User%15``: names may be abbreviated; a negative width aligns to the left."""
    fields = []
    for word in filter(None, (word.strip() for word in fmt.split(","))):
        match = _FIELD.fullmatch(word)
        short = match["name"].lower() if match else ""
        found = [name for name in _COLUMNS if name.lower().startswith(short)] if match else []
        if match is None or not found:
            raise UsageError(f'sshare: error: Invalid field requested: "{word}"\n')
        name = next((name for name in found if name.lower() == short), found[0])
        fields.append((name, int(match["width"] or _COLUMNS[name].width)))
    return fields


def _rows(
    associations: Sequence[tuple[Association, int]],
    tres: tuple[str, ...],
    accounts: frozenset[str],
    users: frozenset[str] | set[str] | None,
    users_only: bool,
) -> list[_Row]:
    """Choose the rows; ``users`` are those whose associations are shown, ``None``: all users."""
    shown = [
        (one, depth)
        for one, depth in associations
        if (not accounts or one.account in accounts)
        and (users is None or not one.user or one.user in users)
        and (one.user or not users_only)
    ]
    rows = []
    # Accounts below one that is not shown begin at the left margin.
    indent_of: dict[int, int] = {}
    for one, _ in shown:
        indent = 0 if users_only else indent_of.get(one.parent_id, -1) + 1
        if not one.user:
            indent_of[one.id] = indent
        rows.append(_Row(one, indent, tres, one.parent_id == 0))
    return rows


def _value(name: str, row: _Row, fair_tree: bool) -> str | float | None:
    if name == "FairShare" and fair_tree and not row.one.user:
        return None
    return _COLUMNS[name].value(row)


def _plain(value: str | float | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.6f}"


def _put(value: str | float | None, width: int) -> str:
    """Align a value: numbers that are too wide get an exponent, text that is too wide ends in ``+``."""
    size, text = abs(width), _plain(value)
    if len(text) > size and isinstance(value, float):
        return f"{value:.{max(size - 6, 0)}e}"
    if len(text) > size and not text.lstrip("-").isdigit():
        text = f"{text[: size - 1]}+"
    return text.ljust(size) if width < 0 else text.rjust(size)
