"""The directories of running jobs: each has the batch script, or the socket of an allocation.

A batch script's directory can be passed by all, and its script read by its user only. The directory of an allocation is
its user's.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.client.allocation import SOCKET

if TYPE_CHECKING:
    from pathlib import Path

#: Name of a batch script.
_SCRIPT = "slurm_script"


class Spool:
    """The directories of running jobs.

    Args:
        root: Where they are.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def directory(self, job_id: int) -> Path:
        """Give the directory of a job."""
        return self._root / f"job{job_id:05}"

    def write_script(self, job_id: int, text: str, uid: int, gid: int) -> Path:
        """Write the batch script of a job; give its path.

        Raises:
            OSError: it cannot be written.
        """
        script = self._make(job_id) / _SCRIPT
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(script, flags, 0o700)
        except FileExistsError:  # by a controller that was killed
            script.unlink()
            file = os.open(script, flags, 0o700)
        try:
            if os.geteuid() == 0:
                os.fchown(file, uid, gid)
            data = memoryview(text.encode(errors="surrogateescape"))
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)
        return script

    def make_allocation(self, job_id: int, uid: int, gid: int) -> Path:
        """Make the directory of a job without a script; give its path.

        Raises:
            OSError: it cannot be made.
        """
        directory = self._make(job_id)
        directory.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(directory, uid, gid)
        return directory

    def remove(self, job_id: int) -> None:
        """Remove what is left of a job."""
        directory = self.directory(job_id)
        with suppress(OSError):
            for name in (_SCRIPT, SOCKET):
                (directory / name).unlink(missing_ok=True)
            directory.rmdir()

    def _make(self, job_id: int) -> Path:
        directory = self.directory(job_id)
        for one in (self._root, directory):
            if not one.exists():
                one.mkdir()
                one.chmod(0o711)  # users reach their scripts, and see no others
        return directory
