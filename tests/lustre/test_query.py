"""What is asked of a store, compared with the same asked of the activities one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.lustre.counters import Activity, Changes, Increase, Seen
from rota.lustre.grouping import place_of
from rota.lustre.measures import METRICS
from rota.lustre.metrics import metrics
from rota.lustre.query import Question, ask, ask_by_target, lives_of
from rota.lustre.store import Reader, Writer, segment, tiers_of
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: A midnight (UTC); and how long there was something to write after it, seconds.
DAY, LONG = 1_700_006_400, 10_000
_TARGETS = ("fs-OST0000", "fs-OST0001", "other-OST0000", "fs-MDT0000", "odd")
_JOBS = [str(4_000_000 + number) for number in range(30)]
#: The last five jobs are not known.
_FIELDS = {job: {"user": f"u{number % 4}", "account": number % 3} for number, job in enumerate(_JOBS[:-5])}


class Written:
    """A store, and what is in it."""

    def __init__(self, folder: Path, keep: str) -> None:
        random = Random(1)  # noqa: S311
        writer = Writer(folder, tiers_of(10, keep))
        self.activities = []
        for end in range(DAY + 10, DAY + LONG + 1, 10):
            some = [self._any(random, end) for _ in range(random.randrange(5))]
            self.activities += some
            writer.write(some, end + 1)
        writer.label(_FIELDS)
        writer.close()
        self.reader = Reader(folder)
        #: Of each: when it began, its fields, and its metrics.
        self._told = [(one.begin, self._fields_of(one), metrics(one.increases)._asdict()) for one in self.activities]

    @staticmethod
    def _fields_of(one: Activity) -> dict[str, str]:
        return {
            "job": one.job_id,
            **{place: place_of(one.target, place) for place in ("target", "kind", "filesystem")},
            **{key: str(value) for key, value in _FIELDS.get(one.job_id, {}).items()},
        }

    @staticmethod
    def _any(random: Random, end: int) -> Activity:
        increases = {
            name: Increase(random.randrange(1, 9), random.randrange(1 << 40))
            for name in ("read_bytes", "read", "write_bytes", "open", "setattr")
            if random.random() < 0.5
        }
        return Activity(random.choice(_TARGETS), random.choice(_JOBS), end - 10, end, increases)

    def by(self, field: str, begin: float, end: float, where: dict[str, frozenset[str]]) -> dict[str, Counter[str]]:
        """Add up the five metrics by a field of all that was done between two times."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for start, fields, done in self._told:
            if begin <= start < end and all(fields.get(key, "") in values for key, values in where.items()):
                found[fields.get(field, "")].update(done)
        return {label: sums for label, sums in found.items() if any(sums.values())}


