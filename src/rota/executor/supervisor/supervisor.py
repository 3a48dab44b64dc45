"""The supervisor: its requests, and what it does from time to time."""

from __future__ import annotations

import gc
import os
import signal
import time

from rota.executor.supervisor import measure, place, tree
from rota.executor.supervisor.adopt import Adoption
from rota.executor.supervisor.callers import Callers, checked
from rota.executor.supervisor.ends import Ends
from rota.executor.supervisor.launch import Launcher
from rota.executor.supervisor.log import Log
from rota.executor.supervisor.loop import Loop
from rota.executor.supervisor.messages import bound
from rota.executor.supervisor.orders import Orders
from rota.executor.supervisor.postponed import Postponed
from rota.executor.supervisor.run import ENDED, RUNNING, UNSURE, Run, never_began
from rota.executor.supervisor.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rota.executor.supervisor.cgroups import Cgroups
    from rota.executor.supervisor.child import Surroundings
    from rota.executor.supervisor.log import Record

#: Runs that are started together at most: they share one write to the disk.
_BATCH = 32
#: Seconds between two measurements of memory: of runs that are limited by it, and of all.
_LIMITED, _ALL = 2.0, 10.0
_HOUSEKEEPING = 1.0
#: Seconds without a run and a caller after which the supervisor ends. All that it knows is on disk.
_LINGER = 2.0


