"""A saved state that is set back: jobs keep their distances, and nothing has happened later than now."""

from __future__ import annotations

from typing import Any

from rota.core.set_back import set_back
from rota.core.snapshot import save
from rota.model import JobState
from rota.testing import Harness

_AHEAD = 10 * 365 * 86_400


class _SetBack(Harness):
    """A harness whose engine can be set back."""

    def set_back(self, now: int) -> dict[str, Any]:
        saved = set_back(save(self.engine), now)
        self.now = now
        self._boot(saved)
        self._check()
        return saved


def test_jobs_keep_their_distances_and_nothing_is_later_than_now() -> None:
    with _SetBack() as rota:
        begin = rota.now
        before = rota.submit(hold=True).job_id
        rota.jump(_AHEAD)
        held = rota.submit(hold=True).job_id
        later = rota.submit(begin_time=rota.now + 100).job_id
        array = rota.submit(array="1-3", hold=True).job_id
        dependent = rota.submit(dependency=f"afterok:{held}").job_id
        rota.set_back(begin + 50)
        assert [rota.job(one).submit_time for one in (before, held, later, array)] == [begin, *[begin + 50] * 3]
        assert rota.job(later).spec.begin_time == begin + 150
        assert rota.state(later) is JobState.PENDING
        rota.release(held)
        assert rota.state(held) is JobState.RUNNING
        rota.end(held)
        assert rota.state(dependent) is JobState.RUNNING
        rota.wait(85)
        assert rota.state(later) is JobState.PENDING
        rota.wait(20)
        assert rota.state(later) is JobState.RUNNING
        assert rota.now < begin + 200


def test_a_state_that_is_not_ahead_is_as_it_was() -> None:
    with _SetBack() as rota:
        rota.submit(hold=True)
        saved = save(rota.engine)
        assert set_back(save(rota.engine), rota.now) == saved
