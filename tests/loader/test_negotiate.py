"""Which API version is spoken, and which of several plugins is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.interfaces import APIS, PluginApi
from rota.loader import Candidate, Identity, PluginRefusedError, Selection, Source, State
from rota.loader.negotiate import decide, negotiate, version_range

VERSIONS = st.integers(0, 9999)
RELEASE = "0.1.0"


def identity(version: int | None, legacy: int | None = None, release: str | None = None) -> Identity:
    return Identity(
        plugin_type="sched/x", plugin_name="x", plugin_version=version, plugin_legacy=legacy, plugin_release=release
    )


def host(*majors: int, version_optional: bool = False) -> dict[str, PluginApi]:
    return {"sched": PluginApi("sched", (), frozenset(majors), version_optional=version_optional)}


def candidate(order: int, version: int, legacy: int | None = None, problem: str = "") -> Candidate:
    return Candidate(
        plugin_type="sched/x",
        source=Source.PLUGIN_DIR,
        order=order,
        path=Path(f"/{order}/sched_x.py"),
        identity=None if problem else identity(version, legacy),
        problems=(problem,) if problem else (),
    )


@pytest.mark.parametrize(
    ("version", "legacy", "expected"),
    [
        (100, None, (0, 0)),
        (2035, None, (2, 2)),
        (2035, 1999, (1, 2)),  # only the major of plugin_legacy counts
        (2035, 2999, (2, 2)),
        (2035, 0, (0, 2)),
        (None, None, (0, 0)),
        (4294967295, 0, (0, 4294967)),
    ],
)
def test_range_of_a_plugin(version: int | None, legacy: int | None, expected: tuple[int, int]) -> None:
    assert version_range(identity(version, legacy)) == expected


@pytest.mark.parametrize(
    ("majors", "version", "legacy", "spoken"),
    [
        ((0,), 100, None, 0),
        ((0, 1, 2), 2035, None, 2),
        ((0, 1), 2035, 1000, 1),  # a plugin that still speaks an older version
        ((0, 3), 2035, 0, 0),  # the highest in common, though it is the lowest of both
        ((1, 2, 3), 2000, 1000, 2),
    ],
)
def test_the_highest_common_version_is_spoken(
    majors: tuple[int, ...], version: int, legacy: int | None, spoken: int
) -> None:
    assert negotiate(identity(version, legacy), host(*majors), RELEASE).spoken == spoken


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (identity(2035, 1000), "no API version in common: the plugin speaks 1 to 2, this rota 0, 3"),
        (identity(2001, 3000), "plugin_legacy 3000 (API 3) is above plugin_version 2001 (API 2)"),
        (identity(100, 0, "9.9"), "it is built for rota 9.9 only, and this is rota 0.1.0"),
        (identity(None), "plugin_version is missing: expected API major * 1000 + minor revision"),
    ],
)
def test_why_there_are_no_terms(plugin: Identity, problem: str) -> None:
    terms = negotiate(plugin, host(0, 3), RELEASE)
    assert terms.spoken is None
    assert terms.problems == (problem,)


def test_all_problems_at_once() -> None:
    assert len(negotiate(identity(None, 5000, "9.9"), host(0), RELEASE).problems) == 3


def test_the_exact_release_is_welcome() -> None:
    assert negotiate(identity(100, release=RELEASE), host(0), RELEASE).spoken == 0


def test_a_scheduler_may_leave_out_its_version_and_a_priority_plugin_may_not() -> None:
    plugin = identity(None)
    terms = negotiate(plugin, APIS, RELEASE)
    assert terms.spoken == 0
    assert terms.warnings == ("plugin_version is missing and counts as 0",)
    plugin = Identity(plugin_type="priority/x", plugin_name="x")
    assert "plugin_version is missing" in negotiate(plugin, APIS, RELEASE).problems[0]


def test_an_api_that_is_not_hosted() -> None:
    terms = negotiate(Identity(plugin_type="seelct/x", plugin_name="x", plugin_version=1), APIS, RELEASE)
    assert terms.problems == ("there is no API 'seelct': this rota has jobmeta, priority, sched, select",)


def winner(*candidates: Candidate, majors: tuple[int, ...] = (0, 1, 2)) -> int | None:
    chosen = Selection("sched/x", decide(candidates, host(*majors), RELEASE)).chosen
    return chosen.candidate.order if chosen else None


def test_the_higher_minor_revision_wins() -> None:
    assert winner(candidate(0, 100), candidate(1, 101)) == 1


def test_the_higher_spoken_version_wins_before_the_minor_revision() -> None:
    assert winner(candidate(0, 1999), candidate(1, 2000)) == 1
    assert winner(candidate(0, 2999), candidate(1, 1000), majors=(1,)) == 1  # the other cannot speak 1
    assert winner(candidate(0, 1002), candidate(1, 2003, legacy=1000), majors=(1,)) == 1  # both speak 1: revision 3 > 2


def test_the_search_order_decides_among_equals() -> None:
    assert winner(candidate(1, 100), candidate(0, 100)) == 0


def test_every_candidate_hears_why() -> None:
    found = [candidate(0, 100), candidate(1, 1001), candidate(2, 1001), candidate(3, 0, problem="broken")]
    found += [candidate(4, 1000), candidate(5, 7000)]
    verdicts = decide(found, host(0, 1), RELEASE)
    assert [(one.state, one.why) for one in verdicts] == [
        (State.LOST, "speaks API 0, /1/sched_x.py speaks 1"),
        (State.CHOSEN, "the best by API version, minor revision, search order"),
        (State.LOST, "comes after /1/sched_x.py in search order"),
        (State.REJECTED, "broken"),
        (State.LOST, "minor revision 0, /1/sched_x.py has 1"),
        (State.REJECTED, "no API version in common: the plugin speaks 7, this rota 0, 1"),
    ]
    warnings = Selection("sched/x", verdicts).warnings
    assert [text.partition(" is ")[0] for text in warnings] == [
        "plugin sched/x (/0/sched_x.py)",  # first in search order, and yet not used
        "plugin sched/x (/3/sched_x.py)",
        "plugin sched/x (/5/sched_x.py)",
    ]


def test_when_all_are_rejected_all_reasons_are_given() -> None:
    found = [candidate(0, 0, problem="one"), candidate(1, 0, problem="two")]
    selection = Selection("sched/x", decide(found, host(0), RELEASE))
    with pytest.raises(PluginRefusedError, match=r"sched/x \(/0/sched_x.py\): one; and /1/sched_x.py: two$"):
        selection.require()
    assert selection.warnings == ()


@given(st.frozensets(st.integers(0, 9), min_size=1), VERSIONS, st.none() | VERSIONS)
def test_spoken_is_in_both_ranges_and_the_highest(majors: frozenset[int], version: int, legacy: int | None) -> None:
    plugin = identity(version, legacy)
    low, high = version_range(plugin)
    common = {major for major in majors if low <= major <= high}
    terms = negotiate(plugin, host(*majors), RELEASE)
    assert terms.spoken == max(common, default=None)
    assert bool(terms.problems) == (terms.spoken is None)


@given(st.lists(st.tuples(VERSIONS, st.none() | VERSIONS), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_order_but_among_equals(
    versions: list[tuple[int, int | None]], random: object
) -> None:
    found = [candidate(order, *version) for order, version in enumerate(versions)]
    first = decide(found, host(0, 1, 2), RELEASE)
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decide(shuffled, host(0, 1, 2), RELEASE) == first

    # Discovered in another order, the winner is as good, and the same one if it has no equal.
    reordered = [candidate(order, *version) for order, version in enumerate(reversed(versions))]
    chosen = Selection("", first).chosen
    again = Selection("", decide(reordered, host(0, 1, 2), RELEASE)).chosen
    assert (chosen is None) == (again is None)
    if chosen and again and chosen.candidate.identity and again.candidate.identity:
        assert chosen.spoken == again.spoken
        assert chosen.candidate.identity.minor_revision == again.candidate.identity.minor_revision
        merits = [(one.spoken, one.candidate.identity and one.candidate.identity.minor_revision) for one in first]
        if merits.count((chosen.spoken, chosen.candidate.identity.minor_revision)) == 1:
            assert len(versions) - 1 - again.candidate.order == chosen.candidate.order