@pytest.fixture(
    scope="module",
    params=[("", 1 << 14), ("10s=2m,1m=10m,5m=2h", 1 << 14), ("", 3)],
    ids=["all is kept", "little is kept", "in small blocks"],
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    keep, block = request.param
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(segment, "_BLOCK", block)
        yield Written(tmp_path_factory.mktemp("store"), keep)


_WHERE = st.dictionaries(
    st.sampled_from(["user", "account", "job", "kind", "target", "filesystem"]),
    st.frozensets(st.sampled_from(["u0", "u1", "", "0", "1", "OST", "MDT", "fs", *_TARGETS, *_JOBS[:3]]), max_size=4),
    max_size=2,
)


@settings(max_examples=settings().max_examples // 4)
@given(
    begin=st.integers(-100, LONG),
    length=st.integers(1, LONG),
    field=st.sampled_from(["", "job", "user", "account", "target", "kind", "filesystem", "nonsense"]),
    where=_WHERE,
    points=st.integers(1, 40),
    top=st.none() | st.integers(1, 40),
)
def test_sums_are_exact(  # noqa: PLR0917
    written: Written,
    begin: int,
    length: int,
    field: str,
    where: dict[str, frozenset[str]],
    points: int,
    top: int | None,
) -> None:
    """Whichever tiers answer: those that are told, all others, and the total; over time too."""
    with written.reader.look() as look:
        got = ask(look, Question(DAY + begin, DAY + begin + length, METRICS, field, where, points, top, "write_bytes"))
    assert got.begin <= DAY + begin < DAY + begin + length <= got.end
    assert (got.end - got.begin) % got.step == 0
    assert (got.end - got.begin) // got.step <= points
    expected = written.by(field, got.begin, got.end, where)
    if field:
        told = {
            label: {name: int(numbers[row].sum()) for name, numbers in got.values.items()}
            for row, label in enumerate(got.labels)
        }
        assert told == {
            label: {name: sums[name] for name in METRICS} for label, sums in expected.items() if label in told
        }
        assert len(told) == min(len(expected), top or len(expected))
        sizes = sorted((sums["write_bytes"] for sums in expected.values()), reverse=True)
        assert [sums["write_bytes"] for sums in told.values()] == sizes[: len(told)]
        assert got.more == len(expected) - len(told)
        for name in METRICS:
            left = sum(sums[name] for label, sums in expected.items() if label not in told)
            assert int(got.others[name].sum()) == left
    for name in METRICS:
        assert int(got.totals[name].sum()) == sum(sums[name] for sums in expected.values())
        assert ((got.values[name].sum(axis=0) + got.others[name]) == got.totals[name]).all()
    for point in range((got.end - got.begin) // got.step):
        start = got.begin + point * got.step
        done = written.by("", start, start + got.step, where).get("", Counter())
        assert int(got.totals["read_iops"][point]) == done["read_iops"]


@settings(max_examples=settings().max_examples // 5)
@given(points=st.integers(1, 20), field=st.sampled_from(["", "user", "job"]), top=st.integers(1, 9))
def test_tables_by_target_are_exact(written: Written, points: int, field: str, top: int) -> None:
    with written.reader.look() as look:
        targets = look.targets()
        table = ask_by_target(look, Question(DAY, DAY + LONG, ("read_bytes",), field, {}, points, top))
    for code, target in enumerate(targets):
        done = written.by(field, table.begin, table.end, {"target": frozenset({target})})
        sums = table.values["read_bytes"][:, code].sum(axis=1).tolist()
        assert sums[:-1] == [done.get(label, Counter())["read_bytes"] for label in table.labels]
        assert sum(sums) == sum(of["read_bytes"] for of in done.values())


def test_mean_latency_is_the_total_by_the_samples(written: Written) -> None:
    with written.reader.look() as look:
        names = ("read.latency", "read.total", "read.samples", "nothing.latency")
        got = ask(look, Question(DAY, DAY + LONG, names, "user", top=2))
    for row in range(2):
        assert got.values["read.latency"][row, 0] == pytest.approx(
            got.values["read.total"][row, 0] / got.values["read.samples"][row, 0]
        )
    assert got.totals["read.latency"][0] == pytest.approx(got.totals["read.total"][0] / got.totals["read.samples"][0])
    assert math.isnan(got.totals["nothing.latency"][0])


def test_a_job_without_the_field_can_be_called_by_its_id(written: Written) -> None:
    with written.reader.look() as look:
        plain = ask(look, Question(DAY, DAY + LONG, group="user"))
        by_id = ask(look, Question(DAY, DAY + LONG, group="user", unknown_by_id=True))
        nobody = ask(look, Question(DAY, DAY + LONG, group="missing", unknown_by_id=True))
        jobs = ask(look, Question(DAY, DAY + LONG, group="id"))
    assert set(plain.labels) == {"u0", "u1", "u2", "u3", ""}
    assert set(by_id.labels) == {"u0", "u1", "u2", "u3", *_JOBS[-5:]}
    assert set(nobody.labels) == set(jobs.labels) == set(_JOBS)


def test_the_whole_life_of_a_job(written: Written) -> None:
    with written.reader.look() as look:
        jobs = [job for job in map(look.job, _JOBS) if job is not None]
        lives = lives_of(look, jobs)
    for job_id, life in zip(_JOBS, lives, strict=True):
        mine = [one for one in written.activities if one.job_id == job_id and one.increases]
        done: Counter[str] = Counter()
        for one in mine:
            done.update({name: of.total for name, of in one.increases.items()})
        assert {name: of.total for name, of in life.operations.items()} == done
        assert (life.first, life.last) == (min(one.begin for one in mine), max(one.end for one in mine))


def test_rates_at_the_end_are_of_what_has_been_read(written: Written) -> None:
    with written.reader.look() as look:
        got = ask(look, Question(DAY + LONG - 100, DAY + LONG + 500, points=2))
    assert (got.begin, got.step) == (DAY + LONG - 100, 300)
    assert got.seconds.tolist() == [100, 300]  # of the second one nothing was read


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"metrics": ("reads",)}, "is no metric"),
        ({"metrics": ("open.sumsq",)}, "is no metric"),
        ({"end": DAY - 1}, "must end after it begins"),
        ({"end": 1e300}, "must end after it begins"),
        ({"group": "job", "points": 1_000_000}, "are too much"),
    ],
)
def test_questions_that_cannot_be_answered(written: Written, asked: dict[str, Any], problem: str) -> None:
    question = Question(**{"begin": DAY, "end": DAY + 10_000_000, **asked})
    with written.reader.look() as look, pytest.raises(InputError, match=problem):
        ask(look, question)


