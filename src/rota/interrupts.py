"""Ctrl-C while the code of a plugin runs.

Whatever a plugin raises is a fault of its own, KeyboardInterrupt as well; but Ctrl-C makes Python raise the same in
whatever code is running. So the signal is noted when it comes: who has caught something in a plugin's code, or has
called some, looks here. The live controller's loop takes the signal itself, and nothing is raised there.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Noted:
    """Whether Ctrl-C was pressed."""

    __slots__ = ("came",)

    def __init__(self) -> None:
        self.came = False


NOTED = Noted()


@contextmanager
def watching() -> Iterator[None]:
    """Note Ctrl-C in a block, where Python raises KeyboardInterrupt for it; elsewhere nothing is changed."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        NOTED.came = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
        raise_if_interrupted()
    except Exception:  # which a plugin may have made of it, or whoever has reported its fault
        raise_if_interrupted()
        raise
    finally:
        NOTED.came = False
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed, whatever has become of the one that Python raised."""
    if NOTED.came:
        raise KeyboardInterrupt
