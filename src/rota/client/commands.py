"""Slurm's commands for one cluster: small programs in its state directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The folder of the package `rota`.
PACKAGES = str(Path(__file__).parents[2])


#: A command. It runs the client as it is compiled beside its source: to compile it takes a fifth of a command's time.
_COMMAND = """#!{python} -IS
import sys
from _frozen_importlib_external import SourceFileLoader

packages = {packages!r}.decode(sys.getfilesystemencoding(), "surrogateescape")
client = {{"__name__": "rota.client.thin"}}
exec(SourceFileLoader("thin", packages + "/rota/client/thin.py").get_code("thin"), client)
client["run"]({state!r}, packages)
"""


def install(directory: Path, state: Path, names: Iterable[str]) -> None:
    """Write the commands of a cluster into a directory, by their names.

    Each runs the client for the state directory, with the interpreter that runs rota: without a first line of its own
    it would take several times as long to start.
    """
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    text = _COMMAND.format(python=sys.executable, packages=os.fsencode(PACKAGES), state=bytes(state))
    for name in names:
        path = directory / name
        if not path.exists() or path.read_text() != text:
            new = directory / f".{name}"
            new.write_text(text)
            new.chmod(0o755)
            new.replace(path)
