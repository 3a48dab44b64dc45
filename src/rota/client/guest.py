"""``srun --jobid`` for a job that has a batch script, from outside of it: a child joins the job and is ``srun`` there.

This program stays where it was called: it hands signals on, and ends the child when the job is over.
"""

import _signal as signal  # type: ignore[import-not-found]
import ctypes
import os
import select
import time

from rota.client import thin
from rota.client.processes import encoded, exit_status, kill, say
from rota.client.small_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Any, NoReturn

_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OTHERS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH)
#: Seconds after which it is tried again to reach a controller.
_RETRY = 0.2
#: ``prctl``: the signal that a process gets when its parent has ended.
_PARENT_DEATH_SIGNAL = 1


def main(data: bytes, controller: "_socket.socket") -> int:
    """Run ``srun`` as a process of the job that the controller describes; give its exit status."""
    spec = loads(data)
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    pid = os.fork()
    if not pid:
        try:
            _join(spec)
        finally:
            os._exit(1)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (*_TO_END, *_OTHERS):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    watched = [read_end, controller.fileno()]
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return exit_status(status)
        ready = select.select(watched, [], [])[0]
        if read_end in ready:
            os.read(read_end, 4096)
        if controller.fileno() in ready:
            watched.remove(controller.fileno())
            if _says_it_is_over(controller):  # else it is away, and the step goes on
                say(f"srun: error: Job {spec['job']} has ended\n")
                kill(pid, signal.SIGKILL)


def _says_it_is_over(controller: "_socket.socket") -> bool:
    try:
        return controller.recv(1) == b"x"
    except OSError:
        return False


def _join(spec: "dict[str, Any]") -> "NoReturn":
    """Become ``srun`` within the job."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    os.setsid()
    while (status := _ask_to_join(spec["job"])) is None:
        time.sleep(_RETRY)
    if status:
        os._exit(status)
    if spec["cpus"]:
        os.sched_setaffinity(0, spec["cpus"])
    env = {encoded(name): encoded(value) for name, value in {**os.environ, **spec["env"]}.items()}
    os.execve(spec["argv"][0], [encoded(one) for one in spec["argv"]], env)  # noqa: S606 - no shell


def _ask_to_join(job: int) -> int | None:
    """Ask to belong to the job; give the exit status, ``None``: the controller is away, or has too much to do."""
    is_busy = False
    try:
        connection = thin.ask("join", str(job))
        while True:
            letter, data = thin.frame(connection)
            if letter == b"x":
                connection.close()
                return None if is_busy else int(data)
            if letter == b"b":
                is_busy = True
            elif letter == b"e" and not is_busy:
                os.write(2, data)
    except OSError:
        return None
