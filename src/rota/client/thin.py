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
    name = sys.argv[0].rpartition("/")[2]
    try:
        connection = connect()
    except OSError:
        sys.path.insert(0, PACKAGES)
        from rota.client import away

        try:
            if name == "scontrol" and "ping" in sys.argv:
                raise
            connection = away.connect_again(posix.environ.get(b"ROTA_STATE") or STATE, connect)
        except OSError:
            return away.tell(name, sys.argv[1:])
    try:
        try:
            send_call(connection, name, sys.argv[1:])
        except ConnectionError:
            pass  # it says why it does not listen
        return answers(connection)
    except OSError:
        posix.write(2, f"{name}: error: the connection to the controller was lost\n".encode())
        return 1


def connect(state: bytes = b"") -> _socket.socket:
    """Connect to the controller of a state directory, by default the one that the user has chosen."""
    directory = posix.open(b".", posix.O_PATH | posix.O_CLOEXEC)  # it may not be readable
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        posix.chdir(state or posix.environ.get(b"ROTA_STATE") or STATE)  # a path of any length
        if not posix.geteuid():
            try:
                connection.connect("root.sock")  # on which no user can keep root waiting
            except OSError:
                pass  # a controller that was started before there was one
            else:
                return connection
        connection.connect("rota.sock")
    finally:
        posix.fchdir(directory)
        posix.close(directory)
    return connection


def send_call(connection: _socket.socket, name: str, arguments: list[str]) -> None:
    """Say which command is to be run."""
    umask = posix.umask(0o22)
    posix.umask(umask)
    words = [name.encode(), *(word.encode("utf-8", "surrogateescape") for word in arguments)]
    texts = [b"1", b"%o" % umask, posix.getcwdb(), b"%d" % len(words), *words]
    texts += [key + b"=" + value for key, value in posix.environ.items()]
    message = b"\0".join(texts) + b"\0"
    connection.sendall(len(message).to_bytes(4, "big") + message)


def answers(connection: _socket.socket) -> int:
    """Do what the controller says, up to the exit status: one of another user, who is not root, is only quoted."""
    uid = int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
    while True:
        letter, data = frame(connection)
        if letter == b"x":
            return int(data)
        if letter not in b"oe" and uid not in (0, posix.getuid()):
            posix.write(2, b"error: a controller of another user must not use files or start programs here\n")
            return 1
        if letter == b"m":
            return become(data, connection)
        if letter == b"r":
            sign, data = content(data)
            connection.sendall(sign + len(data).to_bytes(4, "big") + data)
            continue
        if letter == b"q":
            data = line()
            connection.sendall(b"+" + len(data).to_bytes(4, "big") + data)
            continue
        if letter == b"w":
            save(*data.split(b"\0", 1))
            continue
        file = 1 if letter == b"o" else 2
        while data:
            data = data[posix.write(file, data) :]


def become(data: bytes, connection: _socket.socket) -> int:
    """Go on as another program of `rota.client`."""
    sys.path.insert(0, PACKAGES)
    from rota.client import thin  # noqa: PLW0406 - this program, as the others import it

    thin.STATE = STATE
    name, _, rest = data.partition(b"\0")
    return int(__import__(f"rota.client.{name.decode()}", fromlist=["main"]).main(rest, connection))


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