def test_few_blocks_are_unpacked_for_one_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many jobs there are, and without an eye on the clock."""
    unpacked: list[int] = []
    monkeypatch.setattr(segment, "_BLOCK", 1 << 14)  # which a store of other tests may have made smaller
    monkeypatch.setattr(segment, "_unpack", lambda data, width, found: unpacked.append(len(found)))
    targets = [f"fs-OST{number:04x}" for number in range(100)]
    some = {"read_bytes": Increase(1, 1 << 20), "write_bytes": Increase(2, 4096)}
    writer = Writer(tmp_path, tiers_of(10))
    writer.write([Activity(on, str(job), DAY, DAY + 10, some) for job in range(2000) for on in targets], DAY + 11)
    writer.close()
    question = Question(DAY, DAY + 10, group="target", where={"job": frozenset({"1234"})}, points=60)
    with Reader(tmp_path).look() as look:
        ask(look, question)
        assert 0 < sum(unpacked) <= 2 * 2 * 3 * (1 << 14)  # operations, blocks, columns; of 400,000 rows
        unpacked.clear()
        ask(look, Question(DAY, DAY + 10, ("read_bytes",), "target", {"job": frozenset(map(str, range(2000)))}))
        assert sum(unpacked) == 2 * 200_000  # keys and totals


def test_the_rate_of_a_young_store_is_that_since_it_began(tmp_path: Path) -> None:
    writer = Writer(tmp_path, tiers_of(10))
    seen = Changes({"fs-OST0000": Seen(DAY + 600, DAY + 600, DAY + 600)}, {})
    writer.write([], DAY + 600, seen)
    for end in range(DAY + 1000, DAY + 1600 + 1, 10):
        done = {"write_bytes": Increase(1, 1000)}
        writer.write([Activity("fs-OST0000", "7", end - 10, end, done)], end)
    with Reader(tmp_path).look() as look:
        day = ask(look, Question(DAY + 1600 - 86400, DAY + 1600, ("write_bytes",)))
        hours = ask(look, Question(DAY - 3600, DAY + 1600, ("write_bytes",), points=2))
    assert (day.totals["write_bytes"].tolist(), day.seconds.tolist()) == ([61_000], [1000])
    assert hours.totals["write_bytes"].tolist() == [0, 61_000]
    assert hours.seconds.tolist() == [3600, 1000]
    writer.close()
