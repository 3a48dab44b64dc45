"""Other names of options and states of ``sacct``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.listings import run

from .rig import rig

if TYPE_CHECKING:
    from rota.listings import Answer


_NOW = 1795363200


def _sacct(*words: str) -> Answer:
    return run(["sacct", "-X", *words], {}, replace(rig(), now=_NOW))


@pytest.mark.parametrize("option", ["--fields", "--field", "--fie"])
def test_format_has_another_name(option: str) -> None:
    wanted = _sacct("-S", "2000-01-01", "--format=jobid,state")
    assert wanted.out.split() == ["JobID", "State", "-" * 12, "-" * 10]
    assert _sacct("-S", "2000-01-01", f"{option}=jobid,state") == wanted


@pytest.mark.parametrize("state", ["RV", "rv", "REVOKED"])
def test_no_job_is_revoked(state: str) -> None:
    answer = _sacct("-n", "-S", "2000-01-01", "-s", state)
    assert (answer.out, answer.err, answer.code) == ("", "", 0)


@pytest.mark.parametrize("state", ["CG", "cf", "ST"])
def test_some_states_are_not_recorded(state: str) -> None:
    answer = _sacct("-s", state)
    assert answer.code == 1
    assert answer.err == f"sacct: fatal: job state {state} is not supported / accounted\n"


def test_all_fields_and_some_exclude_each_other() -> None:
    answer = _sacct("-l", "-o", "user")
    assert answer.code == 1
    assert answer.err == (
        "sacct: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n"
    )


@pytest.mark.parametrize("states", ["R,", ",R", "R,,R"])
def test_nothing_in_a_list_of_states_is_no_state(states: str) -> None:
    found = [run(["squeue", "-t", text], {}, rig()) for text in ("R", states)]
    assert found[0].code == 0
    assert found[0] == found[1]
