"""The desk of a live cluster: takes the commands that users give, and answers them."""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.controller.accounting.command import sacctmgr
from rota.controller.administration import rota_call
from rota.controller.api.call import api_call
from rota.controller.calls import Timed
from rota.controller.crowd import Crowd, most_files
from rota.controller.listener import Listener
from rota.controller.listing import listing, scontrol, sdiag
from rota.controller.salloc import salloc
from rota.controller.sbatch import sbatch
from rota.controller.scancel import scancel
from rota.controller.seldom import Seldom
from rota.controller.srun import srun
from rota.controller.visitors import Visitors
from rota.controller.wire import WireError, refusal
from rota.listings.answer import VERSION
from rota.model.bounds import quoted

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine
    from typing import Any

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

    #: Gives the exit status; ``None``: it has been sent.
    Command = Callable[[Cluster, Call, Terminal], Coroutine[Any, Any, int | None]]

#: Seconds between looks at whether all commands have been answered.
_PAUSE = 0.01
#: Bytes of answers that a user need not have read to be answered again.
_MOST_UNREAD = 32 << 20
_FULL = refusal("error: the controller has too many files open: try it again later\n", busy=True)


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
        self._visitors = Visitors(
            Crowd(most_files()),
            self._serve,
            is_administrator=lambda uid: cluster.rights.as_administrator(uid) == 0,
            too_many=Seldom(cluster.log),
        )
        self._full = Seldom(cluster.log)
        self._terminals: set[Terminal] = set()
        #: Bytes of answers that users have not read, by user id.
        self._unread: Counter[int] = Counter()

    def listen(self, listening: socket.socket) -> Listener:
        """Take commands on a socket from now on."""
        return Listener(listening, self._visitors.take, refusal=_FULL, full=self._is_full)

    def _is_full(self, error: OSError) -> None:
        self._full(f"error: a command could not be taken: {error.strerror}; the next can when there is room")

    async def _serve(self, call: Call, terminal: Terminal) -> None:
        """Answer a command."""
        self._terminals.add(terminal)
        try:
            if self._unread[call.uid] > _MOST_UNREAD:
                terminal.error("error: your last answers have not been read: read them, and try it again\n")
                terminal.end(1)
            else:
                await self._answer(call, terminal)
        except (WireError, ConnectionError):
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
            if not self._visitors.are_there and all(terminal.has_answered for terminal in self._terminals):
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
            await self._wait_for_reader(call.uid, terminal)

    async def _wait_for_reader(self, uid: int, terminal: Terminal) -> None:
        """Wait until most of an answer has been read."""
        terminal.flush()
        waiting = terminal.backlog
        self._unread[uid] += waiting
        try:
            await terminal.drain()
        finally:
            self._unread[uid] -= waiting
            if not self._unread[uid]:
                del self._unread[uid]

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
        except MemoryError:
            self._cluster.log(f"error: {call.words[0]} of user {call.uid}: there is not enough memory")
            terminal.error(f"{call.words[0]}: error: there is not enough memory: ask for less, or try again later\n")
            return 1
        except Exception as error:  # noqa: BLE001 - a defect must not end the controller
            self._cluster.log(f"error: {quoted(' '.join(call.words))} of user {call.uid}:\n{traceback.format_exc()}")
            terminal.error(f"{call.words[0]}: error: this is a defect of rota: {error!r}\n")
            return 1
        finally:
            self._cluster.driver.tally.calls.add(call.words, call.uid, timed.seconds)
