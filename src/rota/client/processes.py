"""Processes of a step: what is done to them, and what is said of them."""

import _signal as signal  # type: ignore[import-not-found]
import math
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Signals that are handed on to the tasks, and signals that end the step.
HANDED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGCONT, signal.SIGTSTP)
TO_END = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def guard() -> int:
    """Start a process that kills the tasks if this one is killed; give the pipe that tells it their pids."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    if os.fork():
        os.close(read_end)
        return write_end
    try:
        signal.set_wakeup_fd(-1)
        for one in (signal.SIGINT, *HANDED_ON, *TO_END):
            signal.signal(one, signal.SIG_IGN)
        os.closerange(0, read_end)
        os.closerange(read_end + 1, 1024)
        with os.fdopen(read_end) as told:
            pids = [int(line) for line in told]
        if pids and pids[-1]:
            for pid in pids:
                kill(pid, signal.SIGKILL)
    finally:
        os._exit(0)


def ready(readers: list[int], writers: list[int], seconds: float | None) -> tuple[list[int], list[int]]:
    """Wait until files can be read or written: as `select` does, which takes none above 1023.

    Args:
        readers: Files to be read.
        writers: Files to be written; some can be both.
        seconds: For how long; ``None``: until there is one.
    """
    wanted = dict.fromkeys(readers, select.POLLIN)
    for file in writers:
        wanted[file] = wanted.get(file, 0) | select.POLLOUT
    poll = select.poll()
    for file, what in wanted.items():
        poll.register(file, what)
    found = poll.poll(None if seconds is None else math.ceil(seconds * 1000))
    readable = [file for file, what in found if what & ~select.POLLOUT]
    return readable, [file for file, what in found if what & (select.POLLOUT | select.POLLERR)]


def allow_files() -> tuple[int, int]:
    """Let this process have as many open files as it may; give the limits that it had."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    return before


def limit_files(limits: tuple[int, int]) -> None:
    """Undo `allow_files`."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def kill(group: int, number: int) -> None:
    """Send a signal to a task and its children."""
    try:
        os.killpg(group, number)
    except OSError:
        pass  # nothing is left of it


def program_path(program: str, env: "dict[str, str]") -> str:
    """Find a program on the path of a task; as in Slurm, one without a path finds none."""
    if "/" in program or "PATH" not in env:
        return program
    for folder in env["PATH"].split(":"):
        path = f"{folder or '.'}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return program


def tasks_text(numbers: list[int]) -> str:
    """Name tasks: ``task 1``, ``tasks 0-1,3``."""
    numbers = sorted(numbers)
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    text = ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    return f"task{'s' if len(numbers) > 1 else ''} {text}"


def end_text(status: int) -> str:
    """Say how a process has ended; the status is that of ``wait``."""
    if os.WIFSIGNALED(status):
        return (signal.strsignal(os.WTERMSIG(status)) or "?") + (" (core dumped)" if os.WCOREDUMP(status) else "")
    return f"Exited with exit code {os.WEXITSTATUS(status)}"


def exit_status(status: int) -> int:
    """Give the exit status of a process as a shell does; the status is that of ``wait``."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


#: Signals by which jobs may end.
_ENDING = range(signal.SIGHUP, signal.SIGTERM + 1)


def end_by(number: int) -> None:
    """End by a signal, so that the job does; of those that end no process nothing comes."""
    if number not in _ENDING:
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def usage(floor: int) -> "dict[str, Any]":
    """Measure what the tasks have used.

    Args:
        floor: What `memory` gave before they were started: of so much the kernel does not tell whose it is.
    """
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "user_seconds": used.ru_utime,
        "system_seconds": used.ru_stime,
        "max_rss": used.ru_maxrss << 10 if used.ru_maxrss > floor else 0,
        "read_bytes": used.ru_inblock << 9,
        "written_bytes": used.ru_oublock << 9,
    }


def memory() -> int:
    """Give the largest resident memory of this process so far, KiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def say(text: str, file: int = 2) -> None:
    """Write a text, to standard error if nothing else is said."""
    try:
        os.write(file, text.encode("utf-8", "surrogateescape"))
    except OSError:
        pass


def encoded(text: str) -> bytes:
    """Encode a text that may hold any bytes."""
    return text.encode("utf-8", "surrogateescape")
