"""The ends of runs: exits are noted together and then reaped; what a script leaves behind is killed; epilogs run.

Order for each run: the script exits; its exit is on disk; it is reaped; whatever is left of its tree is killed; the
epilog runs; the end is on disk; it is reported. Most runs leave nothing and have no epilog: then exit and end are one
record.
"""

from __future__ import annotations

import os
import signal
import time

from rota.executor.supervisor import child, kernel, measure, tree
from rota.executor.supervisor.run import ENDED, EPILOG, LEFT, OUT_OF_MEMORY, RUNNING, Run
from rota.executor.supervisor.shortage import PROCESSES, was_full

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.executor.supervisor.kernel import Exit
    from rota.executor.supervisor.log import Record
    from rota.executor.supervisor.state import State

#: Seconds until processes that were killed are looked for again, and until a full disk is tried again.
_LOOK_AGAIN = 0.01
_TRY_AGAIN = 0.5


class Ends:
    """Takes note of exits."""

    def __init__(self, state: State) -> None:
        self._state = state
        #: Starts the epilog of a run.
        self.start_epilog: Callable[[Run], None] = _no_epilog
        #: Runs of this process's own children that have exited and are not on record: scripts, and epilogs.
        self._exited: list[Run] = []
        #: Runs whose scripts have ended and whose other processes have been sent SIGKILL.
        self._left: list[Run] = []
        self._looking = False

    @property
    def is_busy(self) -> bool:
        """Whether there are exits to be noted."""
        return bool(self._exited)

    def exited(self, run: Run) -> None:
        """Handle the exit of a process that is a child of this one: a script or an epilog."""
        self._state.loop.unwatch(run.pidfd)
        self._exited.append(run)

    def settle(self) -> None:
        """Note all exits on disk, reap the processes, and go on with their runs."""
        exited, self._exited = self._exited, []
        if not exited:
            return
        scripts = [run for run in exited if run.phase == RUNNING]
        for run in scripts:
            exit_ = kernel.look_at_exit(run.pid)
            run.set_exit(exit_)
        self.script_ended(scripts, reap=True)
        for run in exited:
            if run.phase == EPILOG and run.pidfd >= 0 and run not in scripts:
                exit_ = kernel.look_at_exit(run.epilog_pid)
                kernel.reap(run.epilog_pid)
                self._state.by_pid.pop(run.epilog_pid, None)
                self._state.unwatch(run)
                self.epilog_ended(run, exit_)

    def script_ended(self, runs: list[Run], *, reap: bool) -> None:
        """Go on with runs whose script has ended: `Run.set_exit` has been called."""
        state = self._state
        scan = self._leftovers(runs)
        records = [self._close(run, scan) for run in runs]
        try:
            state.commit(records)
        except OSError:
            # The processes are not reaped before their exits are on disk.
            for run in runs:
                run.phase = RUNNING
            state.loop.after(_TRY_AGAIN, lambda: self.script_ended(runs, reap=reap))
            return
        for run in runs:
            if reap:
                kernel.reap(run.pid)
            state.by_pid.pop(run.pid, None)
            state.unwatch(run)
            if run.phase == LEFT:
                tree.kill(run, scan)
                self._left.append(run)
            else:
                self.go_on(run)
        if self._left and not self._looking:
            self._looking = True
            state.loop.after(_LOOK_AGAIN, self._look_again)

    def _leftovers(self, runs: list[Run]) -> tree.Scan | None:
        """Look at all processes if there may be some left of runs without control groups."""
        state = self._state
        bare = [run for run in runs if run.group is None]
        if not bare:
            return None
        own = tree.children(os.getpid())
        if own is not None and all(run.ours for run in bare) and not set(own) - state.by_pid.keys():
            return None
        return state.scan(bare)

    def _close(self, run: Run, scan: tree.Scan | None) -> Record:
        """Decide what comes next for a run whose script has ended, and give the record of it."""
        if run.prolog:
            self._prolog_failed(run)
        if measure.ran_out_of_memory(run):
            run.outcome = OUT_OF_MEMORY
        measure.at_end(run, self._state.energy)
        if run.group.is_populated if run.group is not None else self._rest(run, scan):
            run.phase = LEFT
        else:
            run.phase = EPILOG if run.epilog else ENDED
        return run.exit_record("end" if run.phase == ENDED else "exit")

    @staticmethod
    def _rest(run: Run, scan: tree.Scan | None) -> bool:
        return scan is not None and any(pid != run.pid for pid in scan.members(run))

    @staticmethod
    def _prolog_failed(run: Run) -> None:
        name = child.prolog_failure(run.job, run.restart)
        if said := kernel.read(name):
            run.failure = said.decode()
            os.unlink(name)

    def _look_again(self) -> None:
        """Look whether processes that were killed are gone, and kill what is new."""
        state = self._state
        scan = state.scan(self._left)
        left, self._left = self._left, []
        gone = []
        for run in left:
            if run.group.is_populated if run.group is not None else self._rest(run, scan):
                tree.kill(run, scan)
                self._left.append(run)
            else:
                gone.append(run)
        for run in gone:
            run.phase = EPILOG if run.epilog else ENDED
            measure.at_end(run, state.energy)
        self._finish([run for run in gone if run.phase == ENDED])
        for run in gone:
            if run.phase == EPILOG:
                self.go_on(run)
        self._looking = bool(self._left)
        if self._left:
            state.loop.after(_LOOK_AGAIN, self._look_again)

    def go_on(self, run: Run) -> None:
        """Start the epilog of a run of which nothing is left, or report its end, which is on disk."""
        for group in run.groups:
            self._state.cgroups.discard(group)
        if run.phase == EPILOG:
            try:
                self.start_epilog(run)
            except OSError:
                self._state.loop.after(_TRY_AGAIN, lambda: self.go_on(run))
            else:
                self.limit_epilog(run)
        else:
            run.env = {}
            self._state.report(run.end_report())

    def left_behind(self, run: Run) -> None:
        """Go on with a run found in the log whose script has ended and whose tree may not have."""
        self._left.append(run)
        if not self._looking:
            self._looking = True
            self._state.loop.after(0, self._look_again)

    def limit_epilog(self, run: Run) -> None:
        """Let an epilog be killed when its time is up."""
        if run.epilog_until:
            self._state.loop.after(max(0.0, run.epilog_until - time.monotonic()), lambda: self._kill_epilog(run))

    def _kill_epilog(self, run: Run) -> None:
        if run.phase != EPILOG or run.pidfd < 0 or time.monotonic() < run.epilog_until:  # it was started again
            return
        run.epilog_is_late = True
        kernel.signal_group(run.epilog_pid, signal.SIGTERM)
        # Its id is not given to another group as long as one of its processes is there, nor soon afterwards.
        self._state.loop.after(child.GRACE, lambda: kernel.signal_group(run.epilog_pid, signal.SIGKILL))
        self._state.loop.after(_TRY_AGAIN, lambda: self._kill_epilog(run))

    def epilog_ended(self, run: Run, exit_: Exit | None) -> None:
        """Go on with a run whose epilog has ended; ``None``: nobody knows how."""
        code = 0 if exit_ is None else exit_.code or -exit_.signal
        again = time.monotonic() < run.epilog_tried_until and not run.epilog_is_late
        if code > 0 and again and was_full(run.epilog_refusals):  # what it wanted to start could not be
            run.epilog_pid = 0
            self._state.short(PROCESSES)
            self._state.loop.after(_TRY_AGAIN, lambda: self.go_on(run))
            return
        run.epilog_failure = child.failure_of("epilog", run.epilog, code, is_late=run.epilog_is_late)
        self._finish([run])

    def _finish(self, runs: list[Run]) -> None:
        """Note ends that come later than the exits of their scripts."""
        if not runs:
            return
        for run in runs:
            run.phase = ENDED
        try:
            self._state.commit(run.exit_record("end") for run in runs)
        except OSError:
            for run in runs:
                run.phase = EPILOG
            self._state.loop.after(_TRY_AGAIN, lambda: self._finish(runs))
            return
        for run in runs:
            self.go_on(run)

    def reap_orphans(self) -> None:
        """Reap processes that runs have left to this one."""
        while (exit_ := kernel.look_at_exit()) is not None and exit_.pid not in self._state.by_pid:
            kernel.reap(exit_.pid)


def exit_of(record: Record) -> Exit:
    """Give the exit in a note of the keeper."""
    exit_ = kernel.Exit(record["pid"], record["code"], record["signal"])
    exit_.time, exit_.user, exit_.system = record["time"], record["user"], record["system"]
    exit_.max_rss, exit_.read, exit_.written = record["max_rss"], record["read"], record["written"]
    return exit_


def _no_epilog(run: Run) -> None:
    raise OSError(f"nothing starts the epilog of {run.key}")
