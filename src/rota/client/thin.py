"""The program behind ``sbatch``, ``squeue`` and so on: it hands everything to the controller, which does the work.

How fast it starts is how fast they are, so it imports next to nothing: see `rota.controller.wire` for what it says.
"""

import _socket
import posix
import sys

STATE = b""


def main() -> int:
    """Run a command; give its exit status."""
    name = sys.argv[0].rpartition("/")[2]
    environment = posix.environ
    directory = posix.getcwdb()
    umask = posix.umask(0o22)
    posix.umask(umask)
    words = [name.encode(), *(word.encode("utf-8", "surrogateescape") for word in sys.argv[1:])]
    texts = [b"1", b"%o" % umask, directory, b"%d" % len(words), *words]
    texts += [key + b"=" + value for key, value in environment.items()]
    message = b"\0".join(texts) + b"\0"
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        posix.chdir(environment.get(b"ROTA_STATE") or STATE)  # a path of any length
        connection.connect("rota.sock")
        posix.chdir(directory)
    except OSError:
        text = f"{name}: error: Unable to contact slurm controller (connect failure): `rota up` starts one\n"
        posix.write(2, text.encode())
        return 1
    try:
        connection.sendall(len(message).to_bytes(4, "big") + message)
        return answers(connection)
    except OSError:
        posix.write(2, f"{name}: error: the connection to the controller was lost\n".encode())
        return 1


def answers(connection: _socket.socket) -> int:
    """Do what the controller says, up to the exit status."""
    while True:
        head = exactly(connection, 5)
        data = exactly(connection, int.from_bytes(head[1:], "big"))
        letter = head[:1]
        if letter == b"x":
            return int(data)
        if letter == b"r":
            sign, data = content(data)
            connection.sendall(sign + len(data).to_bytes(4, "big") + data)
            continue
        file = 1 if letter == b"o" else 2
        while data:
            data = data[posix.write(file, data) :]


def content(path: bytes) -> tuple[bytes, bytes]:
    """Read a file, or standard input if the path is empty."""
    parts = []
    try:
        file = posix.open(path, posix.O_RDONLY) if path else 0
        while part := posix.read(file, 1 << 20):
            parts.append(part)
    except OSError as error:
        return b"-", (error.strerror or "").encode()
    return b"+", b"".join(parts)


def exactly(connection: _socket.socket, count: int) -> bytes:
    """Receive so many bytes."""
    data = b""
    while len(data) < count:
        part = connection.recv(min(count - len(data), 1 << 20))
        if not part:
            raise OSError
        data += part
    return data


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    posix._exit(status)  # noqa: SLF001 - faster than an orderly end
