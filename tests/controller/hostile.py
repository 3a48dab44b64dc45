"""Requests with hostile texts in every option, key and word that takes one, and what they cost a controller."""

from __future__ import annotations

import json
import os
import socket
import struct
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.testing.live import LiveCluster

_PATIENCE = 20.0
#: Where ``@`` is, a hostile text comes.
_LINES = """
squeue -h -j @
squeue -h -s -j @
squeue -h -s @
squeue -h -w @
squeue -h -u @
squeue -h -A @ -p @ -q @
squeue -h -t @
squeue -h -n @
squeue -h -L @
squeue -h -M @
squeue -h -o @
squeue -h -O @
squeue -h -R @
squeue -h -S @
squeue -r -j @ --json
sinfo -h -n @
sinfo -h -p @
sinfo -h -t @
sinfo -h -o @
sinfo -h -S @
sacct -n -j @
sacct -n -N @ -S now-1day
sacct -n -u @ -A @ -q @ -r @
sacct -n -s @
sacct -n --name @
sacct -n -o @
sacct -n -S @ -E @
sprio -h -j @
sprio -h -u @
sprio -h -o @
sprio -h -p @
sstat -n -j @
sstat -n -o @
sshare -A @
sshare -u @
sreport cluster utilization start=@
sreport user top users=@
scancel @
scancel -w @
scancel -u @
scancel -n @ -p @ -A @
scancel -t @
scancel -s @ 1
scontrol show job @
scontrol show node @
scontrol show partition @
scontrol show reservation @
scontrol show step @
scontrol show hostnames @
scontrol show hostlist @
scontrol show hostlistsorted @
scontrol show config @
scontrol show assoc_mgr users=@ accounts=@ qos=@
scontrol show topology @
scontrol listpids @
scontrol wait_job @
scontrol write batch_script @
scontrol hold @
scontrol hold jobname=@
scontrol release @
scontrol requeue @
scontrol requeuehold @
scontrol suspend @
scontrol resume @
scontrol update jobid=@ comment=x
scontrol update jobid=2 dependency=@
scontrol update jobid=2 reqnodelist=@ excnodelist=@
scontrol update jobid=2 features=@
scontrol update jobid=2 gres=@ licenses=@
scontrol update jobid=2 partition=@ account=@ qos=@
scontrol update nodename=@ comment=x
scontrol update nodename=n1 features=@
scontrol update partitionname=high nodes=@
scontrol update partitionname=high allowaccounts=@ allowgroups=@
scontrol create partitionname=new nodes=@
scontrol create reservation reservationname=r starttime=now+1day duration=1 users=root nodes=@
scontrol create reservation reservationname=r starttime=now+1day duration=1 nodes=n1 users=@ accounts=@
scontrol create reservation reservationname=r starttime=now+1day duration=1 users=root nodecnt=@ features=@ flags=@
scontrol update reservationname=kept nodes=@
scontrol update reservationname=kept nodes+=@ users+=@
scontrol update reservationname=kept accounts=@ flags=@
scontrol delete reservation @
sbatch -H -a @ --wrap true
sbatch -H -w @ -x @ --wrap true
sbatch -H -C @ --wrap true
sbatch -H -d @ --wrap true
sbatch -H -L @ --gres @ --wrap true
sbatch -H -p @ -A @ --wrap true
sbatch -H -N @ -n @ -c @ --wrap true
sbatch -H -t @ --begin @ --wrap true
sbatch -H -J @ --comment @ -o @ --wrap true
sbatch -H -m @ --mem @ --mail-user @ --export @ --wrap true
srun -w @ -x @ true
srun -n @ -N @ true
srun --jobid @ true
salloc -w @ true
sacctmgr -i add user name=@ account=root
sacctmgr -i add account name=@
sacctmgr -i add qos name=@
sacctmgr -n list user name=@
sacctmgr -n list assoc user=@ account=@
sacctmgr -n list qos format=@
sacctmgr -i modify user where name=@ set maxjobs=@
sacctmgr -i delete user name=@ account=@
sdiag @
rota-call explain @
rota-call attach @ @
rota-call token @ @
"""
#: Questions and orders of HTTP, with a text at each place.
_HTTP = """
{"job": {"name": "@"}, "explain": {"name": "@"}, "nodes": {"name": "@"}, "partitions": {"name": "@"}}
{"slurm-job": {"name": "@"}, "slurm-node": {"name": "@"}, "slurm-reservations": {"name": "@"}}
{"jobs": {"user": "@", "account": "@", "partition": "@", "name": "@", "state": "@"}, "plan": {"limit": 99999999}}
{"accounting": {"user": "@", "account": "@", "state": "@"}, "queue": {"limit": 99999999, "offset": 99999999}}
{"slurmdb-jobs": {"query": {"job": "@", "node": "@", "users": "@", "step": "@", "state": "@"}}}
{"end": {"job": "@", "signal": "@"}, "order": {"job": "@", "command": "hold"}}
{"update": {"job": "2", "changes": {"ReqNodeList": "@", "Dependency": "@", "Features": "@"}}}
{"update": {"job": "@", "changes": {"Comment": "@"}}, "slurm-update": {"job": "@", "body": "@"}}
{"submit": {"script": "#!/bin/true", "arguments": [], "options": ["-H", "-w@", "-a@"], "directory": "/"}}
{"submit": {"script": "#!/bin/true\\n#SBATCH -H -d@", "arguments": ["@"], "environment": {"@": "@"}, "directory": "/"}}
{"slurm-submit": {"body": "@"}}
"""
CALLS = [line.split() for line in _LINES.strip().splitlines()]
CALLS += [
    ["rota-api", "", name, json.dumps(data)]
    for line in _HTTP.strip().splitlines()
    for name, data in json.loads(line).items()
]


