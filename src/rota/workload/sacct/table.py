"""The lines of a file of ``sacct -P``, or of a CSV file with such columns, as columns of text.

The first line names the columns, in any order; what stands between the first two names is the delimiter. Names are
those of ``sacct``, in any case, or those of published traces. Columns that nothing is made of are passed over, and so
are lines of steps. Only a CSV file (``,``, ``;``, tab) may have quotes: ``sacct`` writes texts as they are. A ``|`` in
one is put back where only one column can have it, such as Constraints with ``-C 'a|b'``.

A line that cannot be told apart, or a value that is odd, costs its job and not the file: such jobs are left out and
counted, and the first is named. If they are more than half, the file has another form, and that is an error.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import TYPE_CHECKING

from rota.model import InputError
from rota.workload.checks import left_out, shown
from rota.workload.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import TypeAlias

    _Fields: TypeAlias = tuple[list[str], list[int], Sequence[int]]

#: Columns by the names that stand for them, without underscores and in lower case.
_COLUMNS = {
    **{
        name.lower(): name
        for name in (
            *("JobID", "JobIDRaw", "User", "UID", "Account", "Partition", "QOS", "State", "Cluster", "Reservation"),
            *("Submit", "Eligible", "Start", "End", "Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw"),
            *("ReqCPUS", "AllocCPUS", "ReqNodes", "NNodes", "ReqMem", "ReqTRES", "AllocTRES", "NodeList"),
            "Constraints",
        )
    },
    "ncpus": "AllocCPUS",
    "allocnodes": "NNodes",
    # The trace of Eagle: time limits in seconds, memory of the whole job in MiB.
    "submittime": "Submit",
    "starttime": "Start",
    "endtime": "End",
    "runtime": "ElapsedRaw",
    "wallclockreq": "limit in seconds",
    "nodesreq": "ReqNodes",
    "processorsreq": "ReqCPUS",
    "gpusreq": "GPUs",
    "memreq": "ReqMem",
    # The workloads of the simulator of Buffalo: seconds since the log's start, memory of a node in MiB.
    "dt": "Submit",
    "walltime": "ElapsedRaw",
    "walllimit": "TimelimitRaw",
    "ntasks": "ReqCPUS",
    "ntaskspernode": "tasks on a node",
    "constraint": "Constraints",
    "mem": "memory of a node",
    "gres": "GRES of a node",
}
#: Columns with a text of the user's, in which a delimiter or a line break can be.
_FREE = ("jobname", "name", "comment", "admincomment", "systemcomment", "workdir", "submitline")
_FIRST_NAMES = re.compile(r'"?([A-Za-z_]+)"?([^A-Za-z0-9_"]+)"?[A-Za-z_]')
_CSV = {",", ";", "\t"}
AGAIN = "run sacct again as docs/workloads.md says"


def _plain(name: str) -> str:
    return name.strip().strip('"').replace("_", "").lower()


def is_sacct(beginning: bytes) -> bool:
    """Whether a file has columns of ``sacct``, by its first line: names, or what only ``sacct -P`` writes."""
    line = _first_line(beginning.decode("utf-8", errors="replace"))
    match = _FIRST_NAMES.match(line)
    if match is not None and _COLUMNS.keys() & {_plain(name) for name in line.split(match[2].strip() or None)}:
        return True
    return line[:1].isdigit() and "|" in line


def _first_line(text: str) -> str:
    return text.removeprefix("\ufeff").lstrip().partition("\n")[0].rstrip("\r")


@dataclass(slots=True)
class Table:
    """The lines of jobs in one file: without those of steps."""

    path: Path
    #: Names of all columns, as they are written.
    header: list[str]
    #: Texts by column, of equal length.
    columns: dict[str, Sequence[str]]
    #: Line of each job in the file, from 1.
    lines: Sequence[int]
    #: What is wrong with a job, by row: the first that was found. Such jobs are left out.
    faults: dict[int, InputError] = field(default_factory=dict)
    #: What is wrong with lines that are no rows, in order.
    broken: list[InputError] = field(default_factory=list)
    #: Lines at which the header comes again: several files were joined to one.
    joints: Sequence[int] = ()

    def leave_out(self, row: int, column: str, problem: str) -> None:
        """Note that a job is to be left out because of one of its values."""
        error = InputError(problem, path=self.path, line=self.lines[row], field=self.named(column))
        self.faults.setdefault(row, error)

    def check_faults(self) -> list[str]:
        """Say how many jobs are left out, and why the first is; nothing: none is.

        Raises:
            InputError: they are more than half of all.
        """
        return left_out([*self.broken, *self.faults.values()], len(self.lines) + len(self.broken))

    def named(self, column: str) -> str:
        """Give the name of a column as it is written in the file."""
        return next((name for name in self.header if _COLUMNS.get(_plain(name)) == column), column)


def read_table(path: Path) -> Table:
    """Read a file, gzip or plain.

    Raises:
        InputError: it cannot be read, has no header or no job, or a line has more or fewer fields than the header.
    """
    text = read_bytes(path).decode("utf-8", errors="replace").removeprefix("\ufeff")
    delimiter = _delimiter(path, _first_line(text))
    lines, numbers = _filled(text.replace("\r\n", "\n").split("\n"))
    joints = [number for number, line in zip(numbers, lines, strict=True) if line == lines[0]][1:] if lines else []
    if joints:
        is_kept = [True, *(line != lines[0] for line in lines[1:])]
        lines, numbers = list(compress(lines, is_kept)), list(compress(numbers, is_kept))
    if len(lines) < 2:
        raise InputError(f"no jobs in it: only a header; {AGAIN}", path=path)
    divide = _quoted if delimiter in _CSV and '"' in text else _split
    fields, counts, numbers = divide(lines, numbers, delimiter)
    header = fields[: counts[0]]
    broken: list[InputError] = []
    if {*counts} != {len(header)}:
        is_whole = text.endswith("\n")
        if not is_whole and counts[-1] < len(header):
            raise _of_another_length(path, header, counts[-1], numbers[-1], is_cut=True)
        fields, numbers, broken = _mended(path, header, (fields, counts, numbers), delimiter)
    texts = [fields[place :: len(header)][1:] for place in range(len(header))]
    names = [_COLUMNS.get(_plain(name)) for name in header]
    columns: dict[str, Sequence[str]] = {
        name: texts[place] for place, name in reversed([*enumerate(names)]) if name is not None
    }
    return _without_steps(Table(path, header, columns, numbers[1:], broken=broken, joints=joints))


def _filled(lines: list[str]) -> tuple[list[str], Sequence[int]]:
    """Leave out blank lines; number the others from 1."""
    while lines and not lines[-1].strip():
        lines.pop()
    numbers = range(1, len(lines) + 1)
    filled = [bool(line) and not line.isspace() for line in lines]
    return (lines, numbers) if all(filled) else (list(compress(lines, filled)), list(compress(numbers, filled)))


def _delimiter(path: Path, first: str) -> str:
    """Find the delimiter of the header.

    Raises:
        InputError: there is none, or the columns are of fixed width.
    """
    match = _FIRST_NAMES.match(first)
    if match is None:
        raise InputError(
            f"no header: the first line must name the columns, but is {shown(first)}: run sacct without --noheader",
            path=path,
            line=1,
        )
    if not match[2].strip(" "):
        raise InputError(f"columns of fixed width, in which values are cut off: {AGAIN}, with -P", path=path, line=1)
    return match[2]


def _split(lines: list[str], numbers: Sequence[int], delimiter: str) -> _Fields:
    """Give the fields of all lines one after the other, how many each line has, and the lines' numbers."""
    # All lines at once: a list for each of a million would keep the garbage collector busy.
    return delimiter.join(lines).split(delimiter), [line.count(delimiter) + 1 for line in lines], numbers


