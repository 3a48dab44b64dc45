"""Finding runs again: from the log, from the keeper's notes, and among the processes of this machine.

A process is that of a run if its pid and its start time are, and if it is the leader of its own session. One that still
has the memory of the supervisor that has forked it has not begun; it will, or it will say that it never did.

Processes that were started by an earlier supervisor are the keeper's children, which notes how they end. If that was
killed too, the kernel tells the status of processes that are no children: while they are zombies, and from Linux 6.15
on also later, by pidfds that were opened before. Where it does not, a run's outcome is unknown.
"""

from __future__ import annotations

import os
import signal
import time

from rota.executor.supervisor import kernel, log
from rota.executor.supervisor.ends import Ends, exit_of
from rota.executor.supervisor.marks import read_mark
from rota.executor.supervisor.run import ENDED, EPILOG, LEFT, RUNNING, UNSURE, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rota.executor.supervisor.apart import Answers
    from rota.executor.supervisor.kernel import Exit, Stat
    from rota.executor.supervisor.log import Record
    from rota.executor.supervisor.run import Key
    from rota.executor.supervisor.state import State

#: Seconds between two looks at a process that has ended without a status, or may not have begun, and how long at most.
_LOOK_AGAIN = 0.005
_PATIENCE = 5.0
#: Seconds until it is asked again which of a user's processes is a run's script.
_LOOK_FOR_AGAIN = 0.5


class _Sought:
    """A run that is looked for.

    Args:
        run: The run.
        launch: The request to launch it if it is not found; ``None``: it is not launched.
    """

    __slots__ = ("launch", "requests", "run", "until")

    def __init__(self, run: Run, launch: dict[str, Any] | None) -> None:
        self.run = run
        self.launch = launch
        self.until = time.monotonic() + _PATIENCE
        #: Requests that wait for it.
        self.requests: list[Record] = []


