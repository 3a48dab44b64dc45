"""The administrator's commands with odd words, beside what Slurm 22.05.8 printed.

``recorded/admin.txt``, by ``recorded/admin.sh``.
"""

from __future__ import annotations

import re
from difflib import ndiff
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from slurm.release import as_upstream

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDED = Path(__file__).parent / "recorded"
_CONF = """
ClusterName=rig
FirstJobId=1001
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
Licenses=matlab:2
PriorityType=priority/multifactor
PriorityMaxAge=1-0
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=100
PriorityWeightPartition=1000
PriorityWeightQOS=2000
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 Gres=gpu:2 Feature=virt
PartitionName=half Nodes=n[03-04] MaxTime=INFINITE
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 DefMemPerCPU=100 PriorityJobFactor=1
PartitionName=high Nodes=ALL MaxTime=60 PriorityJobFactor=10
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
_SET_UP = (
    "add account phys fairshare=60 description=p organization=p",
    "add account chem fairshare=40 description=c organization=c",
    "add user root account=root",
    "add qos urgent priority=100",
    "add account theory parent=phys",
    "add user games account=theory",
    "add user bin account=phys fairshare=10",
    "add user daemon account=phys fairshare=5",
    "add user mail account=chem fairshare=10",
)
#: What rota answers otherwise on purpose (docs/differences.md): patterns of commands, and why.
_DIFFERENT = {
    r"sprio -h -S (nosuch|@)": "how it is to be sorted is read, also if there is nothing to sort",
    r"(sprio extra|(sprio|sshare|sdiag) --usage)|scontrol show hostlistsorted": "it tells of what there is here",
    r"(sshare|sdiag) (.* )?extra.*": "a word too many is refused",
    r"sshare -n -A , .*": "a list of nobody chooses everybody",
    r"sshare -nP -o (,|'')": "a list of no fields is none",
    r"sshare -nPl .*": "level fair-share is there from the beginning on",
    r"sdiag -r; .*": "what is to be reset is not shown",
    r"sacctmgr (-nP list|show) config.*": "it is of a cluster without slurmdbd",
    r"(sacctmgr|sreport) (exit|quit|verbose|quiet|oneliner|readonly|parsable|time)\b.*|sreport": "for interactive use",
    r"(sacctmgr|sreport|scontrol) version extra": "a word too many is passed over, or the command is not there",
    r"sacctmgr -i (add \w+ ''.*|modify user games set (fairshare|maxwall=x))": "it is refused in other words",
    r"sacctmgr -i modify user games set (maxjobs=(-5|3x)|grptres=cpu=x)": "it is refused",
    r"sacctmgr -nP show user where user=games nosuch .*": "a word without = names nobody more",
    r"sacctmgr -nP list qos where nosuch=1": "Slurm says SLURM_PRINT_VALUE",
    r"sreport .*(nosuch|2020-13-01|foo|''|used%).*": "it is refused, in Slurm passed over",
    r"(sstat .*|scontrol listpids) (-j )?(RUNS\.)?x|scontrol show steps x": "it is refused as what is no step",
    r"scontrol show (hostnames|hostlist|node) .*(\[|/).*": "what is no list is not read as one",
    r"scontrol show topology .*": "there is no topology",
    r"scontrol show part": "DefMemPerCPU is that of a partition here",
    r"scontrol show steps": "the time",
    r"scontrol (listpids RUNS nosuch|getent.*)": "there are no daemons of nodes",
    r"scontrol (suspend|resume) 99999": "there is no such job",
    r"scontrol update (jobid|nodename|partitionname)=?": "it is refused in other words",
    r"scontrol update jobid=HELD (priority=|starttime=x|deadline=x|numcpus=x|delayboot=x)": "it is refused, and once",
    r"scontrol update jobid=RUNS numnodes=2": "running jobs keep their size",
    r"scontrol update nodename=n04 (cpubind|gres)=.*": "that does not change",
    r"scontrol update nodename=n04 state=resume; .*": "nodes answer at once",
    r"scontrol update (step|stepid|slurmctlddebug|frontendname)=.*": "that does not change",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("admin"), _CONF) as found:
        for words in _SET_UP:
            found.run("sacctmgr", "-i", *words.split(), check=False)  # root is there
        yield found


def _answers(cluster: LiveCluster, commands: list[str]) -> Iterator[list[str]]:
    (cluster.directory / "batch.sh").write_text("#!/bin/bash\nsleep 600\n")
    jobs = {
        "RUNS": str(cluster.submit("-n1", "--mem=200", "-t", "60", "-o", "/dev/null", "batch.sh")),
        "HELD": str(cluster.submit("-H", "--mem=100", "batch.sh")),
    }
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R").stdout)
    for command in commands:
        done = cluster.run("bash", "-c", re.sub("RUNS|HELD", lambda name: jobs[name[0]], command), check=False)
        lines = [f"o| {line}" for line in done.stdout.splitlines()] + [
            f"e| {line}" for line in done.stderr.splitlines()
        ]
        for name, job in jobs.items():
            lines = [re.sub(rf"\b{job}\b", name, line) for line in lines]
        # rota may say more.
        yield [*(line.rstrip() for line in lines if not line.startswith("e| there is no ")), f"rc={done.returncode}"]


def test_as_recorded(cluster: LiveCluster) -> None:
    blocks = re.split(r"(?m)^##### ", as_upstream((_RECORDED / "admin.txt").read_text()))[1:]
    recorded = {command: [one.rstrip() for one in lines] for command, *lines in map(str.splitlines, blocks)}
    differing, known = [], set()
    for command, answer in zip(recorded, _answers(cluster, [*recorded]), strict=True):
        if answer == recorded[command] or re.search(r"\w is not supported by rota", "".join(answer)):
            continue
        pattern = next((one for one in _DIFFERENT if re.fullmatch(one, command)), None)
        if pattern is None:
            differing.append("\n".join([command, *ndiff(recorded[command], answer)]))
        else:
            known.add(pattern)
        assert "Traceback" not in "".join(answer), command
    assert not differing, "\n\n".join(differing)
    assert known == set(_DIFFERENT)
