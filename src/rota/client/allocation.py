"""An allocation without a batch script: what ``salloc`` and ``srun`` outside of a job get.

Its first process, run as a program, takes commands to be run as processes of the job, with the files of those who ask.
As a module it is what ``srun`` and ``salloc`` become once they have resources: ``srun`` has itself run again within the
job, ``salloc`` runs a command where it is. Both hold the allocation: when they are gone, it is given back.
"""

import _signal as signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys
import time

from rota.client import thin
from rota.client.processes import end_by, exit_status, program_path
from rota.client.small_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Name of the socket in the directory of the job.
SOCKET = "allocation.sock"
#: Seconds between attempts to reach the socket, and the controller after it was lost.
_RETRY, _RETRY_CONTROLLER = 0.005, 0.2
#: Seconds after which commands that were told to end are killed.
_GRACE = 5.0
_MOST = 64 << 20
_CREDENTIALS = 12
#: Bytes of the number of an open file.
_FILE = 4
#: Signals by which the command of ``salloc`` may end with success.
_QUIET = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
#: Seconds in which the controller may say why an allocation was taken away.
_WHY = 1.0


# ---- the first process of the job -----------------------------------------------------------------------------------


class Server:
    """Runs commands as processes of the job."""

    def __init__(self, listener: _socket.socket) -> None:
        self._listener = listener
        self._connections: dict[int, _socket.socket] = {}
        #: Connections whose commands run, by process id; and connections that hold the allocation.
        self._commands: dict[int, int] = {}
        self._holders: set[int] = set()
        self._ending = False

    def serve(self) -> int:
        """Serve until the allocation is given back or taken away; give the exit status."""
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        while not self._ending or self._commands:
            readers = [read_end, self._listener.fileno(), *self._connections]
            for end in select.select(readers, [], [])[0]:
                if end == read_end:
                    self._ending |= bool({signal.SIGTERM, signal.SIGHUP}.intersection(os.read(read_end, 4096)))
                elif end == self._listener.fileno():
                    self._accept()
                elif (status := self._take(end)) is not None:
                    return status
            self._reap()
        return 0

    def _accept(self) -> None:
        descriptor, _ = self._listener._accept()  # type: ignore[attr-defined] # noqa: SLF001 - as socket.accept() does
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
        if _uid_of(connection) in (0, os.getuid()):
            self._connections[descriptor] = connection
        else:
            connection.close()

    def _take(self, end: int) -> int | None:
        """Take a request; give the exit status if that was the end."""
        connection = self._connections[end]
        try:
            request, files = _receive(connection)
        except (OSError, ValueError):
            return self._lost(end)
        kind = request["do"]
        if kind == "hold":
            self._holders.add(end)
        elif kind == "end":
            if request.get("by_signal"):
                end_by(int(request["status"]) - 128)
            return int(request["status"])
        elif kind == "signal":
            for pid, owner in self._commands.items():
                if owner == end:
                    os.kill(pid, request["signal"])
        elif kind == "run":
            self._run(end, request, files)
        return None

    def _lost(self, end: int) -> int | None:
        """Heed that somebody has gone: their commands end, and the allocation if they held it."""
        self._connections.pop(end).close()
        for pid, owner in list(self._commands.items()):
            if owner == end:
                os.kill(pid, signal.SIGTERM)
        if end not in self._holders:
            return None
        return exit_status(signal.SIGHUP)

    def _run(self, end: int, request: "dict[str, Any]", files: list[int]) -> None:
        pid = os.fork()
        if not pid:
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                    signal.signal(number, signal.SIG_DFL)
                for number in (signal.SIGUSR1, signal.SIGUSR2):
                    signal.signal(number, signal.SIG_DFL)
                for target, file in enumerate(files):
                    os.dup2(file, target)
                os.closerange(3, 1024)
                os.setpgid(0, 0)
                os.umask(request["umask"])
                os.chdir(request["cwd"])
                mark = os.environ["ROTA_RUN"]
                os.execve(request["argv"][0], request["argv"], {**request["env"], "ROTA_RUN": mark})  # noqa: S606
            finally:
                os._exit(1)
        for file in files:
            os.close(file)
        self._commands[pid] = end

    def _reap(self) -> None:
        while self._commands:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            end = self._commands.pop(pid, -1)
            if end in self._connections:
                _tell(self._connections[end], {"status": exit_status(status)})


