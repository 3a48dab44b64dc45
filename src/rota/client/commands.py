"""Slurm's commands for one cluster: small programs in its state directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def install(directory: Path, state: Path, names: Iterable[str]) -> None:
    """Write the commands of a cluster into a directory, by their names.

    Each is the client, with the path of the state directory, for the interpreter that runs rota: without a first line
    of its own it would take several times as long to start.
    """
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    folder = Path(__file__).parent
    source = (folder / "thin.py").read_text()
    source = source.replace('STATE = b""', f"STATE = {bytes(state)!r}").replace(
        'PACKAGES = ""', f"PACKAGES = {str(folder.parents[1])!r}"
    )
    text = f"#!{sys.executable} -IS\n{source}"
    for name in names:
        path = directory / name
        if not path.exists() or path.read_text() != text:
            new = directory / f".{name}"
            new.write_text(text)
            new.chmod(0o755)
            new.replace(path)
