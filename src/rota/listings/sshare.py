"""``sshare``: shares, usage and fair-share of associations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rota.model import SHARES_PARENT, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.model import Association

#: User whose associations are shown by default.
_ME = "root"
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


def sshare(
    associations: Sequence[tuple[Association, int]],
    tres: tuple[str, ...],
    *,
    fair_tree: bool = True,
    long: bool = False,
    all_users: bool = False,
    accounts: frozenset[str] = frozenset(),
    users: frozenset[str] = frozenset(),
    users_only: bool = False,
    partitions: bool = False,
    fmt: str = "",
    noheader: bool = False,
    parsable: int = 0,
) -> str:
    """Format associations like ``sshare``; the arguments are its options.

    Args:
        associations: Associations in tree order, each with its depth.
        tres: Names of the TRES in their usage.
        fair_tree: Whether fair-share is computed by Fair Tree.
        long: ``-l``.
        all_users: ``-a``.
        accounts: ``-A``.
        users: ``-u``; by default only root's associations are shown, unless ``-a`` is given.
        users_only: ``-U``.
        partitions: ``-m``.
        fmt: ``-o``.
        noheader: ``-n``.
        parsable: 1 for ``-p``, 2 for ``-P``.

    Raises:
        InputError: the format cannot be used.
    """
    names = _parse_format(fmt) if fmt else _default(long=long, partitions=partitions, fair_tree=fair_tree)
    rows = _rows(associations, tres, accounts, None if all_users and not users else users or {_ME}, users_only)
    if parsable:
        end = "|" if parsable == 1 else ""
        lines = [] if noheader else ["|".join(name for name, _ in names) + end]
        lines += ["|".join(_plain(_value(name, row, fair_tree)) for name, _ in names) + end for row in rows]
    else:
        lines = []
        if not noheader:
            lines.append("".join(_put(name[: abs(width)], width) + " " for name, width in names))
            lines.append("".join("-" * abs(width) + " " for _, width in names))
        lines += ["".join(_put(_value(name, row, fair_tree), width) + " " for name, width in names) for row in rows]
    return "".join(f"{line}\n" for line in lines)


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
            raise InputError(f"no field {word!r}: there are {', '.join(_COLUMNS)}", field="sshare -o")
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
