"""A controller that is lost at one commit, as if by ``kill -9``: ``fragile.py STATE CONF NUMBER before|after``.

Commits are counted from when it is up.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rota.cli.serve import Settings, serve
from rota.store import Database

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.store import Write


def main(state: str, conf: str, at: str, when: str) -> None:
    """Be the controller."""
    count, write = 0, Database.write

    def count_from_now() -> None:
        def fragile(database: Database, writes: Iterable[Write]) -> None:
            nonlocal count
            count += 1
            if count == int(at) and when == "before":
                os._exit(9)
            write(database, writes)
            if count == int(at):
                os._exit(9)

        Database.write = fragile  # type: ignore[assignment, method-assign]
        os.write(1, b"up\n")

    serve(Settings(Path(state), Path(conf)), count_from_now)


main(*sys.argv[1:])
