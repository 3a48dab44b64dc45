"""Tables of ``sacct`` and ``sacctmgr``: columns of fixed width, in which longer text ends in ``+``, or delimiters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.commands.getopt import Parsed
    from rota.commands.job_ids import JobId

T = TypeVar("T")
#: Most fields of a format, and characters of a line: a listing must not keep a controller busy.
_MOST_FIELDS = 500
_WIDEST = 8192
#: Number of cells of a column that are kept: most texts come again and again.
_KEPT = 1000


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

    def no_id(word: str) -> UsageError:
        return UsageError(f"{command}: fatal: Bad job/step specified: {word}\n")

    found = parse_job_ids(command, texts, no_id)
    if bracketed := next((one for one in found if one.bracketed), None):
        raise UsageError(f"{command}: fatal: Bad job array element specified: {bracketed.job_id}\n")
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


class Lines(Generic[T]):
    """Formats rows as lines, and the heading above them. A row is not needed any more as soon as it is a line.

    Args:
        fields: Of each its name, its width, and what gives its text.
        parsed: The command line.

    Raises:
        UsageError: there are too many fields, or they are too wide.
    """

    def __init__(self, fields: Sequence[tuple[str, int, Callable[[T], str]]], parsed: Parsed) -> None:
        if len(fields) > _MOST_FIELDS:
            raise UsageError(f"error: a format has at most {_MOST_FIELDS} fields in rota\n")
        names = [name for name, _, _ in fields]
        self._texts = [text for _, _, text in fields]
        if (parsable := parsed.last_of("parsable", "parsable2")) is not None:
            self._columns: list[tuple[_Cells, Callable[[T], str]]] = []
            self._between = parsed.last("delimiter") or "|"
            ending = self._between if parsable == "parsable" else ""
            heads = [names]
        else:
            if sum(abs(width) for _, width, _ in fields) > _WIDEST:
                raise UsageError(f"error: a line has at most {_WIDEST} characters in rota\n")
            self._columns = [(_Cells(width), text) for _, width, text in fields]
            self._between, ending = " ", " "
            widths = [width for _, width, _ in fields]
            cut = [name[: abs(width)] for name, width in zip(names, widths, strict=True)]
            heads = [
                [_Cells(width)[text] for width, text in zip(widths, cut, strict=True)],
                ["-" * abs(width) for width in widths],
            ]
        self._end = f"{ending}\n" if fields else "\n"
        #: The lines above the rows.
        self.head = "" if parsed.has("noheader") else "".join([self._between.join(one) + self._end for one in heads])

    def line(self, row: T) -> str:
        """Format a row."""
        if self._columns:
            return self._between.join([cells[text(row)] for cells, text in self._columns]) + self._end
        return self._between.join([text(row) for text in self._texts]) + self._end


class _Cells(dict[str, str]):
    """The cells of a column by their texts: padded, and cut if longer. A negative width aligns to the left."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._size = abs(width)
        self._pad = str.ljust if width < 0 else str.rjust

    def __missing__(self, text: str) -> str:
        size = self._size
        cell = self._pad(text, size) if len(text) <= size else f"{text[: size - 1]}+" if size else ""
        if len(self) < _KEPT:
            self[text] = cell
        return cell


def put(fields: Sequence[tuple[str, int, Callable[[T], str]]], rows: Iterable[T], parsed: Parsed) -> str:
    """Format the heading and the rows; see `Lines`.

    Raises:
        UsageError: there are too many fields, or they are too wide.
    """
    lines = Lines(fields, parsed)
    return "".join([lines.head, *map(lines.line, rows)])
