"""A live cluster for tests: a real controller with real processes, in a directory of its own. It needs no root.

::

    with LiveCluster(tmp_path, virtual_nodes(4)) as cluster:
        cluster.run("sbatch", "--wait", "-N4", "--wrap", "srun hostname")

Programs that call Slurm's commands themselves find them within `LiveCluster.on_path`. With pytest the fixture
``rota_cluster`` does all of this: see `rota.testing.pytest_plugin`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from rota.store import Database
from rota.store.location import database_url
from rota.testing.forks import command_forks, forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

#: Seconds after which a command or a condition is given up.
_PATIENCE = 60.0
#: Commands of clusters that are started as any program is, as they pass on streams and signals.
_STREAMING = frozenset({"salloc", "sattach", "srun"})


class LiveCluster:
    """A live cluster.

    Args:
        directory: Where its state and the files of its jobs are.
        conf: Text of slurm.conf, such as `virtual_nodes` gives; empty: this machine.
        options: Further options of ``rota up``.
    """

    def __init__(self, directory: Path, conf: str = "", options: Sequence[str] = ()) -> None:
        self._options = options
        self.directory = directory
        self.state = directory / "state"
        self.conf = directory / "slurm.conf"
        if conf:
            self.conf.write_text(conf)
        self._has_been_up = False

    def __enter__(self) -> Self:
        """Start the cluster."""
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel all jobs and stop the controller."""
        if self.pid() is None:
            self.up()
        self.rota("down", "--jobs", "cancel")

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which commands find the cluster."""
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        return {**outer, "ROTA_STATE": str(self.state), "PATH": f"{self.state / 'bin'}:{outer['PATH']}"}

    @contextmanager
    def on_path(self) -> Iterator[None]:
        """Give a context in which programs that this process starts find the cluster's commands."""
        before, now = dict(os.environ), self.environment
        os.environ.clear()
        os.environ.update(now)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def up(self) -> None:
        """Start the controller.

        One that is started again has another hash seed than before: what it decides must not depend on it.
        """
        conf = ["--config", str(self.conf)] if self.conf.exists() else []
        _checked(self._rota(["up", *conf, *self._options], again=self._has_been_up))
        self._has_been_up = True

    def rota(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of `rota`.

        Raises:
            AssertionError: it fails.
        """
        done = self._rota(words)
        return _checked(done) if check else done

    def _rota(self, words: Sequence[str], *, again: bool = False) -> subprocess.CompletedProcess[str]:
        found = forks(again=again)
        return found.run(["rota", *words], directory=self.directory, environment=self.environment, patience=_PATIENCE)

    def run(
        self,
        *words: str,
        check: bool = True,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        patience: float = _PATIENCE,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the directory of the cluster.

        Args:
            words: The command and its arguments.
            check: Whether it has to succeed.
            stdin: Its standard input.
            environment: Further variables.
            patience: Seconds after which it is given up.

        Raises:
            AssertionError: it fails.
        """
        outer = {**self.environment, **(environment or {})}
        path = shutil.which(words[0], path=outer["PATH"]) or ""
        if Path(path).parent == self.state / "bin" and words[0] not in _STREAMING:
            done = command_forks().run(
                [path, *words[1:]], directory=self.directory, environment=outer, patience=patience, stdin=stdin
            )
        else:
            done = subprocess.run(  # noqa: S603 - what the test says
                words,
                check=False,
                capture_output=True,
                text=True,
                input=stdin,
                cwd=self.directory,
                env=outer,
                timeout=patience,
            )
        return _checked(done) if check else done

    def submit(self, *words: str, stdin: str = "") -> int:
        """Submit a job; give its id."""
        return int(self.run("sbatch", "--parsable", *words, stdin=stdin).stdout)

    def status(self) -> dict[str, Any]:
        """Give what ``rota status`` shows."""
        found: dict[str, Any] = json.loads(self.run("rota-call", "status").stdout)
        return found

    def records(self) -> list[dict[str, Any]]:
        """Give the jobs that have ended, in the order in which they did: the fields of `JobLine`."""
        database = Database(database_url(self.state))
        try:
            return [record["job"] for record in database.job_records()]
        finally:
            database.close()

    def ended(self) -> dict[int, dict[str, Any]]:
        """Give the jobs that have ended, by job id."""
        return {record["job_id"]: record for record in self.records()}

    def pid(self) -> int | None:
        """Give the process id of the controller; ``None``: there is none, or it has nothing to do but end."""
        try:
            with (self.state / "lock").open() as file:
                if not _is_locked(file):
                    return None
                pid = int(file.read())
            os.kill(pid, 0)
        except (OSError, ValueError):
            return None
        return pid if "rota" in Path(f"/proc/{pid}/cmdline").read_text() else None

    def kill(self) -> None:
        """End the controller at once, as if the machine had lost it."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            with (self.state / "lock").open() as file:  # which is held until the process has ended
                fcntl.flock(file, fcntl.LOCK_EX)

    def idle(self) -> None:
        """Wait until no job is left; the records of all are there then.

        Raises:
            AssertionError: some are left; it names them, and says why they wait.
        """
        try:
            self.wait(lambda: not self.status()["jobs"])
        except AssertionError:
            left = self.run("squeue", "-h", "-o", "%i %j %T (%r)", check=False).stdout
            raise AssertionError(f"these jobs have not ended:\n{left}") from None

    def wait(self, condition: Callable[[], object], patience: float = _PATIENCE) -> None:
        """Wait until something is true.

        Args:
            condition: Says whether it is.
            patience: Seconds after which it is given up.

        Raises:
            AssertionError: it has not become true.
        """
        until = time.monotonic() + patience
        while not condition():
            if time.monotonic() > until:
                raise AssertionError("this has not become true")
            time.sleep(0.02)


def _is_locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    if done.returncode:
        raise AssertionError(f"{' '.join(done.args)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done


def virtual_nodes(nodes: int = 4, *, cpus: int = 4, memory: int = 4000) -> str:
    """Give a slurm.conf with nodes ``n1``, ``n2`` …, which may have more processors than the machine.

    Args:
        nodes: The number of nodes.
        cpus: Processors of each.
        memory: Memory of each, MiB.
    """
    return (
        "ClusterName=test\n"
        "SelectType=select/cons_tres\n"
        "SelectTypeParameters=CR_Core\n"
        f"NodeName=n[1-{nodes}] CPUs={cpus} RealMemory={memory}\n"
        "PartitionName=main Nodes=ALL Default=YES\n"
    )
