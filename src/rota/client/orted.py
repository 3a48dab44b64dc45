"""The daemons of Open MPI 4's ``mpirun``, one for each virtual node: memory that tasks share is that of their node.

Open MPI 4 names the files of that memory by the machine and by a task's number on its node. Virtual nodes share a
machine, and with it ``/dev/shm``: there the first tasks of two nodes would have one file, and end by SIGSEGV. Later
versions have other daemons, and do not.
"""

import fcntl
import os
import shutil
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Where Open MPI has these files, if it can, and its parameter for that.
_MEMORY, _PARAMETER = "/dev/shm", "OMPI_MCA_btl_vader_backing_directory"  # noqa: S108 - others cannot guess our names
#: Names of the folders begin so.
_PREFIX = "rota-orted-"


def _remove_left() -> None:
    """Remove the user's folders that nobody has locked: their ``srun`` was killed, as at the end of a job."""
    for name in os.listdir(_MEMORY):
        path = os.path.join(_MEMORY, name)
        try:
            if not name.startswith(_PREFIX) or os.lstat(path).st_uid != os.getuid():
                continue
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue  # its srun has just removed it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # it is in use
        finally:
            os.close(lock)


class Server:
    """Gives each node a folder for its memory. It is asked as the servers of MPI programs are, and answers nothing.

    Args:
        spec: What is started: see `rota.controller.steps.spec`.
        _abort: Would be called when all daemons were to end.
    """

    def __init__(self, spec: "dict[str, Any]", _abort: "Callable[[], None]") -> None:
        self._nodes = [str(task["node"]) for task in spec["tasks"]]
        self._folder = ""
        if os.access(_MEMORY, os.W_OK):  # else Open MPI takes a folder that has the name of the node
            _remove_left()
            self._folder = tempfile.mkdtemp(prefix=_PREFIX, dir=_MEMORY)
            self._lock = os.open(self._folder, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def enter(self, number: int) -> "dict[str, str]":
        """Give the variable by which the tasks of a daemon find their node's folder."""
        if not self._folder:
            return {}
        folder = os.path.join(self._folder, self._nodes[number])
        os.makedirs(folder, exist_ok=True)
        return {_PARAMETER: folder}

    def started(self) -> None:
        """Begin: there is nothing to do."""

    @property
    def readers(self) -> list[int]:
        """What is to be read: nothing."""
        return []

    def serve(self, readable: list[int]) -> None:
        """Answer: nobody asks."""

    def close(self) -> None:
        """Remove the folders, with what killed tasks have left there."""
        shutil.rmtree(self._folder, ignore_errors=True)
