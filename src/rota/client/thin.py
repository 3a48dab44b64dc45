"""The program behind ``sbatch``, ``squeue`` and so on: it hands everything to the controller, which does the work.

How fast it starts is how fast they are, so it imports next to nothing: see `rota.controller.wire` for what it says.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import posix
import sys

#: The state directory, and the folder of the package `rota`; the command says them.
STATE = b""
PACKAGES = ""
#: What is said when a signal ends a command that waits for its job.
SAID_OF_SIGNALS = {
    "srun": "srun: Job allocation {job} has been revoked\nsrun: Force Terminated JobId={job}\n",
    "salloc": "salloc: Job aborted due to signal\n",
}
#: Bytes of a file that are sent at most: more than of any that the controller takes, whose scripts have up to 512 MiB.
MOST = (512 << 20) + 1


def run(state: bytes, packages: str) -> None:
    """Run a command, and exit."""
    global STATE, PACKAGES
    STATE, PACKAGES = state, packages
    open_standard_files()
    # The system ends it, however it waits; and srun and salloc in the background of a script, too, as Slurm's.
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN or sys.argv[0].endswith(("/srun", "/salloc")):
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    posix._exit(main())  # noqa: SLF001 - faster than an orderly end


def open_standard_files() -> None:
    """Open those of standard input, output and error that whoever started this closed, as MPICH's launcher does.

    Else the next file that is opened is taken for one of them.
    """
    for number in (0, 1, 2):
        try:
            posix.fstat(number)
        except OSError:
            posix.open(b"/dev/null", posix.O_RDWR)  # it is the lowest number that is free


def main() -> int:
    """Run a command; give its exit status."""
    call = Call(sys.argv[0].rpartition("/")[2], sys.argv[1:])
    try:
        posix.getcwdb()
    except OSError as error:  # it was removed
        posix.write(2, f"{call.name}: error: getcwd failed: {error.strerror}\n".encode())
        return 1
    while True:
        try:
            connection = connect()
        except OSError:
            sys.path.insert(0, PACKAGES)
            from rota.client import away

            try:
                connection = away.connect_again(posix.environ.get(b"ROTA_STATE") or STATE, connect, call)
            except OSError:
                return away.tell(call)
        try:
            status = call.give(connection)
        except OSError:
            connection.close()
            sys.path.insert(0, PACKAGES)
            from rota.client import away

            if not away.may_be_given_again(call):
                return away.tell(call)
        else:
            return become(call, connection) if status is None else status


class Call:
    """A command that is given, and what has come of it: so it can be given again when the controller was lost.

    The controller knows it again by its key, and makes no second job or step for it.

    Args:
        name: The command.
        words: Its arguments.
    """

    def __init__(self, name: str, words: list[str]) -> None:
        self.name = name
        self.words = words
        self.key = posix.urandom(10).hex()
        #: ``again`` once the controller was lost, or the id of the job that it had made for this.
        self.known_as = ""
        #: Whether the whole call was sent, and whether anything was said.
        self.was_sent = self.was_answered = False
        #: Whether it makes a job or a step; and then what was said, and what of that would be said for a second time.
        self.makes = name in {"sbatch", "srun", "salloc"}
        self.said: list[tuple[bytes, bytes]] = []
        self.known: list[tuple[bytes, bytes]] = []
        #: The files that the controller has asked for: one may be a pipe, from which nothing comes again.
        self.files: dict[bytes, tuple[bytes, bytes]] = {}
        #: How signals were handled before it had a job to wait for.
        self.handlers: dict[int, object] = {}
        #: As what this goes on.
        self.program = b""
        #: How often the controller was lost without an answer; when this is given up or, if it has a job, the user told
        #: that it waits, by `time.monotonic`; and whether they were.
        self.losses = 0
        self.until = 0.0
        self.is_told = False

    def give(self, connection: _socket.socket) -> int | None:
        """Give the command, and do what the controller says, up to the exit status; ``None``: go on as a program.

        Raises:
            OSError: the controller was lost.
        """
        try:
            send_call(connection, self.name, self.words, self.key, self.known_as)
            self.was_sent = True
        except ConnectionError:
            pass  # it says why it does not listen
        uid = int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
        while True:
            letter, data = frame(connection)
            if letter == b"x":
                return int(data)
            self.was_answered = True
            if letter != b"b":
                self.losses, self.until, self.is_told = 0, 0.0, False
            if letter in b"oe":
                if not self._tell(letter, data) and not self.makes:
                    return 1  # nobody reads it
            elif letter == b"j":
                self.known_as = data.decode()
                if self.name in SAID_OF_SIGNALS:
                    self._wait_for_signals()
            elif letter == b"b":
                if self.known_as:
                    raise OSError  # it was let in before
            elif uid not in (0, posix.getuid()):  # it is only quoted
                posix.write(2, b"error: a controller of another user must not use files or start programs here\n")
                return 1
            elif letter == b"m":
                for number, before in self.handlers.items():
                    _signal.signal(number, before)
                self.program = data
                return None
            elif letter == b"r":
                if data not in self.files:
                    self.files[data] = content(data)
                sign, data = self.files[data]
                connection.sendall(sign + len(data).to_bytes(4, "big") + data)
            elif letter == b"q":
                data = line()
                connection.sendall(b"+" + len(data).to_bytes(4, "big") + data)
            elif letter == b"w":
                save(*data.split(b"\0", 1))

    def _wait_for_signals(self) -> None:
        """Have signals end the command as Slurm's ends, with what that says; the controller cancels the job then."""
        for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT):
            if number not in self.handlers and _signal.getsignal(number) != _signal.SIG_IGN:
                self.handlers[number] = _signal.signal(number, self._give_up)

    def _give_up(self, *_: object) -> None:
        try:
            if any(data for _, data in self.said):  # else it is to be quiet
                posix.write(2, SAID_OF_SIGNALS[self.name].format(job=self.known_as).encode())
        finally:  # also where nobody reads it
            posix._exit(1)  # noqa: SLF001 - whatever it waits for

    def _tell(self, letter: bytes, data: bytes) -> bool:
        """Write what the controller says, unless it was written before it was lost; say whether that was possible."""
        if (letter, data) in self.known:
            self.known.remove((letter, data))
            return True
        if self.makes:
            self.said.append((letter, data))
        file = 1 if letter == b"o" else 2
        try:
            while data:
                data = data[posix.write(file, data) :]
        except OSError:
            return False
        return True


