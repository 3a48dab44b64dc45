"""The keeper: it starts the supervisor, again when that was killed, and notes how orphaned runs end.

Runs of a supervisor that was killed become its children. It notes each exit on disk before it reaps the process, and
tells the next supervisor that there is a note. It has nothing else to do, so that there is nothing to go wrong.

No other process can become the parent of a supervisor whose keeper was killed. But that supervisor is the parent of all
runs already: so it becomes the keeper itself, and its first child is a new supervisor, which takes over as always.
"""

from __future__ import annotations

import os
import time
from math import inf

from rota.executor.supervisor import kernel, log
from rota.executor.supervisor.kernel import Exit
from rota.executor.supervisor.messages import bound
from rota.executor.supervisor.shortage import patiently
from rota.executor.supervisor.supervisor import Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rota.executor.supervisor.cgroups import Cgroups
    from rota.executor.supervisor.child import Surroundings

#: Seconds for which a supervisor has to live, else the next one is started after a rest; and one that gave up itself.
_SHORT_LIFE, _SHORT_ATTEMPT = 0.01, 1.0
_REST, _LONGEST_REST = 0.02, 5.0


def keep(directory: str, cgroups: Cgroups, around: Surroundings) -> None:
    """Keep a supervisor running for a state directory, until there is nothing left to do.

    Each supervisor is a child that comes back from `Keeper.run`, and comes here again when its keeper is killed.
    """
    while (keeper := Keeper(directory).run()) is not None:
        supervise(directory, cgroups, around, keeper)


class Keeper:
    """Keeps a supervisor running.

    Args:
        directory: The state directory, in which this process is, unless it was made again.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        #: The supervisor, when it was started, and the pipe to it.
        self._supervisor = 0
        self._since = 0.0
        #: Seconds to rest before the next one is started, should this one end soon.
        self._rest = _REST
        self._pipe = -1

    def run(self) -> tuple[int, int] | None:
        """Run until a supervisor ends because there is nothing left to do.

        Returns:
            In a process that is to be the supervisor: the pid of the keeper, and the pipe on which it says that it has
            made a note. In the keeper itself ``None``, at the end.
        """
        if (keeper := self._start()) is not None:
            return keeper
        while True:
            exit_ = kernel.look_at_exit(block=True)
            if exit_ is None:
                time.sleep(_REST)  # a debugger has stopped it, or the kernel is odd
            elif exit_.pid != self._supervisor:
                self._note(exit_)
                kernel.reap(exit_.pid)
                self._tell()
            else:
                kernel.reap(exit_.pid)
                if exit_.code == 0 and exit_.signal == 0:
                    return None
                if time.monotonic() < self._since + (_SHORT_ATTEMPT if exit_.code else _SHORT_LIFE):
                    time.sleep(self._rest)
                    self._rest = min(2 * self._rest, _LONGEST_REST)
                else:
                    self._rest = _REST
                if (keeper := self._start()) is not None:
                    return keeper

    def _start(self) -> tuple[int, int] | None:
        """Fork a supervisor; what is returned is as for `run`."""
        if self._pipe >= 0:
            os.close(self._pipe)
        read_end, self._pipe = patiently(os.pipe, patience=inf)
        os.set_blocking(self._pipe, False)
        self._since = time.monotonic()
        keeper = os.getpid()
        self._supervisor = patiently(os.fork, patience=inf)
        if not self._supervisor:
            os.close(self._pipe)
            return keeper, read_end
        os.close(read_end)
        return None

    def _note(self, exit_: Exit) -> None:
        stat = kernel.stat_of(exit_.pid)
        record = {name: getattr(exit_, name) for name in Exit.__slots__}
        record |= {"is": "exit", "ticks": stat.ticks if stat is not None else 0}
        while True:
            try:
                log.note(record)
            except OSError:
                time.sleep(_REST)  # the disk is full: the process stays as it is until there is room
                self._return()
            else:
                return

    def _return(self) -> None:
        """Be in the state directory, which may have been removed and made again."""
        try:
            os.chdir(self._directory)
        except OSError:
            pass  # the supervisor makes it

    def _tell(self) -> None:
        try:
            os.write(self._pipe, b".")
        except OSError:
            pass  # it was told before, or was killed: the next one reads the notes when it starts


def supervise(directory: str, cgroups: Cgroups, around: Surroundings, keeper: tuple[int, int]) -> None:
    """Be the supervisor. Returns only if this process is to be the keeper, since that was killed."""
    try:
        kernel.become_subreaper()
        if not Supervisor(directory, cgroups, around, keeper).run():
            return
        cgroups.remove()
    except BaseException as error:  # noqa: BLE001 - the keeper is to start another one
        _explain(error)
        os._exit(1)
    os._exit(0)


def _explain(error: BaseException) -> None:
    """Write an error to the error output, with where it came from. `traceback` would take long to load."""
    lines = [f"{type(error).__name__}: {error}"]
    place = error.__traceback__
    while place is not None:
        lines.append(f"  {place.tb_frame.f_code.co_filename}:{place.tb_lineno}")
        place = place.tb_next
    os.write(2, ("\n".join(lines) + "\n").encode("utf-8", "replace"))
    bound(2)
