"""What is remembered for how long, what goes into one batch, and who waits."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rota.interfaces import InputError
from rota.jobmeta import Lookups
from rota.jobmeta.desk import NEGATIVE, RETRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Fakes

    Write = Callable[[str, str], Path]

#: Seconds for which a test waits for another thread before it fails.
PATIENCE = 30.0
#: A plugin whose answers a test determines, through a module that both know.
SCRIPTED = """
from tests_jobmeta_scheduler import scheduler
FIELDS = ("user",)
BATCH = 3
TTL = 100
def fetch(ids):
    return scheduler.answer(ids)
def matches(job_id):
    return job_id.isdecimal()
"""


class Scheduler:
    """A scheduler in this process: a test determines what it knows and when it answers."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.calls: list[list[str]] = []
        self.fault = ""
        #: Answers wait for this.
        self.open = threading.Event()
        self.open.set()
        self.asked = threading.Event()
        self.at_once = 0
        self.most_at_once = 0

    def answer(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.calls.append(list(ids))
        self.asked.set()
        assert self.open.wait(PATIENCE)
        self.at_once -= 1
        if self.fault:
            raise RuntimeError(self.fault)
        return {job_id: self.jobs[job_id] for job_id in ids if job_id in self.jobs}


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch, write_plugin: Write) -> Scheduler:
    import sys
    from types import ModuleType

    made = Scheduler()
    module = ModuleType("tests_jobmeta_scheduler")
    module.scheduler = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    write_plugin("scripted", SCRIPTED)
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lookups(scheduler: Scheduler, plugins: Path, clock: Clock, fake: Fakes) -> Iterator[Lookups]:
    with Lookups([plugins], variable="SCRIPTED", clock=clock, room=10) as made:
        yield made
        scheduler.open.set()


def _wait_until(lookups: Lookups, condition: Callable[[], bool]) -> None:
    with lookups._changed:
        assert lookups._changed.wait_for(condition, PATIENCE)


