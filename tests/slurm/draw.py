"""Random machines and requests, of a dozen kinds. The same seed draws the same scenario.

Over 400 lines: a function for each kind of machine, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from .real import INTERVAL, USERS

if TYPE_CHECKING:
    from collections.abc import Callable

#: When there are main passes and backfill cycles: one after the other.
_PASSES: tuple[str, ...] = ("defer", "batch_sched_delay=100000", f"sched_interval={INTERVAL}")
_PASSES += ("sched_min_interval=100000", "default_queue_depth=1000")
_PASSES += (f"bf_interval={INTERVAL}", "bf_max_job_test=1000", "bf_continue")
#: Lines for all machines.
BASE = (
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core_Memory",
    "DefMemPerCPU=100",
    "SchedulerType=sched/backfill",
    f"SchedulerParameters={','.join(_PASSES)}",
    "PriorityType=priority/multifactor",
    "PriorityDecayHalfLife=0",
    "PriorityUsageResetPeriod=YEARLY",
    "PriorityCalcPeriod=1440",
    "PriorityWeightAge=0",
    "PriorityWeightFairshare=0",
    "PriorityWeightJobSize=1000",
    "PriorityWeightPartition=1000",
    "PriorityWeightQOS=1000",
    "AccountingStorageEnforce=associations,limits,qos",
    "AccountingStorageTRES=gres/gpu",
    "GresTypes=gpu",
)
ACCOUNTS = (
    "add account phys",
    "add account chem",
    "add qos low priority=1",
    "add qos high priority=10",
    *(f"add user {user} account={account}" for user, account in zip(USERS, ("phys", "phys", "chem"), strict=True)),
    f"modify user {','.join(USERS)} set qos+=low,high",
)
_MAIN = "PartitionName=main Nodes=ALL Default=YES DefaultTime=60 MaxTime=INFINITE"


@dataclass(frozen=True)
class Drawn:
    """A scenario to carry out: lines of it, in which ``j3`` stands for a job that was submitted.

    Lines of slurm.conf come after `BASE`, commands of sacctmgr after `ACCOUNTS`.
    """

    kind: str
    seed: int
    conf: tuple[str, ...]
    accounts: tuple[str, ...] = ()
    #: Each with the name of the job that it submits, if it does.
    steps: tuple[tuple[str, str], ...] = ()


@dataclass
class _Draft:
    """What a kind of machine draws."""

    rng: Random
    #: Node lines without the name of the parameters that all have.
    nodes: list[str] = field(default_factory=list)
    conf: list[str] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    #: Lines before the first submission.
    before: list[str] = field(default_factory=list)
    #: Functions that add options to a request.
    options: list[Callable[[Random], str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cpus: int = 0
    part_names: list[str] = field(default_factory=lambda: ["main"])

    def add_nodes(self, prefix: str, count: int, sockets: int, cores: int, threads: int = 1, *, more: str = "") -> None:
        name = f"{prefix}[1-{count}]" if count > 1 else f"{prefix}1"
        self.names += [f"{prefix}{number}" for number in range(1, count + 1)]
        self.cpus += count * sockets * cores * threads
        shape = f"Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}"
        memory = "" if "RealMemory" in more else " RealMemory=8000"
        self.nodes.append(f"NodeName={name} CPUs={sockets * cores * threads} {shape}{memory}{more and ' '}{more}")

    def some_nodes(self, rng: Random, most: int) -> str:
        return ",".join(sorted(rng.sample(self.names, rng.randint(1, min(most, len(self.names))))))


def _plain(draft: _Draft) -> None:
    """Nodes of one or two shapes."""
    rng = draft.rng
    draft.add_nodes("n", rng.randint(2, 6), *rng.choice(((1, 4), (2, 2), (2, 4), (1, 8))))
    if rng.random() < 0.5:
        draft.add_nodes("b", rng.randint(1, 3), *rng.choice(((1, 4), (2, 4), (2, 8))))


def _threads(draft: _Draft) -> None:
    """Two or four threads a core."""
    rng = draft.rng
    draft.add_nodes("n", rng.randint(2, 5), *rng.choice(((1, 4, 2), (2, 2, 2), (2, 4, 2), (1, 2, 4))))
    if rng.random() < 0.3:
        draft.add_nodes("b", rng.randint(1, 2), 1, 4, 1)
    draft.conf.append(f"SelectTypeParameters={rng.choice(('CR_Core_Memory', 'CR_Core', 'CR_CPU_Memory'))}")
    draft.options.append(
        lambda rng: rng.choice(("--hint=nomultithread", "--threads-per-core=1", "--ntasks-per-core=1", "", ""))
    )


def _memory(draft: _Draft) -> None:
    """Memory is short, with defaults and greatest values."""
    rng = draft.rng
    draft.add_nodes("n", rng.randint(2, 4), 1, 4, more=f"RealMemory={rng.choice((1000, 2000, 4000))}")
    draft.add_nodes("b", rng.randint(1, 2), 2, 4, more=f"RealMemory={rng.choice((2000, 8000))}")
    draft.conf.append(rng.choice(("DefMemPerCPU=300", "DefMemPerCPU=0", "DefMemPerCPU=100")))
    if rng.random() < 0.4:
        draft.conf.append(rng.choice(("MaxMemPerCPU=500", "MaxMemPerNode=1500", "MaxMemPerCPU=1000")))
    draft.options.append(
        lambda rng: rng.choice(
            (f"--mem={rng.choice((0, 300, 800, 1500, 3000))}", f"--mem-per-cpu={rng.choice((100, 250, 600, 1100))}", "")
        )
    )


def _gpus(draft: _Draft) -> None:
    """GPUs, of types and without."""
    rng = draft.rng
    gres = rng.choice((("gpu:2", "gpu:4"), ("gpu:a100:2", "gpu:v100:4"), ("gpu:a100:4", "gpu:a100:2,gpu:v100:2")))
    draft.add_nodes("n", rng.randint(1, 3), *rng.choice(((1, 4), (2, 4))), more=f"Gres={gres[0]}")
    draft.add_nodes("g", rng.randint(1, 2), 2, 4, more=f"Gres={gres[1]}")
    if rng.random() < 0.5:
        draft.add_nodes("c", 2, 1, 4)
    typed = ":" in gres[0].partition(":")[2]
    if rng.random() < 0.3:
        draft.conf.append(rng.choice(("DefCpuPerGPU=2", "DefMemPerGPU=500")))

    def gpus(rng: Random) -> str:
        count = rng.choice((1, 1, 2, 3, 4))
        text = f"{rng.choice(('a100', 'v100'))}:{count}" if typed and rng.random() < 0.5 else str(count)
        one = rng.choice(("--gpus", "--gpus-per-node", "--gres", "--gpus-per-task"))
        words = f"--gres=gpu:{text}" if one == "--gres" else f"{one}={text}"
        more = rng.choice(
            (f"--cpus-per-gpu={rng.randint(1, 3)}", f"--mem-per-gpu={rng.choice((200, 700))}", "", "", "")
        )
        return f"{words} {more}".strip() if rng.random() < 0.75 else ""

    draft.options.append(gpus)


def _near(draft: _Draft) -> None:
    """GPUs near cores, with and without types; on some nodes they are near all."""
    rng = draft.rng
    types = rng.choice((("",), ("",), ("a100", "v100")))
    for prefix in "ng"[: rng.randint(1, 2)]:
        sockets, cores, threads = rng.choice(((2, 4, 1), (2, 2, 1), (4, 2, 1), (2, 4, 2)))
        counts = {kind: rng.choice((1, 2, 2)) * (2 if len(types) == 1 else 1) for kind in types}
        gres = ",".join(f"gpu:{kind and kind + ':'}{count}" for kind, count in counts.items())
        nodes = rng.randint(1, 3)
        draft.add_nodes(prefix, nodes, sockets, cores, threads, more=f"Gres={gres}")
        name, device = f"{prefix}[1-{nodes}]" if nodes > 1 else f"{prefix}1", 0
        for kind, count in counts.items():
            left = count
            while left:
                some = rng.randint(1, left)
                socket = rng.randrange(sockets)
                last = rng.choice((socket, socket, socket, min(socket + 1, sockets - 1)))
                near = rng.choice((f" Cores={socket * cores}-{(last + 1) * cores - 1}",) * 5 + ("",))
                files = f"/dev/tty[{device}-{device + some - 1}]" if some > 1 else f"/dev/tty{device}"
                draft.conf.append(f"NodeName={name} Name=gpu {kind and f'Type={kind} '}File={files}{near}")
                device += some
                left -= some

    def gpus(rng: Random) -> str:
        count = rng.choice((1, 1, 1, 2, 2, 3))
        text = f"{rng.choice(types)}:{count}" if len(types) > 1 and rng.random() < 0.5 else str(count)
        one = rng.choice(("--gpus", "--gpus-per-node", "--gres", "--gpus-per-task") * 2 + ("--gpus-per-socket",))
        words = f"--gres=gpu:{text}" if one == "--gres" else f"{one}={text}"
        if one == "--gpus-per-socket":
            words += f" --sockets-per-node={rng.choice((1, 2, 2))}"
        binding = rng.choice((*["--gres-flags=enforce-binding"] * 2, "--gres-flags=disable-binding", *[""] * 4))
        more = rng.choice((f"--cpus-per-gpu={rng.randint(1, 3)}", f"--mem-per-gpu={rng.choice((200, 700))}", *[""] * 6))
        return " ".join(word for word in (words, more, binding) if word) if rng.random() < 0.75 else ""

    draft.options.append(gpus)


def _features(draft: _Draft) -> None:
    """Features and weights."""
    rng = draft.rng
    words = ["red", "blue", "big"]
    for prefix in "nbc"[: rng.randint(2, 3)]:
        chosen = ",".join(rng.sample(words, rng.randint(1, 2)))
        weight = f" Weight={rng.choice((1, 5, 10, 20))}" if rng.random() < 0.7 else ""
        draft.add_nodes(prefix, rng.randint(1, 3), 1, rng.choice((2, 4, 8)), more=f"Feature={chosen}{weight}")
    draft.options.append(
        lambda rng: rng.choice(
            ("-C red", "-C blue", "-C red&big", "-C red|blue", "-C [red|blue]", "--prefer=big", "", "")
        )
    )


def _partitions(draft: _Draft) -> None:
    """Overlapping partitions with tiers and bounds."""
    rng = draft.rng
    _plain(draft)
    half = ",".join(draft.names[: max(1, len(draft.names) // 2)])
    for name in ("fast", "long")[: rng.randint(1, 2)]:
        words = [f"PartitionName={name} Nodes={rng.choice((half, 'ALL'))} DefaultTime={rng.choice((30, 60))}"]
        words += [f"PriorityTier={rng.choice((1, 5, 10))}"] if rng.random() < 0.6 else []
        words += [f"PriorityJobFactor={rng.choice((2, 10))}"] if rng.random() < 0.5 else []
        words += [f"MaxTime={rng.choice((30, 60, 120))}"] if rng.random() < 0.5 else []
        words += [f"MaxNodes={rng.choice((1, 2))}"] if rng.random() < 0.3 else []
        words += [f"MinNodes={rng.choice((2, 2))}"] if rng.random() < 0.1 else []
        words += (
            [rng.choice(("AllowAccounts=phys", "DenyQos=low", "AllowQos=normal,high"))] if rng.random() < 0.3 else []
        )
        words += [f"MaxCPUsPerNode={rng.choice((2, 3))}"] if rng.random() < 0.1 else []
        draft.partitions.append(" ".join(words))
        draft.part_names.append(name)
    if rng.random() < 0.3:
        draft.conf.append(f"EnforcePartLimits={rng.choice(('ALL', 'ANY'))}")
    names = list(draft.part_names)
    draft.options.append(
        lambda rng: rng.choice(("", *(f"-p {name}" for name in names), f"-p {','.join(rng.sample(names, 2))}"))
    )


def _limits(draft: _Draft) -> None:
    """Limits of QOS, accounts and users."""
    rng = draft.rng
    _plain(draft)
    cpus = rng.choice((2, 4, 6, 10))
    qos: tuple[str, ...] = (
        f"GrpTRES=cpu={cpus}",
        "GrpTRES=node=2",
        f"MaxTRESPerUser=cpu={cpus}",
        "MaxJobsPerUser=2",
        "MaxWall=60",
    )
    qos += (
        f"MaxTRESPerJob=cpu={cpus}",
        "GrpJobs=2",
        "MinTRESPerJob=cpu=2",
        "GrpTRES=mem=800",
        "MaxSubmitJobsPerUser=3",
    )
    of: tuple[str, ...] = (
        f"GrpTRES=cpu={cpus}",
        "GrpTRES=node=3",
        "GrpJobs=3",
        "MaxJobs=2",
        "MaxWall=90",
        f"MaxTRESPerJob=cpu={cpus}",
    )
    of += ("GrpTRESRunMins=cpu=600", "MaxTRESPerNode=cpu=2", "MaxTRESMinsPerJob=cpu=400", "GrpSubmitJobs=5")
    for name in ("low", "high"):
        if rng.random() < 0.6:
            draft.accounts.append(f"modify qos {name} set {rng.choice(qos)}")
    if rng.random() < 0.2:
        draft.accounts.append("modify qos high set flags=DenyOnLimit")
    for name in ("account phys", "account chem", f"user {USERS[0]}"):
        if rng.random() < 0.5:
            one = rng.choice(of)
            if not (name.startswith("account") and one.startswith("MaxSubmit")):
                draft.accounts.append(f"modify {name} set {one}")
    draft.options.append(lambda rng: rng.choice(("", "--qos=low", "--qos=high")))


def _licenses(draft: _Draft) -> None:
    """Licences, and dependencies between jobs."""
    _plain(draft)
    draft.conf.append("Licenses=lic:3,tool:1")
    draft.options.append(lambda rng: rng.choice(("-L lic", "-L lic:2", "-L tool", "-L lic:2,tool", "", "")))


def _reservations(draft: _Draft) -> None:
    """Advance reservations, now and later."""
    rng = draft.rng
    _plain(draft)
    for number in range(rng.randint(1, 2)):
        start = rng.choice((0, 600, 1800, 3600))
        who = rng.choice((f"users={USERS[0]}", "accounts=phys", f"users={USERS[1]},{USERS[2]}"))
        flags = rng.choice(("", "", " flags=FLEX", " flags=MAINT,IGNORE_JOBS", " flags=IGNORE_JOBS"))
        nodes = draft.some_nodes(rng, 3)
        draft.before.append(
            f"scontrol create reservation reservationname=r{number} starttime=now{f'+{start}' if start else ''} "
            f"duration={rng.choice((20, 60, 120))} {who} nodes={nodes}{flags}"
        )
    draft.options.append(lambda rng: rng.choice(("", "", "--reservation=r0", "--reservation=r1")))


def _preemption(draft: _Draft) -> None:
    """Partitions or QOS whose jobs are preempted."""
    rng = draft.rng
    _plain(draft)
    mode = rng.choice(("REQUEUE", "CANCEL"))
    draft.conf.append(f"PreemptMode={mode}")
    if rng.random() < 0.5:
        draft.conf.append("PreemptType=preempt/partition_prio")
        draft.partitions.append("PartitionName=urgent Nodes=ALL DefaultTime=30 PriorityTier=10")
        draft.options.append(lambda rng: rng.choice(("", "-p urgent")))
    else:
        draft.conf.append("PreemptType=preempt/qos")
        draft.accounts.append("modify qos high set preempt=low,normal")
        draft.options.append(lambda rng: rng.choice(("", "--qos=low", "--qos=high")))


def _linear(draft: _Draft) -> None:
    """Whole nodes."""
    rng = draft.rng
    _plain(draft)
    draft.conf += [
        "SelectType=select/linear",
        f"SelectTypeParameters={rng.choice(('CR_Memory', 'CR_ONE_TASK_PER_CORE'))}",
    ]


def _sockets(draft: _Draft) -> None:
    """Requests about sockets and cores."""
    rng = draft.rng
    draft.add_nodes("n", rng.randint(2, 4), *rng.choice(((2, 2), (2, 4), (4, 2))))
    draft.conf.append(
        f"SelectTypeParameters={rng.choice(('CR_Socket_Memory', 'CR_Core_Memory', 'CR_Core_Memory,CR_LLN'))}"
    )
    draft.options.append(
        lambda rng: rng.choice(
            (
                "--ntasks-per-socket=1",
                "--ntasks-per-socket=2",
                "--cores-per-socket=2",
                "--sockets-per-node=2",
                "",
                "",
                "",
            )
        )
    )


def _priorities(draft: _Draft) -> None:
    """Weights of priorities, and what a request counts."""
    rng = draft.rng
    _plain(draft)
    draft.conf.append(f"PriorityWeightTRES={rng.choice(('CPU=1000,Mem=2000', 'CPU=500', 'Mem=1000'))}")
    if rng.random() < 0.3:
        draft.conf.append(f"PriorityFlags={rng.choice(('SMALL_RELATIVE_TO_TIME', 'MAX_TRES', 'ACCRUE_ALWAYS'))}")
    if rng.random() < 0.3:
        draft.conf.append("PriorityFavorSmall=YES")
    draft.conf.append("PriorityWeightFairshare=10000")
    draft.accounts.append(f"modify user {USERS[0]} set fairshare={rng.choice((1, 10, 50))}")
    draft.options.append(lambda rng: rng.choice(("", "--nice=100", "--mem=1000", "--mem-per-cpu=700", "--qos=high")))


KINDS: dict[str, Callable[[_Draft], None]] = {
    "plain": _plain,
    "threads": _threads,
    "memory": _memory,
    "gpus": _gpus,
    "features": _features,
    "partitions": _partitions,
    "limits": _limits,
    "licenses": _licenses,
    "reservations": _reservations,
    "preemption": _preemption,
    "linear": _linear,
    "sockets": _sockets,
    "priorities": _priorities,
    "near": _near,
}


def _size(rng: Random, draft: _Draft) -> str:
    """Draw how many tasks, processors and nodes."""
    tasks = rng.randint(1, rng.choice((4, 8, max(4, draft.cpus // 2))))
    nodes = rng.randint(1, len(draft.names))
    return rng.choice(
        (
            f"-n{tasks}",
            f"-n{tasks}",
            f"-n{tasks}",
            f"-N{nodes}",
            f"-N{nodes} -n{max(tasks, nodes)}",
            f"-n{rng.randint(1, 4)} -c{rng.randint(2, 4)}",
            f"-N{nodes} --ntasks-per-node={rng.randint(1, 4)}",
            f"-n{tasks} --ntasks-per-node={rng.randint(1, 4)}",
            f"-N{nodes}-{min(len(draft.names), nodes + rng.randint(1, 2))}",
            f"-N{nodes}-{nodes + 1} -n{max(tasks, nodes)}",
            f"-N{nodes} --exclusive",
            "-n1 --exclusive",
        )
    )


def _odd(rng: Random, draft: _Draft) -> str:
    """Draw one of the options that few jobs have."""
    node = draft.some_nodes(rng, 1)
    return rng.choice(
        (
            f"-w {node}",
            f"-x {node}",
            f"--mincpus={rng.randint(2, 4)}",
            "--contiguous",
            "--spread-job",
            "-O",
            "--use-min-nodes",
            "--hold",
            f"--begin=now+{rng.choice((60, 600))}",
            "--time-min=5",
            f"--nice={rng.choice((-5, 10, 500))}",
            "-s",
            "-m plane=2",
            "-m cyclic",
            "--deadline=now+7200",
        )
    )


def _request(rng: Random, draft: _Draft, label: str) -> tuple[str, str]:
    words = [_size(rng, draft), f"-t {rng.choice((2, 5, 10, 30, 60, 120, 240))}" if rng.random() < 0.9 else ""]
    words += [option(rng) for option in draft.options]
    words += [_odd(rng, draft)] if rng.random() < 0.15 else []
    if draft.conf and "Licenses=lic:3,tool:1" in draft.conf and rng.random() < 0.25 and label != "j1":
        other = f"j{rng.randrange(1, int(label[1:]))}"
        words.append(f"--dependency={rng.choice(('afterok', 'afterany', 'after', 'afternotok'))}:{other}")
    user = rng.choice(USERS)
    return label, f"user {user}: sbatch {' '.join(word for word in words if word)}"


LOOKS = (
    "squeue -a -o %i|%P|%T|%M|%l|%L|%D|%C|%m|%r|%R|%S|%Q|%q|%a|%u|%v|%Y|%n|%h|%f|%b|%p -S i",
    "sprio -o %i|%r|%u|%Y|%S|%A|%F|%J|%P|%Q|%T|%N -S i",
    "sshare -a -P -o Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare",
)


def draw(seed: int, kind: str = "") -> Drawn:
    """Draw a scenario.

    Args:
        seed: Any number.
        kind: One of `KINDS`; by default it depends on the number.
    """
    rng = Random(seed)  # noqa: S311
    kind = kind or list(KINDS)[seed % len(KINDS)]
    draft = _Draft(rng)
    KINDS[kind](draft)
    jobs = rng.randint(5, 15)
    steps = [("", line) for line in draft.before]
    steps += [_request(rng, draft, f"j{number}") for number in range(1, jobs + 1)]
    steps += [("", line) for line in ("wait 1", "look", "wait 1", "look", *LOOKS)]
    steps += [("", _event(rng, f"j{number}")) for number in rng.sample(range(1, jobs + 1), rng.randint(1, 4))]
    steps += [_request(rng, draft, f"j{number}") for number in range(jobs + 1, jobs + rng.randint(2, 4))]
    steps += [("", line) for line in ("wait 1", "look", "wait 1", "look")]
    steps += [("", line) for line in ("wait 130", "wait 1", "wait 1", "look", *LOOKS)]
    conf = (*draft.conf, *draft.nodes, _MAIN, *draft.partitions)
    return Drawn(kind, seed, conf, tuple(draft.accounts), tuple(steps))


def _event(rng: Random, job: str) -> str:
    """Draw what happens to a job."""
    return rng.choice(
        (
            f"end {job} 0",
            f"end {job} 0",
            f"end {job} 1",
            f"scancel {job}",
            f"scontrol requeue {job}",
            f"scontrol update jobid={job} nice=200",
        )
    )
