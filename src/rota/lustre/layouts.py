r"""Layouts: the form that all entries of a dump share, learned from one of them, so that others are read at a stroke.

A target writes each entry alike: the same lines, operations and units in the same order, and only the id, the times and
the numbers differ. So an expression is made of one entry, which matches another whole or not at all:

========================================= =====================================================================
of a line of the entry                    what the expression takes
========================================= =====================================================================
``- job_id:          4000001``            an id without blanks, at most as long as Lustre's
``  snapshot_time:   1720000000``         a number that is no longer than any that counts
``  sync:   { samples:  3, unit: reqs }`` numbers, with any blanks in front of them; all else as it is
========================================= =====================================================================

What it matches is read to the same effect as line by line, by `rota.lustre.job_stats`; what it does not, for whatever
reason, is left to be read so. An operation that never happened, as four of five did not, has a branch of its own, in
which there is nothing to tell.

What reads an entry is generated, as `collections.namedtuple` is: a loop over the counters would take a fifth more time.
In the generated text there are numbers of groups only, nothing of what was read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.lustre.counter_lines import NUMBER, SIZES, SQUARES, match_usual, whole, words
from rota.lustre.counters import Counter, JobStats
from rota.lustre.job_ids import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: What an entry begins with.
BEGINNING = b"- job_id:"
#: Entries that are read at once. Few enough to be dropped again before Python's collector looks at them, which takes a
#: tenth of the time; and they stay in the processor's cache.
BATCH = 64
#: Layouts that are kept: a release has one for OSTs and one for MDTs.
KEPT_LAYOUTS = 32

_BLANKS = rb" {0,64}+"
#: An id that means what it is, or one with quotes or escapes.
_ID = rb'(?:([!#-[\]-~]{1,124}+)|([!#-[\]-~]{0,124}+["\\][!-~]{0,124}+))'
_SECONDS = rb"\d{1,15}+(?:\.\d{0,12}+)?+"
_match_id = re.compile(BEGINNING + _BLANKS + _ID).fullmatch
_match_time = re.compile(
    rb"\s{0,9}+(snapshot|start|elapsed)_time {0,9}+: {0,64}+(%b)(?: secs\.nsecs)?" % _SECONDS
).fullmatch
#: What stands in the groups of `match_usual` that differ from entry to entry; and the same where nothing happened. Both
#: cannot match the same: else an entry that deviates at its end would be tried in all combinations of them.
_HAPPENED = {2: rb"([1-9]\d{0,17}+)", **dict.fromkeys((4, 5, 6), _BLANKS + rb"(%b)" % NUMBER)}
_HAPPENED |= {7: _BLANKS + rb"(%b)" % SQUARES, 8: rb"(%b)" % SIZES}
_ZERO = {2: b"0", **dict.fromkeys((4, 5, 6, 7), _BLANKS + b"0"), 8: _BLANKS}

_SOURCE = """\
def read(text, begin, end, target):
    found = []
    for _ in range(BATCH):
        entry = match(text, begin, end)
        if entry is None:
            break
        begin = entry.end()
        {groups} = entry.groups()
        if raw_id is None:
            raw_id, job_id = quoted, decode(quoted)
        else:
            job_id = raw_id.decode()
        counters = {{}}
        {counters}
        found.append(JobStats(target, raw_id, job_id, {snapshot}, {start}, counters))
    return found, begin
