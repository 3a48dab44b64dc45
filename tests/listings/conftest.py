"""Recorded output of a real Slurm, and the records that it was printed from."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ClusterShell.NodeSet import NodeSet

from rota.model import (
    SHARES_PARENT,
    Association,
    ClusterConfig,
    JobState,
    MultifactorConf,
    PriorityFactors,
    PriorityWeights,
)
from rota.model.lines import AssociationLine, JobLine

from .rig import Snapshot

DATA = Path(__file__).parent / "data"
_TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu")
#: What the cluster of the recordings had in slurm.conf.
WEIGHTS = PriorityWeights(
    age=1000,
    assoc=500,
    fairshare=10000,
    job_size=100,
    partition=1000,
    qos=2000,
    tres={"cpu": 300.0, "mem": 0.5},
    tres_text="CPU=300,Mem=.5",
)


def recording(name: str) -> dict[str, str]:
    """Give what was printed by command line."""
    blocks = re.split(r"^\$ ", (DATA / name).read_text(), flags=re.MULTILINE)[1:]
    return {command.strip(): text for command, _, text in (block.partition("\n") for block in blocks)}


def _rows(text: str) -> list[dict[str, str]]:
    header, *lines = (line.split("|") for line in text.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def _seconds(text: str) -> tuple[float, ...]:
    """Read TRES minutes."""
    counts = dict(item.split("=") for item in text.split(",")) if text else {}
    return tuple(60.0 * float(counts.get(name, 0)) for name in _TRES)


def associations(recorded: dict[str, str]) -> list[tuple[Association, int]]:
    """Read what ``sshare -a -l -P`` printed."""
    found: list[tuple[Association, int]] = []
    for number, row in enumerate(_rows(recorded["sshare -a -l -P"]), start=1):
        account = row["Account"].strip()
        depth = len(row["Account"]) - len(account)
        above = next((one for one, other in reversed(found) if other == depth - 1 and not one.user), None)
        level = row.get("LevelFS", "")
        one = Association(
            id=number,
            account=account,
            user=row["User"],
            parent_id=above.id if above else 0,
            shares_raw=SHARES_PARENT if row["RawShares"] == "parent" else int(row["RawShares"] or 1),
            limits={"GrpTRESMins": row["GrpTRESMins"]} if row["GrpTRESMins"] else {},
            usage_raw=float(row["RawUsage"]),
            grp_used_tres_run_secs=_seconds(row["TRESRunMins"]),
            shares_norm=float(row["NormShares"]),
            usage_norm=float(row["NormUsage"] or 0),
            usage_efctv=float(row["EffectvUsage"]),
            level_fs=float(level) if level else None,
            fs_factor=float(row["FairShare"] or 0),
        )
        found.append((one, depth))
    return found


def factors(recorded: dict[str, str]) -> list[PriorityFactors]:
    """Read what ``sprio`` printed with normalised factors, and work out the TRES from the jobs' CPUs."""
    norm = _rows(recorded["sprio -o '%i|%a|%b|%f|%j|%p|%q|%t|%y'"])
    weighted = recorded["sprio -o '%i|%A|%B|%F|%J|%P|%Q|%T|%Y|%S|%N|%c|%r|%u'"].splitlines()[1:]
    found = []
    for row, line in zip(norm, weighted, strict=True):
        *_, priority, site, nice, _, partition, user = line.split("|")
        cpus = round(float(row["TRES"].split(",")[0].partition("=")[2] or 0) * 16)
        one = PriorityFactors(
            job_id=int(row["JOBID"]),
            user_id=0,
            user=user,
            partition=partition,
            priority=int(priority),
            direct=row["PRIORITY"].startswith("4000."),
            # Seven digits are printed: of a day in whole seconds, and of sevenths, since there are seven users.
            priority_age=round(float(row["AGE"]) * 86400) / 86400 * WEIGHTS.age,
            priority_assoc=float(row["ASSOC"]) * WEIGHTS.assoc,
            priority_fs=round(float(row["FAIRSHARE"]) * 7) / 7 * WEIGHTS.fairshare,
            priority_js=float(row["JOBSIZE"]) * WEIGHTS.job_size,
            priority_part=float(row["PARTITION"]) * WEIGHTS.partition,
            priority_qos=float(row["QOS"]) * WEIGHTS.qos,
            # 100 MiB a CPU of the partition's 32,000.
            priority_tres={"cpu": 300 * cpus / 16, "mem": 0.5 * 100 * cpus / 32000} if cpus else {},
            priority_site=int(site),
            nice=int(nice),
        )
        found.append(one)
    return found


