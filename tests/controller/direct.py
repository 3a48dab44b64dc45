"""Commands given as their clients do, without a process for each, until a client would have to do something."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import chdir
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.testing.live import LiveCluster

_QUEUED = "queued and waiting for resources"
#: Seconds after which a command waits for something else: the end of a job.
_PATIENCE = 2.0


class Said(NamedTuple):
    """What was said, and how it ended."""

    #: The exit status; ``0`` if the client would go on, ``waits`` if it would have to wait.
    status: str
    text: str
    #: The id of the job in which it would go on; empty: none.
    job: str = ""


def call(cluster: LiveCluster, words: Sequence[str], variables: Mapping[str, str], script: str = "") -> Said:
    """Give a command.

    Args:
        cluster: The cluster; it is called from its directory.
        words: The command's name and its arguments.
        variables: Its environment.
        script: What ``sbatch`` reads where a script is asked for. There are no other files.
    """
    texts = ["1", "22", str(cluster.directory), str(len(words)), *words]
    texts += [f"{name}={value}" for name, value in variables.items()]
    data = "".join(f"{text}\0" for text in texts).encode(errors="surrogateescape")
    said = ""
    with socket.socket(socket.AF_UNIX) as connection, chdir(cluster.state):
        connection.connect("rota.sock")
        connection.sendall(struct.pack(">I", len(data)) + data)
        connection.settimeout(_PATIENCE)
        stream = connection.makefile("rb")
        while head := _read(stream, 5):
            letter, text = head[:1], stream.read(int.from_bytes(head[1:], "big")).decode(errors="replace")
            if letter == b"r":
                found = script.encode() if words[0] == "sbatch" else b"none"
                connection.sendall((b"+" if script else b"-") + struct.pack(">I", len(found)) + found)
            elif letter in b"oe":
                said += text
                if _QUEUED in text:
                    return Said("waits", said)
            elif letter == b"x":
                return Said(text, said)
            elif letter == b"m":
                return Said("0", said, str(json.loads(text.partition("\0")[2])["job"]))
            else:
                return Said("0", said)
    return Said("waits", said)


def _read(stream: BinaryIO, size: int) -> bytes:
    """Read from a stream; nothing if that takes too long."""
    try:
        return stream.read(size)
    except TimeoutError:
        return b""
