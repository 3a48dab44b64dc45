"""No request costs the controller much, whatever lists it has: 100 ms of its thread and 50 MB at most.

Requests are drawn: all commands, and hostile texts in every option, key and word that takes one. What a request costs
is what the kernel counts of the controller: the processor time of its thread, and the growth of its largest size. Who
measures while others work on the machine measures too much: a request that seems to cost too much is tried again.
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import chdir
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rota.model.bounds import MOST_JOBS, MOST_NODES
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Seconds of the controller's thread, bytes, and how often a request is tried.
_SECONDS, _BYTES, _TRIES = 0.1, 50 << 20, 5
_PATIENCE = 20.0
_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
GresTypes=gpu
AccountingStorageEnforce=limits
NodeName=n[0-1999] CPUs=4 RealMemory=8000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE
PartitionName=high Nodes=ALL MaxTime=60
"""

# ---- requests ---------------------------------------------------------------------------------------------------

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
_CALLS = [line.split() for line in _LINES.strip().splitlines()]
_CALLS += [
    ["rota-api", "", name, json.dumps(data)]
    for line in _HTTP.strip().splitlines()
    for name, data in json.loads(line).items()
]

_COUNT = st.sampled_from([1, 2, 16, 300, 5_000, 40_000])
_NUMBER = st.sampled_from(
    ["0", "7", "00001", "999", "99999", "65535", "4000000", "9" * 9, "9" * 18, "9" * 19, "9" * 5000]
)
_RANGE = st.one_of(
    st.tuples(_NUMBER, _NUMBER).map("-".join),
    st.sampled_from(
        ["0-9", "0-99", "0-999", "000-999", "0-9999:2", "1,3,5-7", "0-", "-", "", "a-b", "0-9%5", "0-65535"]
    ),
)
_BRACKETS = st.tuples(_RANGE, st.integers(1, 6)).map(lambda one: "-".join([f"[{one[0]}]"] * one[1]))
_HEAD = st.sampled_from(["n", "", "0_", "1_", "3_", "n1", "gpu:", "afterok:", "x" * 300, "-", "+", "!", "%", "ü"])
_TERM = st.one_of(
    st.tuples(_HEAD, _BRACKETS).map("".join),
    st.tuples(_HEAD, _BRACKETS, st.sampled_from(["x", "[0-9]", ".0", ":5", "*9"])).map("".join),
    st.tuples(_HEAD, _NUMBER).map("".join),
    st.sampled_from(
        ["root", "n1", "1", "1_1", "3_[0-999]", "2.0", "debug", "PENDING", "virt", "%i", "%.999999999i", "i:9"]
    ),
    st.sampled_from(
        ["[", "]", "[" * 5000, "n[" * 2000 + "0" + "]" * 2000, "(" * 900 + "virt" + ")" * 900, "&|", "=", "@@"]
    ),
    st.text(max_size=8),
)
_JOIN = st.sampled_from([",", ",", ",", "", " ", ":", "&", "|", "\n", ",,", ";", "?"])


def _numbered(term: str, count: int) -> list[str]:
    """Make many different terms of one."""
    return [term.replace("0", str(number), 1) if number else term for number in range(count)]


_HOSTILE = st.one_of(
    st.tuples(_TERM, _COUNT, _JOIN).map(lambda one: one[2].join([one[0]] * one[1])),
    st.tuples(_TERM, _COUNT, _JOIN).map(lambda one: one[2].join(_numbered(one[0], one[1]))),
    st.tuples(st.lists(_TERM, max_size=8), _JOIN).map(lambda one: one[1].join(one[0])),
    st.tuples(_HEAD, _COUNT).map(lambda one: ",".join(f"{one[0]}{number}" for number in range(one[1]))),
    st.sampled_from(["x", "0", "9", ",", "[0-9]", "%i", "a=b,", "-"]).flatmap(
        lambda one: _COUNT.map(lambda n: one * n)
    ),
).map(lambda text: text.replace("\0", "")[:400_000])


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

    def cost(self, words: Sequence[str]) -> Cost:
        """Give a command, and say what it has cost."""
        (self._process / "clear_refs").write_text("5")  # the largest size is the present one
        size, seconds = self._size("VmRSS"), self._seconds()
        said = _said(self.cluster, words)
        return Cost(self._seconds() - seconds, self._size("VmHWM") - size, said)

    def check(self, words: Sequence[str]) -> None:
        """Give a command until it has cost little enough."""
        costs = []
        for _ in range(_TRIES):
            costs.append(self.cost(words))
            if costs[-1].seconds < _SECONDS and costs[-1].bytes_ < _BYTES:
                return
        shown = [word[:200] for word in words]
        assert min(one.seconds for one in costs) < _SECONDS, (shown, costs)
        assert min(one.bytes_ for one in costs) < _BYTES, (shown, costs)

    def _seconds(self) -> float:
        """Give the processor time of the controller's own thread."""
        thread = self._process / "task" / self._process.name / "schedstat"
        return int(thread.read_text().split()[0]) / 1e9

    def _size(self, key: str) -> int:
        lines = (self._process / "status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


def _said(cluster: LiveCluster, words: Sequence[str]) -> str:
    """Give a command as its client does, and leave when it is answered, or would have to do something."""
    texts = ["1", "22", "/", str(len(words)), *words, "HOME=/"]
    data = "".join(f"{text}\0" for text in texts).encode(errors="replace")
    said = ""
    with socket.socket(socket.AF_UNIX) as connection, chdir(cluster.state):
        connection.connect("rota.sock")
        connection.settimeout(_PATIENCE)
        connection.sendall(struct.pack(">I", len(data)) + data)
        stream = connection.makefile("rb")
        while head := stream.read(5):
            letter, text = head[:1], stream.read(int.from_bytes(head[1:], "big"))
            if letter not in b"oe" or b"queued and waiting" in text:
                break
            said = said or text[:200].decode(errors="replace")
    return said


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A cluster of 2,000 nodes with jobs that wait, an array of 40 tasks, and a reservation."""
    with LiveCluster(tmp_path_factory.mktemp("bounds"), _CONF) as cluster:
        for options in ("-H", "-H", "-H -a 0-39"):
            cluster.submit(*options.split(), "--wrap", "true")
        made = "create reservation reservationname=kept starttime=now+9hours duration=1 users=root nodes=n[1-9]"
        cluster.run("scontrol", *made.split())
        found = Measured(cluster)
        for words in _CALLS:  # what is only needed at the first time is loaded
            found.cost([word.replace("@", "1") for word in words if words[0] not in {"scancel", "sbatch", "srun"}])
        yield found


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(words=st.sampled_from(_CALLS), text=_HOSTILE)
def test_no_request_costs_much(measured: Measured, words: list[str], text: str) -> None:
    measured.check(_with(words, text))


def _with(words: Sequence[str], text: str) -> list[str]:
    """Put a text where a command has room for one."""
    if words[0] == "rota-api":
        return [*words[:3], words[3].replace("@", json.dumps(text)[1:-1])]
    return [word.replace("@", text) for word in words]
