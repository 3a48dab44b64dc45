"""What is read at a stroke is what is read line by line, of any text; and is read so wherever it can be."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.lustre import job_stats, layouts
from rota.lustre.counters import Counter, JobStats
from rota.lustre.job_stats import Findings, JobStatsParser
from rota.lustre.simulation.texts import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

IDS = (b"4103947", b"cp.0", b'a"b', b"123[4].srv", b"\xc6\x92iFkb", b"two words", b"a:b/c", b"-rf", b"x" * 31)
NAMES = ("read_bytes", "write_bytes", "read", "open", "setattr", "punch", "sync")


@pytest.fixture(scope="module")
def dumps() -> dict[str, bytes]:
    """A dump of each generation and kind, of a few entries with all kinds of ids and numbers."""
    dice = random.Random(7)  # noqa: S311

    def entries(target: str) -> Iterator[JobStats]:
        for number in range(12):
            counters = {}
            for name in dice.sample(NAMES, 3):
                samples = dice.choice([1, 9_000, 10**12, 10**17])
                sizes = b"4K: 3, 1M: %d" % samples if name.endswith("_bytes") else None
                counters[name] = Counter(samples, "usecs", 1, 10**9, samples * 3, samples * samples, sizes)
            yield JobStats(target, dice.choice(IDS), "", 1.72e9 + number, 1.71e9 + number, counters)

    return {
        f"{name} {target}": generation.text(target, entries(target), boot=1.7e9)
        for name, generation in GENERATIONS.items()
        for target in ("lustre-OST0000", "lustre-MDT0000")
    }


def read(pieces: list[bytes], patience: int, *, zeros: bool = False) -> tuple[list[JobStats], Findings]:
    """Read pieces, learning a layout after so many entries."""
    before, job_stats.PATIENCE = job_stats.PATIENCE, patience
    try:
        parser = JobStatsParser("here", zeros=zeros)
        return list(parser.read_pieces(pieces)), parser.findings
    finally:
        job_stats.PATIENCE = before


def line_by_line(data: bytes, *, zeros: bool = False) -> tuple[list[JobStats], Findings]:
    return read([data], 1 << 60, zeros=zeros)


def damaged(draw: st.DataObject, data: bytes) -> bytes:
    """A text with some of the damage that texts suffer: bytes changed, lost, added and moved."""
    for _ in range(draw.draw(st.integers(0, 4))):
        place = draw.draw(st.integers(0, len(data)))
        length = draw.draw(st.sampled_from([0, 1, 2, 40, 300]))
        line = draw.draw(st.sampled_from(data.splitlines(keepends=True) or [b""]))
        put = draw.draw(st.sampled_from([b"", b"\n", b" ", b"0", b"{", b"}", b"- job_id: 7\n", b"a.b=\n", line]))
        data = data[:place] + put + data[place + length :]
    return data


@given(draw=st.data(), zeros=st.booleans())
def test_any_text_in_any_pieces_says_what_its_lines_say(
    dumps: dict[str, bytes], draw: st.DataObject, zeros: bool
) -> None:
    first, second = (dumps[draw.draw(st.sampled_from(sorted(dumps)))] for _ in range(2))
    data = damaged(draw, first + second)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=9)))
    pieces = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    found, findings = read(pieces, draw.draw(st.integers(1, 3)), zeros=zeros)
    assert (found, findings) == line_by_line(data, zeros=zeros)
    if zeros and not findings.bad_lines:
        assert sum(len(job.counters) for job in found) == findings.counters + findings.zeros


def test_samples_say_what_their_lines_say(samples: dict[str, bytes]) -> None:
    for name, data in samples.items():
        for zeros in (False, True):
            assert read([data * 2], 1, zeros=zeros) == line_by_line(data * 2, zeros=zeros), name


@pytest.mark.parametrize("kind", ["OST", "MDT"])
@pytest.mark.parametrize("generation", GENERATIONS)
def test_usual_entries_of_every_generation_are_read_at_a_stroke(
    generation: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_line = []
    read_entry = JobStatsParser._read_entry

    def noted(parser: JobStatsParser, text: bytes) -> None:
        by_line.append(text)
        read_entry(parser, text)

    monkeypatch.setattr(JobStatsParser, "_read_entry", noted)
    done = {
        "read_bytes": Counter(10**6, "bytes", 1, 10**7, 10**12, 10**19, b"1M: 7"),
        "sync": Counter(3, "usecs", 9, 9, 9, 9),
    }
    target = f"lustre-{kind}0000"
    entries = [JobStats(target, b"%d" % job, "", 1.72e9, 1.71e9, done if job % 2 else {}) for job in range(500)]
    found, findings = read([GENERATIONS[generation].text(target, entries, boot=1.7e9)], job_stats.PATIENCE)
    assert (len(found), findings.bad_lines) == (500, 0)
    # The line of the parameter, those from which the layout is learned, and the last, behind which no other begins.
    assert len(by_line) == 1 + job_stats.PATIENCE


@pytest.mark.parametrize("generation", GENERATIONS)
def test_an_entry_that_deviates_at_its_end_costs_no_more_than_its_length(
    dumps: dict[str, bytes], generation: str
) -> None:
    # An expression that could match in two ways on every line would try 2**30 here.
    zero = JobStats("x-MDT0000", b"1", "1", 1.72e9, 1.71e9, {})
    entry = GENERATIONS[generation].text("x-MDT0000", [zero], boot=1.7e9).partition(b"job_stats:\n")[2]
    layout = layouts.learn(entry)
    assert layout is not None
    begun = time.process_time()
    for end in (b"garbage\n", b"- job_i", b""):
        assert layout.read(entry + end, 0, len(entry + end), "here") == ([], 0)
    assert time.process_time() - begun < 1


def test_layouts_are_not_learned_over_and_over() -> None:
    # Entries that never look alike: each try in vain makes the next one rarer.
    entry = b"- job_id: %d\n  snapshot_time: 1\n  o%d: { samples: 1, unit: reqs }\n"
    misses = layouts._compile.cache_info().misses
    found, _ = read([b"job_stats:\n", *(entry % (number, number) for number in range(5_000))], 32)
    assert len(found) == 5_000
    assert layouts._compile.cache_info().misses - misses < 10
