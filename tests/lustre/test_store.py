from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import count, pairwise
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.lustre.counters import Activity, Increase
from rota.lustre.store import Part, Reader, Span, Tier, Writer, shown, tiers_of
from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rota.lustre.store import Look

#: A midnight (UTC).
DAY = 1_700_006_400
_TIERS = tiers_of(10)


def activity(end: float, job: str = "1", target: str = "fs-OST0000", **increases: tuple[int, int]) -> Activity:
    """One that lasted ten seconds."""
    return Activity(target, job, end - 10, end, {name: Increase(*of) for name, of in increases.items()})


def sums_of(activities: list[Activity]) -> Counter[tuple[str, str, str, str]]:
    """Add activities up, one by one."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for one in activities:
        for name, (samples, total) in one.increases.items():
            found[one.target, one.job_id, name, "samples"] += samples
            found[one.target, one.job_id, name, "total"] += total
    return +found


def sums_in(look: Look, span: Span) -> Counter[tuple[str, str, str, str]]:
    """Add up what a tier has in a span."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    operations, targets = look.operations(), look.targets()
    for _, segment in look.segments([span]):
        codes = zip(segment.targets.tolist(), segment.jobs.tolist(), segment.operations.tolist(), strict=True)
        for (target, job, operation), samples, total in zip(
            codes, segment.samples.tolist(), segment.totals.tolist(), strict=True
        ):
            (job_id,) = look.job_ids([job])
            found[targets[target], job_id, operations[operation], "samples"] += samples
            found[targets[target], job_id, operations[operation], "total"] += total
    return +found


#: Times are seconds after midnight, of somewhat more than three days.
_ACTIVITY = st.builds(
    Activity,
    st.sampled_from(["fs-OST0000", "fs-OST0001", "fs-MDT0000"]),
    st.sampled_from(["4103947", "cp.1000", "a b\n\x00", "ƒiFkbMhFM", ""]),
    st.just(0.0),
    st.floats(DAY, DAY + 300_000),
    st.dictionaries(
        st.sampled_from(["read_bytes", "read", "open", "punch"]),
        st.builds(Increase, st.integers(0, 1 << 40), st.integers(0, (1 << 53) - 1)),
        max_size=3,
    ),
)


@settings(max_examples=settings().max_examples // 2)
@given(written=st.lists(st.tuples(st.lists(_ACTIVITY, max_size=5), st.floats(0, 300_000)), max_size=8))
def test_every_tier_has_the_sums_of_the_activities(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[list[Activity], float]]
) -> None:
    """In whatever order they come, also long after their step is over; and so have the summaries of jobs."""
    folder = tmp_path_factory.mktemp("store")
    ever = tuple(Tier(tier.step, None) for tier in _TIERS)
    writer = Writer(folder, ever)
    now = float(DAY)
    for activities, later in written:
        now = max(now, DAY + later)
        writer.write(activities, now)
    writer.write([], DAY + 5 * 86400)
    writer.close()
    expected = sums_of([one for activities, _ in written for one in activities])
    with Reader(folder).look() as look:
        for tier in ever:
            assert sums_in(look, Span(tier.step, 0, DAY + 10 * 86400)) == expected, tier
        summaries: Counter[tuple[str, str, str]] = Counter()
        for job_id in {one.job_id for activities, _ in written for one in activities}:
            job = look.job(job_id)
            assert job is not None
            for code, (samples, total) in look.summary(job.code).items():
                summaries[job_id, look.operations()[code], "samples"] += samples
                summaries[job_id, look.operations()[code], "total"] += total
    by_job: Counter[tuple[str, str, str]] = Counter()
    for (_, of, done, what), number in expected.items():
        by_job[of, done, what] += number
    assert +summaries == by_job


@pytest.mark.parametrize("targets", [1, 2, 5])
def test_sums_by_job_and_by_target_are_those_of_the_step(tmp_path: Path, targets: int) -> None:
    writer = Writer(tmp_path, _TIERS)
    for late in range(2):  # what comes late is added to the sums as well
        done = [
            activity(DAY + 10, str(job), f"fs-OST{number:04x}", open=(job + late, 1), write_bytes=(1, number))
            for job in range(7)
            for number in range(targets)
        ]
        writer.write(done, DAY + 20 + late)
    writer.close()
    with Reader(tmp_path).look() as look:
        found = {part: next(segment for _, segment in look.segments([Span(10, DAY, DAY + 10)], part)) for part in Part}
    whole = found[Part.WHOLE]
    assert len(whole.keys) == 7 * targets * 2
    assert len(found[Part.BY_TARGET].keys) == targets * 2
    # Sums that are hardly shorter are not kept: then it is the step itself.
    assert len(found[Part.BY_JOB].keys) == (14 if targets > 2 else len(whole.keys))
    for part, names in ((Part.BY_JOB, ("operations", "jobs")), (Part.BY_TARGET, ("operations", "targets"))):
        sums: list[Counter[tuple[int, ...]]] = []
        for one in (whole, found[part]):
            rows = zip(*(getattr(one, name).tolist() for name in (*names, "samples", "totals")), strict=True)
            both: Counter[tuple[int, ...]] = Counter()
            for first, second, samples, total in rows:
                both[first, second, 0] += samples
                both[first, second, 1] += total
            sums.append(both)
        assert sums[0] == sums[1]


