"""From the fork to the program: what a child does before it is a run's script, or an epilog.

A child waits until its start has been noted on disk. If the supervisor dies before that, it says that it has never
begun, and exits. Files are opened after it has become the run's user. As in Slurm, a working directory that cannot be
entered is replaced by /tmp, and a run whose output cannot be opened ends with signal 53.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import time

from rota.executor.supervisor import kernel, log, login
from rota.executor.supervisor.shortage import FILES, MEMORY, PROCESSES, missing, patiently, pauses, refusals, was_full

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

#: Seconds between SIGTERM and SIGKILL for a prolog or epilog that takes too long, as in Slurm 22.05.
GRACE = 0.01
#: What begins the failure of a run that has not begun, as the machine was short of something, which follows.
SHORT_OF = "the machine is short of "
#: What a program needs that is the machine's. Only root starts programs as others; who has as many processes as they
#: may have is told so then.
_OF_MACHINE = frozenset({PROCESSES, FILES, MEMORY})
#: Exit code of a child that gives up; nobody is told.
GAVE_UP = 75
#: Signal by which a run ends whose files cannot be opened: sacct then shows ``0:53``, as in Slurm.
LAUNCH_FAILURE = 53
#: The variable of a run that is to have what a login gives its user, unless it has that otherwise.
_OF_LOGIN = b"SLURM_GET_USER_ENV"
#: Characters of a path that are shown.
_LONGEST_PATH = 200


class Surroundings:
    """What the supervisor changed for itself, and a child sets back."""

    __slots__ = ("files", "go", "go_away", "highest", "oom_score", "umask")

    def __init__(self) -> None:
        #: The limit on open files.
        self.files = (0, 0)
        self.umask = 0o022
        #: What ``oom_score_adj`` was; empty: it was not changed.
        self.oom_score = ""
        #: The pipe on which children wait: its ends for reading and for writing.
        self.go = self.go_away = -1
        #: The largest file descriptor that may be open.
        self.highest = 0


def encoded(request: dict[str, Any]) -> dict[str, Any]:
    """Give a request as a child needs it: what can be done before the fork is done once, and not in a copy."""
    env = _variables(_environment(request))
    tools = _variables(environment_of_tools(request)) if request["prolog"] else {}
    paths = {name: _bytes(request[name]) for name in ("cwd", "stdin", "stdout", "stderr")}
    return {**request, **paths, "argv": [*map(_bytes, request["argv"])], "env": env, "tools": tools}


def become_run(request: dict[str, Any], joining: list[str], around: Surroundings) -> NoReturn:
    """Become a run. Never returns."""
    try:
        _begin(joining, around)
        if request["cpus"]:
            _quietly(os.sched_setaffinity, 0, request["cpus"])
        if request["prolog"]:
            _prolog(request)
        _limit(request["rlimits"])
        _become_user(request)
        os.umask(around.umask if request["umask"] is None else request["umask"])
        if not _open_files(request):
            os.kill(os.getpid(), LAUNCH_FAILURE)
        env = request["env"]
        if _OF_LOGIN in env:
            env = {**env, **login.environment(os.path.join(os.getcwdb(), b"bin")), **env}  # the mark stays the first
        _enter(request["cwd"])
        _execute(request["argv"], env, _OF_MACHINE - {PROCESSES})
    except BaseException as error:  # noqa: BLE001 - a child must never return into the supervisor
        _quietly(os.write, 2, f"rota: error: {ascii(error)[:_LONGEST_PATH]}\n".encode())
    finally:
        os._exit(1)


def become_epilog(program: str, env: dict[str, str], around: Surroundings) -> NoReturn:
    """Become the epilog of a run. Never returns."""
    try:
        _begin([], around)
        os.umask(around.umask)
        _enter(b"/")
        _execute([_bytes(program)], _variables(env), _OF_MACHINE)
    finally:
        os._exit(1)


def _begin(joining: list[str], around: Surroundings) -> None:
    """Leave the supervisor behind, and wait until the start is noted."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if around.go != 3:
        os.dup2(around.go, 3, inheritable=False)
    os.closerange(4, around.highest + 1)
    os.setsid()
    for path in joining:
        kernel.write(path, "0")
    if around.oom_score:
        kernel.write("/proc/self/oom_score_adj", around.oom_score)
    if around.files[0] != around.files[1]:
        resource.setrlimit(resource.RLIMIT_NOFILE, around.files)
    if not os.read(3, 1):
        stat = kernel.stat_of(os.getpid())
        log.note({"is": "void", "pid": os.getpid(), "ticks": stat.ticks if stat else 0})
        os._exit(GAVE_UP)
    os.close(3)


def prolog_failure(job: int, restart: int) -> str:
    """Give the name of the file in which a run says that its prolog has failed."""
    return f"prolog.{job}.{restart}"


def _prolog(request: dict[str, Any]) -> None:
    """Run the prolog. Should it fail, that is noted, and this process exits."""
    program = request["prolog"]
    before = refusals()
    try:
        pid = patiently(os.fork)
    except OSError as error:
        _fail_before_script(request, f"{SHORT_OF}{missing(error)}")
    if not pid:
        try:
            os.setpgid(0, 0)
            _enter(b"/")
            _execute([_bytes(program)], request["tools"], _OF_MACHINE)
        finally:
            os._exit(1)
    is_late = _is_late(pid, request["prolog_epilog_timeout"])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = failure_of("prolog", program, code, is_late=is_late)
    if said and not is_late and was_full(before):  # what it wanted to start could not be
        _fail_before_script(request, f"{SHORT_OF}{PROCESSES}")
    if said:
        _fail_before_script(request, said)


