"""The stream of events: in order, resumable, and cut off for whom is too slow."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rota.api import events
from rota.api.controller import Controller, UnauthorizedError
from rota.testing.live import LiveCluster

from .client import Client
from .conftest import CONF, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse
    from pathlib import Path

    from .conftest import Served


class Event(NamedTuple):
    id: str
    name: str
    data: Any


class Stream:
    """A stream that is read event by event."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response

    def next(self) -> Event | None:
        """Wait for the next event; ``None``: the stream has ended."""
        fields: dict[str, str] = {}
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                return Event(fields["id"], fields["event"], json.loads(fields["data"]))
        return None

    def until(self, job_id: int, state: str) -> list[Event]:
        """Give the events of a job, up to a state."""
        found = []
        while (event := self.next()) is not None:
            if event.data.get("job_id") == job_id:
                found.append(event)
                if event.data["state"] == state:
                    return found
        raise AssertionError(f"the stream has ended: {found}")


@contextmanager
def _stream(client: Client, last: str | None = None) -> Iterator[Stream]:
    connection = client.connection()
    try:
        connection.request("GET", "/v1/events", headers={} if last is None else {"Last-Event-ID": last})
        response = connection.getresponse()
        assert (response.status, response.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        yield Stream(response)
    finally:
        connection.close()


def test_each_state_of_a_job_is_told_in_order(served: Served) -> None:
    with _stream(served.client) as stream:
        begin = stream.next()
        assert begin is not None
        assert begin.name == "begin"
        job_id = served.cluster.submit("-J", "told", "-o", "/dev/null", "--wrap", "exit 3")
        events = stream.until(job_id, "FAILED")
    assert [event.data["state"] for event in events] == ["PENDING", "RUNNING", "FAILED"]
    last = events[-1].data
    assert (last["name"], last["exit_code"], last["signal"]) == ("told", 3, 0)
    assert last["time"] >= events[0].data["time"]
    assert len({event.id for event in events}) == 3


def test_suspended_requeued_and_cancelled_jobs_are_told(served: Served) -> None:
    with _stream(served.client) as stream:
        stream.next()
        job_id = served.cluster.submit("-o", "/dev/null", "--wrap", "sleep 300")
        stream.until(job_id, "RUNNING")
        served.cluster.run("scontrol", "suspend", str(job_id))
        stream.until(job_id, "SUSPENDED")
        served.cluster.run("scontrol", "resume", str(job_id))
        stream.until(job_id, "RUNNING")
        served.cluster.run("scontrol", "requeuehold", str(job_id))
        stream.until(job_id, "PENDING")
        served.cluster.run("scancel", str(job_id))
        assert stream.until(job_id, "CANCELLED")


def test_tasks_of_an_array_are_told_one_by_one(served: Served) -> None:
    with _stream(served.client) as stream:
        stream.next()
        array = served.cluster.submit("-a", "1-3", "-o", "/dev/null", "--wrap", "true")
        ended: set[str] = set()
        while ended != {"1", "2", "3"}:
            event = stream.next()
            assert event is not None
            if event.data.get("array_job_id") == array and event.data["state"] == "COMPLETED":
                ended.add(event.data["array_task"])


def test_who_was_cut_off_goes_on_where_they_were(served: Served) -> None:
    with _stream(served.client) as stream:
        stream.next()
        job_id = served.cluster.submit("-o", "/dev/null", "--wrap", "true")
        first = stream.until(job_id, "PENDING")[-1]
        rest = stream.until(job_id, "COMPLETED")
    with _stream(served.client, first.id) as stream:
        assert stream.until(job_id, "COMPLETED") == rest
    with _stream(served.client, rest[-1].id) as stream:
        other = served.cluster.submit("-o", "/dev/null", "--wrap", "true")
        event = stream.next()
        assert event is not None
        assert (event.name, event.data["job_id"]) == ("state", other)
        stream.until(other, "COMPLETED")


def test_what_cannot_be_told_any_more_is_missed(served: Served) -> None:
    for last in ("nosuch-1", "nosuch", "-", "-1", "9" * 90):
        with _stream(served.client, last) as stream:
            event = stream.next()
            assert event is not None
            assert event.name == "missed"


@pytest.mark.slow
def test_a_reader_that_takes_nothing_is_cut_off_and_can_go_on(served: Served) -> None:
    # 2,400 events of 1.2 kB: more than what may wait for a reader, and what the socket takes beside it.
    count, each, name = 2_400, 800, "x" * 1_000
    with _stream(served.client) as slow:
        got = [slow.next()]
        for _ in range(count // each):
            array = served.cluster.submit("-H", "-a", f"1-{each}", "-J", name, "--wrap", "true")
            served.cluster.run("scancel", *(f"{array}_{task}" for task in range(1, each + 1)))
        while (event := slow.next()) is not None:
            got.append(event)
    told = [event.data for event in got if event is not None and event.data]
    assert 0 < len(told) < count
    assert got[-1] is not None
    with _stream(served.client, got[-1].id) as stream:
        while sum(one["state"] == "CANCELLED" for one in told) < count:
            event = stream.next()
            assert event is not None
            assert event.name == "state"
            told.append(event.data)
    cancelled = [int(one["array_task"]) for one in told if one["state"] == "CANCELLED"]
    assert cancelled == list(range(1, each + 1)) * (count // each)


@pytest.mark.slow
def test_a_controller_that_comes_back_is_followed_again(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, CONF) as cluster, serving(cluster):
        client = Client(cluster.state / "http.sock")
        with _stream(client) as stream:
            stream.next()
            cluster.kill()
            assert client.ask("GET", "/v1/jobs").status == 503
            cluster.up()
            event = stream.next()
            assert event is not None
            assert event.name == "missed"
            job_id = cluster.submit("-o", "/dev/null", "--wrap", "true")
            stream.until(job_id, "COMPLETED")


class _Revoking(Controller):
    """A controller that does not know who asks from the second time on."""

    asked = 0

    async def ask(self, _: str, /, *__: str, **___: Any) -> bytes:
        self.asked += 1
        if self.asked > 1:
            raise UnauthorizedError("revoked")
        return b"{}"


def test_who_may_not_read_any_more_is_cut_off_while_events_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_QUIET", 0.05)

    async def read() -> int:
        told, got = events.Events(_Revoking()), 0
        async for _ in told.read("token:x", None):
            got += 1
            await asyncio.sleep(0.01)
            told._take(b'{"job_id":1}')
        return got

    assert 2 < asyncio.run(asyncio.wait_for(read(), 30)) < 100