class Adoption:
    """Takes over runs that an earlier supervisor has started.

    Args:
        state: The supervisor's runs and means.
        ends: Goes on with runs that have ended.
        launch: Function that launches runs.
        request: Function that carries out a request about a run.
    """

    def __init__(
        self,
        state: State,
        ends: Ends,
        launch: Callable[[list[dict[str, Any]]], None],
        request: Callable[[Record], None],
    ) -> None:
        self._state = state
        self._ends = ends
        self._launch = launch
        self._request = request
        #: Runs that are looked for, by user and by their own key.
        self._sought: dict[int, dict[Key, _Sought]] = {}
        #: Runs by the process that is watched for them: their script's or their epilog's.
        self._waiting: dict[tuple[int, int], Run] = {}

    @property
    def boot_record(self) -> Record:
        """The record of this boot of the machine."""
        return {"is": "boot", "boot": kernel.boot()}

    # ---- the log ----------------------------------------------------------------------------------------------

    def read(self, records: list[Record]) -> None:
        """Take the runs from the log, and watch those that run."""
        state, boot, now = self._state, "", kernel.boot()
        for record in records:
            if record["is"] == "boot":
                if boot not in ("", record["boot"]):
                    self._rebooted()
                boot = record["boot"]
            elif record["is"] == "cluster":
                state.cluster = record["cluster"]
            elif record["is"] == "head":
                state.head = record["head"]
            elif record["is"] in ("suspect", "sure"):
                state.is_suspect = record["is"] == "suspect"
            elif record["is"] == "run":
                self._add(record)
            elif (known := state.runs.get((record["job"], record["run"]))) is not None:
                self._replay(known, record)
        state.is_suspect = state.is_suspect or bool(state.log.wrong)
        if boot != now:
            self._rebooted()
            state.log.append([self.boot_record])
        self.take_notes()
        for run, phase in [(run, run.phase) for run in state.live()]:
            # While the others were watched, a note may have told more of it.
            if run.phase == phase and state.runs.get(run.key) is run:
                self._watch(run)

    def look_for(self, request: dict[str, Any], *, or_launch: bool) -> None:
        """Find a run of which the log, which was damaged, says nothing, and which may have been launched before.

        Its script is the oldest leader of a session that has its mark and user.

        Args:
            request: The run.
            or_launch: Whether it is launched if it is not found. Otherwise it may have run, and nobody knows how it
                has ended.
        """
        run = Run(request, self._state.cgroups)
        run.ours, run.start = False, time.time()
        sought = self._sought.setdefault(run.user, {})
        if not sought:  # what is asked for in this turn of the loop is looked for together
            self._state.loop.after(0, lambda: self._look_for_those_of(run.user))
        sought[run.key] = _Sought(run, request if or_launch else None)

    def waits(self, request: Record) -> bool:
        """Whether a request is about a run that is looked for: then it is carried out when that was found."""
        for sought in self._sought.values():
            if (found := sought.get((request["job"], request["run"]))) is not None:
                found.requests.append(request)
                return True
        return False

    def _look_for_those_of(self, uid: int) -> None:
        leaders = _leaders(uid)

        def answered(marks: Answers | None) -> None:
            known, sought = marks or {}, self._sought.pop(uid)
            oldest = {known.get(one.pid): one for one in sorted(leaders, key=lambda one: one.ticks, reverse=True)}
            all_known = len(known) == len(leaders)  # else one of them has kept waiting who asked
            for key, one in sought.items():
                own = oldest.get(one.run.mark.encode())
                if own is None and not all_known and time.monotonic() <= one.until:
                    self._sought.setdefault(uid, {})[key] = one
                    continue
                if own is None and all_known and one.launch is not None:
                    self._launch([one.launch])
                else:
                    self._found(one.run, own)
                for request in one.requests:
                    self._request(request)
            if uid in self._sought:
                self._state.loop.after(_LOOK_FOR_AGAIN, lambda: self._look_for_those_of(uid))

        self._state.apart.ask(uid, [one.pid for one in leaders], read_mark, answered)

    def _found(self, run: Run, script: Stat | None) -> None:
        """Go on with a run of which the script was looked for; ``None``: there is none."""
        if script is None:
            run.phase = ENDED
            run.set_exit(None)
        else:
            run.phase, run.pid, run.ticks = UNSURE, script.pid, script.ticks
        self._state.runs[run.key] = run
        for record in run.records():
            self._state.note(record)
        if script is None:
            self._state.report(run.started_report())
            self._state.report(run.end_report())
        else:
            self._watch(run)

    def _add(self, record: Record) -> None:
        """Add a run that was started."""
        run = Run(record, self._state.cgroups)
        run.pid, run.ticks, run.start = record["pid"], record["ticks"], record["time"]
        run.ours, run.phase, run.floor = False, UNSURE, record["floor"]
        run.image = record.get("image", "")
        self._state.runs[run.key] = run

    def _replay(self, run: Run, record: Record) -> None:
        """Change a run as a record says."""
        kind = record["is"]
        if kind in ("exit", "end"):
            run.take_exit(record)
            run.phase = ENDED if kind == "end" else LEFT
        elif kind == "epilog":
            run.phase, run.epilog_until = EPILOG, record["until"]
            run.epilog_pid, run.epilog_ticks = record["pid"], record["ticks"]
        elif kind == "kill":
            run.kill_at = record["at"]
        elif kind == "over":
            run.over = True
        elif kind == "join":
            run.join((record["pid"], record["ticks"]))
        elif kind == "suspension":
            run.suspended = record["suspended"]
        elif kind in ("forget", "void"):
            del self._state.runs[run.key]

    def _rebooted(self) -> None:
        """Let all that ran before this boot have ended."""
        lost = self._state.live()
        for run in lost:
            if run.phase in (UNSURE, RUNNING):
                run.set_exit(None)
            run.phase = ENDED
        self._state.log.append(run.exit_record("end") for run in lost)

    def _watch(self, run: Run) -> None:
        """Watch the process of a run, or go on where the earlier supervisor stopped."""
        if run.phase == LEFT:
            self._ends.left_behind(run)
            return
        pid, ticks = (run.epilog_pid, run.epilog_ticks) if run.phase == EPILOG else (run.pid, run.ticks)
        self._waiting[pid, ticks] = run
        run.pidfd = kernel.pidfd_of(pid, ticks)
        if run.pidfd < 0 or (run.phase == UNSURE and not self._is_of(run)):
            self._gone(run, time.monotonic())
            return
        self._state.loop.watch(run.pidfd, lambda _: self._gone(run, time.monotonic()))
        if run.phase == EPILOG:
            self._ends.limit_epilog(run)
        if run.phase == UNSURE:
            self._look_whether_begun(run)

    def _is_of(self, run: Run) -> bool:
        """Whether a process with a run's pid and start time is the run's."""
        stat = kernel.stat_of(run.pid)
        return stat is not None and (run.is_fork(stat) or stat.session == run.pid or stat.has_ended)

    # ---- has it begun? ----------------------------------------------------------------------------------------

    def _look_whether_begun(self, run: Run) -> None:
        if run.phase != UNSURE:
            return
        stat = kernel.stat_of(run.pid)
        if stat is None or stat.has_ended:
            return  # its end says more
        # It has no memory while it ends.
        if run.is_fork(stat) or (not stat.image and stat.threads <= 1):
            self._state.loop.after(_LOOK_AGAIN, lambda: self._look_whether_begun(run))
        else:
            self._begun(run)

    def _begun(self, run: Run) -> None:
        """Report the start of a run that has begun, as is sure now."""
        if run.phase == UNSURE:
            run.phase, run.again = RUNNING, None
            self._state.report(run.started_report())

    def _void(self, run: Run) -> None:
        """Drop a run that never began, and launch it if somebody has asked for that meanwhile.

        One that is to be ended has ended.
        """
        if run.kill_at:
            self._settle(run, kernel.Exit(run.pid, 0, signal.SIGTERM))
            return
        self._waiting.pop((run.pid, run.ticks), None)
        self._state.unwatch(run)
        self._state.runs.pop(run.key, None)
        self._state.note({"is": "void", **run.names})
        if run.again is not None:
            again = run.again
            self._state.loop.after(0, lambda: self._launch([again]))

    # ---- how has it ended? ------------------------------------------------------------------------------------

    def take_notes(self) -> None:
        """Take over what the keeper, and children that gave up, have noted."""
        log.take_notes(self._digest)

    def _digest(self, notes: list[Record]) -> None:
        by_process = {(run.pid, run.ticks): run for run in self._state.runs.values() if not run.ours}
        by_process |= self._waiting
        for record in notes:
            run = by_process.get((record["pid"], record["ticks"]))
            if run is None:
                continue
            if record["is"] == "void" and run.phase == UNSURE:
                self._void(run)
            elif record["is"] == "exit" and self._is_awaited(run):
                self._settle(run, exit_of(record))

    def _is_awaited(self, run: Run) -> bool:
        """Whether the exit of a run's process is news."""
        return run.phase in (UNSURE, RUNNING, EPILOG) and self._state.runs.get(run.key) is run

    def _gone(self, run: Run, since: float) -> None:
        """Find out how the process of a run has ended, which it has."""
        state = self._state
        if run.pidfd >= 0:
            state.loop.unwatch(run.pidfd)
        if self._is_settled(run):
            return
        pid, ticks = (run.epilog_pid, run.epilog_ticks) if run.phase == EPILOG else (run.pid, run.ticks)
        exit_ = kernel.exit_of_stranger(pid, ticks, run.pidfd, state.keeper)
        # Looked at afterwards: a note of the keeper says more, and one that it never began comes before its exit.
        self.take_notes()
        if self._is_settled(run):
            return
        nobody_knows = run.pidfd < 0 or time.monotonic() > since + _PATIENCE
        if exit_ is None and not nobody_knows:
            state.loop.after(_LOOK_AGAIN, lambda: self._gone(run, since))
        else:
            self._settle(run, exit_)

    def _is_settled(self, run: Run) -> bool:
        """Whether nobody waits for the end of a run's process any more."""
        return run not in self._waiting.values()

    def _settle(self, run: Run, exit_: Exit | None) -> None:
        """Go on with a run whose process has ended."""
        self._waiting = {process: other for process, other in self._waiting.items() if other is not run}
        if run.phase == EPILOG:
            self._state.unwatch(run)
            self._ends.epilog_ended(run, exit_)
            return
        self._begun(run)
        run.set_exit(exit_)
        self._ends.script_ended([run], reap=False)


def _leaders(uid: int) -> list[Stat]:
    """Give the processes of a user that lead a session."""
    found = (kernel.stat_of(int(name)) for name in os.listdir("/proc") if name.isdigit())
    leaders = [one for one in found if one is not None and one.session == one.pid and not one.has_ended]
    return [one for one in leaders if kernel.user_of(one.pid) == uid]
