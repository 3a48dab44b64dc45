"""A site: its machine and rules, and what its users do in a month.

Nothing here is measured. It is drawn so that a month has what accounting of real sites has: working hours and quiet
weekends, users of very unequal weight, limits that are round and too long, arrays, chains of jobs, jobs that fail,
run into their limits, are withdrawn or requeued, and nodes that break.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

HOUR, DAY = 3600, 86400
#: The month that is played, in UTC.
BEGIN, DAYS = 1_790_812_800, 31  # 2026-10-01
#: Users that every Debian has.
USERS = (
    *("bin", "sys", "games", "man", "lp", "mail", "news"),
    *("uucp", "proxy", "www-data", "backup", "list", "irc", "nobody"),
)
_ACCOUNTS = ("physics", "chemistry", "biology", "teaching")
CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=2000
SchedulerType=sched/backfill
SchedulerParameters=bf_window=4320,bf_continue
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityMaxAge=7-0
PriorityWeightAge=2000
PriorityWeightFairshare=6000
PriorityWeightJobSize=500
PriorityWeightPartition=1000
PriorityWeightQOS=4000
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
EnforcePartLimits=ALL
NodeName=n[01-16] CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000 Weight=10
NodeName=b[01-06] CPUs=32 Boards=1 SocketsPerBoard=1 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=256000 \
Feature=bigmem Weight=50
NodeName=g[01-03] CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=128000 \
Gres=gpu:4 Weight=100
PartitionName=batch Nodes=n[01-16],b[01-06] Default=YES MaxTime=3-00:00:00 DefaultTime=12:00:00 PriorityJobFactor=1
PartitionName=short Nodes=n[01-16],b[01-06] MaxTime=02:00:00 DefaultTime=00:30:00 PriorityJobFactor=10
PartitionName=bigmem Nodes=b[01-06] MaxTime=7-00:00:00 DefaultTime=1-00:00:00 PriorityJobFactor=5
PartitionName=gpu Nodes=g[01-03] MaxTime=2-00:00:00 DefaultTime=04:00:00 PriorityJobFactor=5
"""


def accounts() -> list[str]:
    """Give the commands of sacctmgr that make accounts, users and QOS."""
    words = [
        "modify qos normal set priority=10",
        "add qos urgent priority=100 maxjobspu=4",
        "add qos low priority=0 grptres=cpu=256",
    ]
    for account, share in zip(_ACCOUNTS, (40, 30, 20, 10), strict=True):
        words += [f"add account {account} fairshare={share} qos=normal,urgent,low defaultqos=normal"]
    for number, user in enumerate(USERS):
        account = _ACCOUNTS[number % len(_ACCOUNTS)]
        limit = " grptres=cpu=96" if account == "teaching" else ""
        words += [f"add user {user} account={account} fairshare={1 + number % 3}{limit}"]
    return words


@dataclass(slots=True)
class Submission:
    """A job or an array that somebody submits, and what comes of it."""

    #: Seconds from the begin of the month.
    time: int
    user: str
    options: list[str]
    #: Seconds that the tasks take.
    lengths: list[int]
    exit_code: int = 0
    #: Which submission it waits for, and how; None: for none.
    after: tuple[str, int] | None = None
    #: When its user withdraws it, and when an administrator requeues it; None: never.
    cancelled: int | None = None
    requeued: int | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """A node that breaks: seconds from the begin of the month."""

    node: str
    begin: int
    end: int


@dataclass(slots=True)
class _Habit:
    """How a user works."""

    user: str
    weight: float
    partition: str
    #: Processors, median of the run times, and how much longer limits are.
    cpus: tuple[int, ...]
    median: float
    margin: float
    night_owl: bool
    last: int | None = field(default=None)


