"""Cost of priorities: repricing a queue, Fair Tree, a decay period, and a replay with priority/multifactor.

``make bench`` prints four tables: one repricing of 1,000 to 100,000 pending jobs of 1,000 associations, including the
engine's part (checking, writing, sorting the queue); Fair Tree with 100 to 10,000 users; a decay period after few and
after many finished jobs; and KTH-SP2 replayed with priority/multifactor and with priority/basic.

Absolute times depend on the computer; compare ratios. The best of several runs counts.
"""

from __future__ import annotations

import random
import subprocess
import sys
from functools import partial
from itertools import count
from timeit import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.accounting import AssociationTree, Usage, classic, fair_tree
from rota.core import Engine
from rota.core.events import Submit
from rota.loader import PluginHost
from rota.model import JobSpec
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rota.model import ClusterConfig

_ACCOUNTS = 50
_KEYS = {
    "PriorityWeightAge": "1000",
    "PriorityWeightFairshare": "10000",
    "PriorityWeightJobSize": "100",
    "PriorityWeightPartition": "1000",
    "PriorityWeightQOS": "2000",
}


def _best_ms(fn: Callable[[], object], runs: int = 7) -> float:
    return min(repeat(fn, number=1, repeat=runs)) * 1e3


def _tree(users: int) -> AssociationTree:
    tree = AssociationTree("bench")
    for number in range(users):
        tree.add(f"user{number}", f"account{number % _ACCOUNTS}")
    return tree


def _machine() -> ClusterConfig:
    return cluster(cpus=10_000, **_KEYS)  # type: ignore[arg-type] # keys of slurm.conf are text


def _reprice(plugin: Any, usage: np.random.Generator, associations: int, now: int) -> None:
    """End a period in which usage has changed so that the order of all users changes."""
    plugin._period_usage = usage.random(associations)  # noqa: SLF001 - what the end of a period does
    plugin._shares = None  # noqa: SLF001
    plugin._table.reprice(now)  # noqa: SLF001


def repricing() -> Iterator[dict[str, object]]:
    """Measure the repricing of queues of jobs that do not fit."""
    chance = random.Random(1)  # noqa: S311 - the same jobs each time, no secrets
    for jobs in (1_000, 10_000, 100_000):
        tree = _tree(950)
        with PluginHost([]) as host:
            priority, sched = host.load("priority/multifactor"), host.load("sched/builtin")
            engine = Engine(_machine(), priority=priority.container, sched=sched.container, associations=tree)
            priority.start(engine.priority_controller)
            sched.start(engine.sched_controller)
            engine.begin()
            for number in range(1, jobs + 1):
                user = chance.randrange(950)
                spec = JobSpec(chance.randrange(1, 64), 3600, account=f"account{user % _ACCOUNTS}", user=f"user{user}")
                engine.handle(Submit(job_id=number, spec=spec), number // 10)
            took = _best_ms(partial(_reprice, priority.container, np.random.default_rng(1), len(tree), jobs))
        yield {"pending jobs": jobs, "ms": round(took, 2), "ns a job": round(took * 1e6 / jobs)}


def fair_trees() -> Iterator[dict[str, object]]:
    """Measure the ranking of users."""
    for users in (100, 1_000, 10_000):
        columns = _tree(users).columns
        usage = np.random.default_rng(1).random(len(columns.parent))
        ranked, shared = (
            _best_ms(partial(fair_tree, columns, usage)),
            _best_ms(partial(classic, columns, usage, damping=1)),
        )
        yield {"users": users, "Fair Tree ms": round(ranked, 3), "classic ms": round(shared, 3)}


def _advance(usage: Usage, clock: count[int]) -> None:
    usage.advance(next(clock))


def periods() -> Iterator[dict[str, object]]:
    """Measure the end of a period with a hundred running jobs, after a number of jobs have ended."""
    for ended in (0, 100_000):
        tree = _tree(1_000)
        usage = Usage(tree, ("cpu", "mem", "node"))
        usage.set_half_life(86_400)
        usage.advance(0)
        for number in range(ended):
            usage.job_started(number, number % 1_000 + 1, billable=1, tres=(1, 1, 1), start_time=0)
            usage.job_ended(number, 1)
        for number in range(100):
            usage.job_started(-number, number + 1, billable=1, tres=(1, 1, 1), start_time=1)
        clock = count(300, 300)
        usage.advance(next(clock))
        yield {"jobs ended": ended, "running": 100, "ms": round(_best_ms(partial(_advance, usage, clock), 50), 4)}


def replays() -> Iterator[dict[str, object]]:
    """Measure replays of KTH-SP2."""
    script = (
        "import json,resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,check=True);"
        "used=resource.getrusage(resource.RUSAGE_CHILDREN);print(used.ru_utime+used.ru_stime)"
    )
    base = 0.0
    keys = [word for key, value in _KEYS.items() for word in ("--set", f"{key}={value}")]
    for scheduler in ("easy", "backfill"):
        for priority in ("basic", "multifactor"):
            command = [sys.executable, "-m", "rota", "replay", "KTH-SP2", "--filter", "sc15"]
            command += ["--scheduler", f"sched/{scheduler}", "--priority", f"priority/{priority}", *keys]
            took = min(
                float(
                    subprocess.run([sys.executable, "-c", script, *command], stdout=subprocess.PIPE, check=True).stdout
                )
                for _ in range(2)
            )
            base = took if priority == "basic" else base
            yield {"scheduler": scheduler, "priority": priority, "s": round(took, 2), "to basic": round(took / base, 1)}


#: By the name in the JSON file.
TABLES = {"repricing": repricing, "fair_tree": fair_trees, "period": periods, "multifactor": replays}