"""
#: ``tuple.__new__`` does what ``Counter(…)`` does, in a third of the time.
_COUNTER = """\
if g{samples} is not None:
            counters[names[{number}]] = new(Counter, (int(g{samples}), units[{number}], {others}))"""
_ELSE_ZERO = """
        else:
            counters[names[{number}]] = zeros[{number}]"""


class Layout(NamedTuple):
    """A layout."""

    #: Lines of an entry, and those that are counters.
    lines: int
    counters: int
    #: Of a text, from where an entry begins in it to an end: reads entries of a target, some, up to the first that has
    #: another layout, or behind which no other begins. Gives them, and where what is left begins.
    read: Callable[[bytes, int, int, str], tuple[list[JobStats], int]]


def learn(entry: bytes, *, zeros: bool = False) -> Layout | None:
    """Learn the layout of an entry of which every line could be read. ``None``: one of them is too unusual.

    Args:
        entry: The entry.
        zeros: Whether its reader is to give the counters of what never happened, too.
    """
    lines = entry.removesuffix(b"\n").split(b"\n")
    if _match_id(lines[0]) is None:
        return None
    expressions = [BEGINNING + _BLANKS + _ID]
    groups = ["raw_id", "quoted"]
    times: dict[bytes, str] = {}
    counters: list[re.Match[bytes]] = []
    texts = []
    for line in lines[1:]:
        if (time := _match_time(line)) is not None and time[1] not in times:
            front, behind = _around(time, [2])
            times[time[1]] = f"float(g{len(groups)})"
            groups.append(f"g{len(groups)}")
            expressions.append(front + _BLANKS + b"(%b)" % _SECONDS + behind)
        elif (counter := match_usual(line)) is not None:
            there = [group for group in _HAPPENED if counter[group] is not None]
            front, *between, behind = _around(counter, there)
            zero, happened = (
                b"".join(form[group] + after for group, after in zip(there, (*between, b""), strict=True))
                for form in (_ZERO, _HAPPENED)
            )
            expressions.append(front + _BLANKS + b"(?:%b|%b)" % (zero, happened) + behind)
            text = _counter(len(counters), dict(zip(there, count(len(groups)))))
            texts.append(text + _ELSE_ZERO.format(number=len(counters)) if zeros else text)
            counters.append(counter)
            groups += [f"g{number}" for number in range(len(groups), len(groups) + len(there))]
        else:
            return None
    source = _SOURCE.format(
        groups=", ".join(groups),
        counters="\n        ".join(texts),
        snapshot=times.get(b"snapshot"),
        start=times.get(b"start"),
    )
    names = tuple(words[counter[1]] for counter in counters)
    expression = b"\n".join(expressions) + b"\n(?=%b)" % BEGINNING
    return Layout(len(lines), len(counters), _compile(expression, source, names, tuple(map(_zero, counters))))


def _zero(counter: re.Match[bytes]) -> Counter:
    """Give a counter as it is where nothing happened."""
    low, high, total, squares = (None if counter[group] is None else 0 for group in (4, 5, 6, 7))
    return Counter(0, words[counter[3]], low, high, total, squares, None if counter[8] is None else b"")


def _around(match: re.Match[bytes], groups: Sequence[int]) -> list[bytes]:
    """Give expressions for what stands in front of each group, without blanks at its end, and behind the last."""
    ends = [0, *(match.end(group) for group in groups)]
    begins = [*(match.start(group) for group in groups), len(match.string)]
    *fronts, behind = [match.string[end:begin] for end, begin in zip(ends, begins, strict=True)]
    return [*(re.escape(front.rstrip(b" ")) for front in fronts), re.escape(behind)]


def _counter(number: int, groups: Mapping[int, int]) -> str:
    """Give the text that reads a counter.

    Args:
        number: Which it is.
        groups: Of the groups of `match_usual` that are there, those of the entry's expression.
    """
    numbers = [f"int(g{groups[group]})" if group in groups else "None" for group in (4, 5, 6)]
    squares = f"whole(g{groups[7]})" if 7 in groups else "None"
    sizes = f"g{groups[8]}" if 8 in groups else "None"
    return _COUNTER.format(number=number, samples=groups[2], others=", ".join((*numbers, squares, sizes)))


@lru_cache(KEPT_LAYOUTS)
def _compile(expression: bytes, source: str, names: tuple[str, ...], zeros: tuple[Counter, ...]) -> Callable[..., Any]:
    namespace: dict[str, Any] = {
        "match": re.compile(expression).match,
        "names": names,
        "units": [zero.unit for zero in zeros],
        "zeros": zeros,
        "new": tuple.__new__,
        **{one.__name__: one for one in (Counter, JobStats, decode, whole)},
        "BATCH": BATCH,
    }
    exec(source, namespace)  # noqa: S102 - of this module and of numbers
    read: Callable[..., Any] = namespace["read"]
    return read
