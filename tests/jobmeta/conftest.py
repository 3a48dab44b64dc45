"""Recorded answers of schedulers, and commands on PATH that print them as the schedulers' own would."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.interfaces import SEPARATOR
from rota.jobmeta.plugin import Plugin
from rota.jobmeta.run import Runner
from rota.loader import PluginHost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: See SOURCES.md there.
DATA = Path(__file__).parent / "data"
#: What the fake commands and the plugins need of the system; no scheduler's commands are on PATH.
TOOLS = ("cat", "getent", "grep", "printenv", "printf", "sed", "sh", "sleep", "yes")

#: Prints a text where the delimiter that was asked for takes the place of another one.
SCRIPT = """\
#!/bin/sh
printf '%s\\n' "$@" >> {log}
echo '(end of call)' >> {log}
for word; do
  case $word in
    --delimiter=*) secret=${{word#--delimiter=}};;
    %A*%u*) secret=${{word#%A}}; secret=${{secret%%%u*}};;
  esac
done
cat {err} >&2
{body}
sed "s/{separator}/$secret/g" {out}
exit {status}
"""


@pytest.fixture(autouse=True)
def careful_umask() -> Iterator[None]:
    """Plugins that the tests write are ours alone, on whatever system they run."""
    before = os.umask(0o022)
    yield
    os.umask(before)


class Fakes:
    """Commands that print what was recorded, the only ones on PATH but for a few of the system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (folder / tool).symlink_to(found)

    def __call__(self, name: str, stdout: str = "", *, stderr: str = "", status: int = 0, body: str = "") -> None:
        """Make a command.

        Args:
            name: Its name.
            stdout: What it prints; each `SEPARATOR` becomes the delimiter that it was asked for.
            stderr: What it prints as errors.
            status: Its exit status.
            body: A line of shell that it runs first.
        """
        out, err, script = (self.folder / f".{name}{ending}" for ending in (".out", ".err", ".new"))
        out.write_text(stdout)
        err.write_text(stderr)
        script.write_text(
            SCRIPT.format(log=self.log(name), out=out, err=err, status=status, body=body, separator=SEPARATOR)
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        script.replace(self.folder / name)

    def log(self, name: str) -> Path:
        """Give the file where a command notes its arguments."""
        return self.folder / f".{name}.log"

    def calls(self, name: str) -> list[list[str]]:
        """Give the arguments of each call so far."""
        log = self.log(name)
        if not log.exists():
            return []
        return [call.splitlines() for call in log.read_text().split("(end of call)\n")[:-1]]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """Make fake commands."""
    fakes = Fakes(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(fakes.folder))
    return fakes


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A directory of plugins."""
    folder = tmp_path / "plugins"
    (folder / "jobmeta").mkdir(parents=True)
    return folder


@pytest.fixture
def write_plugin(plugins: Path) -> Callable[[str, str], Path]:
    """Write the source of a plugin into that directory."""

    def write(name: str, source: str) -> Path:
        path = plugins / "jobmeta" / f"{name}.py"
        path.write_text(source)
        return path

    return write


@pytest.fixture
def load() -> Iterator[Callable[..., Plugin]]:
    """Load a plugin as it is called."""
    with PluginHost() as host:

        def load(name: str, plugin_dir: Path | None = None, timeout: float = 10.0) -> Plugin:
            host.search = host.search if plugin_dir is None else PluginHost([plugin_dir]).search
            return Plugin(host.load(f"jobmeta/{name}"), Runner(timeout))

        yield load
