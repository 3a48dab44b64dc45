"""The tasks of a step: ``srun`` within a job starts them, connects them with its files, and waits for them.

They are children of ``srun``, which is a process of the job: so they have its processors, are within its limits, and
end with it. The controller says what to start and is told how it ended. When it is away, tasks go on, and it is told
later.

Like `rota.client.thin` this imports little: it is a program that starts often.
"""

import _signal as signal  # type: ignore[import-not-found]
import os
import time

from rota.client import streams
from rota.client.attached import Attached
from rota.client.processes import (
    HANDED_ON,
    TO_END,
    allow_files,
    encoded,
    end_text,
    exit_status,
    guard,
    kill,
    limit_files,
    memory,
    program_path,
    ready,
    say,
    tasks_text,
    usage,
)
from rota.client.small_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Any

    from rota.client import orted, pmi, pmix

    Server = orted.Server | pmi.Server | pmix.Server

#: Signals by which a task that was told to end may end.
_OF_ENDS = (signal.SIGTERM, signal.SIGKILL)
#: Seconds within which SIGTERM follows SIGCONT at the end of a job.
_OF_END = 5.0
#: Seconds within which ends of tasks are told together.
_TOGETHER = 0.05
#: Seconds for which output is read that processes hold open although all tasks have ended.
_LEFT_OPEN = 1.0
#: The modules of servers for MPI programs, and for the daemons of a launcher.
_MPI = {"pmi2": "pmi", "pmix": "pmix", "orted": "orted"}
#: Exit code of a task that could not be started, without a number of an error.
_CANNOT = 1


class Task:
    """A task."""

    def __init__(self, number: int, node: str, pid: int) -> None:
        self.number = number
        self.node = node
        self.pid = pid
        #: As ``wait`` gives it; ``None``: it runs.
        self.status: int | None = None