def month(seed: int) -> tuple[list[Submission], list[Outage]]:
    """Draw what users submit, in order of time, and which nodes break."""
    random = Random(seed)  # noqa: S311 - no secret
    habits = [_habit(random, number, user) for number, user in enumerate(USERS)]
    drawn: list[Submission] = []
    for begin in _sessions(random):
        time = begin
        habit = random.choices(habits, [one.weight for one in habits])[0]
        if habit.night_owl != (time // HOUR % 24 < 7 or time // HOUR % 24 > 19) and random.random() < 0.6:
            habit = random.choice(habits)
        for _ in range(random.choices((1, 2, 3, 6, 12), (50, 20, 15, 10, 5))[0]):
            time += random.randrange(2, 300)
            drawn.append(_submission(random, habit, time))
    drawn.sort(key=lambda one: one.time)
    last: dict[str, int] = {}
    for index, one in enumerate(drawn):
        if one.user in last and random.random() < 0.06:
            one.after = random.choice(("afterok", "afterany", "afterok", "singleton")), last[one.user]
        last[one.user] = index
    outages = [
        Outage(random.choice(("n03", "n07", "n12", "b02", "g01")), begin, begin + random.randrange(HOUR, 8 * HOUR))
        for begin in sorted(random.sample(range(2 * DAY, (DAYS - 1) * DAY), 5))
    ]
    return drawn, outages


def _sessions(random: Random) -> list[int]:
    """Draw when somebody sits down to submit: mostly in working hours."""
    hours = range(DAYS * 24)
    first = (BEGIN // DAY + 4) % 7  # 0 is Sunday
    weights = [
        (0.25 if (first + hour // 24) % 7 in (0, 6) else 1.0)
        * (0.15 + math.exp(-(((hour % 24 - 14) / 4.0) ** 2)))
        * (1.3 if (hour // 24) % 10 < 6 else 0.7)  # deadlines come in waves
        for hour in hours
    ]
    return sorted(hour * HOUR + random.randrange(HOUR) for hour in random.choices(hours, weights, k=1000))


def _habit(random: Random, number: int, user: str) -> _Habit:
    partition = ("batch", "batch", "batch", "short", "batch", "bigmem", "gpu")[number % 7]
    sizes = {
        "batch": ((1, 2, 4), (8, 16, 32), (16, 32, 64, 128), (1, 16))[number % 4],
        "short": (1, 2, 4, 8),
        "bigmem": (4, 8, 16, 32),
        "gpu": (2, 4, 8),
    }[partition]
    median = {"batch": 3.2, "short": 0.35, "bigmem": 8.0, "gpu": 3.0}[partition] * HOUR * random.uniform(0.6, 1.6)
    return _Habit(user, 1 / (1 + number) ** 0.7, partition, sizes, median, random.uniform(1.3, 6.0), number % 5 == 4)


def _submission(random: Random, habit: _Habit, time: int) -> Submission:
    cpus = random.choice(habit.cpus)
    partition = "short" if random.random() < 0.08 else habit.partition
    longest = {"batch": 72, "short": 2, "bigmem": 168, "gpu": 48}[partition] * HOUR
    tasks = random.randrange(3, 25) if random.random() < 0.035 else 0
    if tasks:
        cpus = min(cpus, 16)
    median = habit.median if partition == habit.partition else 0.3 * HOUR
    if cpus > 32:
        median *= 0.6
    lengths = [
        max(5, min(int(random.lognormvariate(math.log(median), 1.1)), longest - 60)) for _ in range(max(tasks, 1))
    ]
    limit = _rounded(min(max(lengths) * random.uniform(1.05, habit.margin), longest))
    options = [f"--job-name={partition}{cpus}", f"--partition={partition}"]
    if random.random() > 0.07:
        options.append(f"--time={limit // 60}")
    per_node = 32 if partition == "bigmem" else 16
    kind = random.random()
    if partition == "gpu":
        options += [f"--gres=gpu:{random.choice((1, 1, 2, 4))}", f"--cpus-per-task={cpus}"]
    elif cpus > per_node or (cpus == per_node and kind < 0.5):
        options += [f"--nodes={max(cpus // per_node, 1)}", f"--ntasks-per-node={min(cpus, per_node)}"]
    elif kind < 0.3:
        options += ["--ntasks=1", f"--cpus-per-task={cpus}"]
    else:
        options += [f"--ntasks={cpus}"]
    if random.random() < 0.2:
        options.append(f"--mem-per-cpu={random.choice((500, 1000, 3000))}")
    if partition == "batch" and random.random() < 0.03:
        options.append("--constraint=bigmem")
    qos = random.choices(("", "urgent", "low"), (80, 6, 14))[0]
    options += [f"--qos={qos}"] if qos else []
    if tasks:
        most = random.choice(("", "", "", "", "", "", "%2", "%5"))
        options.append(f"--array=1-{tasks}{most}")
    if random.random() < 0.02:
        options.append(f"--begin=now+{random.choice((1, 6, 12)) * HOUR}")
    made = Submission(time, habit.user, options, lengths)
    fate = random.random()
    if fate < 0.06:
        made.exit_code = random.choice((1, 1, 2, 127))
        made.lengths = [max(3, length // 20) for length in lengths]
    elif fate < 0.09:  # longer than its limit
        made.lengths = [limit + HOUR for _ in lengths]
    elif fate < 0.13:
        made.cancelled = time + random.choice((20, 600, 2 * HOUR, 9 * HOUR))
    elif fate < 0.14:
        made.requeued = time + random.randrange(HOUR, 12 * HOUR)
    return made


def _rounded(seconds: float) -> int:
    """Round a limit up as people do: to 10 minutes, hours, or half days."""
    unit = 600 if seconds < HOUR else HOUR if seconds < DAY / 2 else DAY // 2
    return int(math.ceil(seconds / unit) * unit)
