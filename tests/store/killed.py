"""Upgrade a database, and be killed just before one of its changes or the commit: ``killed.py URL NUMBER``."""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from sqlalchemy import Engine, event

from rota.store import make_or_upgrade

_numbers = count(1)


def _step() -> None:
    if next(_numbers) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)


event.listen(Engine, "before_cursor_execute", lambda *args: _step() if args[2].startswith("UPDATE") else None)
event.listen(Engine, "commit", lambda _: _step())
make_or_upgrade(sys.argv[1], lambda _: None)
