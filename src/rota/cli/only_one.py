"""The lock of a state directory, which the controller holds, and `rota recover`."""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

from rota.executor.supervisor import kernel
from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: For how many seconds it is waited until nobody has the lock of a process that was killed, and between two looks.
_UNTIL_UNLOCKED, _PAUSE = 5.0, 0.02


class OnlyOne:
    """Makes sure that one process alone works in a state directory, and that nobody else reads what it writes there."""

    def __init__(self, state: Path) -> None:
        os.umask(0o077)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if state.stat().st_uid != os.geteuid():
            raise InputError("this directory is another user's, who could have files there that mislead", path=state)
        # Batch scripts of root's cluster are in it, and can only be read by their users.
        state.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self._path = state / "lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> int:
        until = time.monotonic() + _UNTIL_UNLOCKED
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if self._has_its_holder() or time.monotonic() > until:
                    why = "a controller runs there already: see `rota status`"
                    raise InputError(why, path=self._path.parent) from None
            time.sleep(_PAUSE)
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _has_its_holder(self) -> bool:
        """Whether the process that has locked it runs. Of one that was killed a child may just begin, and lets go."""
        pid = self._path.read_text().strip()
        found = kernel.stat_of(int(pid)) if pid.isdigit() else None
        return found is not None and not found.has_ended
