"""A journal of events as JSON, handed to a new engine, gives the same state."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.core.event_codec import decode, encode
from rota.core.snapshot import save
from rota.testing import Harness

from .random_lives import SCHEDULERS, Living, draw_life

if TYPE_CHECKING:
    from rota.core.effects import Effect


class Journalling(Harness):
    """Records events."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.journal: list[str] = []
        super().__init__(*args, **options)

    def _write(self, event: ev.Event) -> None:
        self.journal.append(json.dumps([self.now, encode(event)]))

    def send(self, event: ev.Event) -> list[Effect]:
        """Record an event and send it."""
        self._write(event)
        return super().send(event)

    def run_pass(self) -> None:
        """Record a pass and make it."""
        self._write(ev.SchedulePass())
        super().run_pass()


class JournallingLife(Journalling, Living):
    """Records the events of a life."""


@pytest.mark.parametrize("sched", SCHEDULERS)
@pytest.mark.seeds(3, 20)
def test_a_journal_replayed_from_nothing_gives_the_same_state(sched: str, seeds: range) -> None:
    for seed in seeds:
        life = draw_life(seed, sched)
        until = Random(seed).randint(100, 2000)  # noqa: S311 - repeatable on purpose
        with life.play_on(JournallingLife, until=until) as rota, life.play(until=-1) as again:
            effects: list[Effect] = []
            for line in rota.journal:
                now, event = json.loads(line)
                effects += again.engine.handle(decode(event), now)
            assert effects == rota.effects
            assert save(again.engine) == save(rota.engine)