def _fail_before_script(request: dict[str, Any], said: str) -> NoReturn:
    """Note why the script is not executed, and exit."""
    name = prolog_failure(request["job"], request["run"])
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.write(fd, said.encode())
    os._exit(1)


def _is_late(pid: int, seconds: int) -> bool:
    """Whether a child has not ended after some time (0: there is no limit); then its process group is killed."""
    if not seconds:
        return False
    pidfd = os.pidfd_open(pid)
    ended, _, _ = select.select([pidfd], [], [], seconds)
    os.close(pidfd)
    if not ended:
        _quietly(os.setpgid, pid, pid)  # it may not even have come to do that itself
        kernel.signal_group(pid, signal.SIGTERM)
        time.sleep(GRACE)
        kernel.signal_group(pid, signal.SIGKILL)
    return not ended


def failure_of(kind: str, program: str, code: int, *, is_late: bool) -> str:
    """Say why a prolog or epilog has failed, by its exit code or negative signal; nothing: it has not."""
    if is_late:
        return f"{kind} {program} has taken longer than PrologEpilogTimeout"
    if code < 0:
        return f"{kind} {program} was ended by signal {-code}"
    return f"{kind} {program} exited with {code}" if code else ""


def environment_of_tools(request: dict[str, Any]) -> dict[str, str]:
    """Give the environment of the prolog and the epilog of a run.

    If root runs them for another user, nothing in it is the user's: a variable like ``LD_PRELOAD`` would let the user
    run programs as root, and a false list of GPUs would have them work on those of others.
    """
    if os.geteuid() or request["uid"] in (-1, 0):
        return _environment(request)
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {**request["own_env"], "ROTA_RUN": request["mark"], "PATH": path}


def _environment(request: dict[str, Any]) -> dict[str, str]:
    """Give the environment of a run, in which the mark is the first variable."""
    mark = {"ROTA_RUN": request["mark"]}
    return {**mark, **request["env"], **request["own_env"], **mark}


def _limit(limits: dict[str, tuple[int, int]]) -> None:
    for name, (soft, hard) in limits.items():
        which = getattr(resource, "RLIMIT_" + name, None)
        if which is None:
            continue
        try:
            resource.setrlimit(which, (soft, hard))
        except (OSError, ValueError):
            highest = resource.getrlimit(which)[1]
            hard = _lower(hard, highest)  # noqa: PLW2901
            _quietly(resource.setrlimit, which, (_lower(soft, hard), hard))


def _lower(one: int, other: int) -> int:
    """Give the lower one of two limits, of which -1 is none."""
    if one == -1 or other == -1:
        return max(one, other)
    return min(one, other)


def _become_user(request: dict[str, Any]) -> None:
    uid, gid = request["uid"], request["gid"]
    if os.geteuid() or uid in (-1, 0):
        return
    os.setgroups(request["groups"])
    os.setgid(gid)
    os.setuid(uid)


def _open_files(request: dict[str, Any]) -> bool:
    """Open the three files; ``False``: one cannot be opened, which is said in the error output if there is one."""
    how = os.O_WRONLY | os.O_CREAT | os.O_NOCTTY | (os.O_APPEND if request["append"] else os.O_TRUNC)
    files = [(request["stderr"], how, 2), (request["stdin"], os.O_RDONLY | os.O_NOCTTY, 0)]
    if request["stdout"] != request["stderr"]:
        files.append((request["stdout"], how, 1))
    for path, flags, target in files:
        try:
            fd = _open(path, flags)
        except OSError as error:
            _say("could not open %s: %s", path, error)
            return False
        os.dup2(fd, target)
        if fd > 2:
            os.close(fd)
    if request["stdout"] == request["stderr"]:
        os.dup2(2, 1)
    return True


def _open(path: bytes, flags: int) -> int:
    """Open a file, as soon as the machine has room for it: what the job itself may have is another matter."""
    for pause in pauses():
        try:
            return os.open(path, flags, 0o666)
        except OSError as error:
            if error.errno not in (errno.ENFILE, errno.ENOMEM):
                raise
            time.sleep(pause)
    return os.open(path, flags, 0o666)


def _enter(path: bytes) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        _say("couldn't chdir to `%s': %s: going to /tmp instead", path, error)
        os.chdir("/tmp")  # noqa: S108 - as Slurm does


def _execute(argv: list[bytes], env: dict[bytes, bytes], missing_ones: frozenset[str]) -> None:
    """Become a program; if one of these is missing, as soon as it is there."""
    tries = pauses()
    while True:
        try:
            os.execve(argv[0], argv, env)  # noqa: S606 - without a shell
        except OSError as error:
            pause = next(tries, 0.0) if missing(error) in missing_ones else 0.0
            if not pause:
                if missing(error) == PROCESSES:
                    error.strerror = "the user has as many processes as their limit allows (ulimit -u)"
                _say("execve(): %s: %s", argv[0], error)
                os._exit(error.errno or 1)
            time.sleep(pause)


def _say(text: str, path: bytes, error: OSError) -> None:
    """Write a line about a path to the error output: the supervisor's, until that of the run has been opened."""
    shown = path.decode("utf-8", "backslashreplace")
    if len(shown) > _LONGEST_PATH:
        shown = f"{shown[:_LONGEST_PATH]}..."
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in shown)
    _quietly(os.write, 2, f"rota: error: {text % (shown, error.strerror)}\n".encode("utf-8", "replace"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _variables(env: dict[str, str]) -> dict[bytes, bytes]:
    return {_bytes(name): _bytes(value) for name, value in env.items()}


def _quietly(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except (OSError, ValueError):
        pass
