"""Usage: what fades and what is added, against the published example and a loop over jobs and periods."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import AssociationTree, Usage
from rota.model import Association, InputError, Qos
from rota.model.tres import STATIC_TRES

WEEK = 7 * 86400


def _tree() -> AssociationTree:
    """Three accounts below each other, a user in each; two QOS, of which one does not fade."""
    ones = [
        Association(id=1, account="root"),
        Association(id=2, account="outer", parent_id=1),
        Association(id=3, account="inner", parent_id=2),
        Association(id=4, account="other", parent_id=1),
        Association(id=5, account="outer", user="ann", parent_id=2),
        Association(id=6, account="inner", user="bob", parent_id=3),
        Association(id=7, account="other", user="cleo", parent_id=4),
    ]
    return AssociationTree("golden", ones, qos=[Qos(name="normal"), Qos(name="kept", flags=("DenyOnLimit", "NODecay"))])


def _usage(half_life: int = WEEK) -> Usage:
    usage = Usage(_tree(), ("cpu", "mem"))
    usage.set_half_life(half_life)
    return usage


def _row(usage: Usage, user: str, account: str) -> int:
    found = usage._tree.find(user, account)
    assert found is not None
    return usage._tree.row(found)


def test_the_example_of_16_processors_for_an_hour_in_twelve_periods() -> None:
    """Worked out with Slurm's formulas: half-life 7 days, periods of 300 s, then an hour in which nothing runs."""
    usage = _usage()
    usage.advance(0)
    row = _row(usage, "bob", "inner")
    usage.job_started(1, row, billable=16.0, tres=(16.0, 0.0), start_time=0)
    for time in range(300, 3601, 300):
        usage.advance(time)
    usage.job_ended(1, 3600)
    assert [f"{usage.raw[one]:.6f}" for one in usage._tree.path(row)] == ["57471.484065"] * 4
    for time in range(3900, 7201, 300):
        usage.advance(time)
    assert f"{usage.raw[row]:.6f}" == "57234.902343"
    assert usage.raw[_row(usage, "cleo", "other")] == 0.0


def test_after_a_half_life_a_little_more_than_half_is_left() -> None:
    """0.693 is not quite ln 2: df^half-life = 0.500073397 for 7 days, by Slurm's formula."""
    usage = _usage()
    usage.job_started(1, 0, billable=1000.0, tres=(0.0, 0.0), start_time=0)
    usage.job_ended(1, 1)
    usage.advance(1)
    before = usage.raw[0].item()
    usage.advance(1 + WEEK)
    assert f"{usage.raw[0] / before:.9f}" == "0.500073397"


def test_the_first_period_lets_nothing_fade_and_a_time_that_is_not_later_changes_nothing() -> None:
    usage = _usage(60)
    usage.job_started(1, 0, billable=7.0, tres=(0.0, 0.0), start_time=10)
    usage.job_ended(1, 11)
    once = 7.0 * (1 - 0.693 / 60)
    assert usage.raw[0] == pytest.approx(once)
    for time in (1000, 1000, 400):
        usage.advance(time)
    assert usage.raw[0] == pytest.approx(once)
    assert usage.last_ran == 1000


def test_without_a_half_life_nothing_fades() -> None:
    usage = _usage(0)
    usage.job_started(1, 0, billable=2.0, tres=(2.0, 5.0), start_time=0)
    usage.advance(50)
    usage.advance(10**9)
    assert usage.raw[0] == 2.0 * 10**9
    assert usage.tres_raw[0].tolist() == [2.0 * 10**9, 5.0 * 10**9]


def test_usage_never_fades_to_less_than_the_smallest_double_lets_it() -> None:
    """Slurm's decay factor is at least the smallest normal double."""
    usage = _usage(60)
    usage.job_started(1, 0, billable=1e300, tres=(0.0, 0.0), start_time=0)
    usage.job_ended(1, 1)
    usage.advance(1)
    usage.advance(10**8)
    assert usage.raw[0] > 0