def _unix(text: str) -> int | None:
    return None if text == "N/A" else int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def _limit(text: str) -> int:
    parts = [int(part) for part in text.split(":")]
    return sum(part * 60**place for place, part in enumerate(reversed(parts)))


def _fixed(text: str) -> list[list[str]]:
    """Cut the columns of ``squeue -O``, 20 places each."""
    return [[line[start : start + 20].strip() for start in range(0, len(line), 20)] for line in text.splitlines()[1:]]


def jobs(recorded: dict[str, str]) -> list[JobLine]:
    """Put together what several ``squeue`` printed of each job."""
    named = _fixed(recorded["squeue -O jobid,jobarrayid,state,reason,priority,name:20,username,timelimit,starttime"])
    more = recorded["squeue -O JobID:8,Partition:.12,NumNodes,NumCPUs,Account,QOS,SubmitTime,EligibleTime"]
    others = [
        [line[:8].strip(), line[8:20].strip(), *row]
        for line, (row,) in zip(
            more.splitlines()[1:],
            ([cells] for cells in _fixed("\n" + "\n".join(x[20:] for x in more.splitlines()[1:]))),
            strict=True,
        )
    ]
    full = dict(
        zip(
            (line.split()[0] for line in recorded["squeue -o '%i %j %u %T %r'"].splitlines()[1:]),
            (line.split(maxsplit=4) for line in recorded["squeue -o '%i %j %u %T %r'"].splitlines()[1:]),
            strict=True,
        )
    )
    places = {line.split()[0]: line.split()[-1] for line in recorded["squeue"].splitlines()[1:]}
    planned = {line.split()[0]: line.split()[7] for line in recorded["squeue --start"].splitlines()[1:]}
    found = []
    for row, other in zip(named, others, strict=True):
        number, name, user, state, reason = full[row[0]]
        compact = JobState(state).compact
        scheduled = planned.get(number, "(null)")
        found.append(
            JobLine(
                job_id=int(number),
                partition=other[1],
                name=name,
                user=user,
                user_id=0,
                account=other[4],
                qos=other[5],
                state=state,
                base_state=state,
                state_compact=compact,
                reason=reason,
                priority=round(float(row[4]) * (2**32 - 1)),
                nice=0,
                num_nodes=int(other[2]),
                num_cpus=int(other[3]),
                time_limit=_limit(row[7]),
                submit_time=_unix(other[6]) or 0,
                eligible_time=_unix(other[7]),
                start_time=_unix(row[8]),
                end_time=None,
                nodes=() if state == "PENDING" else tuple(NodeSet(places[number])),
                planned_nodes=() if scheduled == "(null)" else tuple(NodeSet(scheduled)),
            )
        )
    return found


@pytest.fixture(scope="session")
def fair_tree() -> dict[str, str]:
    return recording("fair-tree.txt")


def priority_conf(weights: PriorityWeights, *, fair_tree: bool = True) -> MultifactorConf:
    """Give a priority configuration."""
    conf = MultifactorConf.of(ClusterConfig(nodes=(), partitions=()), _TRES)
    flags = conf.flags | {"FAIR_TREE"} if fair_tree else conf.flags - {"FAIR_TREE"}
    return replace(conf, weights=weights, flags=flags)


def lines_of(tree: list[tuple[Association, int]]) -> list[AssociationLine]:
    return [AssociationLine(association=one, depth=depth) for one, depth in tree]


@pytest.fixture(scope="session")
def fair_tree_view(fair_tree: dict[str, str]) -> Snapshot:
    # `squeue -l` begins with the time.
    now = datetime.strptime(fair_tree["squeue -l"].splitlines()[0], "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    return Snapshot(
        now=int(now.timestamp()),
        job_lines=jobs(fair_tree),
        priority_factors=factors(fair_tree),
        conf=priority_conf(WEIGHTS),
        association_lines=lines_of(associations(fair_tree)),
        tres=_TRES,
    )


@pytest.fixture(scope="session")
def classic() -> dict[str, str]:
    return recording("classic.txt")


@pytest.fixture(scope="session")
def classic_view(classic: dict[str, str]) -> Snapshot:
    return Snapshot(
        conf=priority_conf(WEIGHTS, fair_tree=False),
        association_lines=lines_of(associations(classic)),
        tres=_TRES,
    )
