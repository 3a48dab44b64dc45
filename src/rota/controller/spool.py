"""The directories of running jobs: each has the batch script, or the socket of an allocation.

A batch script's directory can be passed by all, and its script read by its user only. The directory of an allocation is
its user's. Directories of batch scripts, in which nobody else can write, are used again: to remove one can take longer
than all else that is done for a job, since the disk is being written to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.client.allocation import SOCKET

if TYPE_CHECKING:
    from pathlib import Path

#: Name of a batch script, and of one that is being written again.
_SCRIPT, _NEW = "slurm_script", "slurm_script.new"
#: Number of directories that are kept to be used again.
_SPARE = 64


class Spool:
    """The directories of running jobs.

    Args:
        root: Where they are.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._spare = [*root.glob("spare*")]
        #: Jobs whose scripts this process has written.
        self._scripts: set[int] = set()

    def directory(self, job_id: int) -> Path:
        """Give the directory of a job."""
        return self._root / f"job{job_id:05}"

    def write_script(self, job_id: int, text: str, uid: int, gid: int) -> Path:
        """Write the batch script of a job; give its path.

        One that is there may be about to be executed, for a controller that was killed: it is replaced at once.

        Raises:
            OSError: it cannot be written.
        """
        script = self._make(job_id) / _SCRIPT
        self._scripts.add(job_id)
        try:
            self._write(script, text, uid, gid)
        except FileExistsError:
            new = script.with_name(_NEW)
            new.unlink(missing_ok=True)
            self._write(new, text, uid, gid)
            new.replace(script)
        return script

    @staticmethod
    def _write(path: Path, text: str, uid: int, gid: int) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o700)
        try:
            if os.geteuid() == 0:
                os.fchown(file, uid, gid)
            data = memoryview(text.encode(errors="surrogateescape"))
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)

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
            (directory / _SCRIPT).unlink(missing_ok=True)
            if job_id not in self._scripts:  # but maybe one who was killed
                (directory / _NEW).unlink(missing_ok=True)
            if job_id in self._scripts and len(self._spare) < _SPARE:
                self._spare.append(directory.rename(self._root / f"spare{job_id}"))
            else:
                (directory / SOCKET).unlink(missing_ok=True)
                directory.rmdir()
        self._scripts.discard(job_id)

    def _make(self, job_id: int) -> Path:
        """Make the directory of a job, unless it is there."""
        directory = self.directory(job_id)
        if directory.exists():
            return directory
        while self._spare:
            with suppress(FileNotFoundError):  # somebody has removed it
                return self._spare.pop().rename(directory)
        if not self._root.exists():
            self._root.mkdir()
            self._root.chmod(0o711)  # users reach their scripts, and see no others
        directory.mkdir()
        directory.chmod(0o711)
        return directory
