"""The directories of running jobs: each has the batch script, or the socket of an allocation.

A batch script's directory can be passed by all, and its script read by its user only. The directory of an allocation is
its user's, who can mount a file system there that does not answer: nothing is looked up below its name. Directories of
batch scripts, in which nobody else can write, are used again: to remove one can take longer than all else that is done
for a job, since the disk is being written to.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.client.allocation import SOCKET

if TYPE_CHECKING:
    from pathlib import Path

#: Name of a batch script, and of one that is being written again.
_SCRIPT, _NEW = "slurm_script", "slurm_script.new"
#: File systems that a user may have mounted in one place, one above the other.
_MOST_MOUNTS = 16
_DETACH = 2
_libc = ctypes.CDLL(None)
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
        directory = self.directory(job_id)
        with suppress(FileNotFoundError):
            os.close(_open(directory))
            return directory
        new = self._make(job_id, "new")
        new.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(new, uid, gid)
        # Whoever is killed before this has not made it.
        return new.rename(directory)

    def remove(self, job_id: int) -> None:
        """Remove what is left of a job."""
        directory = self.directory(job_id)
        with suppress(OSError):
            if job_id in self._scripts and len(self._spare) < _SPARE:
                (directory / _SCRIPT).unlink(missing_ok=True)
                self._spare.append(directory.rename(self._root / f"spare{job_id}"))
            else:
                self._empty(directory)
                directory.rmdir()
        self._scripts.discard(job_id)

    def _empty(self, directory: Path) -> None:
        """Remove the files of a job from its directory, and from what may be mounted there nothing."""
        for _ in range(_MOST_MOUNTS):
            folder = _open(directory)
            try:
                if _mount_of(folder) == _mount_of(self._root):
                    for name in (_SCRIPT, _NEW, SOCKET):
                        with suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=folder)
                    return
            finally:
                os.close(folder)
            _libc.umount2(os.fsencode(directory), _DETACH)

    def _make(self, job_id: int, kind: str = "job") -> Path:
        """Make the directory of a job, unless it is there."""
        directory = self._root / f"{kind}{job_id:05}"
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


def _open(path: Path) -> int:
    """Open a directory, without asking the file system that is mounted there."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _mount_of(folder: Path | int) -> str:
    """Give the number of the mount in which a directory is."""
    if not isinstance(folder, int):
        opened = _open(folder)
        try:
            return _mount_of(opened)
        finally:
            os.close(opened)
    with open(f"/proc/self/fdinfo/{folder}") as file:  # noqa: PTH123 - a file of the kernel
        return next(line for line in file if line.startswith("mnt_id:"))