def test_a_qos_with_nodecay_keeps_what_was_charged_to_it() -> None:
    usage = _usage(600)
    usage.advance(0)
    usage.job_started(1, 4, billable=1.0, tres=(1.0, 0.0), start_time=0, qos=("normal", "kept"))
    usage.job_ended(1, 100)
    usage.advance(100)
    faded, kept = usage.qos_raw("normal"), usage.qos_raw("kept")
    assert kept == pytest.approx(100 * (1 - 0.693 / 600) ** 100)
    assert faded == pytest.approx(kept * (1 - 0.693 / 600) ** 100)
    usage.advance(10**6)
    assert (usage.qos_raw("kept"), usage.qos_raw("nobody's")) == (kept, 0.0)


def test_a_qos_that_is_named_twice_is_charged_once() -> None:
    """The job's and its partition's, if they are the same."""
    usage = _usage(0)
    usage.job_started(1, 0, billable=1.0, tres=(0.0, 0.0), start_time=0, qos=("normal", "normal", "unknown"))
    usage.job_ended(1, 10)
    assert usage.qos_raw("normal") == 10.0


def test_the_usage_factor_multiplies_everything() -> None:
    usage = _usage(0)
    usage.job_started(1, 0, billable=3.0, tres=(1.0, 2.0), start_time=0, qos=("normal",), usage_factor=0.5)
    usage.job_ended(1, 10)
    assert (usage.raw[0], usage.wall[0], usage.qos_raw("normal")) == (15.0, 5.0, 15.0)
    assert usage.tres_raw[0].tolist() == [5.0, 10.0]


def test_a_usage_factor_that_changes_holds_for_the_whole_period() -> None:
    """As Slurm's plugin does, which looks at the job's QOS when it ends a period."""
    usage = _usage(0)
    usage.advance(0)
    usage.job_started(1, 0, billable=1.0, tres=(0.0, 0.0), start_time=0, qos=("normal",))
    usage.advance(100)
    usage.job_started(2, 0, billable=1.0, tres=(0.0, 0.0), start_time=120, qos=("normal",))
    for id_, begun in ((1, 0), (2, 120)):
        usage.job_started(id_, 0, billable=1.0, tres=(0.0, 0.0), start_time=begun, qos=("kept",), usage_factor=2.0)
    usage.advance(200)
    assert (usage.qos_raw("normal"), usage.qos_raw("kept"), usage.raw[0]) == (100.0, 200.0 + 160.0, 460.0)
    usage.job_ended(1, 300)
    usage.job_ended(2, 300)
    usage.advance(400)
    assert usage.raw[0] == 460.0 + 400.0


def test_after_a_reset_only_what_runs_counts() -> None:
    usage = _usage(0)
    usage.job_started(1, 4, billable=1.0, tres=(0.0, 0.0), start_time=0, qos=("normal",))
    usage.job_started(2, 4, billable=9.0, tres=(0.0, 0.0), start_time=0)
    usage.job_ended(2, 60)
    usage.advance(60)
    usage.reset(60)
    assert not usage.raw.any()
    assert (usage.qos_raw("normal"), usage.last_reset) == (0.0, 60)
    usage.advance(100)
    assert (usage.raw[0], usage.qos_raw("normal")) == (40.0, 40.0)


def test_when_nothing_runs_any_more_nothing_is_charged_to_the_last_bit() -> None:
    """0.1 + 0.2 + 0.3 − 0.1 − 0.2 − 0.3 is not 0 in doubles: an idle account would go on using a little."""
    usage = _usage(0)
    jobs = {1: 0.1, 2: 0.2, 3: 0.3}
    for id_, billed in jobs.items():
        usage.job_started(id_, 4, billable=billed, tres=(0.0, 0.0), start_time=0, qos=("normal",))
    usage.advance(10)
    for id_ in jobs:
        usage.job_ended(id_, 10)
    usage.reset(10)
    usage.advance(10**6)
    assert (usage.raw[4], usage.qos_raw("normal")) == (0.0, 0.0)


