"""What `rota iostat` shows: lines of a table, of any width."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size

from rota.lustre.measures import NOT_KNOWN
from rota.model.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_UNITS = "KMGTPE"
#: Fields of jobs beside their ids, as far as there is room, the most important first.
_FIELDS = ("user", "name", "account")
#: Characters of a number, of a field at least, and of a group's name at least.
_NUMBER, _FIELD, _LABEL = 8, 9, 8


class Column(NamedTuple):
    """A column of rates."""

    key: str
    metric: str
    title: str
    #: Whether 1 K is 1024.
    is_bytes: bool


#: By the key that sorts by it.
COLUMNS = (
    Column("r", "read_bytes", "READ/s", True),
    Column("w", "write_bytes", "WRITE/s", True),
    Column("R", "read_iops", "READS/s", False),
    Column("W", "write_iops", "WRITES/s", False),
    Column("m", "metadata_iops", "META/s", False),
)


def amount(value: float | None, *, is_bytes: bool) -> str:
    """Write a number in seven characters at most."""
    if not value:
        return "-" if value is None else "0"
    base, power = (1024 if is_bytes else 1000), 0
    while value >= 999.5 and power < len(_UNITS):
        value /= base
        power += 1
    text = f"{value:.3g}" if value >= 0.01 else "<0.01"
    return text + (_UNITS[power - 1] if power else "")


def frame(top: Mapping[str, Any], status: Mapping[str, Any], width: int, height: int) -> list[str]:
    """Make a table.

    Args:
        top: A document of the form `rota.api.lustre.forms.Top`, with the five metrics.
        status: One of the form `rota.api.lustre.forms.Status`.
        width: Characters of a line.
        height: Lines at most.
    """
    head = [_title(top, status), *_troubles(status), ""]
    by = top["by"] or "all"
    left = width - sum(1 + _NUMBER for _ in COLUMNS)
    # A terminal that is too narrow for all columns has those that fit.
    columns: tuple[Column, ...] = COLUMNS
    while left < _LABEL and len(columns) > 1:
        columns = columns[:-1] if columns[-1].metric != top["sort"] else (*columns[:-2], columns[-1])
        left += 1 + _NUMBER
    fields = [name for name in _FIELDS if any((row["fields"] or {}).get(name) for row in top["rows"])]
    fields = fields[: max((left - 2 * _FIELD) // (1 + _FIELD), 0)]
    label = max(left - len(fields) * (1 + _FIELD), 1)
    titles = [column.title + ("<" if column.metric == top["sort"] else "") for column in columns]
    body = [_line([by.upper(), *(name.upper() for name in fields)], titles, label)]
    rows = top["rows"][: max(height - len(head) - 3, 1)]
    for row in rows:
        known = row["fields"] or {}
        texts = [row["label"] or "(not known)", *(str(known.get(name, "")) for name in fields)]
        body.append(_line(texts, _numbers(row, columns), label))
    hidden = len(top["rows"]) - len(rows)
    if top["more"] and not hidden:
        body.append(
            _line([f"({top['more']:,} others)", *("" for _ in fields)], _numbers(top["others"], columns), label)
        )
    body.append(_line(["(all)", *("" for _ in fields)], _numbers(top["all"], columns), label))
    return [line[:width] for line in (*head, *body)][:height]


def _numbers(row: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    return [amount(row["rates"][column.metric], is_bytes=column.is_bytes) for column in columns]


def _line(texts: Sequence[str], numbers: Sequence[str], label: int) -> str:
    first, *others = (printable(text) for text in texts)
    left = " ".join([_cut(first, label), *(_cut(one, _FIELD) for one in others)])
    return left + "".join(f" {number:>{_NUMBER}}" for number in numbers)


def _cut(text: str, width: int) -> str:
    """Give a text so many columns of a terminal."""
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _title(top: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    until = datetime.fromtimestamp(status["until"], UTC).astimezone()
    failing = sum(bool(one["error"]) for one in status["sources"])
    where = f"{len(status['sources']) - failing} of {len(status['sources'])} sources"
    # Also one of an earlier release does not name what it could not read.
    unread = top["all"]["totals"].get(NOT_KNOWN) or 0
    unknown = f"  {unread:,} times not known" if unread else ""
    return f"rota iostat  {until:%H:%M:%S}  mean of {top['end'] - top['begin']} s  {where}{unknown}"


def _troubles(status: Mapping[str, Any]) -> list[str]:
    found = [f"! {one['name']}: {one['error']}" for one in status["sources"] if one["error"]]
    # A service of an earlier release has no remarks.
    found += [f"! {one['name']}: {one['remark']}" for one in status["sources"] if one.get("remark")]
    found += [
        f"! {one['name']} is still being read" for one in status["sources"] if one["missed"] and one["busy_since"]
    ]
    if status["writing"]["error"]:
        found.append(f"! the store cannot be written: {status['writing']['error']}")
    plugins = status["lookups"].get("plugins", {})
    found += [f"! jobs cannot be looked up: {one['fault']}" for one in plugins.values() if one["fault"]]
    if len(found) > 3:
        found[2:] = [f"! and {len(found) - 2} more"]
    return [printable(one) for one in found]