def with_text(words: Sequence[str], text: str) -> list[str]:
    """Put a text where a command has room for one."""
    if words[0] == "rota-api":
        return [*words[:3], words[3].replace("@", json.dumps(text)[1:-1])]
    return [word.replace("@", text) for word in words]


class Cost(NamedTuple):
    """What a request has cost the controller."""

    seconds: float
    bytes_: int
    #: The beginning of what was said.
    said: str


class Measured:
    """A cluster whose controller is watched."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self._process = Path(f"/proc/{cluster.status()['pid']}")

    def cost(self, words: Sequence[str], uid: int = 0) -> Cost:
        """Give a command, and say what it has cost."""
        (self._process / "clear_refs").write_text("5")  # the largest size is the present one
        size, seconds = self.size("VmRSS"), self.seconds()
        answer = said(self.cluster, words, uid)
        return Cost(self.seconds() - seconds, self.size("VmHWM") - size, answer)

    def seconds(self) -> float:
        """Give the processor time of the controller's own thread."""
        thread = self._process / "task" / self._process.name / "schedstat"
        return int(thread.read_text().split()[0]) / 1e9

    def size(self, key: str) -> int:
        """Give a size of the controller, ``VmRSS`` or the largest so far, ``VmHWM``. Bytes."""
        lines = (self._process / "status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


def said(cluster: LiveCluster, words: Sequence[str], uid: int = 0) -> str:
    """Give a command as a client does, and leave when it is answered, or would have to do something.

    Args:
        cluster: The cluster.
        words: The command.
        uid: The user who gives it; only root can be another one.

    Returns:
        The beginning of what was said.
    """
    texts = ["1", "22", "/", str(len(words)), *words, "HOME=/"]
    data = "".join(f"{text}\0" for text in texts).encode(errors="replace")
    said = ""
    with socket.socket(socket.AF_UNIX) as connection, chdir(cluster.state):
        try:
            os.seteuid(uid or os.geteuid())
            connection.connect("rota.sock")
        finally:
            os.seteuid(os.getuid())
        connection.settimeout(_PATIENCE)
        connection.sendall(struct.pack(">I", len(data)) + data)
        stream = connection.makefile("rb")
        while head := stream.read(5):
            letter, text = head[:1], stream.read(int.from_bytes(head[1:], "big"))
            if letter not in b"oe" or b"queued and waiting" in text:
                break
            said = said or text[:200].decode(errors="replace")
    return said
