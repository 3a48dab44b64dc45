"""Slurm's commands for one cluster: small programs in its state directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The folder of the package `rota`.
PACKAGES = str(Path(__file__).parents[2])


def install(directory: Path, state: Path, names: Iterable[str]) -> None:
    """Write the commands of a cluster into a directory, by their names.

    Each is the client, with the path of the state directory, for the interpreter that runs rota: without a first line
    of its own it would take several times as long to start.
    """
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    source = Path(__file__).with_name("thin.py").read_text()
    for name, value in (('STATE = b""', bytes(state)), ('PACKAGES = ""', PACKAGES)):
        source = source.replace(name, f"{name.split()[0]} = {value!r}")
    text = f"#!{sys.executable} -IS\n{source}"
    for name in names:
        path = directory / name
        if not path.exists() or path.read_text() != text:
            new = directory / f".{name}"
            new.write_text(text)
            new.chmod(0o755)
            new.replace(path)