def connect(state: bytes = b"", *, at_once: bool = False) -> _socket.socket:
    """Connect to the controller of a state directory, by default the one that the user has chosen.

    Args:
        state: The directory; empty: that one.
        at_once: Whether to fail if the controller has more to take in than it can for now.
    """
    directory = posix.open(b".", posix.O_PATH | posix.O_CLOEXEC)  # it may not be readable
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        posix.chdir(state or posix.environ.get(b"ROTA_STATE") or STATE)  # a path of any length
        connection.setblocking(not at_once)
        if not posix.geteuid():
            try:
                connection.connect("root.sock")  # on which no user can keep root waiting
            except OSError:
                pass  # a controller that was started before there was one
            else:
                connection.setblocking(True)
                return connection
        connection.connect("rota.sock")
        connection.setblocking(True)
    finally:
        posix.fchdir(directory)
        posix.close(directory)
    return connection


def send_call(connection: _socket.socket, name: str, arguments: list[str], key: str = "", known_as: str = "") -> None:
    """Say which command is to be run; with a key, it can be said again: see `Call`."""
    umask = posix.umask(0o22)
    posix.umask(umask)
    words = [name.encode(), *(word.encode("utf-8", "surrogateescape") for word in arguments)]
    texts = [b"2", key.encode(), known_as.encode()] if key else [b"1"]
    texts += [b"%o" % umask, posix.getcwdb(), b"%d" % len(words), *words]
    texts += [name + b"=" + value for name, value in posix.environ.items()]
    message = b"\0".join(texts) + b"\0"
    connection.sendall(len(message).to_bytes(4, "big") + message)


def ask(name: str, *arguments: str, key: str = "") -> _socket.socket:
    """Ask the controller as `rota.controller.administration` answers, in a few bytes: so nothing is waited for.

    Raises:
        OSError: it is away, or has too much to do.
    """
    connection = connect(at_once=True)
    words = [b"rota-call", name.encode(), *(word.encode() for word in arguments)]
    head = [b"2", key.encode(), b""] if key else [b"1"]
    message = b"\0".join([*head, b"22", b"/", b"%d" % len(words), *words]) + b"\0"
    try:
        connection.sendall(len(message).to_bytes(4, "big") + message)
    except OSError:
        connection.close()
        raise
    return connection


def become(call: Call, connection: _socket.socket) -> int:
    """Go on as another program of `rota.client`."""
    sys.path.insert(0, PACKAGES)
    from rota.client import thin  # noqa: PLW0406 - this program, as the others import it

    thin.STATE = STATE
    name, _, rest = call.program.partition(b"\0")
    try:
        return int(__import__(f"rota.client.{name.decode()}", fromlist=["main"]).main(rest, connection))
    except OSError as error:  # there is no room for another process, or the like
        posix.write(2, f"{call.name}: error: {error.strerror or error}\n".encode())
        return 1


def line() -> bytes:
    """Read a line of standard input; nothing if there is none within 30 seconds."""
    from select import select

    data = b""
    try:
        while not data.endswith(b"\n") and select([0], [], [], 30)[0] and (part := posix.read(0, 1)):
            data += part
    except OSError:
        pass  # it is closed
    return data


def save(path: bytes, text: bytes) -> None:
    """Write a file."""
    try:
        file = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o666)
        while text:
            text = text[posix.write(file, text) :]
    except OSError as error:
        posix.write(2, b"Can't open file %s, %s\n" % (path, (error.strerror or "").encode()))


def content(path: bytes) -> tuple[bytes, bytes]:
    """Read a file, or standard input if the path is empty."""
    parts, left = [], MOST
    try:
        file = posix.open(path, posix.O_RDONLY) if path else 0
        while part := posix.read(file, min(left, 1 << 20)):  # it may have no end, as /dev/zero
            parts.append(part)
            left -= len(part)
    except OSError as error:
        return b"-", (error.strerror or "").encode()
    return b"+", b"".join(parts)


def frame(connection: _socket.socket) -> tuple[bytes, bytes]:
    """Receive a letter and its data."""
    head = exactly(connection, 5)
    return head[:1], exactly(connection, int.from_bytes(head[1:], "big"))


def exactly(connection: _socket.socket, count: int) -> bytes:
    """Receive so many bytes."""
    data = b""
    while len(data) < count:
        part = connection.recv(min(count - len(data), 1 << 20))
        if not part:
            raise OSError
        data += part
    return data
