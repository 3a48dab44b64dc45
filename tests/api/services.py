"""Services that run in forks of one process: each would import for longer than its test takes."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rota.testing.forks import forks_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_MODULES = (
    "rota.api.lustre.serve",
    "rota.api.serve",
    "rota.cli.http",
    "rota.cli.iostat",
    "rota.cli.jobstats",
    "rota.cli.main",
    "rota.lustre.service",
    "rota.web.lustre",
)
#: Seconds in which a service has to end, and a command.
_PATIENCE = 60.0


@contextmanager
def running(*words: str, errors: IO[Any] | None = None) -> Iterator[str]:
    """Run ``rota``, or a Python program, until the end, which has to be a clean one; give the first line it prints."""
    receiver, sender = os.pipe()
    with Path(os.devnull).open("r+b") as null, os.fdopen(receiver) as printed:
        with os.fdopen(sender, "wb") as output:
            standard = [null, output, errors or null]
            fork = forks_of(_MODULES).start(words, standard, directory=Path.cwd(), environment=os.environ)
        try:
            yield printed.readline().strip()
        finally:
            fork.send_signal(signal.SIGTERM)
            status = fork.wait(_PATIENCE)
    assert status in {0, -signal.SIGTERM}, status


def done(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `rota`."""
    return forks_of(_MODULES).run(["rota", *words], directory=Path.cwd(), environment=os.environ, patience=_PATIENCE)