def serve(path: str) -> int:
    """Be the first process of an allocation; give the exit status. The path is that of the directory of the job."""
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    os.chdir(path)
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)  # of a run before a requeue
    listener.bind(SOCKET)
    listener.listen(64)
    os.chdir("/")
    return Server(listener).serve()


# ---- srun and salloc ------------------------------------------------------------------------------------------------


def main(data: bytes, controller: _socket.socket) -> int:
    """Use an allocation that the controller describes; give the exit status."""
    spec = loads(data)
    over = _Over(spec, controller)
    server = _reach(spec, over)
    if server is None:
        return 1
    if spec["hold"] and not _tell(server, {"do": "hold"}):
        _say(spec, f"error: Job allocation {spec['job']} has been revoked")
        return 1
    ended = _Ended(_again(spec, server)) if spec["command"] == "srun" else _command(spec, server, over)
    if spec["hold"]:
        if spec["command"] == "salloc" and not ended.is_revoked:
            _say(spec, f"Relinquishing job allocation {spec['job']}")
        by_signal = spec["command"] == "srun" or ended.by_signal
        _tell(server, {"do": "end", "status": ended.status, "by_signal": by_signal and ended.status > 128})
        over.wait()
    return ended.told


class _Ended:
    """How a command has ended.

    Args:
        status: Its exit status, as a shell gives it.
        told: What is told of it if it was ended by a signal; ``None``: it was not.
        is_revoked: Whether its allocation was taken away before.
    """

    def __init__(self, status: int, told: "int | None" = None, *, is_revoked: bool = False) -> None:
        self.status = status
        self.told = status if told is None else told
        self.by_signal = told is not None
        self.is_revoked = is_revoked


class _Over:
    """Hears from the controller when the job is over, from the next one if this one was lost.

    As long as this program is connected, the controller knows that the job has its command.
    """

    def __init__(self, spec: "dict[str, Any]", controller: _socket.socket) -> None:
        self._spec = spec
        self._controller: _socket.socket | None = controller
        self._again_at = 0.0
        self.is_told = False
        #: What the controller said about it; empty: nothing.
        self.why = ""

    def look(self, seconds: float) -> None:
        """Hear what it says within some time."""
        if self._controller is None:
            time.sleep(seconds)
            if time.monotonic() < self._again_at or not self._ask():
                return
        if self._controller is not None and select.select([self._controller.fileno()], [], [], seconds)[0]:
            self._hear()

    def wait(self) -> None:
        """Wait until the job is over, unless there is no controller."""
        while not self.is_told and (self._controller is not None or self._ask()):
            self._hear()
            if not self.is_told:
                time.sleep(_RETRY_CONTROLLER)

    def _ask(self) -> bool:
        """Ask a controller; say whether there is one."""
        self._again_at = time.monotonic() + _RETRY_CONTROLLER
        try:
            self._controller = thin.ask("over", str(self._spec["job"]), key=self._spec["key"])
        except OSError:
            return False
        return True

    def _hear(self) -> None:
        try:
            while self._controller is not None:
                letter, data = thin.frame(self._controller)
                if letter == b"e":
                    self.why = data.decode()
                if letter == b"x":
                    self.is_told = data == b"0"  # else it has too much to do
                    self._controller.close()
                    self._controller = None
        except OSError:
            self._controller = None


def _reach(spec: "dict[str, Any]", over: _Over) -> _socket.socket | None:
    """Connect to the first process of the job, which may not have been started yet; ``None``: there will be none."""
    directory = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        while not over.is_told:
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            try:
                os.chdir(spec["directory"])
                connection.connect(SOCKET)
            except (FileNotFoundError, ConnectionError):
                connection.close()
                over.look(_RETRY)
            except OSError:
                break
            else:
                if _uid_of(connection) == os.getuid():
                    return connection
                break
    finally:
        os.fchdir(directory)
        os.close(directory)
    what = "Job allocation {} has been revoked" if over.is_told else "the allocation of job {} cannot be reached"
    _say(spec, f"error: {what.format(spec['job'])}")
    if not os.access(spec["python"], os.X_OK):
        _say(spec, f"error: it is served by {spec['python']}, which you may not run: tell the administrator")
    return None


