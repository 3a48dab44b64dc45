"""The desk of a live cluster: takes the commands that users give, and answers them."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.controller.accounting.command import sacctmgr
from rota.controller.administration import rota_call
from rota.controller.api.call import api_call
from rota.controller.calls import Timed
from rota.controller.crowd import Crowd, CrowdedError
from rota.controller.listing import listing, scontrol, sdiag
from rota.controller.salloc import salloc
from rota.controller.sbatch import sbatch
from rota.controller.scancel import scancel
from rota.controller.srun import srun
from rota.controller.wire import Terminal, WireError, read_call
from rota.listings.answer import VERSION

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Callable, Coroutine
    from typing import Any

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call

    #: Gives the exit status; ``None``: it has been sent.
    Command = Callable[[Cluster, Call, Terminal], Coroutine[Any, Any, int | None]]

#: Seconds between looks at whether all commands have been answered.
_PAUSE = 0.01
_CREDENTIALS = struct.Struct("3i")


async def _refuse(_: Cluster, call: Call, terminal: Terminal) -> int:
    """Refuse a command of Slurm that rota does not have."""
    name, *words = call.words
    if {"-V", "--version"} & set(words):
        terminal.out(f"{VERSION}\n")
        return 0
    terminal.error(f"{name}: error: {name} is not supported by rota\n")
    return 1


#: The commands by name.
COMMANDS: dict[str, Command] = {
    "rota-api": api_call,
    "rota-call": rota_call,
    "salloc": salloc,
    "sacctmgr": sacctmgr,
    "sbatch": sbatch,
    "scancel": scancel,
    "scontrol": scontrol,
    "sdiag": sdiag,
    "srun": srun,
    **dict.fromkeys(("sacct", "sinfo", "sprio", "squeue", "sreport", "sshare", "sstat"), listing),
    **dict.fromkeys(("sattach", "sbcast", "scrontab", "strigger"), _refuse),
}


class Desk:
    """Takes commands.

    Args:
        cluster: The cluster.
        commands: The commands by name.
    """

    def __init__(self, cluster: Cluster, commands: dict[str, Command]) -> None:
        self._cluster = cluster
        self._commands = commands
        self._crowd = Crowd()
        self._terminals: set[Terminal] = set()

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Take a command from a connection, and answer it."""
        terminal = Terminal(reader, writer)
        pid, uid, gid = _credentials(writer)
        counts = self._cluster.rights.as_administrator(uid) != 0
        self._terminals.add(terminal)
        try:
            with self._crowd.present(uid, counts=counts):
                async with self._crowd.turn(uid):
                    call = await read_call(reader, (pid, uid, gid))
                await self._answer(call, terminal)
        except CrowdedError:
            terminal.busy()
            terminal.error("error: you have too many commands running at a time: try it again later\n")
            terminal.end(1)
        except (WireError, ConnectionError, TimeoutError):
            pass  # nobody is there to be told
        except asyncio.CancelledError:
            pass  # the cluster goes down; Python 3.11 would take the end of this task for an error
        finally:
            self._terminals.discard(terminal)
            terminal.close()

    async def finish(self, patience: float) -> None:
        """Wait until each command has begun to be answered: what goes on then, as a step does, may go on long.

        Args:
            patience: For how many seconds at most.
        """
        for _ in range(int(patience / _PAUSE)):
            if all(terminal.has_answered for terminal in self._terminals):
                return
            await asyncio.sleep(_PAUSE)

    async def _answer(self, call: Call, terminal: Terminal) -> None:
        name = call.words[0]
        command = self._commands.get(name)
        status: int | None
        if command is None:
            terminal.error(f"{name}: error: rota has no command of this name\n")
            status = 1
        else:
            status = await self._run(command, call, terminal)
        if status is not None:
            terminal.end(status)
            await terminal.drain()

    async def _run(self, command: Command, call: Call, terminal: Terminal) -> int | None:
        timed = Timed(command(self._cluster, call, terminal))
        try:
            return await timed
        except UsageError as error:
            terminal.out(error.out)
            terminal.error(error.err)
            return error.code
        except (WireError, ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a defect must not end the controller
            self._cluster.log(f"error: {' '.join(call.words)!r} of user {call.uid}: {error!r}")
            terminal.error(f"{call.words[0]}: error: this is a defect of rota: {error!r}\n")
            return 1
        finally:
            self._cluster.driver.tally.calls.add(call.words, call.uid, timed.seconds)


def _credentials(writer: StreamWriter) -> tuple[int, int, int]:
    """Give process, user and group id of the client, which the kernel tells."""
    connection = writer.get_extra_info("socket")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(data)
    return pid, uid, gid