def test_an_activity_belongs_to_the_step_that_ends_nearest_to_its_end(tmp_path: Path) -> None:
    writer = Writer(tmp_path, _TIERS)
    ends = [DAY + 10.2, DAY + 19.7, DAY + 30.0, DAY + 34.9]
    writer.write([activity(end, open=(1, 0)) for end in ends], DAY + 40)
    writer.close()
    with Reader(tmp_path).look() as look:
        found = {start: segment.samples.tolist() for start, segment in look.segments([Span(10, 0, DAY + 100)])}
    assert found == {DAY: [1], DAY + 10: [1], DAY + 20: [2]}


def test_what_ends_in_the_future_counts_as_now(tmp_path: Path) -> None:
    """So a machine whose clock was ahead does not leave data that no question finds."""
    writer = Writer(tmp_path, _TIERS)
    writer.write([activity(DAY + 1e7, open=(1, 0))], DAY + 5)
    writer.write([], DAY + 20)
    writer.close()
    with Reader(tmp_path).look() as look:
        assert [start for start, _ in look.segments([Span(10, 0, DAY * 2)])] == [DAY]


def test_old_steps_are_forgotten_only_where_coarser_ones_have_them(tmp_path: Path) -> None:
    writer = Writer(tmp_path, tiers_of(10, "10s=2m,1m=10m,5m=2h,1h=2d"))
    for step in range(1, 400):
        writer.write([activity(DAY + 10 * step, open=(1, step))], DAY + 10 * step + 1)
    writer.close()
    with Reader(tmp_path).look() as look:
        kept = look.kept
        assert [one.step for one in kept] == [10, 60, 300, 3600, 86400]
        for finer, coarser in pairwise(kept):
            assert finer.low <= coarser.high
            assert finer.low % coarser.step == 0
        # The last 120 s in whole minutes, the last 600 s in whole five minutes, and all of the hours.
        assert [one.low for one in kept[:2]] == [(DAY + 3991 - 120) // 60 * 60, (DAY + 3991 - 600) // 300 * 300]
        assert next(start for start, _ in look.segments([Span(10, 0, DAY + 9999)])) == kept[0].low
        (hour,) = [segment for _, segment in look.segments([Span(3600, 0, DAY + 9999)])]
        assert hour.samples.sum() == 360


def test_what_no_machine_can_do_is_dropped(tmp_path: Path) -> None:
    """A counter that jumped by petabytes in ten seconds is damaged, and would hide all others in a sum."""
    writer = Writer(tmp_path, _TIERS)
    found = writer.write([activity(DAY, read_bytes=(1, 1 << 53), open=(2, 0)), activity(DAY, punch=(-1, 0))], DAY)
    writer.close()
    assert (found.rows, found.dropped) == (1, 2)


def test_a_store_keeps_its_steps(tmp_path: Path) -> None:
    Writer(tmp_path, _TIERS).close()
    with pytest.raises(InputError, match="readings every 10 s"):
        Writer(tmp_path, tiers_of(30))


@pytest.mark.parametrize(
    ("interval", "keep", "problem"),
    [
        (7, "", "does not divide a minute"),
        (0, "", "does not divide a minute"),
        (10, "7s=1d", "none of the steps 10s, 1m, 5m, 1h, 1d"),
        (10, "10s=60", "is no time"),
        (10, "10s=1m", "10s must be kept for 2m at least"),
    ],
)
def test_keeping_that_cannot_be(interval: int, keep: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        tiers_of(interval, keep)


def test_how_long_things_are_kept() -> None:
    """As in Integrated Manager for Lustre, where nothing else is said."""
    day = 86400
    assert tiers_of(10) == ((10, day), (60, 3 * day), (300, 7 * day), (3600, 30 * day), (day, None))
    assert tiers_of(60, "1m=2d,1h=ever")[::2] == ((60, 2 * day), (3600, None))


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        Reader(tmp_path).look()
    (tmp_path / "activity.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(InputError, match="cannot be opened"):
        Writer(tmp_path, _TIERS)
    with pytest.raises(InputError, match="cannot be read"):
        Reader(tmp_path).look()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    """Ids have users' names in them."""
    (tmp_path / "store").mkdir(mode=0o755)
    Writer(tmp_path / "store", _TIERS).close()
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "store").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory away needs root")
def test_the_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(InputError, match="another user's"):
        Writer(tmp_path, _TIERS)


def users(look: Look) -> list[str]:
    """Give the users of the first two jobs."""
    texts, of = look.values("user", np.arange(2))
    return [texts[place] for place in of]


def test_late_labels_are_seen_by_a_reader_that_has_looked_before(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, _TIERS), Reader(tmp_path)
    writer.write([activity(DAY, "7", open=(1, 0)), activity(DAY, "8", open=(1, 0))], DAY)
    early = reader.look()
    writer.label({"7": {"user": "ann"}, "never seen": {"user": "bob"}})
    with reader.look() as look:
        assert look.fields([0, 1]) == [{"user": "ann"}, {}]
        assert users(look) == ["ann", ""]
    with early:  # what was looked at before does not change, and does not spoil what others see
        assert early.fields([0, 1]) == [{}, {}]
        assert users(early) == ["", ""]
    writer.label({"7": {"user": "ann", "name": "run"}})
    with reader.look() as look:
        assert look.fields([0, 1]) == [{"user": "ann", "name": "run"}, {}]
        assert users(look) == ["ann", ""]
    writer.close()


def test_one_field_of_jobs_is_that_of_all_their_fields(tmp_path: Path) -> None:
    """Whatever fields are called, and whatever they hold; also when some of it is remembered and some has changed."""
    names = ["user", "job-name", 'a"b', "back\\slash", "größe", "$.x", "a.b", "[0]", ""]
    values = ["ann", "", "true", True, False, None, 7, 1.0, 1 << 70, 'q"', "é\u202e\x00", ["x", 1], {"k": None}]
    rng = Random(1)  # noqa: S311
    writer, reader = Writer(tmp_path, _TIERS), Reader(tmp_path)
    writer.write([activity(DAY, str(job), open=(1, 0)) for job in range(40)], DAY)
    for _ in range(6):
        writer.label(
            {str(job): {name: rng.choice(values) for name in rng.sample(names, 5)} for job in rng.sample(range(40), 15)}
        )
        with reader.look() as look:
            for name in names:
                some = np.array(sorted(rng.sample(range(40), 25)))
                texts, of = look.values(name, some)
                expected = [shown(one.get(name)) for one in Reader(tmp_path).look().fields(some.tolist())]
                assert [texts[place] for place in of] == expected
    writer.close()


_ENDLESS = f"""
import sys
from pathlib import Path
from rota.lustre.counters import Activity, Increase
from rota.lustre.store import Writer, tiers_of
writer = Writer(Path(sys.argv[1]), tiers_of(10))
for step in range(1, 10**9):
    end = {DAY} + 10 * step
    jobs = [Activity(f"fs-OST{{n % 5:04x}}", str(n), end - 10, end, {{"open": Increase(1, n)}}) for n in range(500)]
    writer.write(jobs, end + 1)
    print(step, flush=True)
"""


def test_a_kill_loses_no_step_that_was_written(tmp_path: Path) -> None:
    """Each step is whole or not there; all that the writer said it had written is there, in every tier."""
    for steps in (3, 9):
        folder = tmp_path / str(steps)
        words = [sys.executable, "-c", _ENDLESS, str(folder)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(steps)]
            process.send_signal(signal.SIGKILL)
        database = sqlite3.connect(folder / "activity.sqlite")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
        writer = Writer(folder, _TIERS)  # and it can go on
        with Reader(folder).look() as look:
            found = dict(look.segments([Span(10, 0, DAY * 2)]))
            last = (look.until - DAY) // 10
            assert last >= said[-1]
            assert {(start - DAY) // 10 + 1: len(of.keys) for start, of in found.items()} == dict.fromkeys(
                range(1, last + 1), 500
            )
            whole = sum(int(of.samples.sum()) for _, of in look.segments([Span(60, 0, DAY * 2)]))
            assert whole == (look.kept[1].high - DAY) // 10 * 500
        writer.close()


def test_others_read_while_it_is_written(tmp_path: Path) -> None:
    """Each look sees whole steps, and the same throughout."""
    with subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        reader, seen = Reader(tmp_path), set[int]()
        while len(seen) < 5:
            with reader.look() as look:
                span = Span(10, 0, DAY * 2)
                before = [start for start, segment in look.segments([span]) if len(segment.keys) == 500]
                process.stdout.readline()
                assert [start for start, _ in look.segments([span])] == before
                assert len(before) == (look.until - DAY) // 10
                seen.add(len(before))
        process.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        writer = Writer(disk, _TIERS)
        steps = (
            [activity(DAY + 10 * n, str(job), read_bytes=(job * n % 977, job * n * n)) for job in range(300)]
            for n in count(1)
        )
        written = 0
        for step in steps:
            try:
                writer.write(step, step[0].end)
            except sqlite3.OperationalError:
                break
            written += 1
        with Reader(disk).look() as look:
            assert (look.until - DAY) // 10 == written > 3
        subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
        writer.write(step, step[0].end)  # the same again, when there is room
        writer.close()
        with Reader(disk).look() as look:
            assert sum(1 for _ in look.segments([Span(10, 0, DAY * 2)])) == written + 1
    finally:
        subprocess.run(["umount", disk], check=True)