def test_a_view_does_not_wait(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.jobs["1"] = {"user": "alice"}
    scheduler.open.clear()
    assert lookups.known(["1", "2"]).pending == ["1", "2"]
    before = lookups.version
    scheduler.open.set()
    _wait_until(lookups, lambda: not lookups.known(["1", "2"]).pending)
    answers = lookups.known(["1", "2", "x"])
    assert answers.jobs["1"] == {"id": "1", "plugin": "scripted", "user": "alice"}
    assert (answers.unknown, answers.refused) == (["2"], ["x"])
    assert lookups.version > before


def test_what_is_asked_meanwhile_goes_into_the_next_batch(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.open.clear()
    lookups.known(["1"])
    assert scheduler.asked.wait(PATIENCE)
    for job_id in "2345":
        lookups.known(["1", job_id])
    scheduler.open.set()
    lookups.lookup("12345")
    assert scheduler.calls == [["1"], ["2", "3", "4"], ["5"]]  # BATCH is 3


def test_one_call_at_a_time_for_many_who_wait(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.jobs = {str(number): {"user": f"u{number}"} for number in range(10)}
    found: list[dict[str, Any]] = []

    def ask(number: int) -> None:
        found.append(dict(lookups.lookup([str(number), str((number + 1) % 10)]).jobs))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 10
    assert all(job["user"] == f"u{job_id}" for jobs in found for job_id, job in jobs.items())
    assert scheduler.most_at_once == 1
    assert sorted(job_id for call in scheduler.calls for job_id in call) == sorted(scheduler.jobs)


def test_a_running_job_is_asked_again_after_its_ttl_and_an_ended_one_is_not(
    lookups: Lookups, scheduler: Scheduler, clock: Clock
) -> None:
    scheduler.jobs = {"1": {"user": "a", "ended": False}, "2": {"user": "b", "ended": True}, "3": {"user": "c"}}
    lookups.lookup(["1", "2", "3"])
    clock.now = 99
    lookups.lookup(["1", "2", "3"])
    assert len(scheduler.calls) == 1
    clock.now = 101
    scheduler.jobs["1"] = {"user": "a", "ended": True}
    assert lookups.lookup(["1", "2", "3"]).jobs["1"]["ended"] is True
    assert scheduler.calls[1:] == [["1", "3"]]


def test_a_view_shows_what_is_old_while_it_is_fetched_anew(
    lookups: Lookups, scheduler: Scheduler, clock: Clock
) -> None:
    scheduler.jobs["1"] = {"user": "old"}
    lookups.lookup(["1"])
    clock.now, scheduler.jobs["1"] = 101, {"user": "new"}
    scheduler.open.clear()
    assert lookups.known(["1"]).jobs["1"]["user"] == "old"
    scheduler.open.set()
    _wait_until(lookups, lambda: lookups.known(["1"]).jobs["1"]["user"] == "new")


def test_a_job_that_its_scheduler_forgets_keeps_its_name(lookups: Lookups, scheduler: Scheduler, clock: Clock) -> None:
    scheduler.jobs["1"] = {"user": "alice"}
    lookups.lookup(["1"])
    del scheduler.jobs["1"]
    clock.now = 101
    assert lookups.lookup(["1"]).jobs["1"]["user"] == "alice"
    assert len(scheduler.calls) == 2


def test_an_unknown_id_is_not_asked_for_a_while(lookups: Lookups, scheduler: Scheduler, clock: Clock) -> None:
    assert lookups.lookup(["1"]).unknown == ["1"]
    clock.now = NEGATIVE - 1
    assert lookups.lookup(["1"]).unknown == ["1"]
    assert len(scheduler.calls) == 1
    clock.now = NEGATIVE
    scheduler.jobs["1"] = {"user": "alice"}
    assert lookups.lookup(["1"]).jobs["1"]["user"] == "alice"


def test_a_scheduler_that_fails_holds_up_nobody_twice(lookups: Lookups, scheduler: Scheduler, clock: Clock) -> None:
    scheduler.fault = "down"
    ids = [str(number) for number in range(9)]
    answers = lookups.lookup(ids[:1])
    assert answers.failed == ids[:1]
    assert "RuntimeError" in answers.faults[0]
    assert lookups.lookup(ids).failed == ids
    assert len(scheduler.calls) == 1
    clock.now = RETRY
    scheduler.fault = ""
    scheduler.jobs = {job_id: {"user": "a"} for job_id in ids}
    assert len(lookups.lookup(ids).jobs) == 9


def test_a_failure_forgets_nothing(lookups: Lookups, scheduler: Scheduler, clock: Clock) -> None:
    scheduler.jobs["1"] = {"user": "alice"}
    lookups.lookup(["1"])
    clock.now, scheduler.fault = 101, "down"
    assert lookups.lookup(["1"]).jobs["1"]["user"] == "alice"
    assert lookups.status()["plugins"]["scripted"]["failed"] == 1


def test_there_is_room_for_so_many_and_those_that_nobody_asks_for_go_first(
    lookups: Lookups, scheduler: Scheduler
) -> None:
    scheduler.jobs = {str(number): {"user": "a", "ended": True} for number in range(12)}
    lookups.lookup([str(number) for number in range(10)])
    lookups.lookup(["0"])
    lookups.lookup(["10", "11"])
    scheduler.calls.clear()
    lookups.lookup(["0", "1", "2", "3"])
    assert scheduler.calls == [["1", "2"]]


def test_more_ids_than_there_is_room_for(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.jobs = {str(number): {"user": f"u{number}"} for number in range(50)}
    answers = lookups.lookup(scheduler.jobs)
    assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {
        job_id: fields["user"] for job_id, fields in scheduler.jobs.items()
    }


def test_who_waits_may_say_how_long(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.open.clear()
    answers = lookups.lookup(["1", "x"], wait=0.05)
    assert (answers.pending, answers.refused) == (["1"], ["x"])


def test_what_is_old_is_better_than_nothing(lookups: Lookups, scheduler: Scheduler, clock: Clock) -> None:
    scheduler.jobs["1"] = {"user": "old"}
    lookups.lookup(["1"])
    clock.now = 101
    scheduler.open.clear()
    assert lookups.lookup(["1"], wait=0.05).jobs["1"]["user"] == "old"


def test_a_fault_is_told_once(scheduler: Scheduler, plugins: Path, clock: Clock, fake: Fakes) -> None:
    scheduler.fault = "down"
    told: list[str] = []
    with Lookups([plugins], variable="SCRIPTED", clock=clock, report=told.append) as lookups:
        for _ in range(3):
            lookups.lookup(["1"])
            clock.now += RETRY
    assert (len(scheduler.calls), len(told)) == (3, 1)


def test_after_the_end_nothing_is_looked_up(lookups: Lookups, scheduler: Scheduler) -> None:
    lookups.lookup(["1"])
    lookups.close()
    answers = lookups.lookup(["2"])
    assert (answers.failed, answers.faults) == (["2"], ["lookups have ended"])


def test_ids_that_are_asked_twice_are_answered_once(lookups: Lookups, scheduler: Scheduler) -> None:
    assert lookups.lookup(["1", "1", "1"]).unknown == ["1"]
    assert scheduler.calls == [["1"]]


def test_the_end_kills_what_runs(fake: Fakes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    fake("sacct", body=f"echo $$ > {pipe}; sleep 600")
    lookups = Lookups(variable="SLURM_JOB_ID", timeout=600)
    lookups.known(["1"])
    process = int(pipe.read_text())  # it has begun
    lookups.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert not [thread for thread in threading.enumerate() if thread.name == "jobmeta slurm_job_id"]


def test_status(lookups: Lookups, scheduler: Scheduler) -> None:
    scheduler.jobs["1"] = {"user": "alice"}
    lookups.lookup(["1", "2", "3", "4"])
    assert lookups.status() == {
        "plugins": {
            "scripted": {
                "calls": 2, "commands": 0, "asked": 4, "found": 1, "failed": 0, "fault": "", "last_fault": "",
                "kept": 4, "waiting": 0,
            }
        },
        "faults": [],
    }  # fmt: skip


def test_a_directory_that_is_missing() -> None:
    with Lookups("/nowhere") as lookups, pytest.raises(InputError, match="No such file"):
        lookups.known(["1"])


def test_a_plugin_that_blocks_is_given_up(
    plugins: Path, write_plugin: Write, monkeypatch: pytest.MonkeyPatch, fake: Fakes
) -> None:
    """What it knows after all is taken when it returns."""
    import sys
    from types import ModuleType

    module, released = ModuleType("tests_jobmeta_blocking"), threading.Event()
    module.released = released  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    write_plugin(
        "blocking",
        "from tests_jobmeta_blocking import released\n"
        "def fetch(ids):\n"
        "    released.wait()\n"
        "    return {job_id: {'user': 'ann'} for job_id in ids}\n",
    )
    told: list[str] = []
    clock = Clock()
    with Lookups([plugins], variable="BLOCKING", timeout=0.2, report=told.append, clock=clock) as lookups:
        answers = lookups.lookup(["1"])
        assert answers.failed == ["1"]
        assert answers.faults == ["plugin jobmeta/blocking: fetch takes longer than 0.2 s, and gives nothing"]
        assert lookups.lookup(["2"]).faults == answers.faults == told
        assert lookups.status()["plugins"]["blocking"]["fault"] == told[0]
        released.set()
        _wait_until(lookups, lambda: "1" in lookups.known(["1"]).jobs)
        clock.now += 60
        assert lookups.lookup(["2"]).jobs["2"]["user"] == "ann"
        assert lookups.status()["plugins"]["blocking"]["fault"] == ""
