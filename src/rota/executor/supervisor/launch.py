"""Starting runs, many at a time.

Each is forked and waits on a pipe, one for all. Their starts are written to the log together, and then they are let go.
So what may have begun is on record; and of what is on record, whatever did not begin says so itself (see `child`).
"""

from __future__ import annotations

import os
import signal
import time

from rota.executor.supervisor import child, kernel, measure
from rota.executor.supervisor.run import ENDED, UNSURE, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from rota.executor.supervisor.state import State


class Launcher:
    """Starts runs.

    Args:
        state: The supervisor's runs and means.
        on_exit: Function that is called when a process that was started has ended.
    """

    def __init__(self, state: State, on_exit: Callable[[Run], None]) -> None:
        self._state = state
        self._on_exit = on_exit

    def launch(self, requests: list[dict[str, Any]]) -> None:
        """Start runs; those that are known are reported again."""
        state = self._state
        prepared: list[tuple[Run, dict[str, Any], list[str]]] = []
        once = {(request["job"], request["run"]): request for request in reversed(requests)}
        for request in reversed(once.values()):
            if (run := state.runs.get((request["job"], request["run"]))) is not None:
                self._again(run, request)
            elif (run := self._prepare(request)) is not None:
                prepared.append((run, child.encoded(request), [group.joining for group in run.groups]))
        if not prepared:
            return
        with _Gate(state) as gate:
            self._fork(prepared)
            self._let_go([run for run, _, _ in prepared if self._is_waiting(run)], gate)

    def epilog(self, run: Run) -> None:
        """Start the epilog of a run.

        Raises:
            OSError: it cannot be started now.
        """
        with _Gate(self._state) as gate:
            try:
                pid = os.fork()
                if not pid:
                    child.become_epilog(run.epilog, run.env, self._state.around)
                run.epilog_pid, run.epilog_ticks = pid, _ticks(pid)
                run.epilog_until = time.monotonic() + run.prolog_epilog_timeout if run.prolog_epilog_timeout else 0.0
                self._state.commit([run.epilog_record()])
                gate.let_go(1)
            except OSError:
                run.epilog_pid = 0
                raise
        run.pidfd = os.pidfd_open(pid)
        self._state.by_pid[pid] = run
        self._state.loop.watch(run.pidfd, lambda _: self._on_exit(run))

    def _again(self, run: Run, request: dict[str, Any]) -> None:
        """Answer a launch of a run that is known."""
        if run.phase == UNSURE:
            run.again = request
            return
        if not (run.phase == ENDED and run.failure and not run.prolog):
            self._state.report(run.started_report())
        if run.phase == ENDED:
            self._state.report(run.end_report())

    def _prepare(self, request: dict[str, Any]) -> Run | None:
        """Make what a run needs; ``None``: it cannot be started, which is reported."""
        run = Run(request, self._state.cgroups)
        if os.geteuid() and request["uid"] not in (-1, os.geteuid()):
            self._refuse(run, "only root can run jobs as other users")
            return None
        try:
            for group in run.groups:
                group.make(run.memory)
        except OSError as error:
            self._refuse(run, f"no control group could be made: {error.strerror}")
            return None
        return run

    def _fork(self, prepared: list[tuple[Run, dict[str, Any], list[str]]]) -> None:
        """Fork runs that wait.

        Nothing else is done in between: after each fork, every page that this process writes to is copied.
        """
        around, own_memory = self._state.around, measure.resident([os.getpid()])
        own = kernel.stat_of(os.getpid())
        for run, request, joining in prepared:
            run.floor, run.image = own_memory, own.image if own is not None else ""
            try:
                run.pid = os.fork()
            except OSError as error:
                run.failure = str(error.strerror)
                continue
            if not run.pid:
                child.become_run(request, joining, around)

    def _is_waiting(self, run: Run) -> bool:
        """Look at a process that was forked; ``False``: there is none, which is reported."""
        try:
            if not run.failure:
                run.pidfd = os.pidfd_open(run.pid)
        except OSError as error:
            os.kill(run.pid, signal.SIGKILL)  # it must not be let go with the others
            run.failure = str(error.strerror)
        if run.failure:
            self._refuse(run, f"no process could be started: {run.failure}")
            return False
        run.ticks, run.start = _ticks(run.pid), time.time()
        run.energy = self._state.energy.joules()
        return True

    def _let_go(self, started: list[Run], gate: _Gate) -> None:
        state = self._state
        if not started:
            return
        try:
            state.commit(run.start_record() for run in started)
        except OSError as error:
            # They give up when the pipe is closed, and are reaped like orphans.
            for run in started:
                os.close(run.pidfd)
                self._refuse(run, f"the start could not be noted: {error.strerror or error}")
            return
        gate.let_go(len(started))
        for run in started:
            state.runs[run.key] = state.by_pid[run.pid] = run
            state.loop.watch(run.pidfd, self._watcher(run))
            state.report(run.started_report())

    def _watcher(self, run: Run) -> Callable[[int], None]:
        return lambda _: self._on_exit(run)

    def _refuse(self, run: Run, why: str) -> None:
        self._state.report({"is": "failed", **run.names, "message": why, "prolog": False})


class _Gate:
    """Where children wait until they are let go. Those that still wait when it is closed give up."""

    def __init__(self, state: State) -> None:
        self._loop = state.loop
        self._around = state.around

    def __enter__(self) -> Self:
        around = self._around
        around.go, around.go_away = os.pipe()
        around.highest = max(self._loop.highest, around.go_away, around.highest) + 8
        return self

    def let_go(self, count: int) -> None:
        """Let some children go."""
        os.write(self._around.go_away, b"." * count)

    def __exit__(self, *_: object) -> None:
        os.close(self._around.go)
        os.close(self._around.go_away)


def _ticks(pid: int) -> int:
    stat = kernel.stat_of(pid)
    return stat.ticks if stat is not None else 0
