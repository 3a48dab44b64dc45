"""A state directory with an executor, driven step by step: real processes, and nothing of them left at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rota.executor.local import LocalExecutor
from rota.executor.protocol import Ended, LaunchFailed, Measured, RunSpec, Started
from rota.executor.supervisor.cgroups import name_for

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from rota.executor.protocol import Report

Of = TypeVar("Of", Started, Ended, LaunchFailed, Measured)
#: Seconds for which anything is waited for. A machine may be busy with other things.
PATIENCE = 60.0
#: For scripts: wait for `Bench.go`.
WAIT = 'while [ ! -e "$OUT/go" ]; do sleep 0.01; done'


class Bench:
    """An executor and what it has reported."""

    def __init__(self, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.options = options
        self.reports: list[Report] = []
        self.runner = asyncio.Runner()
        self.executor = self._new_executor()
        #: All supervisors and keepers that there were.
        self.pids: set[int] = set()
        #: Runs that have been launched, less those that were forgotten.
        self.launched: set[tuple[int, int]] = set()

    def _new_executor(self) -> LocalExecutor:
        return LocalExecutor(self.state, self.reports.append, options=self.options)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True, parents=True)
        self.connect()
        self.executor.has_launched_all()
        return self

    def connect(self) -> None:
        self.do(self.executor.start())
        self.note_pids()

    def note_pids(self) -> None:
        self.pids |= {self.executor.supervisor_pid, self.executor.keeper_pid} - {0}

    def disconnect(self) -> None:
        """The daemon goes away; what it knew is gone with it."""
        self.do(self.executor.close())
        self.reports = []
        self.executor = self._new_executor()

    def __exit__(self, *error: object) -> None:
        for job_id, restart_count in self.launched:
            self.executor.kill(job_id, restart_count, signal.SIGKILL, 0)
        self.until(lambda: self.all_over)
        self.note_pids()
        self.do(self.executor.shut_down())
        self.runner.close()
        wait_for(lambda: not any(is_alive(pid) for pid in self.pids))
        assert self.processes() == []
        assert self.groups() == []

    @property
    def is_connected(self) -> bool:
        return self.executor._transport is not None

    def send(self) -> None:
        """Send at once what is asked for; what is answered is not heard yet."""
        self.executor._flush()

    def lose_connection(self) -> None:
        """What the supervisor has said and was not heard yet is lost."""
        assert self.executor._transport is not None
        self.executor._transport.abort()

    def sleep(self, seconds: float) -> None:
        self.do(asyncio.sleep(seconds))

    # ---- what is there ----------------------------------------------------------------------------------------

    def processes(self, job_id: int | None = None) -> list[int]:
        """The processes of all runs or of one job's, as far as they kept their environment."""
        mark = f"ROTA_RUN={self.state}:{'' if job_id is None else f'{job_id}.'}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    pass
        return found

    @property
    def has_groups(self) -> bool:
        return self.executor.capabilities().tree == "cgroup v2"

    def is_suspended(self, job_id: int) -> bool:
        """Whether the kernel has stopped all processes of a run."""
        if self.has_groups:
            (events,) = [path for group in self.groups() for path in group.glob(f"{job_id}.0/cgroup.events")]
            return "frozen 1" in events.read_text()
        return {state_of(pid) for pid in self.processes(job_id)} == {"T"}

    def groups(self) -> list[Path]:
        name = name_for(str(self.state))
        roots = [root for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory") if Path(root).is_dir()]
        walks = [os.walk(root) for root in roots or ["/sys/fs/cgroup"]]
        return [Path(path, name) for walk in walks for path, folders, _ in walk if name in folders]

    # ---- runs -------------------------------------------------------------------------------------------------

    def script(self, text: str, name: str = "script") -> str:
        path = self.folder / name
        path.write_text(text if text.startswith("#!") else "#!/bin/bash\n" + text)
        path.chmod(0o755)
        return str(path)

    def spec(self, job_id: int, script: str, *arguments: str, restart_count: int = 0, **changes: Any) -> RunSpec:
        out = str(self.out(job_id))
        fields: dict[str, Any] = {
            "job_id": job_id,
            "restart_count": restart_count,
            "argv": (script, *arguments),
            "env": {"PATH": os.environ["PATH"], "OUT": str(self.folder)},
            "cwd": str(self.folder),
            "stdout": out,
            "stderr": out,
            "mark": f"{self.state}:{job_id}.{restart_count}",
        }
        return RunSpec(**fields | changes)

    def launch(self, job_id: int, script: str, *arguments: str, **changes: Any) -> None:
        """Launch a script by its text."""
        path = self.script(script, f"script{job_id}")
        self.start(self.spec(job_id, path, *arguments, **changes))

    def start(self, spec: RunSpec) -> None:
        self.launched.add((spec.job_id, spec.restart_count))
        self.executor.launch(spec)

    def forget(self, job_id: int) -> None:
        self.launched.discard((job_id, 0))
        self.executor.forget(job_id, 0)

    def run(self, job_id: int, script: str, *arguments: str, **changes: Any) -> Ended:
        self.launch(job_id, script, *arguments, **changes)
        return self.end(job_id)

    def go(self) -> None:
        """Let the scripts that `WAIT` go on."""
        (self.folder / "go").touch()

    def terminate(self, job_id: int) -> Ended:
        """End a run that heeds SIGTERM: nobody else ends it as long as that is waited for."""
        self.executor.kill(job_id, 0, signal.SIGTERM, 2 * PATIENCE)
        return self.end(job_id)

    def out(self, job_id: int) -> Path:
        return self.folder / f"{job_id}.out"

    # ---- reports ----------------------------------------------------------------------------------------------

    def of(self, kind: type[Of], job_id: int | None = None) -> list[Of]:
        """The reports of a kind, of all runs or those of one job."""
        return [report for report in self.reports if isinstance(report, kind) and job_id in (None, report.job_id)]

    def until(self, condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        async def wait() -> Any:
            end = time.monotonic() + seconds
            while not (got := condition()):
                assert time.monotonic() < end, (condition, self.reports[-5:])
                await asyncio.sleep(0.005)
            return got

        return self.do(wait())

    def end(self, job_id: int) -> Ended:
        ended: list[Ended] = self.until(lambda: self.of(Ended, job_id) or self.of(LaunchFailed, job_id))
        assert isinstance(ended[0], Ended), ended
        return ended[0]

    def pid(self, job_id: int) -> int:
        started: list[Started] = self.until(lambda: self.of(Started, job_id))
        return started[0].pid

    def printed(self, job_id: int, text: str = "\n") -> str:
        """Wait until a run has printed something."""
        self.until(lambda: self.out(job_id).exists() and text in self.out(job_id).read_text())
        return self.out(job_id).read_text()

    @property
    def all_over(self) -> bool:
        ends: list[Ended | LaunchFailed] = [*self.of(Ended), *self.of(LaunchFailed)]
        return self.launched <= {(end.job_id, end.restart_count) for end in ends}


def state_of(pid: int) -> str:
    """The state of a process as in its /proc/PID/stat; X: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def is_alive(pid: int) -> bool:
    return state_of(pid) not in "ZX"


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def let_through(folder: Path) -> None:
    """Let other users reach what is in a folder of pytest's."""
    for parent in [folder, *folder.parents]:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)


def kill_9(*pids: int) -> None:
    """Kill all of them at the same moment: none is there to start another one in place of one that is gone.

    A process that was sent SIGKILL is the parent of its children until it has had the processor once more, which a busy
    machine may delay.
    """
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in filter(None, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    wait_for(lambda: not any(is_alive(pid) for pid in filter(None, pids)))
