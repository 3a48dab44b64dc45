"""``job_stats``, read as it arrives, in every form that Lustre 2.3 to 2.17 and its vendor branches give it.

The rule is that a line that cannot be read costs what stands in it and no more. Nothing is told by column, indentation
or release, only by what the line says:

=============================== ==================================================================================
``obdfilter.NAME.job_stats=``   the entries of target NAME follow; ``job_stats:`` may stand on the same line
``ANY.OTHER.parameter=``        nothing of ours follows
``job_stats:``                  entries follow, of the target that was named or of the one that the parser was told
``- job_id: ID``                an entry begins
``snapshot_time: 1.5 …``        and ``start_time``, ``elapsed_time``
``NAME: { samples: 1, … }``     a counter: see `rota.lustre.counter_lines`
=============================== ==================================================================================

A text may have several targets and no name, as of ``lctl get_param -n`` or ``cat */job_stats``: each ``job_stats:`` for
which there is no name begins another one. They are told apart by their place: ``NAME``, ``NAME#2``, ``NAME#3`` ….

A counter may be broken over several lines, as consoles do. Of a counter that is there twice, the first counts. An
entry whose ``job_id`` cannot be read is passed over whole, as nobody can tell whose it is.

The entries of a target are alike, so how one looks is learned, and what looks the same is read at a stroke (see
`rota.lustre.layouts`), which is what makes this fast. What deviates in anything is read line by line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rota.lustre.counter_lines import match_usual, unusual_counter, usual_counter
from rota.lustre.counters import JobStats
from rota.lustre.job_ids import decode
from rota.lustre.layouts import BEGINNING, Layout, learn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.lustre.counters import Counter

#: Bytes read at a time: little enough for the processor's cache.
CHUNK = 1 << 17
#: What goes beyond this in a line is not looked at.
LONGEST_LINE = 8192
#: Lustre's ids have at most 31 bytes, each written as at most four characters.
LONGEST_ID = 1024
#: Of the bad lines, so many are kept to be shown, each with so many bytes.
SHOWN_BAD_LINES = 20
SHOWN_BYTES = 100
#: Entries that are read line by line before a layout is learned, as that takes as long as to read a thousand; each time
#: in vain it is twice as many.
PATIENCE = 32

_PARAMETER = re.compile(rb"([!-<>-z|~]+)=(.*)", re.DOTALL).fullmatch
_TARGET = re.compile(rb"(?:.*\.)?([^.]+)\.job_stats").fullmatch
_JOB_ID = re.compile(rb"\s*-\s*job_id\s*:(.*)", re.DOTALL).fullmatch
_TIME = re.compile(
    rb"\s*+(snapshot|start|elapsed)_time\s*+:\s*+(\d{1,15}+(?:\.\d{0,12}+)?+)(?:\s++secs\.nsecs)?+\s*+"
).fullmatch
#: What stands in front of the next entry.
_NEXT = b"\n" + BEGINNING
#: Of these, a part can look whole.
_HEADER = re.compile(rb"\s*-\s*job_id\s*:|\s*\w+_time\s*:").match
#: What no rest of a broken counter looks like.
_BEGINNING = re.compile(
    rb"\s*-\s*job_id\s*:|\s*\w+_time\s*:|\s*[^\s:{}]+\s*:\s*\{\s*samples|[!-<>-z|~]+=|job_stats:"
).match


class BadLine(NamedTuple):
    """A line that could not be read."""

    #: Counted from 1.
    number: int
    target: str
    reason: str
    #: What it begins with.
    text: str

    def said(self, source: str) -> str:
        """Say what is wrong with it, in one line for people, of a text that has this name."""
        return f"{source}: line {self.number} ({self.target}): {self.reason}: {self.text!r}"


@dataclass(slots=True)
class Findings:
    """What was read so far."""

    jobs: int = 0
    #: Of these jobs, those of what was done at least once, and the others.
    counters: int = 0
    zeros: int = 0
    lines: int = 0
    bad_lines: int = 0
    #: The first of them.
    shown: list[BadLine] = field(default_factory=list)
    #: How many targets there were without a name.
    nameless: int = 0
    #: Every target that was named, those without jobs included, and whether all of its entries were found.
    targets: dict[str, bool] = field(default_factory=dict)


class JobStatsParser:
    """Bytes in, in pieces of any size; entries out, in order.

    Where the pieces are split does not matter: the same bytes give the same entries and findings.
    """

    def __init__(self, target: str = "", *, zeros: bool = False) -> None:
        """Begin to read one stream.

        Args:
            target: Of entries in front of which none is named, as in the file ``job_stats`` itself.
            zeros: Give the counters of what never happened, too.
        """
        self.findings = Findings()
        self._default_target = self._target = target
        self._zeros = zeros
        #: Whether the lines that come are about jobs. At the start they should be.
        self._is_ours = True
        #: Whether the target that was begun has no `job_stats:` yet.
        self._is_open = False
        #: The entry that is being read; none where nobody can tell whose the counters are.
        self._job: JobStats | None = None
        self._nameless = False
        #: Entries that have ended and were not given yet.
        self._found: list[JobStats] = []
        #: An incomplete line; and a complete one that seems to go on in the next.
        self._rest = b""
        self._broken: bytes | None = None
        #: The layout that was learned last, for how many entries it has not been of use, and after how many another is
        #: learned.
        self._layout: Layout | None = None
        self._others = 0
        self._patience = PATIENCE

    def read(self, stream: BinaryIO) -> Iterator[JobStats]:
        """Read a stream to its end.

        Raises:
            OSError: It cannot be read.
        """
        return self.read_pieces(iter(lambda: stream.read(CHUNK), b""))

    def read_pieces(self, pieces: Iterable[bytes]) -> Iterator[JobStats]:
        """Read all that there is, in these pieces."""
        return chain.from_iterable(self._batches(pieces))

    def _batches(self, pieces: Iterable[bytes]) -> Iterator[list[JobStats]]:
        for piece in pieces:
            yield from self._feed(piece)
        yield self.close()

    def feed(self, data: bytes) -> list[JobStats]:
        """Read some more bytes, and give the entries that end in them."""
        return [*chain.from_iterable(self._feed(data))]

    def _feed(self, data: bytes) -> Iterator[list[JobStats]]:
        text = self._rest + data
        end = text.rfind(b"\n") + 1
        self._rest = text[end:][: LONGEST_LINE + 1]  # enough to know that it is too long
        begin = 0
        while begin < end:
            following = self._read_alike(text, begin, end)
            if following == begin:
                following = text.find(_NEXT, begin, end) + 1 or end
                self._read_entry(text[begin:following])
            begin = following
            found, self._found = self._found, []
            yield found

    def close(self) -> list[JobStats]:
        """Read what is left at the end of the stream: a line without an end, and the last entry."""
        cut = b""
        if _HEADER(self._rest):
            cut, self._rest = self._rest, b""
        found = self.feed(b"\n") if self._rest else []
        if _JOB_ID(cut):
            self._end_job()
        for line in filter(None, (self._broken, cut)):
            self.findings.lines += 1
            if self._is_ours:
                self._bad(self.findings.lines, line, "the input ends in the middle of this line")
                self._lose_entries()
        self._end_job()
        return found + self._found

    def _read_alike(self, text: bytes, begin: int, end: int) -> int:
        """Read some entries that have the layout, if one begins there. Tell where what is left begins."""
        if self._layout is None or not self._is_ours or self._broken is not None:
            return begin
        found, begin = self._layout.read(text, begin, end, self._target)
        if found:
            self._end_job()
            self._found += found
            self._nameless = False
            self._others = 0
            findings = self.findings
            findings.targets.setdefault(self._target, True)
            findings.jobs += len(found)
            findings.lines += len(found) * self._layout.lines
            happened = sum([len(job.counters) for job in found])
            if self._zeros:
                happened = sum([1 for job in found for counter in job.counters.values() if counter.samples])
            findings.counters += happened
            findings.zeros += self._layout.counters * len(found) - happened
        return begin

    def _read_entry(self, text: bytes) -> None:
        """Read whole lines, of one entry or a part of it."""
        bad_lines = self.findings.bad_lines
        lines = text.split(b"\n")
        lines.pop()
        if self._broken is not None:
            lines.insert(0, self._broken)
            self._broken = None
        self._read_lines(lines)
        self._others += 1
        if self._others >= self._patience and self._is_ours and bad_lines == self.findings.bad_lines:
            self._layout = learn(text, zeros=self._zeros)
            self._others = 0
            self._patience *= 2

    def _read_lines(self, lines: list[bytes]) -> None:
        first = self.findings.lines + 1
        for number, line in enumerate(lines, first):
            job = self._job
            if job is not None and (usual := match_usual(line)) is not None:
                self._add(job, number, line, *usual_counter(usual))
                continue
            if self._read_other_line(number, line[:LONGEST_LINE]):
                following = number - first + 1
                if following == len(lines):
                    self._broken = lines.pop()
                elif _BEGINNING(lines[following][:LONGEST_LINE]) or len(line) > LONGEST_LINE:
                    self._bad(number, line, "a counter without its end")
                else:
                    lines[following] = line + lines[following]
        self.findings.lines += len(lines)

    def _read_other_line(self, number: int, line: bytes) -> bool:
        """Read a line that is no usual counter. Tell whether it seems to go on in the next."""
        if match := _TIME(line):
            self._set_time(number, line, *match.groups())
        elif match := _JOB_ID(line):
            self._end_job()
            self._begin_job(number, line, match[1].strip())
        elif match := _PARAMETER(line):
            self._end_job()
            self._begin_parameter(*match.groups())
        elif line.rstrip() == b"job_stats:":
            self._end_job()
            self._begin_target(self._target if self._is_open else self._next_nameless())
        elif self._is_ours and not line.isspace() and line:
            if line.count(b"{") > line.count(b"}"):
                return True
            self._read_unusual_counter(number, line)
        return False

    def _begin_parameter(self, name: bytes, value: bytes) -> None:
        match = _TARGET(name)
        self._is_ours = match is not None and value.strip() in {b"", b"job_stats:"}
        if match and self._is_ours:
            self._begin_target(match[1].decode("utf-8", "backslashreplace"))
            self._is_open = not value.strip()
        else:
            self._is_open = False

    def _next_nameless(self) -> str:
        """Name the next target without a name."""
        self.findings.nameless += 1
        place = self.findings.nameless
        return self._default_target if place == 1 else f"{self._default_target}#{place}"

    def _begin_target(self, name: str) -> None:
        self._is_ours = True
        self._is_open = False
        self._nameless = False
        self._target = name
        self.findings.targets.setdefault(name, True)

    def _begin_job(self, number: int, line: bytes, raw_id: bytes) -> None:
        if not self._is_ours:
            return
        self._nameless = len(raw_id) > LONGEST_ID
        if self._nameless:
            self._bad(number, line, "a job_id longer than any")
            self._lose_entries()
        else:
            if not self.findings.targets:
                self._begin_target(self._next_nameless())
            self.findings.targets.setdefault(self._target, True)
            self._job = JobStats(self._target, raw_id, decode(raw_id), None, None, {})

    def _end_job(self) -> None:
        if self._job is not None:
            self.findings.jobs += 1
            self._found.append(self._job)
            self._job = None

    def _set_time(self, number: int, line: bytes, name: bytes, seconds: bytes) -> None:
        job = self._job
        if job is None:
            if self._is_ours and not self._nameless:
                self._bad(number, line, "a time in front of any job_id")
                self._lose_entries()
        elif name == b"start":
            job.start_time = float(seconds)
        elif name == b"snapshot":
            if job.snapshot_time is None:
                job.snapshot_time = float(seconds)
                return
            self._bad(number, line, "a second snapshot_time: there is no job_id for what follows")
            self._lose_entries()

    def _read_unusual_counter(self, number: int, line: bytes) -> None:
        if self._nameless:
            return
        try:
            name, counter = unusual_counter(line)
        except ValueError as error:
            self._bad(number, line, str(error))
            if line.lstrip().startswith(b"-"):  # it was to begin an entry
                self._lose_entries()
        else:
            if self._job is None:
                self._bad(number, line, "a counter in front of any job_id")
                self._lose_entries()
            else:
                self._add(self._job, number, line, name, counter)

    def _add(self, job: JobStats, number: int, line: bytes, name: str, counter: Counter) -> None:
        if counter.samples or counter.total:
            self.findings.counters += 1
        else:
            self.findings.zeros += 1
            if not self._zeros:
                return
            if counter.histogram is not None and counter.histogram.isspace():
                counter = counter._replace(histogram=b"")
        if name in job.counters:
            self._bad(number, line, "a counter for the second time")
        else:
            job.counters[name] = counter

    def _lose_entries(self) -> None:
        """Pass over what follows, until an entry begins."""
        self._end_job()
        self._nameless = True
        self.findings.targets[self._target] = False

    def _bad(self, number: int, line: bytes, reason: str) -> None:
        findings = self.findings
        findings.bad_lines += 1
        if self._job is not None:
            self._job.damaged = True
        if len(findings.shown) < SHOWN_BAD_LINES:
            text = line[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
            findings.shown.append(BadLine(number, self._target, reason, text))
