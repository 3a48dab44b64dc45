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
