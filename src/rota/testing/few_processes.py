"""A control group in which processes become few, as on a machine on which somebody has too many. It needs root."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PIDS = Path("/sys/fs/cgroup/pids")


def can_be_few() -> bool:
    """Whether such a group can be made here: it is one of the kernel's first version."""
    return os.access(_PIDS, os.W_OK)


@contextmanager
def few_processes(name: str, *pids: int) -> Iterator[Callable[[int | None], None]]:
    """Give a function that says how many more processes some, and those that they start, may have; ``None``: any.

    Args:
        name: A name for the group.
        pids: The processes.
    """
    group = _PIDS / f"rota-test-{os.getpid()}-{name}"
    group.mkdir()

    def allow(more: int | None) -> None:
        now = int((group / "pids.current").read_text())
        (group / "pids.max").write_text("max" if more is None else str(max(now + more, 0)))

    try:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        yield allow
    finally:
        allow(None)
        for one in (group / "cgroup.procs").read_text().split():
            (_PIDS / "cgroup.procs").write_text(one)
        until = time.monotonic() + 10
        while int((group / "pids.current").read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        group.rmdir()