class Supervisor:
    """Starts and watches the runs of the state directory, which is the current directory.

    Args:
        directory: Its absolute path, in case that somebody removes it.
        cgroups: The control groups of the runs.
        around: What children set back.
        keeper: The pid of the keeper, and the pipe on which it says that it has made a note.
    """

    def __init__(self, directory: str, cgroups: Cgroups, around: Surroundings, keeper: tuple[int, int]) -> None:
        self._directory = directory
        self._loop = Loop()
        self._state = State(Log(), self._loop, cgroups, around, keeper[0])
        self._notes = keeper[1]
        self._ends = Ends(self._state)
        self._orders = Orders(self._state)
        self._launcher = Launcher(self._state, self._ends.exited)
        self._ends.start_epilog = self._launcher.epilog
        self._adoption = Adoption(self._state, self._ends, self._launcher.launch, self._request)
        self._postponed = Postponed(self._state, self._launches_again)
        self._launcher.postpone, self._launcher.launched = self._postponed.add, self._postponed.launched
        self._callers = Callers(self._loop, self._greeting, self._request)
        self._state.report = self._callers.report
        #: Requests to launch that wait for their turn.
        self._launches: list[dict[str, Any]] = []
        self._stopping = False
        self._keeper_was_killed = False
        #: Whether the state directory was removed, and has another supervisor now.
        self._is_homeless = False
        self._measuring = False
        self._alone_since = self._measured = time.monotonic()

    # ---- its life ---------------------------------------------------------------------------------------------

    def run(self) -> bool:
        """Serve until nothing runs and nobody calls; ``False``: until the keeper was killed, and is to be replaced."""
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._loop.watch(read_end, lambda _: _empty(read_end))
        self._loop.watch(self._notes, self._keeper_says)
        if not place.take(self._directory):
            raise OSError(f"{self._directory} has the supervisor of another cluster")
        self._adoption.read(self._state.log.open())
        if self._state.log.is_to_be_written_anew:
            self._rewrite_log()
        self._state.cgroups.keep_only({f"{run.job}.{run.restart}" for run in self._state.live()})
        for run in self._state.live():
            if run.kill_at:
                self._loop.after(max(0.0, run.kill_at - time.monotonic()), self._orders.killer(run))
        self._callers.listen()
        self._measure_in_time()
        self._housekeeping()
        gc.collect()
        gc.freeze()  # children share what is here, as long as nobody touches it
        while not self._is_over:
            self._loop.turn(busy=bool(self._launches) or self._ends.is_busy)
            self._ends.settle()
            self._ends.reap_orphans()
            if self._launches:
                self._launch_some()
            self._callers.flush()
            if self._keeper_was_killed and self._all_is_on_disk:
                self._let_go_of_everything()
                return False
        return True

    @property
    def _all_is_on_disk(self) -> bool:
        """Whether another supervisor finds there what this one knows."""
        return not self._state.owed and self._callers.can_be_found

    def _let_go_of_everything(self) -> None:
        """Close all that is open but the lock, and be as before `run`."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._callers.close()
        self._loop.close()
        os.closerange(4, max(self._loop.highest, self._state.around.highest) + 8)
        gc.unfreeze()

    @property
    def _is_over(self) -> bool:
        if self._launches or self._postponed or self._state.live():
            return False
        return self._stopping or (not self._callers.are_there and time.monotonic() > self._alone_since + _LINGER)

    def _keeper_says(self, _: int) -> None:
        """Take over the keeper's notes, or note that it was killed."""
        if not os.read(self._notes, 4096):
            self._loop.unwatch(self._notes)
            self._keeper_was_killed = True
        self._adoption.take_notes()

    def _housekeeping(self) -> None:
        """Look after the socket, the log and the error output."""
        state = self._state
        self._loop.after(_HOUSEKEEPING, self._housekeeping)
        if self._callers.are_there or state.live():
            self._alone_since = time.monotonic()
        try:
            bound(2)
            if not self._callers.can_be_found:
                if place.take(self._directory):
                    self._rewrite_log()
                    self._callers.listen()
                elif not self._is_homeless:
                    os.write(2, f"{self._directory} has the supervisor of another cluster\n".encode())
                    self._is_homeless = True
            elif state.log.is_long or not state.log.is_in_place:
                self._rewrite_log()
            elif state.owed:
                state.commit([])
        except OSError as error:
            os.write(2, f"housekeeping: {error}\n".encode())

    def _rewrite_log(self) -> None:
        self._state.log.rewrite([self._adoption.boot_record, *self._state.records()])
        self._state.owed.clear()

    # ---- requests ---------------------------------------------------------------------------------------------

    def _greeting(self) -> list[Record]:
        state = self._state
        hello: Record = {"is": "hello", "version": 2, "pid": os.getpid(), "keeper": state.keeper}
        hello |= {"cluster": state.cluster, "head": state.head, "suspect": state.is_suspect}
        hello |= {"wrong": state.log.wrong if state.is_suspect else []}
        hello |= {"tree": state.cgroups.tree, "memory": state.cgroups.memory, "energy": state.energy.is_measured}
        reports = [hello]
        for run in state.runs.values():
            if run.phase != UNSURE and not (run.phase == ENDED and run.failure and not run.prolog):
                reports.append(run.started_report())
            if run.phase == UNSURE:
                reports.append({"is": "unsure", **run.names})
            elif run.phase == ENDED:
                reports.append(run.end_report())
        return [*reports, {"is": "known"}]

    def _request(self, request: Record) -> None:
        """Carry out a request, or refuse one that makes no sense with an exception."""
        kind = request["do"]
        done: Record = {"is": "done", "number": int(request["number"])}
        if kind == "launch":
            if request.get("head"):
                self._state.come_to(request["head"])
            self._launch(request["what"], again=bool(request.get("again")), unheard=bool(request.get("unheard")))
        elif kind == "cluster":
            self._state.meet(str(request["cluster"]))
        elif kind == "sure":
            self._is_sure()
        elif kind == "measure":
            self._measure()
        elif kind == "stop":
            self._stopping = True
        elif self._adoption.waits(request):
            return
        elif (run := self._run_of(request)) is not None:
            done["joined"] = self._request_of(run, kind, request)
        elif (waiting := self._postponed.take((request["job"], request["run"]))) is not None:
            self._request_of_postponed(waiting, kind)
        elif kind == "kill":
            # Its launch was lost on the way here: it never begins, and who waits for its end has to hear of one.
            self._state.report(never_began(request))
        self._state.report(done)

    def _launch(self, what: dict[str, Any], *, again: bool, unheard: bool) -> None:
        """Launch a run when it is its turn.

        Args:
            what: The run.
            again: Whether it was launched before, and may have ended since.
            unheard: Whether an earlier supervisor was asked for it last, and may have launched it.
        """
        state = self._state
        try:
            checked(what)
            if (again or unheard) and state.is_suspect and (what["job"], what["run"]) not in state.runs:
                self._adoption.look_for(what, or_launch=not again)
                return
            if not again and not unheard:  # then all that may have been launched before has been asked for
                self._is_sure()
            self._launches.append(what)
        except (KeyError, TypeError) as error:
            names: Record = {"job": int(what["job"]), "run": int(what["run"])}
            self._state.report({"is": "failed", **names, "message": f"cannot be launched: {error}", "prolog": False})

    def _is_sure(self) -> None:
        if self._state.is_suspect:
            self._state.is_suspect = False
            self._state.note({"is": "sure"})

    def _launch_some(self) -> None:
        """Launch the runs whose turn it is."""
        batch, self._launches = self._launches[:_BATCH], self._launches[_BATCH:]
        self._launcher.launch(batch)
        for request in batch:
            run = self._state.runs.get((request["job"], request["run"])) if "suspended" in request else None
            if run is not None and request.pop("suspended"):
                self._orders.suspend(run, suspended=True)
        self._measure_in_time()

    def _launches_again(self, requests: list[dict[str, Any]]) -> None:
        self._launches = [*requests, *self._launches]

    def _run_of(self, request: Record) -> Run | None:
        """Give the run that a request is about; ``None``: there is none, or there has been no room for it so far."""
        key = (request["job"], request["run"])
        while key not in self._state.runs and self._launches:
            self._launch_some()  # it may wait for its turn to be launched
        return self._state.runs.get(key)

    def _request_of_postponed(self, waiting: dict[str, Any], kind: str) -> None:
        """Carry out a request of a run for which there has been no room so far."""
        if kind in ("kill", "forget"):
            self._postponed.drop((waiting["job"], waiting["run"]))
        elif kind in ("suspend", "resume"):
            waiting["suspended"] = kind == "suspend"

    def _request_of(self, run: Run, kind: str, request: Record) -> bool:
        """Carry out a request about a run; say whether a process has joined it."""
        if kind == "forget":
            if run.phase == ENDED:
                self._state.forget(run)
        elif run.phase not in (RUNNING, UNSURE):
            pass  # what is left of it is being killed
        elif kind == "signal":
            self._orders.signal(run, int(request["signal"]), script_only=bool(request["batch_only"]))
        elif kind == "kill":
            self._orders.kill(run, int(request["signal"]), float(request["wait"]), str(request.get("said", "")))
        elif kind in ("suspend", "resume"):
            self._orders.suspend(run, suspended=kind == "suspend")
        elif kind == "join":
            return self._orders.join(run, int(request["pid"]))
        else:
            raise ValueError(f"unknown request: {kind}")
        return False

    # ---- measurements -----------------------------------------------------------------------------------------

    def _measure(self) -> None:
        """Report what all runs have used."""
        for run in self._state.live():
            if run.phase == RUNNING:
                self._state.lookout.look(run, self._measurer(run), patience=0.0)

    def _measurer(self, run: Run) -> Callable[[tree.Scan | None], None]:
        state = self._state

        def measured(scan: tree.Scan | None) -> None:
            pids = tree.members(run, scan)
            state.apart.ask(run.user, pids, measure.disk_of, lambda disk: report(pids, disk or {}))

        def report(pids: list[int], disk: dict[int, bytes]) -> None:
            if run.phase == RUNNING:
                usage = measure.so_far(run, pids, disk, state.energy)
                state.report({"is": "measured", **run.names, "usage": usage})

        return measured

    def _wants_measurement(self, run: Run) -> bool:
        """Whether a run is to be measured soon: it never was, or nobody else limits its memory."""
        return run.phase == RUNNING and (
            not run.peak or (run.memory > 0 and self._state.cgroups.memory == "measurement")
        )

    def _measure_in_time(self) -> None:
        """Measure memory every now and then, as long as anything runs."""
        if not self._measuring and self._state.live():
            self._measuring = True
            self._loop.after(_LIMITED, self._measure_memory)

    def _measure_memory(self) -> None:
        """Measure the memory of runs, and kill those that use more than they may."""
        state, now = self._state, time.monotonic()
        self._measuring = False
        runs = [run for run in state.live() if self._wants_measurement(run)]
        if now >= self._measured + _ALL:
            self._measured = now
            runs = [run for run in state.live() if run.phase == RUNNING]
            state.energy.joules()
        for run in runs:
            state.lookout.look(run, self._limiter(run), patience=0.0)
        self._measure_in_time()

    def _limiter(self, run: Run) -> Callable[[tree.Scan | None], None]:
        def limit(scan: tree.Scan | None) -> None:
            if run.phase != RUNNING:
                return
            used = measure.sample(run, tree.members(run, scan))
            if run.memory and used > run.memory and self._state.cgroups.memory == "measurement" and not run.over:
                run.over = True
                self._state.note({"is": "over", **run.names})
                self._orders.killer(run)()

        return limit


def _empty(pipe: int) -> None:
    """Read what is in a pipe that only wakes the loop."""
    os.read(pipe, 4096)
