"""What a supervisor has left in a state directory, and which supervisors run: read from outside, without one.

A supervisor outlives the controller, and the state directory too: it makes that again. So before a controller begins,
it looks whose runs there are.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.executor.supervisor import kernel, log
from rota.executor.supervisor import main as program

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What ends the name of a directory that was removed, as the kernel gives it.
_REMOVED = " (deleted)"


@dataclass(slots=True)
class TracedRun:
    """A run that a supervisor has started, and whose end no controller has recorded."""

    job_id: int
    restart_count: int
    mark: str
    uid: int
    pid: int
    ticks: int
    #: Unix seconds.
    start: float
    has_ended: bool = False


@dataclass(slots=True)
class Traces:
    """What a supervisor has left."""

    #: The cluster whose runs they are; empty: it is not known.
    cluster: str = ""
    #: How far that had come, as it has said last; empty: it is not known.
    head: list[Any] = field(default_factory=list)
    runs: dict[tuple[int, int], TracedRun] = field(default_factory=dict)
    #: The highest id of a job that has ever been launched, as far as the log goes back.
    last_job_id: int = 0
    #: What is wrong with its log. One that runs writes it anew.
    wrong: list[str] = field(default_factory=list)
    is_there: bool = False


def read_traces(state: Path) -> Traces:
    """Read what a supervisor has left in a state directory."""
    found, path = Traces(), state / log.LOG
    tail = state / log.TAIL
    if not path.exists() and not tail.exists():
        return found
    found.is_there = True
    data = path.read_bytes() if path.exists() else b""
    kept = tail.read_bytes() if tail.exists() else None
    records, _, _, wrong = log.records_in(data[: data.rfind(b"\n") + 1], kept, kernel.boot())
    if not _is_locked(state):
        found.wrong = wrong
    for record in records:
        _take(found, record)
    for note in log.notes_in((state / log.NOTES).read_bytes())[0] if (state / log.NOTES).exists() else ():
        for run in found.runs.values():
            run.has_ended = run.has_ended or (
                note["is"] == "exit" and (run.pid, run.ticks) == (note["pid"], note["ticks"])
            )
    return found


def _take(found: Traces, record: log.Record) -> None:
    kind = record["is"]
    if kind == "cluster":
        found.cluster = record["cluster"]
    elif kind == "head":
        found.head = record["head"]
    elif kind == "run":
        names = {"job_id": record["job"], "restart_count": record["run"]}
        rest = {name: record[name] for name in ("mark", "uid", "pid", "ticks")}
        found.runs[record["job"], record["run"]] = TracedRun(**names, **rest, start=record["time"])
        found.last_job_id = max(found.last_job_id, record["job"])
    elif kind in ("forget", "void"):
        found.runs.pop((record["job"], record["run"]), None)
    elif kind in ("exit", "end") and (run := found.runs.get((record["job"], record["run"]))) is not None:
        run.has_ended = True


def _is_locked(state: Path) -> bool:
    """Whether a supervisor runs in a state directory."""
    try:
        lock = os.open(state / program.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def homeless(state: Path) -> int | None:
    """Find a supervisor whose state directory was removed, and had this path; ``None``: there is none.

    It makes the directory again within seconds, unless somebody else has done so.
    """
    path = os.path.realpath(state)
    return next((pid for pid, place in _supervisors() if place == path + _REMOVED), None)


def of_copy(state: Path, cluster: str) -> tuple[int, Path] | None:
    """Find a supervisor of the same cluster in another directory, of which this one is a copy; ``None``: there is none."""
    own = state.stat()
    for pid, place in _supervisors():
        folder = Path(f"/proc/{pid}/cwd")
        try:
            if cluster and not os.path.samestat(folder.stat(), own) and read_traces(folder).cluster == cluster:
                return pid, Path(place)
        except OSError:
            continue
    return None


def _supervisors() -> Iterator[tuple[int, str]]:
    """Give the supervisors and keepers of this user, each with its directory."""
    script = os.fsencode(program.__file__)
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                place = os.readlink(f"/proc/{name}/cwd")
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                is_own = Path(f"/proc/{name}").stat().st_uid == os.geteuid()
            except OSError:
                continue
            if is_own and script in words[:5]:
                yield int(name), place