def _again(spec: "dict[str, Any]", server: _socket.socket) -> int:
    """Have ``srun`` run within the job, and hand signals on to it; give its exit status."""
    request = {"do": "run", "argv": spec["argv"], "cwd": os.getcwd(), "env": {**os.environ, **spec["env"]}}
    umask = os.umask(0o22)
    os.umask(umask)
    if not _tell(server, {**request, "umask": umask}, [0, 1, 2]):
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, _: _tell(server, {"do": "signal", "signal": number}))
    for number in (signal.SIGCONT, signal.SIGWINCH):
        signal.signal(number, lambda number, _: _tell(server, {"do": "signal", "signal": number}))
    try:
        return int(_receive(server)[0]["status"])
    except (OSError, ValueError):
        return 1  # the job was ended


def _command(spec: "dict[str, Any]", server: _socket.socket, over: _Over) -> _Ended:
    """Run a command where this program is."""
    program = program_path(spec["argv"][0], dict(os.environ))
    try:
        if spec["cwd"]:
            os.chdir(spec["cwd"])
    except OSError as error:
        _say(spec, f"error: chdir({spec['cwd']}): {error.strerror}")
        return _Ended(1)
    if not os.access(program, os.X_OK) or os.path.isdir(program):
        _say(spec, f'error: _fork_command: Unable to find command "{spec["argv"][0]}"')
        return _Ended(1)
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = os.fork()
    if not pid:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execve(program, spec["argv"], {**os.environ, **spec["env"]})  # noqa: S606 - what the user says
        finally:
            os._exit(1)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)  # the command gets them from the terminal
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    watched = [read_end, server.fileno()]
    while True:
        ready = select.select(watched, [], [])[0]
        if read_end in ready:
            os.read(read_end, 4096)
        if server.fileno() in ready and not server.recv(1):
            watched.remove(server.fileno())
            over.look(_WHY)
            _say(spec, over.why or f"Job allocation {spec['job']} has been revoked.")
            if number := spec["kill"] or (os.isatty(0) and signal.SIGHUP):
                os.kill(pid, number)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            by_signal = (0 if os.WTERMSIG(status) in _QUIET else 1) if os.WIFSIGNALED(status) else None
            return _Ended(exit_status(status), by_signal, is_revoked=server.fileno() not in watched)


def _say(spec: "dict[str, Any]", text: str) -> None:
    if spec["quiet"] < (2 if text.startswith("error") else 1):
        os.write(2, f"{spec['command']}: {text}\n".encode())


# ---- messages -------------------------------------------------------------------------------------------------------


def _tell(connection: _socket.socket, message: "dict[str, Any]", files: "list[int] | None" = None) -> bool:
    """Send a message; say whether anybody was there. That nobody is, is noticed as well where messages are awaited."""
    try:
        _send(connection, message, files)
    except OSError:
        return False
    return True


def _send(connection: _socket.socket, message: "dict[str, Any]", files: "list[int] | None" = None) -> None:
    data = dumps(message)
    head = len(data).to_bytes(4, "big")
    numbers = b"".join([file.to_bytes(_FILE, sys.byteorder) for file in files or []])
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)] if files else []
    connection.sendmsg([head], rights)
    connection.sendall(data)


def _receive(connection: _socket.socket) -> "tuple[dict[str, Any], list[int]]":
    """Receive a message, and the files that come with it."""
    head, rights, _, _ = connection.recvmsg(4, _socket.CMSG_SPACE(3 * _FILE), _socket.MSG_WAITALL)
    files: list[int] = []
    for level, kind, data in rights:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            files += memoryview(data[: len(data) // _FILE * _FILE]).cast("i")
    length = int.from_bytes(head, "big")
    if len(head) < 4 or length > _MOST:
        raise OSError
    parts, left = [], length
    while left:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            raise OSError
        parts.append(part)
        left -= len(part)
    return loads(b"".join(parts)), files


def _uid_of(connection: _socket.socket) -> int:
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS)
    return int.from_bytes(credentials[4:8], sys.byteorder)
