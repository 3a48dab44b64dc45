"""Starting runs, many at a time.

Each is forked and waits on a pipe, one for all. Their starts are written to the log together, and then they are let go.
So what may have begun is on record; and of what is on record, whatever did not begin says so itself (see `child`).
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import time

from rota.executor.supervisor import child, kernel, measure
from rota.executor.supervisor.run import ENDED, UNSURE, Run
from rota.executor.supervisor.shortage import DISK, PATIENCE, missing, refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from rota.executor.supervisor.run import Key
    from rota.executor.supervisor.state import State

    #: A run, and the request to launch it.
    Prepared = tuple[Run, dict[str, Any]]

#: Files that may be opened beside those of runs.
_SPARE_FILES = 16


class Launcher:
    """Starts runs.

    Args:
        state: The supervisor's runs and means.
        on_exit: Function that is called when a process that was started has ended.
    """

    def __init__(self, state: State, on_exit: Callable[[Run], None]) -> None:
        self._state = state
        self._on_exit = on_exit
        self._most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        #: Takes a request for which something was missing; and hears of each run that has been launched.
        self.postpone: Callable[[dict[str, Any], str], None] = _not_postponed
        self.launched: Callable[[Key], None] = _not_postponed

    def launch(self, requests: list[dict[str, Any]]) -> None:
        """Start runs; those that are known are reported again, and those for which there is no room try it later."""
        state = self._state
        prepared: list[Prepared] = []
        once = {(request["job"], request["run"]): request for request in reversed(requests)}
        for request in reversed(once.values()):
            if (run := state.runs.get((request["job"], request["run"]))) is not None:
                self._again(run, request)
            elif (run := self._prepare(request)) is not None:
                prepared.append((run, request))
        if not prepared:
            return
        try:
            gate = _Gate(state)
        except OSError as error:
            self._try_later(prepared, error)
            return
        with gate:
            forked = self._fork(prepared)
            self._let_go([one for one in forked if self._is_waiting(*one)], gate)

    def _try_later(self, prepared: list[Prepared], error: OSError) -> None:
        """Try it again if something was missing; else it has failed."""
        what = missing(error)
        for run, request in prepared:
            for group in run.groups:
                self._state.cgroups.discard(group)
            if what:
                self.postpone(request, what)
            else:
                self._refuse(run, f"no process could be started: {error.strerror or error}")

    def epilog(self, run: Run) -> None:
        """Start the epilog of a run.

        Raises:
            OSError: it cannot be started now.
        """
        run.epilog_refusals = refusals()
        run.epilog_tried_until = run.epilog_tried_until or time.monotonic() + PATIENCE
        with _Gate(self._state) as gate:
            try:
                pid = os.fork()
                if not pid:
                    child.become_epilog(run.epilog, run.env, self._state.around)
                run.pidfd = os.pidfd_open(pid)
                run.epilog_pid, run.epilog_ticks = pid, _ticks(pid)
                run.epilog_until = time.monotonic() + run.prolog_epilog_timeout if run.prolog_epilog_timeout else 0.0
                self._state.commit([run.epilog_record()])
            except OSError as error:  # the child, if there is one, gives up when the gate is closed
                run.epilog_pid = 0
                if run.pidfd >= 0:
                    os.close(run.pidfd)
                    run.pidfd = -1
                self._state.short(missing(error) or DISK)
                raise
            gate.let_go(1)
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
            if what := missing(error):
                self.postpone(request, what)
            else:
                self._refuse(run, f"no control group could be made: {error.strerror}")
            return None
        return run

    def _fork(self, prepared: list[Prepared]) -> list[Prepared]:
        """Fork runs that wait, and give those; after one that cannot be, no other is tried.

        Nothing else is done in between: after each fork, every page that this process writes to is copied.
        """
        around, own_memory = self._state.around, measure.resident([os.getpid()])
        own = kernel.stat_of(os.getpid())
        image = own.image if own is not None else ""
        ready = [(child.encoded(request), [group.joining for group in run.groups]) for run, request in prepared]
        forked, failure = 0, None
        for (run, _), (request, joining) in zip(prepared, ready, strict=True):
            run.floor, run.image = own_memory, image
            try:
                run.pid = os.fork()
            except OSError as error:
                failure = error
                break
            if not run.pid:
                child.become_run(request, joining, around)
            forked += 1
        if failure is not None:
            self._try_later(prepared[forked:], failure)
        return prepared[:forked]

    def _is_waiting(self, run: Run, request: dict[str, Any]) -> bool:
        """Look at a process that was forked; ``False``: it cannot be watched, and is ended before it has begun."""
        try:
            run.pidfd = os.pidfd_open(run.pid)
            if run.pidfd >= self._most_files - _SPARE_FILES:
                os.close(run.pidfd)
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        except OSError as error:
            os.kill(run.pid, signal.SIGKILL)  # it must not be let go with the others
            os.waitpid(run.pid, 0)
            self._try_later([(run, request)], error)
            return False
        run.ticks, run.start = _ticks(run.pid), time.time()
        run.energy = self._state.energy.joules()
        return True

    def _let_go(self, started: list[Prepared], gate: _Gate) -> None:
        state = self._state
        if not started:
            return
        try:
            state.commit(run.start_record() for run, _ in started)
        except OSError as error:
            # They give up when the pipe is closed, and are reaped like orphans. Whatever is wrong with the disk, it
            # is no fault of theirs.
            for run, request in started:
                os.close(run.pidfd)
                self.postpone(request, missing(error) or DISK)
            return
        gate.let_go(len(started))
        for run, _ in started:
            state.runs[run.key] = state.by_pid[run.pid] = run
            state.loop.watch(run.pidfd, self._watcher(run))
            state.report(run.started_report())
            self.launched(run.key)

    def _watcher(self, run: Run) -> Callable[[int], None]:
        return lambda _: self._on_exit(run)

    def _refuse(self, run: Run, why: str) -> None:
        self._state.report({"is": "failed", **run.names, "message": why, "prolog": False})


class _Gate:
    """Where children wait until they are let go. Those that still wait when it is closed give up.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, state: State) -> None:
        self._loop = state.loop
        self._around = state.around

        around = self._around
        around.go, around.go_away = os.pipe()
        around.highest = max(self._loop.highest, around.go_away, around.highest) + 8

    def __enter__(self) -> Self:
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


def _not_postponed(*what: object) -> None:
    raise RuntimeError(f"nobody tries it again: {what}")
