"""A play: users and kills beside each other, and what was found."""

from __future__ import annotations

import shutil
import subprocess
import time
import traceback
from collections import Counter, deque
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

from .killer import Killer
from .ledger import Ledger
from .oracle import Away, examine
from .users import PATIENCE, User, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_CONF = """
ClusterName=kills
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=8 Sockets=1 CoresPerSocket=8
NodeName=n3 CPUs=2 Sockets=1 CoresPerSocket=2
NodeName=n4 CPUs=4 Sockets=1 CoresPerSocket=4
NodeName=n5 CPUs=2 Sockets=1 CoresPerSocket=2
PartitionName=wide Nodes=n[1-2] Default=YES
PartitionName=narrow Nodes=n3
PartitionName=frail Nodes=n4
PartitionName=left Nodes=n5
"""
#: What users ask for, and how often.
KINDS = {
    "batch": 6,
    "array": 3,
    "steps": 4,
    "requeue": 3,
    "suspend": 2,
    "cancel": 3,
    "hold": 1,
    "timeout": 1,
    "frail": 1,
    "wait": 2,
    "srun": 3,
    "srun_waits": 2,
    "salloc": 2,
    "salloc_waits": 2,
    "gone": 2,
    "look": 2,
}
#: What does not depend on steps, which are refused for good while the disk is full.
WITHOUT_STEPS = ("batch", "array", "requeue", "cancel", "hold", "timeout", "frail", "wait", "look")
USERS = 8
#: The size of a small disk, as ``mount`` takes it.
_DISK = "24m"
#: Lines of the log that are shown when something was found.
_SHOWN = 40


@dataclass
class Played:
    """What has come of a play."""

    seed: int
    folder: Path
    kills: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    #: The end of the log.
    last: deque[str] = field(default_factory=lambda: deque(maxlen=_SHOWN))

    def __str__(self) -> str:
        """Give a report."""
        counts = [
            f"{name}: {sum(counts.values())}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items()))
            for name, counts in (("kills", self.kills), ("commands", self.commands), ("runs", self.states))
        ]
        if not self.findings:
            return "\n".join([f"seed {self.seed}", *counts, "findings: none"])
        where = f"seed {self.seed}; log {self.folder / 'log'}, of the cluster {self.folder / 'state'}"
        return "\n".join(
            [*counts, "the log ends:", *self.last, where, f"findings: {len(self.findings)}", *self.findings]
        )


def play(
    folder: Path,
    seed: int,
    kills: int,
    kinds: dict[str, int] | None = None,
    users: int = USERS,
    *,
    full_disk: bool = False,
) -> Played:
    """Play.

    Args:
        folder: Where the cluster and the logs are; it is there and empty.
        seed: The same number draws the same commands and kills; what comes first is for the machine to say.
        kills: How often somebody is killed.
        kinds: What users ask for, and how often; ``None``: everything.
        users: How many there are.
        full_disk: Whether the disk of the state directory is full at times: a small one, which only root can mount.
    """
    played, lock, began = Played(seed, folder), Lock(), time.time()
    with (folder / "log").open("w", buffering=1) as file:

        def log(text: str) -> None:
            with lock:
                line = f"{time.time():.3f} {time.time() - began:7.3f} {text}".replace("\n", "\\n")
                played.last.append(line)
                file.write(f"{line}\n")

        try:
            with _small_disk(folder / "state") if full_disk else nullcontext():
                _play(played, kills, kinds or KINDS, users, log, full_disk=full_disk)
        except Exception:  # noqa: BLE001 - it is a finding, and is to be told with where the logs are
            played.findings.append(traceback.format_exc())
    return played


def _play(
    played: Played, kills: int, kinds: dict[str, int], users: int, log: Callable[[str], None], *, full_disk: bool
) -> None:
    folder, seed = played.folder, played.seed
    ledger = Ledger(folder / "ledger")
    with LiveCluster(folder, _CONF) as cluster:
        killer = Killer(cluster, _random(seed, "killer"), log, fills=full_disk)
        world = World(cluster, ledger, kinds, log, killer.sent.set)
        people = [User(number, world, _random(seed, f"user {number}")) for number in range(users)]
        for user in people:
            user.start()
        try:
            while killer.kills.total() < kills:
                killer.kill()
        finally:
            for user in people:
                user.is_enough = True
            for user in people:
                user.join(3 * PATIENCE)
            commands = [command for user in people for command in user.commands]
            played.kills, played.commands = killer.kills, Counter(command.kind for command in commands)
        for user in people:
            played.findings += [f"{user.name}: {error!r}" for error in user.trouble]
            if user.is_alive():
                played.findings.append(f"{user.name} still waits")
        cluster.run("scontrol", "update", "nodename=n4", "state=resume", check=False)
        _let_end(cluster)
        found = examine(cluster, ledger, commands, Away(killer.gaps, killer.whole))
        played.findings += found.findings
        played.states = found.states


def _let_end(cluster: LiveCluster) -> None:
    """Wait for the end of all jobs; those are released first whose users do not know that they have them."""
    for job_id in cluster.run("squeue", "-h", "-t", "PD", "-o", "%A").stdout.split():
        cluster.run("scontrol", "release", job_id, check=False)
    try:
        cluster.wait(lambda: not cluster.status()["jobs"], PATIENCE)
    except AssertionError:
        left = cluster.run("squeue", "-h", "-o", "%i %j %T %r").stdout
        raise AssertionError(f"these jobs have not ended: {left}") from None


@contextmanager
def _small_disk(path: Path) -> Iterator[None]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", path], check=True)
    try:
        yield
    finally:
        # What has gone wrong is told by files of it; and the supervisor ends a little after the controller.
        shutil.copytree(path, path.with_name("state-kept"), ignore=shutil.ignore_patterns("*.sock"))
        subprocess.run(["umount", "--lazy", path], check=True)


def _random(seed: int, who: str) -> Random:
    return Random(f"{seed} {who}")  # noqa: S311 - the same each time