def _quoted(lines: list[str], numbers: Sequence[int], delimiter: str) -> _Fields:
    """Do the same for CSV with quotes, in which a field may have line breaks: its line is the last one then."""
    reader = csv.reader(lines, delimiter=delimiter)
    rows, last = [], []
    for row in reader:
        rows.append(row)
        last.append(numbers[reader.line_num - 1])
    return [*chain.from_iterable(rows)], [*map(len, rows)], last


def _mended(
    path: Path, header: Sequence[str], divided: _Fields, delimiter: str
) -> tuple[list[str], list[int], list[InputError]]:
    """Join fields again that have a delimiter of their own, and leave out lines of which that cannot be told.

    Raises:
        InputError: no line is left.
    """
    free = [place for place, name in enumerate(header) if _plain(name) in {"constraints", *_FREE}]
    found: list[str] = []
    kept: list[int] = []
    broken: list[InputError] = []
    fields, counts, numbers = divided
    at = 0
    for count, number in zip(counts, numbers, strict=True):
        line, at = fields[at : at + count], at + count
        if count > len(header) and len(free) == 1 and delimiter not in _CSV:
            (place,) = free
            last = place + count - len(header)
            line = [*line[:place], delimiter.join(line[place : last + 1]), *line[last + 1 :]]
        if len(line) == len(header):
            found += line
            kept.append(number)
        else:
            broken.append(_of_another_length(path, header, count, number, is_cut=False))
    if len(kept) < 2:
        raise broken[0]
    return found, kept, broken


def _of_another_length(path: Path, header: Sequence[str], fields: int, line: int, *, is_cut: bool) -> InputError:
    """Make the error for a line that has more or fewer fields than the header."""
    count = f"{fields} field{'s' * (fields != 1)} instead of {len(header)}"
    free = [name for name in header if _plain(name) in _FREE]
    field = header[min(fields, len(header)) - 1]
    if is_cut and fields < len(header):
        problem = f"the file is cut off here ({count}): get it again"
    elif free:
        names = " or ".join(filter(None, [", ".join(free[:-1]), *free[-1:]]))
        problem = f"{count}: a delimiter or a line break in {names}? {AGAIN}, without {names}"
        field = free[0]
    else:
        problem = f"{count}: {AGAIN}"
    return InputError(problem, path=path, line=line, field=field)


def _without_steps(table: Table) -> Table:
    ids = table.columns.get("JobID") or table.columns.get("JobIDRaw")
    if ids is None:
        raise InputError(f"the column JobID or JobIDRaw is missing: {AGAIN}", path=table.path, line=1)
    jobs = ["." not in one for one in ids]
    if all(jobs):
        return table
    columns: dict[str, Sequence[str]] = {name: list(compress(texts, jobs)) for name, texts in table.columns.items()}
    return replace(table, columns=columns, lines=list(compress(table.lines, jobs)))