class Step:
    """A step that runs.

    Args:
        spec: What to start: see `rota.controller.steps.spec`.
        controller: The connection to the controller.
    """

    def __init__(self, spec: "dict[str, Any]", controller: "_socket.socket") -> None:
        self._spec = spec
        self._attached = Attached(spec, controller)
        self._name = f"{spec['job']}.{spec['step']}"
        self._tasks: dict[int, Task] = {}
        self._streams = streams.Streams(spec)
        self._mpi: Server | None = None
        #: The task that has ended all others.
        self._aborter: int | None = None
        self._ended: list[Task] = []
        self._first_end = 0.0
        self._kill_at = self._over_at = self._say_at = 0.0
        #: When the time of the step is over; 0: never.
        self._late_at = time.monotonic() + spec["time_limit"] if spec["time_limit"] else 0.0
        self._is_late = False
        self._told = self._aborted = self._was_forced = False
        self._last_interrupt = self._last_continued = 0.0
        self._was_stopped = False

    # ---- start ------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Start the tasks and wait for them; give the exit status."""
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for one in (signal.SIGCHLD, signal.SIGINT, signal.SIGWINCH, *HANDED_ON, *TO_END):
            signal.signal(one, lambda *_: None)
        self._wakeup = read_end
        self._guard, self._floor, self._files = guard(), memory(), allow_files()
        problem = self._streams.open_files()
        try:
            self._mpi = None if problem else self._mpi_server()
        except OSError as error:
            problem = f"srun: error: --mpi={self._spec['mpi']}: {error}\n"
        if problem:
            say(problem)
            return self._finish()
        for number in range(len(self._spec["tasks"])):
            self._start(number)
        self._streams.started()
        if self._mpi is not None:
            self._mpi.started()
        while self._running or not (self._streams.are_over or time.monotonic() > self._over_at):
            self._turn()
        self._say_ended()
        return self._finish()

    def _mpi_server(self) -> "Server | None":
        kind = self._spec["mpi"]
        if kind == "none" and os.path.basename(self._spec["argv"][0]) == "orted":  # mpirun of Open MPI 4 starts it so
            kind = "orted"
        if kind == "none":
            return None
        module = __import__(f"rota.client.{_MPI[kind]}", fromlist=["Server"])
        server: Server = module.Server(self._spec, self._abort_for_mpi)
        return server

    def _start(self, number: int) -> None:
        task = self._spec["tasks"][number]
        ends = self._streams.ends_of(number)
        pid = os.fork()
        if not pid:
            try:
                self._become(number, task, ends)
            finally:
                os._exit(_CANNOT)
        for end in set(ends):
            os.close(end)
        self._tasks[pid] = Task(number, self._spec["nodes"][task["node"]]["SLURMD_NODENAME"], pid)
        os.write(self._guard, b"%d\n" % pid)

    def _become(self, number: int, task: "dict[str, Any]", ends: "tuple[int, int, int]") -> None:
        """Become a task. Never returns, if all is well."""
        signal.set_wakeup_fd(-1)
        for one in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, *HANDED_ON, *TO_END):
            signal.signal(one, signal.SIG_DFL)
        os.setsid()
        if self._spec["pty"] and number == 0:
            streams.take_terminal(ends[0])
        for target, end in enumerate(ends):
            os.dup2(end, target)
        limit_files(self._files)
        env = {**self._spec["env"], **self._spec["nodes"][task["node"]], **task["env"]}
        env["SLURM_TASK_PID"] = str(os.getpid())
        if self._mpi is not None:
            env.update(self._mpi.enter(number))
        cwd = self._spec["cwd"]
        try:
            os.chdir(cwd)
        except OSError as error:
            say(f"slurmstepd: error: couldn't chdir to `{cwd}': {error.strerror}: going to /tmp instead\n")
            os.chdir("/tmp")  # noqa: S108 - as Slurm does
        argv = task.get("argv") or self._spec["argv"]
        names = {encoded(name): encoded(value) for name, value in env.items()}
        try:
            os.execve(encoded(program_path(argv[0], env)), [encoded(one) for one in argv], names)  # noqa: S606 - no shell
        except OSError as error:
            say(f"slurmstepd: error: execve(): {argv[0]}: {error.strerror}\n")
            os._exit(error.errno or _CANNOT)

    # ---- while it runs ----------------------------------------------------------------------------------------

    @property
    def _running(self) -> list[Task]:
        return [task for task in self._tasks.values() if task.status is None]

    def _turn(self) -> None:
        """Wait for what happens, and handle it."""
        readers = [self._wakeup, *self._streams.readers, *self._attached.readers]
        if self._mpi is not None:
            readers += self._mpi.readers
        readable, writable = ready(readers, self._streams.writers, self._pause())
        if self._wakeup in readable:
            # SIGCONT came first, although the kernel may have handed on the other one before.
            for number in sorted(os.read(self._wakeup, 4096), key=lambda number: number != signal.SIGCONT):
                self._take_signal(number)
        if set(self._attached.readers).intersection(readable):
            for number in self._attached.hear():
                self._told_by_controller(number)
        self._streams.serve(readable, writable)
        if self._mpi is not None:
            self._mpi.serve(readable)
        self._reap()
        now = time.monotonic()
        if self._ended and (now >= self._say_at or not self._running):
            self._say_ended()
        if self._kill_at and now >= self._kill_at:
            self._kill_at = now + 1
            self._send(signal.SIGKILL)
        if self._late_at and now >= self._late_at and self._running:
            self._late_at = 0.0
            if not self._aborted:
                self._is_late = True
                self._abort(signal.SIGTERM, " DUE TO TIME LIMIT")
        wait = self._spec["wait"]
        if wait and self._first_end and now >= self._first_end + wait and not self._aborted and self._running:
            self._say(f"First task exited {wait}s ago")
            self._say_states()
            self._terminate(signal.SIGKILL)
        self._attached.look()

    def _pause(self) -> float | None:
        """Give the seconds until something is due; ``None``: nothing is."""
        times = [one for one in (self._kill_at, self._over_at, self._late_at) if one]
        if self._ended:
            times.append(self._say_at)
        if self._spec["wait"] and self._first_end and not self._aborted:
            times.append(self._first_end + self._spec["wait"])
        if (again_at := self._attached.again_at) is not None:
            times.append(again_at)
        return max(min(times) - time.monotonic(), 0.0) if times else None

    def _reap(self) -> None:
        """Look which tasks have ended. They stay zombies until all have, so that their pids name nobody else."""
        for task in self._running:
            how = os.waitid(os.P_PID, task.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if how is None:
                continue
            task.status = how.si_status << 8 if how.si_code == os.CLD_EXITED else how.si_status
            task.status |= 0x80 if how.si_code == os.CLD_DUMPED else 0
            self._say_at = self._say_at if self._ended else time.monotonic() + _TOGETHER
            self._ended.append(task)
            self._first_end = self._first_end or time.monotonic()
            self._streams.task_ended(task.number)
        if self._ended and not self._running:
            self._over_at = time.monotonic() + _LEFT_OPEN
            for task in self._tasks.values():
                kill(task.pid, signal.SIGKILL)  # what they have left behind
                os.waitpid(task.pid, 0)
            os.write(self._guard, b"0\n")

    def _say_ended(self) -> None:
        """Say which tasks have failed, and end the others if that is wanted."""
        ended, self._ended = self._ended, []
        groups: dict[tuple[str, int], list[int]] = {}
        for task in ended:
            if task.status:
                groups.setdefault((task.node, task.status), []).append(task.number)
        for (node, status), numbers in sorted(groups.items(), key=lambda group: min(group[1])):
            self._streams.flush()
            self._say(f"error: {node}: {tasks_text(numbers)}: {end_text(status)}")
        if groups and self._spec["kill_on_bad_exit"] and self._running and not self._aborted:
            self._terminate(signal.SIGTERM)

    def _say_states(self) -> None:
        ended = [task for task in self._tasks.values() if task.status is not None]
        for name, tasks in (
            ("running", self._running),
            ("exited abnormally", [task for task in ended if task.status]),
            ("exited", [task for task in ended if not task.status]),
        ):
            if tasks:
                self._say(f"StepId={self._name} {tasks_text([task.number for task in tasks])}: {name}")

    def _say(self, text: str) -> None:
        if self._spec["quiet"] < (2 if text.startswith("error") else 1):
            say(f"srun: {text}\n")

    # ---- signals ----------------------------------------------------------------------------------------------

    def _take_signal(self, number: int) -> None:
        if number == signal.SIGINT:
            self._interrupt()
        elif number == signal.SIGTERM and time.monotonic() < self._last_continued + _OF_END:
            self._force(0)  # the tasks hear of the end of the job themselves
        elif number in TO_END:
            self._force(signal.SIGKILL)
        elif number == signal.SIGWINCH:
            self._streams.resized()
        elif number == signal.SIGTSTP:
            self._was_stopped = True
            self._send(signal.SIGSTOP)
        elif number == signal.SIGCONT and not self._was_stopped:
            self._last_continued = time.monotonic()
            self._say("got SIGCONT")
        elif number in HANDED_ON:
            self._send(number)

    def _interrupt(self) -> None:
        """Heed Ctrl-C: the first says what runs, a second within a second is sent to the tasks, a third ends them."""
        now = time.monotonic()
        if self._told:
            self._force(signal.SIGKILL)
        elif self._spec["quit_on_interrupt"] or now < self._last_interrupt + 1:
            self._told = True
            self._say(f"sending Ctrl-C to StepId={self._name}")
            self._send(signal.SIGINT)
        else:
            self._say("interrupt (one more within 1 sec to abort)")
            self._say_states()
        self._last_interrupt = now

    def _force(self, number: int) -> None:
        if not self._aborted:
            self._say("forcing job termination")
            self._abort(number)

    def _abort_for_mpi(self, aborter: int | None = None) -> None:
        if not self._aborted:
            self._aborter = aborter
            self._abort(signal.SIGKILL)

    def _terminate(self, number: int) -> None:
        self._say(f"launch/slurm: _step_signal: Terminating StepId={self._name}")
        self._abort(number)

    def _abort(self, number: int, why: str = "") -> None:
        """End the step: a signal, and SIGKILL some time later; 0: others do that."""
        self._aborted = True
        nodes = self._spec["env"]["SLURM_STEP_NODELIST"]
        moment = time.strftime("%Y-%m-%dT%H:%M:%S")
        say(f"slurmstepd: error: *** STEP {self._name} ON {nodes} CANCELLED AT {moment}{why} ***\n")
        wait = self._spec["kill_wait"]
        if not number:
            return
        if number == signal.SIGKILL:
            self._was_forced = True
            self._say(f"Job step aborted: Waiting up to {wait + 2} seconds for job step to finish.")
        self._send(signal.SIGCONT)
        self._send(number, spared=self._aborter)
        self._kill_at = time.monotonic() + (1 if number == signal.SIGKILL else wait)

    def _send(self, number: int, spared: int | None = None) -> None:
        """Send a signal to the tasks and their children, but for a task that is spared."""
        for task in self._running:
            if task.number != spared:
                kill(task.pid, number)

    # ---- the controller ---------------------------------------------------------------------------------------

    def _told_by_controller(self, number: int) -> None:
        if number == signal.SIGKILL:
            if not self._aborted:
                self._abort(number)
        else:
            self._send(number)

    def _finish(self) -> int:
        """Tell the controller how the step has ended, and give the exit status."""
        self._streams.close()
        ends = [task.status or 0 for task in self._tasks.values()]
        signals = {os.WTERMSIG(end) for end in ends if os.WIFSIGNALED(end)}
        status = max(map(exit_status, ends), default=_CANNOT)
        if self._aborter is not None:
            status = exit_status(ends[self._aborter]) or status
        if not self._was_forced and signals.intersection(_OF_ENDS):
            self._say(f"Force Terminated StepId={self._name}")
        end = {"status": status, "cancelled": self._aborted and self._aborter is None, "usage": usage(self._floor)}
        end["late"] = self._is_late
        if self._mpi is not None:
            self._mpi.close()
        self._attached.tell(end, self._wakeup, self._say)
        return status


def main(data: bytes, controller: "_socket.socket") -> int:
    """Run a step that the controller describes; give the exit status."""
    return Step(loads(data), controller).run()
