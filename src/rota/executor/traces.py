"""What a supervisor has left in a state directory, and which supervisors run: read from outside, without one.

A supervisor outlives the controller, and the state directory too: it makes that again. So before a controller begins,
it looks whose runs there are.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota.executor.supervisor import kernel, log, place
from rota.executor.supervisor import main as program
from rota.executor.supervisor.apart import ask_and_wait
from rota.executor.supervisor.run import UNKNOWN

#: The files in which a supervisor says what it knows.
SUPERVISOR_FILES = (log.LOG, log.TAIL)
#: What ends the name of a directory that was removed, as the kernel gives it.
_REMOVED = " (deleted)"
#: Longest part of a command line in which the supervisor's program is looked for.
_COMMAND = 4096


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
    #: How and when its script ended; -1: not known.
    code: int = -1
    signal: int = 0
    end: float = 0.0


@dataclass(slots=True)
class Traces:
    """What a supervisor has left."""

    #: The cluster whose runs they are; empty: it is not known.
    cluster: str = ""
    #: How far that had come, as it has said last; empty: it is not known.
    head: list[Any] = field(default_factory=list)
    runs: dict[tuple[int, int], TracedRun] = field(default_factory=dict)
    #: Runs whose end has been recorded, as far as the log goes back.
    past: dict[tuple[int, int], TracedRun] = field(default_factory=dict)
    #: The highest id of a job that has ever been launched, as far as the log goes back.
    last_job_id: int = 0
    #: What is wrong with its log. One that runs writes it anew.
    wrong: list[str] = field(default_factory=list)
    is_there: bool = False
    #: Whether a supervisor runs there.
    is_watched: bool = False


def read_traces(state: Path) -> Traces:
    """Read what a supervisor has left in a state directory."""
    found, path = Traces(), state / log.LOG
    tail = state / log.TAIL
    if not path.is_file() and not tail.is_file():
        return found
    found.is_there = True
    data, kept = _read(path) or b"", _read(tail)
    records, _, _, wrong = log.records_in(data[: data.rfind(b"\n") + 1], kept, kernel.boot())
    found.is_watched = _is_locked(state)
    found.wrong = [] if found.is_watched else wrong
    for record in records:
        _take(found, record)
    for note in log.notes_in((state / log.NOTES).read_bytes())[0] if (state / log.NOTES).exists() else ():
        for run in found.runs.values():
            if note["is"] == "exit" and (run.pid, run.ticks) == (note["pid"], note["ticks"]):
                _end(run, note)
    return found


def _read(path: Path) -> bytes | None:
    """Read a file; ``None``: there is none, or a directory, or a link to nothing in its place."""
    return path.read_bytes() if path.is_file() else None


def _end(run: TracedRun, record: log.Record) -> None:
    run.has_ended = True
    if record.get("outcome") != UNKNOWN:
        run.code, run.signal = record["code"], record["signal"]
    run.end = record["time"]


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
    elif (run := found.runs.get((record.get("job", -1), record.get("run", -1)))) is not None:
        if kind in ("exit", "end"):
            _end(run, record)
        elif kind in ("forget", "void"):
            del found.runs[run.job_id, run.restart_count]
            if kind == "forget":
                found.past[run.job_id, run.restart_count] = run


def _is_locked(state: Path) -> bool:
    """Whether a supervisor runs in a state directory."""
    try:
        lock = os.open(state / place.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def supervisors() -> list[tuple[int, str]]:
    """Give the supervisors and keepers of this user, each with its directory, which may have been removed."""
    script, found = os.fsencode(program.__file__), []
    for name in os.listdir("/proc"):  # noqa: PTH208 - there may be thousands
        # The words of a process are in its memory, which another user may keep where nothing answers.
        if not name.isdigit() or kernel.user_of(int(name)) != os.geteuid():
            continue
        if script in kernel.read(f"/proc/{name}/cmdline")[:_COMMAND].split(b"\0"):
            with suppress(OSError):  # it has ended meanwhile
                found.append((int(name), str(Path("/proc", name, "cwd").readlink())))
    return found


def homeless(state: Path, found: list[tuple[int, str]]) -> int | None:
    """Find a supervisor whose state directory was removed, and had this path; ``None``: there is none.

    It makes the directory again within seconds, unless somebody else has done so.

    Args:
        state: The state directory.
        found: See `supervisors`.
    """
    path = os.path.realpath(state)
    places = {folder: pid for pid, folder in found}
    return None if path in places else places.get(path + _REMOVED)  # a keeper does not go back itself


def of_copy(state: Path, cluster: str, found: list[tuple[int, str]]) -> tuple[int, Path] | None:
    """Find a supervisor of the same cluster in another directory, of which this is a copy; ``None``: there is none."""
    own = state.stat()
    for pid, path in found:
        folder = Path(f"/proc/{pid}/cwd")
        with suppress(OSError):
            if cluster and not os.path.samestat(folder.stat(), own) and read_traces(folder).cluster == cluster:
                return pid, Path(path)
    return None


def is_alive(run: TracedRun) -> bool:
    """Whether the script of a run has not ended."""
    stat = kernel.stat_of(run.pid)
    return stat is not None and stat.ticks == run.ticks and not stat.has_ended


def environment_of(run: TracedRun) -> dict[str, str]:
    """Give the environment with which the script of a run was executed; empty: it has ended, or replaced it."""
    if not is_alive(run):
        return {}
    answers = ask_and_wait(lambda pid: kernel.read(f"/proc/{pid}/environ"), [run.pid])
    variables = answers.get(run.pid, b"").decode(errors="surrogateescape").split("\0")
    return dict(one.partition("=")[::2] for one in variables if "=" in one)


def move_log(state: Path, aside: Path) -> None:
    """Move away what is in the place of the files of a supervisor's log."""
    for name in SUPERVISOR_FILES:
        if os.path.lexists(state / name):
            (state / name).rename(aside / name)


def mend_log(state: Path, aside: Path) -> None:
    """Write the log of a supervisor that does not run anew, with its whole lines; what it was is moved away."""
    data, kept = _read(state / log.LOG) or b"", _read(state / log.TAIL)
    records, _, number, _ = log.records_in(data[: data.rfind(b"\n") + 1], kept, kernel.boot())
    move_log(state, aside)
    records.append({"is": "suspect"})
    (state / log.LOG).touch(mode=0o600)
    (state / log.LOG).write_bytes(log.lines_of(records, number))
    (state / log.TAIL).touch(mode=0o600)
    (state / log.TAIL).write_bytes(log.tail_of(number, number + len(records) - 1, kernel.boot()))
