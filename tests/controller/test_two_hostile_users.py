"""Two hostile users and an administrator, who gets answers all the time.

Each hostile user gives commands in ten processes at once, with hostile texts, long lists and many jobs, and waits for
nothing but the answers. It goes on for ``ROTA_HOSTILE_SECONDS``: 600 for the ten minutes that are promised, with
``--log-cli-level=INFO`` for the figures.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

from .hostile import CALLS, Measured, said, with_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by others")

_SECONDS = float(os.environ.get("ROTA_HOSTILE_SECONDS", "20"))
_USERS, _PROCESSES = (1, 2), 10
#: What the administrator's answers may take of the controller's processor time, and its largest size.
_LONGEST, _MOST_BYTES = 1.0, 300 << 20
_CONF = """
ClusterName=hostile
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
GresTypes=gpu
MinJobAge=10
NodeName=n[0-1999] CPUs=4 RealMemory=8000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE
PartitionName=high Nodes=ALL MaxTime=60
"""
#: What a user may rightly ask for, as often as they like.
_LEGITIMATE = [
    line.split()
    for line in """
sbatch -H -a 0-999 --wrap true
sbatch --begin=now+1hour -n 4 --wrap true
scancel --me
squeue --json
squeue -r
sinfo -N -l
sacct -a
scontrol show job
scontrol show node
scontrol hold 1_[0-999]
scontrol update jobid=1_[0-999] comment=x
sshare -a
sprio
""".strip().splitlines()
]


def _attack(cluster: LiveCluster, uid: int, seed: int) -> None:
    """Be a hostile user, until ended."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    draw = Random(seed)  # noqa: S311 - no secret
    texts = [*_texts()]
    while True:
        words = draw.choice(_LEGITIMATE) if draw.random() < 0.3 else with_text(draw.choice(CALLS), draw.choice(texts))
        try:
            said(cluster, words)
        except OSError:  # refused, or it takes long: the next one
            time.sleep(0.01)


def _texts() -> Iterator[str]:
    yield from ("n[0-999][0-999]", "n[0-999]-[0-999]-[0-99]", "n[0-32767]", "n[0-1999]", "1_[0-999]", "0-4000000")
    yield ",".join(f"{job}_[0-99999]" for job in range(300))
    yield ",".join(f"1_{task}" for task in range(5_000))
    yield ",".join(map(str, range(5_000)))
    yield ",".join(f"n[{node}-{node + 1}]" for node in range(0, 8_000, 2))
    yield ",".join(f"n{node}" for node in range(32_000))
    yield ":".join(["afterok", *map(str, range(20_000))])
    yield from ("x" * 400_000, "9" * 100_000, "[" * 100_000, "%i" * 50_000, "," * 200_000, "virt&" * 5_000, "n[1-2],")


@pytest.mark.slow
def test_an_administrator_is_answered_meanwhile(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    with LiveCluster(tmp_path, _CONF) as cluster:
        measured = Measured(cluster)
        attackers = []
        for uid in _USERS:
            for number in range(_PROCESSES):
                pid = os.fork()
                if pid == 0:
                    try:
                        _attack(cluster, uid, uid * 1000 + number)
                    finally:
                        os._exit(1)
                attackers.append(pid)
        worst, longest = 0.0, 0.0
        until = time.monotonic() + _SECONDS
        try:
            while time.monotonic() < until:
                began, seconds = time.monotonic(), measured.seconds()
                assert "JOBID" in said(cluster, ["squeue"])
                worst = max(worst, measured.seconds() - seconds)
                longest = max(longest, time.monotonic() - began)
                time.sleep(0.2)
        finally:
            left = [pid for pid in attackers if os.waitpid(pid, os.WNOHANG)[0] == 0]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        size, asked = measured.size("VmHWM"), cluster.run("sdiag").stdout
        figures = "squeue took %.3f s of the controller, %.3f s in all; the controller had %d MB"
        logging.getLogger(__name__).info(figures, worst, longest, size >> 20)
        logging.getLogger(__name__).info(asked)
        assert left == attackers, "an attacker has given up"
        assert worst < _LONGEST
        assert size < _MOST_BYTES
        log = (cluster.state / "controller.log").read_text()
        assert "defect of rota" not in log