def test_associations_that_are_added_later_have_used_nothing_yet() -> None:
    usage = _usage(0)
    usage.advance(0)
    row = usage._tree.row(usage._tree.add("dan", "new"))
    assert usage.raw[row] == usage.wall[row] == usage.tres_raw[row].sum() == 0.0
    usage.job_started(1, row, billable=1.0, tres=(0.0, 0.0), start_time=0)
    usage.advance(5)
    assert [usage.raw[one] for one in usage._tree.path(row)] == [5.0] * 3


def test_a_job_that_nobody_has_seen_start_is_charged_nothing() -> None:
    usage = _usage()
    usage.job_ended(1, 10)
    assert not usage.raw.any()


# ---- properties -------------------------------------------------------------------------------------------------


class _Ran(NamedTuple):
    """One job of a history."""

    start_time: int
    seconds: int
    row: int
    billable: float
    usage_factor: float


JOBS = st.lists(
    st.builds(
        _Ran,
        st.integers(0, 2000),
        st.integers(0, 1500),
        st.integers(0, 6),
        st.sampled_from([0.25, 1.0, 16.0, 640.0]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    max_size=8,
)
PERIODS = st.lists(st.integers(0, 4000), max_size=12, unique=True).map(sorted)


@given(jobs=JOBS, periods=PERIODS, half_life=st.sampled_from([0, 60, 3600, WEEK]))
def test_usage_is_what_a_loop_over_jobs_and_periods_makes_of_it(
    jobs: list[_Ran], periods: list[int], half_life: int
) -> None:
    """Each association's own usage, added up over all that are below it: so an account's is its children's and its own.

    The loop is Slurm's: when a period ends everything fades, and each job adds δ·df^δ·billable·UsageFactor for the δ
    seconds that it ran of it; when a job ends it adds that for the time since the last period.
    """
    usage = _usage(half_life)
    df = 1 - 0.693 / half_life if half_life else 1.0
    events: list[tuple[int, int, int]] = [(time, 2, 0) for time in periods]
    for id_, job in enumerate(jobs):
        events += [(job.start_time, 0, id_), (job.start_time + job.seconds, 1, id_)]
    own, wall, running = [0.0] * 7, [0.0] * 7, set[int]()
    last: int | None = None

    def add(job: _Ran, until: int) -> None:
        seconds = until - (job.start_time if last is None else max(job.start_time, last))
        own[job.row] += seconds * df**seconds * job.billable * job.usage_factor
        wall[job.row] += seconds * df**seconds * job.usage_factor

    for time, kind, id_ in sorted(events):
        if kind == 0:
            job = jobs[id_]
            running.add(id_)
            usage.job_started(
                id_,
                job.row,
                billable=job.billable,
                tres=(job.billable, 0.0),
                start_time=time,
                usage_factor=job.usage_factor,
            )
        elif kind == 1:
            running.discard(id_)
            add(jobs[id_], time)
            usage.job_ended(id_, time)
        else:
            faded = df ** (time - last) if last is not None else 1.0
            own, wall = [value * faded for value in own], [value * faded for value in wall]
            for other in running:
                add(jobs[other], time)
            last = time
            usage.advance(time)
    below = [[other for other in range(7) if row in usage._tree.path(other)] for row in range(7)]
    for expected, found in ((own, usage.raw), (wall, usage.wall), (own, usage.tres_raw[:, 0])):
        assert found.tolist() == pytest.approx([sum(expected[one] for one in rows) for rows in below], abs=1e-6)


@given(splits=PERIODS, half_life=st.sampled_from([0, 60, 3600, WEEK]))
def test_what_fades_does_so_however_time_is_cut_into_periods(splits: list[int], half_life: int) -> None:
    whole, cut = _usage(half_life), _usage(half_life)
    for usage in (whole, cut):
        usage.job_started(1, 4, billable=1e6, tres=(3.0, 4.0), start_time=0, qos=("normal", "kept"))
        usage.job_ended(1, 100)
        usage.advance(100)
    whole.advance(4200)
    for time in splits:
        cut.advance(100 + time)
    cut.advance(4200)
    assert cut.raw.tolist() == pytest.approx(whole.raw.tolist())
    assert cut.tres_raw.tolist() == [pytest.approx(row) for row in whole.tres_raw.tolist()]
    assert cut.qos_raw("normal") == pytest.approx(whole.qos_raw("normal"))
    assert cut.qos_raw("kept") == whole.qos_raw("kept")


# ---- keeping it -------------------------------------------------------------------------------------------------


def _used() -> Usage:
    usage = _usage()
    usage.advance(0)
    usage.job_started(1, _row(usage, "bob", "inner"), billable=4.0, tres=(4.0, 100.0), start_time=0, qos=("kept",))
    usage.advance(300)
    usage.reset(300)
    usage.advance(600)
    return usage


def test_saved_usage_comes_back_through_json() -> None:
    usage, again = _used(), _usage()
    again.restore(json.loads(json.dumps(usage.save())))
    assert again.raw.tolist() == usage.raw.tolist()
    assert again.wall.tolist() == usage.wall.tolist()
    assert again.tres_raw.tolist() == usage.tres_raw.tolist()
    assert again.qos_raw("kept") == usage.qos_raw("kept") > 0
    assert (again.last_ran, again.last_reset) == (600, 300)
    assert again.save() == usage.save()


def test_what_is_no_more_is_left_out_and_what_is_new_has_used_nothing() -> None:
    usage = _used()
    saved = usage.save()
    bob = next(one for one in saved["associations"] if one["user"] == "bob")
    later = Usage(
        AssociationTree(
            "golden",
            [
                Association(id=9, account="root"),
                Association(id=8, account="inner", parent_id=9),
                Association(id=7, account="inner", user="bob", parent_id=8),
                Association(id=6, account="inner", user="bob", partition="fat", parent_id=8),
            ],
        ),
        ("mem", "gres/gpu", "cpu"),
    )
    later.restore(saved)
    row = _row(later, "bob", "inner")
    cpu, mem = bob["usage_tres_raw"]
    assert later.raw[row] == bob["usage_raw"] > 0
    assert later.tres_raw[row].tolist() == [mem, 0.0, cpu]
    assert later.qos_raw("kept") == 0.0
    fat = later._tree.find("bob", "inner", "fat")
    assert fat is not None
    assert later.raw[later._tree.row(fat)] == 0.0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"format": "rota-usage-0"}, "format: 'rota-usage-0' is not rota-usage-1: rota did not save this usage"),
        ({"cluster": "other"}, "cluster: the usage is of cluster 'other', not of 'golden'"),
        (
            {"associations": [{"account": "root", "user": "", "partition": "", "usage_raw": -1.0}]},
            "associations: usage is a number of at least 0",
        ),
        (
            {"associations": [{"account": "root", "user": "", "partition": "", "usage_raw": float("nan")}]},
            "associations: usage is a number of at least 0",
        ),
        ({"qos": [{"name": "normal", "usage_raw": "much"}]}, "qos: usage is a number of at least 0"),
    ],
    ids=["version", "cluster", "negative", "nan", "text"],
)
def test_usage_of_another_kind_is_refused_and_says_where(changes: dict[str, object], problem: str) -> None:
    saved = _used().save()
    for key, value in changes.items():
        for one in value if isinstance(value, list) else ():
            one |= {"grp_used_wall": 0.0, "usage_tres_raw": [0.0, 0.0]}
        saved[key] = value
    with pytest.raises(InputError) as caught:
        _usage().restore(saved)
    assert str(caught.value) == problem


@pytest.mark.parametrize("key", ["tres", "associations", "qos", "last_ran", "last_reset"])
def test_usage_from_which_something_is_missing_is_refused(key: str) -> None:
    saved = _used().save()
    del saved[key]
    with pytest.raises(InputError, match="usage: this is not what rota saves"):
        _usage().restore(saved)


def test_usage_with_too_few_numbers_is_refused() -> None:
    saved = _used().save()
    saved["associations"][0]["usage_tres_raw"] = [1.0]
    usage = _usage()
    with pytest.raises(InputError, match="usage: this is not what rota saves"):
        usage.restore(saved)


def test_slurm_has_eight_tres_of_its_own() -> None:
    """The columns of save() go by these names; a file that another version has written is read by them too."""
    assert STATIC_TRES == ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
