"""The connection to the supervisor: JSON objects, one a line, and what they say of runs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rota.executor.protocol import Ended, LaunchFailed, Measured, Outcome, Started
from rota.model.step import Usage

if TYPE_CHECKING:
    from rota.executor.protocol import Report, RunSpec

    Record = dict[str, Any]


class Lines(asyncio.Protocol):
    """Takes the lines of a connection."""

    def __init__(self, take: Any, known: asyncio.Future[None], closed: asyncio.Future[None]) -> None:
        self._take = take
        self._known = known
        self._closed = closed
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Hand on whole lines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            record = json.loads(line)
            self._take(record)
            if record["is"] == "known" and not self._known.done():
                self._known.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Say that the connection is closed."""
        if not self._known.done():
            self._known.set_exception(ConnectionResetError("the supervisor has ended"))
        if not self._closed.done():
            self._closed.set_result(None)


def line_of(record: Record) -> bytes:
    """Give a record as a line."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def plain_of(run: RunSpec) -> Record:
    """Give a run as the supervisor reads it."""
    values = {field.name: getattr(run, field.name) for field in fields(run)}
    names = {"job": values.pop("job_id"), "run": values.pop("restart_count")}
    return {**names, **values, "env": dict(run.env), "own_env": dict(run.own_env), "rlimits": dict(run.rlimits)}


def report_of(record: Record) -> Report:
    """Give a report of the supervisor as what the listener gets."""
    names = {"job_id": record["job"], "restart_count": record["run"]}
    match record["is"]:
        case "started":
            return Started(**names, pid=record["pid"], time=record["time"])
        case "failed":
            return LaunchFailed(**names, message=record["message"], prolog=record["prolog"])
        case "measured":
            return Measured(**names, usage=_usage(record["usage"]))
        case _:
            return Ended(
                **names,
                exit_code=record["code"],
                signal=record["signal"],
                time=record["time"],
                outcome=Outcome(record["outcome"]),
                usage=_usage(record["usage"]),
                epilog_failure=record["epilog_failure"],
            )


def _usage(values: list[Any]) -> Usage:
    user, system, max_rss, read, written, energy = values
    return Usage(
        user_seconds=user,
        system_seconds=system,
        max_rss=max_rss,
        read_bytes=read,
        written_bytes=written,
        energy=energy,
    )
