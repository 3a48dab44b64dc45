"""What is done to a run that has not ended: signals, suspensions, its end; and processes that are taken into it."""

from __future__ import annotations

import os
import signal
import time

from rota.executor.supervisor import kernel, tree
from rota.executor.supervisor.run import RUNNING, UNSURE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.executor.supervisor.run import Run
    from rota.executor.supervisor.state import State

#: Seconds after which what is left of a run is killed again, at first and at most.
_KILL_AGAIN, _LONGEST_KILL_PAUSE = 0.05, 1.0
#: Seconds between SIGCONT and the signal that ends a run: of two that wait, the kernel gives the lower number first.
_BEFORE_END = 0.01


class Orders:
    """Carries out what is asked for.

    Args:
        state: The supervisor's runs and means.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def signal(self, run: Run, number: int, *, script_only: bool = False) -> None:
        """Send a signal to a run."""
        if script_only:
            tree.send_to_script(run, number)
            return

        def send(scan: tree.Scan | None) -> None:
            if run.phase not in (RUNNING, UNSURE):
                return
            pids = tree.members(run, scan)
            if run.pid not in pids:
                # One that has just been started may not have joined its control group yet.
                tree.send_to_script(run, number)
            tree.send(run, pids, number, scan)

        self._state.lookout.look(run, send)

    def suspend(self, run: Run, *, suspended: bool) -> None:
        """Stop all processes of a run for a while, or let them go on."""
        if run.group is not None and run.group.freeze(frozen=suspended):
            return
        if suspended:
            self._set_suspended(run, suspended=True)
            self.signal(run, signal.SIGSTOP)
        elif run.suspended:  # what its user has stopped is not to go on
            self.signal(run, signal.SIGCONT)
            self._set_suspended(run, suspended=False)

    def _set_suspended(self, run: Run, *, suspended: bool) -> None:
        run.suspended = suspended
        self._state.note(run.suspension_record())

    def kill(self, run: Run, number: int, wait: float, said: str) -> None:
        """Say why a run is ended, as far as that is possible at once, and end it."""
        kill_at = time.monotonic() + wait
        is_sooner = not run.kill_at or kill_at < run.kill_at
        if is_sooner:
            run.kill_at = kill_at
            self._state.note({"is": "kill", **run.names, "at": kill_at})

        def end() -> None:
            if run.phase not in (RUNNING, UNSURE):
                return
            if is_sooner:
                self._state.loop.after(max(0.0, kill_at - time.monotonic()), self.killer(run))
            if run.suspended:
                self._set_suspended(run, suspended=False)
            if run.group is not None:
                run.group.freeze(frozen=False)
            self.signal(run, signal.SIGCONT)
            self._state.loop.after(_BEFORE_END, lambda: self.signal(run, number))

        if not said or run.is_told or run.pidfd < 0:
            end()
            return
        pidfd, user = run.pidfd, run.uid

        def told() -> None:
            run.is_told = False
            end()

        try:
            self._state.apart.do(lambda _: kernel.write_to_file_of(pidfd, 2, said, user), [pidfd], told)
        except OSError:
            end()
        else:
            run.is_told = True

    def killer(self, run: Run, pause: float = _KILL_AGAIN) -> Callable[[], None]:
        """Give what kills a run, again and again until nothing is left."""

        def end(scan: tree.Scan | None) -> None:
            if run.phase in (RUNNING, UNSURE):
                tree.kill(run, scan)
                # Without a control group a process may have been forked while the others were looked at. The kernel may
                # not let them end, either, as when a file system does not answer.
                self._state.loop.after(pause, self.killer(run, min(2 * pause, _LONGEST_KILL_PAUSE)))

        def look() -> None:
            if run.phase in (RUNNING, UNSURE):
                self._state.lookout.look(run, end, patience=0.0)

        return look

    def join(self, run: Run, pid: int) -> bool:
        """Take a process of its user into a run; ``False``: it is gone, or not the user's."""
        stat = kernel.stat_of(pid)
        pidfd = -1 if stat is None else kernel.pidfd_of(pid, stat.ticks)
        if stat is None or pidfd < 0:
            return False
        try:
            # One that is set-uid is not what its user has made of it.
            if kernel.users_of(pid) != {run.user}:
                return False
            joined = all(kernel.write(group.joining, str(pid)) for group in run.groups)
            signal.pidfd_send_signal(pidfd, 0)  # or its number was another's when that was moved
        except OSError:
            return False
        finally:
            os.close(pidfd)
        if run.group is None:
            process = (pid, stat.ticks)
            run.join(process)
            self._state.note(run.join_record(process))
        return joined
