"""One line of one counter: its usual form, which is read fast, and every other that still makes sense."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from rota.lustre.counters import Counter

if TYPE_CHECKING:
    from collections.abc import Callable

#: What 64 bits with a sign hold: Lustre's own counters go no further, and databases cannot.
LARGEST = (1 << 63) - 1
#: Different names, units and labels that are kept; Lustre has about a hundred.
KEPT_WORDS = 4096

#: What stands in the usual counter. All is bounded, so that it takes no line that is longer than any that Lustre
#: writes; and nothing is tried twice (``+``), which halves the time.
NUMBER = rb"\d{1,18}+"
SQUARES = rb"\d{1,20}+(?:\.\d{1,20}+e\+\d\d)?+"
SIZES = rb"[^{}\n]{0,4096}+"

#: The usual counter: fields in their order, any number of blanks. Its groups are the fields of `Counter`, from the
#: second on, behind the name.
match_usual: Callable[[bytes], re.Match[bytes] | None] = re.compile(
    rb"\s{0,9}+([^\s:{}]{1,64}+) {0,64}+: {0,64}+\{ {0,64}+"
    rb"samples: {0,64}+(%(n)b), {0,64}+unit: {0,64}+(\w{1,16}+) {0,9}+(?:"
    rb", {0,64}+min: {0,64}+(%(n)b), {0,64}+max: {0,64}+(%(n)b), {0,64}+sum: {0,64}+(%(n)b) {0,9}+(?:"
    rb", {0,64}+sumsq: {0,64}+(%(squares)b) {0,9}+(?:"
    rb", {0,64}+hist: {0,9}+\{(%(sizes)b)\} {0,9}+"
    rb")?)?)?\}\s{0,9}+" % {b"n": NUMBER, b"squares": SQUARES, b"sizes": SIZES}
).fullmatch

_UNUSUAL = re.compile(rb"\s*([^\s:{}]{1,64})\s*:\s*\{(.*)\}\s*", re.DOTALL).fullmatch
_HISTOGRAM = re.compile(rb"\bhist\s*:\s*\{([^{}]*)\}")
_FIELD = re.compile(rb"\b(\w{1,32})\s*:\s*([^\s,{}]+)").findall
_NUMBER = re.compile(rb"\d{1,20}(?:\.\d{0,20})?(?:[eE]\+?\d{1,2})?").fullmatch


class _Words(dict[bytes, str]):
    """Names as text. There are few, so that each is decoded once."""

    def __missing__(self, raw: bytes) -> str:
        word = sys.intern(raw.decode("utf-8", "backslashreplace"))
        if len(self) < KEPT_WORDS:
            self[raw] = word
        return word


#: Of names as they are written, the text.
words = _Words()


def usual_counter(match: re.Match[bytes]) -> tuple[str, Counter]:
    """Tell the name and the counter of a usual line."""
    name, samples, unit, minimum, maximum, total, squares, histogram = match.groups()
    if total is None:
        return words[name], Counter(int(samples), words[unit])
    sum_of_squares = None if squares is None else whole(squares)
    return words[name], Counter(
        int(samples), words[unit], int(minimum), int(maximum), int(total), sum_of_squares, histogram
    )


def whole(written: bytes) -> int:
    """Give a number that may be written as ``1.234e+20``."""
    return int(written) if written.isdigit() else int(float(written))


def unusual_counter(line: bytes) -> tuple[str, Counter]:
    """Tell the name and the counter of any other line: fields in any order, unknown ones, numbers as ``1.234e+20``.

    Raises:
        ValueError: It is none; the text says why.
    """
    match = _UNUSUAL(line)
    if match is None:
        raise ValueError("neither a counter nor anything else that is known")
    name, body = match.groups()
    histogram = _HISTOGRAM.search(body)
    fields = dict(_FIELD(_HISTOGRAM.sub(b"", body)))
    if b"samples" not in fields or b"unit" not in fields:
        raise ValueError("a counter without samples or unit")
    counter = Counter(
        _number(fields, b"samples") or 0,
        words[fields[b"unit"]],
        _number(fields, b"min"),
        _number(fields, b"max"),
        _number(fields, b"sum"),
        _number(fields, b"sumsq", bounded=False),
        histogram and histogram[1],
    )
    return words[name], counter


def _number(fields: dict[bytes, bytes], name: bytes, *, bounded: bool = True) -> int | None:
    written = fields.get(name)
    if written is None:
        return None
    if not _NUMBER(written):
        raise ValueError(f"{name.decode()} is no number that counts")
    number = whole(written)
    if bounded and number > LARGEST:
        raise ValueError(f"{name.decode()} is larger than a counter can be")
    return number
