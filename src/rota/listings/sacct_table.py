"""Tables of ``sacct`` and ``sacctmgr``: columns of fixed width, in which longer text ends in ``+``, or delimiters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_id
from rota.commands.lists import split_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.commands.getopt import Parsed
    from rota.commands.job_ids import JobId

T = TypeVar("T")
#: Most fields of a format, and characters of a line: a listing must not keep a controller busy.
_MOST_FIELDS = 500
_WIDEST = 8192


def help_format(known: Iterable[str]) -> str:
    """Give what ``--helpformat`` prints: the names of all fields, four on a line."""
    names = list(known)
    return "".join(
        f"{' '.join(f'{one:<19}' for one in names[place : place + 4])}\n" for place in range(0, len(names), 4)
    )


def ids_of(command: str, texts: Iterable[str]) -> list[JobId]:
    """Parse lists of jobs and steps.

    Args:
        command: For messages.
        texts: The lists.

    Raises:
        UsageError: one of them is none.
    """
    found = []
    for word in (part for text in texts for part in split_list(text)):
        one = parse_job_id(word)
        if one is not None and one.bracketed:
            raise UsageError(f"{command}: fatal: Bad job array element specified: {one.job_id}\n")
        if one is None:
            raise UsageError(f"{command}: fatal: Bad job/step specified: {word}\n")
        found.append(one)
    return found


def fields_of(text: str, known: Mapping[str, int], command: str) -> list[tuple[str, int]]:
    """Give the fields of a format: name and width, negative: aligned to the left.

    Args:
        text: Names, in any case and shortened, with commas; ``%`` and a width may follow.
        known: All fields, with their widths.
        command: For messages.

    Raises:
        UsageError: there is no such field.
    """
    found: list[tuple[str, int]] = []
    for word in text.split(","):
        name, percent, size = word.lstrip().partition("%")
        if not name:  # as in Slurm, what follows is passed over
            break
        low = name.lower()
        full = next((one for one in known if one.lower() == low), None)
        full = full or next((one for one in known if one.lower().startswith(low)), None)
        if full is None:
            raise UsageError(f'{command}: error: Invalid field requested: "{name}"\n')
        found.append((full, _width(size) if percent else known[full]))
    return found


def _width(text: str) -> int:
    left = text.startswith("-")
    digits = text.lstrip("-")
    size = min(int(digits[:9]), 4096) if digits.isascii() and digits.isdigit() else 0
    return -size if left else size


def put(fields: Sequence[tuple[str, int, object]], rows: list[T], parsed: Parsed) -> str:
    """Format the rows, column by column.

    Raises:
        UsageError: there are too many fields, or they are too wide.
    """
    if len(fields) > _MOST_FIELDS:
        raise UsageError(f"error: a format has at most {_MOST_FIELDS} fields in rota\n")
    if parsed.has("parsable") or parsed.has("parsable2"):
        return _parsable(fields, rows, parsed)
    if sum(abs(width) for _, width, _ in fields) > _WIDEST:
        raise UsageError(f"error: a line has at most {_WIDEST} characters in rota\n")
    columns: list[list[str]] = []
    for name, width, text in fields:
        texts = map(text, rows) if callable(text) else []
        head = [] if parsed.has("noheader") else [name[: abs(width)], "-" * abs(width)]
        columns.append(_padded([*head, *texts], width))
    if not columns:
        return "\n" * (len(rows) + 2 * (not parsed.has("noheader")))
    return "".join([f"{' '.join(cells)} \n" for cells in zip(*columns, strict=True)])


def _padded(texts: list[str], width: int) -> list[str]:
    """Pad texts, and cut what is longer; a negative width aligns to the left."""
    size, pad = abs(width), str.ljust if width < 0 else str.rjust
    cells = {one: pad(one, size) if len(one) <= size else f"{one[: size - 1]}+" if size else "" for one in {*texts}}
    return [cells[one] for one in texts]


def _parsable(fields: Sequence[tuple[str, int, object]], rows: list[T], parsed: Parsed) -> str:
    mark = parsed.last("delimiter") or "|"
    ending = mark if parsed.has("parsable") and not parsed.has("parsable2") else ""
    head = [] if parsed.has("noheader") else [mark.join(name for name, _, _ in fields) + ending]
    columns = [list(map(text, rows)) if callable(text) else [] for _, _, text in fields]
    lines = [mark.join(cells) + ending for cells in zip(*columns, strict=True)] if columns else [""] * len(rows)
    return "".join(f"{line}\n" for line in (*head, *lines))
