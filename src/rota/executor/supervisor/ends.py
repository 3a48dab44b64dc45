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

#: Seconds until processes that were killed are looked for again, at first and at most.
_LOOK_AGAIN, _LONGEST_PAUSE = 0.01, 1.0
#: Seconds between two looks at most for a run that has ended already, and how many such runs there are.
_LONGEST_LATE_PAUSE = 10.0
_MOST_LATE = 1000
#: Seconds for which a run does not end since it is not known whether some processes of its user's are its own.
_PATIENCE = 5.0
#: Seconds until a full disk is tried again.
_TRY_AGAIN = 0.5
#: Orphans that are reaped before others have their turn.
_MOST_ORPHANS = 1000


class Ends:
    """Takes note of exits."""

    def __init__(self, state: State) -> None:
        self._state = state
        #: Starts the epilog of a run.
        self.start_epilog: Callable[[Run], None] = _no_epilog
        #: Runs of this process's own children that have exited and are not on record: scripts, and epilogs.
        self._exited: list[Run] = []
        #: Runs of whose scripts nothing is left any more.
        self._gone: list[Run] = []

    @property
    def is_busy(self) -> bool:
        """Whether there are exits to be noted."""
        return bool(self._exited or self._gone)

    def exited(self, run: Run) -> None:
        """Handle the exit of a process that is a child of this one: a script or an epilog."""
        self._state.loop.unwatch(run.pidfd)
        self._exited.append(run)

    def settle(self) -> None:
        """Note all exits on disk, reap the processes, and go on with their runs."""
        if self._gone:
            self._cleared()
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
        has_more = self._may_have_left_something(runs)
        scan = state.lookout.at_once() if has_more else None
        records = [self._close(run, scan, may_be_more=has_more) for run in runs]
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
                if run.group is not None or scan is not None:
                    tree.kill(run, scan)
                self._look_later(run, _LOOK_AGAIN)
            else:
                self.go_on(run)

    def _may_have_left_something(self, runs: list[Run]) -> bool:
        """Whether there may be processes left of some runs without control groups: orphans would be this one's."""
        state = self._state
        bare = [run for run in runs if run.group is None]
        if not bare:
            return False
        own = tree.children(os.getpid())
        known = state.by_pid.keys() | state.apart.pids
        return own is None or not all(run.ours and not run.joined for run in bare) or not known.issuperset(own)

    def _close(self, run: Run, scan: tree.Scan | None, *, may_be_more: bool) -> Record:
        """Decide what comes next for a run whose script has ended, and give the record of it.

        Args:
            run: The run.
            scan: A look at all processes; ``None``: nobody has looked.
            may_be_more: Whether there may be processes left of a run without a control group.
        """
        if run.prolog:
            self._prolog_failed(run)
        if measure.ran_out_of_memory(run):
            run.outcome = OUT_OF_MEMORY
        measure.at_end(run, self._state.energy)
        if run.group.is_populated if run.group is not None else may_be_more and self._may_be_left(run, scan):
            run.phase = LEFT
        else:
            run.phase = EPILOG if run.epilog else ENDED
        return run.exit_record("end" if run.phase == ENDED else "exit")

    @staticmethod
    def _may_be_left(run: Run, scan: tree.Scan | None) -> bool:
        """Whether there may be processes of a run without a control group beside its script's."""
        return scan is None or not scan.is_sure_of(run) or any(pid != run.pid for pid in scan.members(run))

    @staticmethod
    def _prolog_failed(run: Run) -> None:
        name = child.prolog_failure(run.job, run.restart)
        if said := kernel.read(name):
            run.failure = said.decode()
            os.unlink(name)

    def _look_later(self, run: Run, pause: float) -> None:
        """Look after a pause whether processes that were killed are gone, and kill what is new."""
        lookout = self._state.lookout

        def looked(scan: tree.Scan | None) -> None:
            if run.group.is_populated if run.group is not None else scan is not None and scan.members(run):
                tree.kill(run, scan)
                # The kernel may not let them end, as when a file system does not answer.
                self._look_later(run, min(2 * pause, _LONGEST_PAUSE))
            else:
                self._gone.append(run)
                if scan is not None and not scan.is_sure_of(run):
                    lookout.late = [*lookout.late[-_MOST_LATE:], run]
                    self._end_late(run, pause)

        self._state.loop.after(pause, lambda: lookout.look(run, looked, _PATIENCE))

    def _end_late(self, run: Run, pause: float) -> None:
        """Kill processes of a run that has ended, as soon as it is known that they are the run's."""
        lookout = self._state.lookout

        def looked(scan: tree.Scan | None) -> None:
            if run not in lookout.late:
                return
            tree.kill(run, scan)
            if scan is not None and scan.is_sure_of(run) and not scan.members(run):
                lookout.late.remove(run)
            else:
                self._end_late(run, min(2 * pause, _LONGEST_LATE_PAUSE))

        self._state.loop.after(pause, lambda: lookout.look(run, looked, 0.0))

    def _cleared(self) -> None:
        """Go on with runs of which nothing is left any more."""
        gone, self._gone = self._gone, []
        for run in gone:
            run.phase = EPILOG if run.epilog else ENDED
            measure.at_end(run, self._state.energy)
        self._finish([run for run in gone if run.phase == ENDED])
        for run in gone:
            if run.phase == EPILOG:
                self.go_on(run)

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
        self._look_later(run, 0.0)

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
        for _ in range(_MOST_ORPHANS):
            exit_ = kernel.look_at_exit()
            if exit_ is None or exit_.pid in self._state.by_pid:
                return
            kernel.reap(exit_.pid)
            self._state.apart.reaped(exit_.pid)
        self._state.loop.after(0, lambda: None)  # there may be more, of which nobody will tell


def exit_of(record: Record) -> Exit:
    """Give the exit in a note of the keeper."""
    exit_ = kernel.Exit(record["pid"], record["code"], record["signal"])
    exit_.time, exit_.user, exit_.system = record["time"], record["user"], record["system"]
    exit_.max_rss, exit_.read, exit_.written = record["max_rss"], record["read"], record["written"]
    return exit_


def _no_epilog(run: Run) -> None:
    raise OSError(f"nothing starts the epilog of {run.key}")
