"""The log of a controller, ``controller.log``: bounded, and a record a line, whatever is in it."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from rota.listings.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Bytes of a log after which another one is begun; two older ones are kept.
_LOG_SIZE = 5_000_000


def log_to(path: Path) -> Callable[[str], None]:
    """Give what writes a line into a log."""
    handler = RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(_OneRecord("%(asctime)s %(message)s"))
    logger = logging.getLogger("rota")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return logger.info


class _OneRecord(logging.Formatter):
    """Writes records such that nothing in them looks like another one: further lines are indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        return "\n    ".join(plain(line) for line in super().format(record).split("\n"))
