"""The two formats of PMI's messages.

Version 1 has lines of ``key=value`` with spaces between, and requests of several lines up to ``endcmd``. Version 2 has
a length of six characters, and then ``key=value;``, where ``;;`` stands for a semicolon. A connection begins with
version 1, whose ``init`` says which is spoken.
"""

import _socket

from rota.client.processes import encoded

#: What is read at once, and the longest request, bytes.
_CHUNK, _MOST = 1 << 16, 1 << 20
#: Characters of a length in version 2.
_LENGTH = 6
#: Names of answers in version 1; in version 2 it is the request's name and ``-response``.
_ANSWERS = {
    "init": "response_to_init",
    "get_maxes": "maxes",
    "get_appnum": "appnum",
    "get_my_kvsname": "my_kvsname",
    "get_universe_size": "universe_size",
    "barrier_in": "barrier_out",
    "put": "put_result",
    "get": "get_result",
    "publish_name": "publish_result",
    "lookup_name": "lookup_result",
    "unpublish_name": "unpublish_result",
    "spawn": "spawn_result",
    "finalize": "finalize_ack",
}


class LostError(Exception):
    """A connection is over; the text says which rule was broken, nothing if the task has closed it."""


class Connection:
    """The connection of a task.

    Args:
        connection: The socket.
        number: Number of the task.
        node: Its node, counted from 0.
    """

    def __init__(self, connection: _socket.socket, number: int, node: int) -> None:
        connection.setblocking(False)
        self.number = number
        self.node = node
        self.version = 1
        self._connection = connection
        self._received = b""

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def requests(self) -> list[dict[str, str]]:
        """Receive requests: their keys and values, ``cmd`` is what is wanted.

        Raises:
            LostError: the task has closed the connection, or breaks the rules.
        """
        try:
            data = self._connection.recv(_CHUNK)
        except OSError:
            data = b""
        if not data:
            raise LostError
        self._received += data
        if len(self._received) > _MOST:
            raise LostError("a request is too long")
        found = []
        while (text := self._next()) is not None:
            if text:
                found.append(_lines(text) if self.version == 1 else _semicolons(text))
        return found

    def _next(self) -> str | None:
        """Take the next whole request from what has been received."""
        data = self._received
        if self.version == 1:
            last = b"\nendcmd\n" if data.startswith(b"mcmd=") else b"\n"
            text, end, rest = data.partition(last)
            if not end:
                return None
        else:
            if len(data) < _LENGTH:
                return None
            if not data[:_LENGTH].strip().isdigit():
                raise LostError(f"{data[:_LENGTH]!r} is no length")
            until = _LENGTH + int(data[:_LENGTH])
            text, rest = data[_LENGTH:until], data[until:]
            if len(data) < until:
                return None
        self._received = rest
        return text.decode("utf-8", "surrogateescape")

    def answer(self, request: dict[str, str], values: dict[str, str]) -> None:
        """Answer a request. A task that does not take its answers loses the connection."""
        command = request["cmd"]
        if self.version == 1 or command == "init":
            words = [f"cmd={_ANSWERS[command]}", *(f"{key}={value}" for key, value in values.items())]
            data = encoded(" ".join(words) + "\n")
        else:
            thread = {"thrid": request["thrid"]} if "thrid" in request else {}
            pairs = {"cmd": f"{command}-response", **thread, **values}
            text = encoded("".join(f"{key}={value.replace(';', ';;')};" for key, value in pairs.items()))
            data = b"%-*d%b" % (_LENGTH, len(text), text)
        try:
            whole = self._connection.send(data) == len(data)
        except OSError:
            whole = False
        if not whole:
            self._end()

    def _end(self) -> None:
        try:
            self._connection.shutdown(_socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already


def _lines(text: str) -> dict[str, str]:
    """Read a request of version 1."""
    several = text.startswith("mcmd=")
    return _pairs(text.removeprefix("m").split("\n" if several else " "))


def _semicolons(text: str) -> dict[str, str]:
    """Read a request of version 2."""
    return {key: value.replace("\0", ";") for key, value in _pairs(text.replace(";;", "\0").split(";")).items()}


def _pairs(words: list[str]) -> dict[str, str]:
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            found[key] = value
    return {"cmd": "", **found}
