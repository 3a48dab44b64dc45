"""What a replay leaves as it was."""

from __future__ import annotations

import gc

import pytest

from rota.config import interchangeable
from rota.model import InputError
from rota.replays import ReplayOptions, Scenario, driver
from rota.replays.run import replay

from .conftest import log_of


def test_cycles_of_objects_are_looked_for_as_often_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_PROGRESS_EVERY", 1)
    before, during = gc.get_threshold(), set[int]()
    options = ReplayOptions(progress=lambda _done, _total: during.add(gc.get_threshold()[0]))
    replay(Scenario(log_of((0, 100, 3, 100)), interchangeable(4), options))
    assert gc.get_threshold() == before
    assert min(during) > before[0]
    options = ReplayOptions(strict=True)
    with pytest.raises(InputError):
        replay(Scenario(log_of((0, 100, 8, 100)), interchangeable(4), options))
    assert gc.get_threshold() == before
