"""The program: ``python -I -S main.py STATE_DIR`` becomes the keeper of a state directory, unless it has one.

``--no-cgroups`` leaves control groups alone, ``--no-memory-cgroups`` only those that limit memory. ``--files=N`` is the
limit on open files of runs that have none of their own, by default that of the caller; ``--memory=N`` replaces the
caller's limit of memory, ``RLIMIT_DATA``, for all. The program returns
when it has become a process of its own; the caller then waits until it can connect.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys

#: Where tracebacks go.
ERRORS = "supervisor.err"


def main(arguments: list[str]) -> int:
    """Become the keeper, in the background."""
    options = {argument for argument in arguments if argument.startswith("--")}
    (directory,) = [argument for argument in arguments if argument not in options]
    # Everything of rota is found beside this package, after the standard library.
    sys.path.append(os.path.abspath(__file__).rsplit("/", 4)[0])
    from rota.executor.supervisor.place import LOCK

    umask = os.umask(0o077)
    os.makedirs(directory, 0o700, exist_ok=True)
    os.chdir(directory)
    if os.fork():
        return 0
    os.setsid()
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0  # there is one
    _leave_the_caller(lock)
    _keep(os.getcwd(), options, umask)
    return 0


def _leave_the_caller(lock: int) -> None:
    """Have nothing of the caller's but the lock: no files, no signals that are ignored or blocked."""
    errors = os.open(ERRORS, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd, target in ((nothing, 0), (nothing, 1), (errors, 2)):
        os.dup2(fd, target)
    if lock != 3:
        os.dup2(lock, 3, inheritable=False)
    os.closerange(4, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 20))
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGPIPE, signal.SIGXFSZ):
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                pass
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _keep(directory: str, options: set[str], umask: int) -> None:
    from rota.executor.supervisor import kernel
    from rota.executor.supervisor.cgroups import Cgroups, name_for
    from rota.executor.supervisor.child import Surroundings
    from rota.executor.supervisor.keeper import keep

    kernel.become_subreaper()
    around = Surroundings()
    around.umask = umask
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for option in options:
        if option.startswith("--files="):
            soft = min(int(option[8:]), hard)
        elif option.startswith("--memory="):
            resource.setrlimit(resource.RLIMIT_DATA, (int(option[9:]), resource.getrlimit(resource.RLIMIT_DATA)[1]))
    around.files = soft, hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # The kernel is to end a run rather than the one that watches all.
    oom_score = kernel.read("/proc/self/oom_score_adj").decode().strip()
    if kernel.write("/proc/self/oom_score_adj", "-900"):
        around.oom_score = oom_score
    cgroups = Cgroups(name_for(directory), options)
    keep(directory, cgroups, around)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
