"""Random clusters, with limits, licences, dependencies and several partitions, and random events."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.accounting import AssociationTree
from rota.model import Association, NodeState, PartitionState, Qos, RequestError
from rota.testing import Harness, cluster, partition, spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rota.model import ClusterConfig, JobSpec

#: Accounts with the one above, and users with their account.
ACCOUNTS = {"science": "root", "phys": "science", "chem": "science"}
USERS = {"ann": "phys", "bob": "phys", "cat": "chem"}
#: Limits that jobs of 1 to 4 processors and 4 to 60 minutes run into.
OF_ALL = {
    "GrpTRES": ("cpu=2", "cpu=4", "node=1", "cpu=3,node=2"),
    "GrpJobs": ("1", "2"),
    "GrpTRESRunMins": ("cpu=60", "node=30"),
    "GrpTRESMins": ("cpu=60", "cpu=100"),
    "GrpSubmitJobs": ("4",),
    "MaxTRESPerJob": ("cpu=1", "cpu=2", "node=1"),
    "MaxTRESMinsPerJob": ("cpu=30",),
    "MaxWallDurationPerJob": ("5", "30"),
    "MaxTRESPerNode": ("cpu=1", "cpu=2"),
}
OF_USERS = OF_ALL | {"MaxJobs": ("1", "2")}
OF_QOS = OF_ALL | {
    "MaxJobsPerUser": ("1", "2"),
    "MaxJobsPerAccount": ("1", "2"),
    "MaxTRESPerUser": ("cpu=2", "node=1"),
    "MaxTRESPerAccount": ("cpu=3",),
    "MinTRESPerJob": ("cpu=2",),
}


class Scenario(NamedTuple):
    """A random cluster, and its events up to the time at which reasons are tested."""

    config: ClusterConfig
    sched: str
    #: By ``QOS name``, ``account name`` or ``user name``.
    limits: Mapping[str, Mapping[str, str]]
    #: By job id.
    jobs: Mapping[int, JobSpec]
    #: Held by an administrator; cancelled; ended with an exit code: if they can be, at the second 10.
    holds: frozenset[int]
    cancels: frozenset[int]
    ends: Mapping[int, int]
    partitions: Mapping[str, PartitionState]
    drained: frozenset[str]

    def play(self, look: Callable[[Harness], object] | None = None, **options: Any) -> Harness:
        """Run a scenario with some options of the harness; ``look`` is called after every event."""
        rota = Harness(self.config, sched=self.sched, associations=make_tree(self.limits), **options)
        if look is not None:
            rota.checks.append(lambda: look(rota))
        for job_id, one in self.jobs.items():
            with suppress(RequestError):  # limits of submitted jobs
                rota.submit(one, job_id=job_id)
        rota.wait(10)
        for name in self.drained:
            rota.node(name, NodeState.DRAIN)
        for job_id, code in self.ends.items():
            if job_id in rota.running:
                rota.end(job_id, code)
        with suppress(RequestError):
            for job_id in self.cancels:
                rota.cancel(job_id)
        for job_id in self.holds:
            with suppress(RequestError):
                rota.hold(job_id)
        for name, state in self.partitions.items():
            rota.partition(name, state)
        rota.wait(35)  # a backfill cycle
        rota.run_pass()  # one that starts nobody: see `test_what_a_job_was_refused_for_is_not_forgotten`
        return rota


def make_tree(limits: Mapping[str, Mapping[str, str]]) -> AssociationTree:
    """Make the associations."""
    ids = {"root": 1} | {name: place for place, name in enumerate([*ACCOUNTS, *USERS], start=2)}
    names = tuple(name.removeprefix("QOS ") for name in limits if name.startswith("QOS "))
    qos = [Qos(name=name, id=place, limits=dict(limits[f"QOS {name}"])) for place, name in enumerate(names, start=1)]
    return AssociationTree(
        "cluster",
        [
            Association(id=1, account="root", qos=names, default_qos=names[0]),
            *(
                Association(id=ids[name], account=name, parent_id=ids[above], limits=dict(limits[f"account {name}"]))
                for name, above in ACCOUNTS.items()
            ),
            *(
                Association(
                    id=ids[user],
                    account=account,
                    user=user,
                    parent_id=ids[account],
                    limits=dict(limits[f"user {user} of account {account}"]),
                )
                for user, account in USERS.items()
            ),
        ],
        qos=qos,
    )


#: Who has limits, as `Limit.of` has it, and which.
OWNERS = {
    **dict.fromkeys(("QOS normal", "QOS high", "QOS part"), OF_QOS),
    **{f"account {name}": OF_ALL for name in ACCOUNTS},
    **{f"user {user} of account {account}": OF_USERS for user, account in USERS.items()},
}


def draw_limits(rng: Random) -> dict[str, dict[str, str]]:
    chance = rng.choice((0.0, 0.1, 0.3))
    return {
        owner: {name: rng.choice(table[name]) for name in rng.sample(sorted(table), 2) if rng.random() < chance}
        for owner, table in OWNERS.items()
    }


def _draw_config(rng: Random) -> ClusterConfig:
    words: dict[str, Any] = {
        "AccountingStorageEnforce": rng.choice(("associations,limits,qos", "associations,limits,qos,safe")),
        "Licenses": "lic:2",
        "SchedulerParameters": rng.choice(("bf_interval=30", "bf_interval=30,bf_licenses")),
        "SelectTypeParameters": "CR_CPU",
    }
    bounds: dict[str, Any] = {
        "max_time": rng.choice((None, None, None, 1200)),
        "qos": rng.choice(("", "", "part")),
    }
    if rng.random() < 0.3:
        return cluster(cpus=rng.randint(2, 5), partitions=[partition("a", **bounds)], **words)
    words["SelectType"] = rng.choice(("select/linear", "select/cons_tres"))
    parts = [partition("a", range(3), max_nodes=rng.choice((None, None, 1)), **bounds)]
    if rng.random() < 0.5:
        parts.append(partition("b", range(rng.choice((1, 2, 3)), 5), tier=rng.choice((1, 2))))
    return cluster(nodes=5 if len(parts) > 1 else 3, cpus_per_node=rng.choice((1, 2)), partitions=parts, **words)


def _draw_dependency(rng: Random, job_id: int) -> str:
    if job_id < 3 or rng.random() < 0.8:
        return ""
    kinds = ("after", "afterany", "afterok", "afternotok")
    several = [f"{rng.choice(kinds)}:{other}" for other in rng.sample(range(1, job_id), rng.randint(1, 2))]
    several = [f"{one}+1" if one.startswith("after:") and rng.random() < 0.5 else one for one in several]
    return rng.choice(("singleton", rng.choice((",", "?")).join(several)))


def _draw_job(rng: Random, config: ClusterConfig, job_id: int) -> JobSpec:
    names = [part.name for part in config.partitions]
    user = rng.choice(sorted(USERS))
    return spec(
        cpus=rng.randint(1, 2),
        nodes=rng.choice((0, 0, 0, 2)) if len(config.nodes) > 1 else 0,
        limit=rng.choice((240, 900, 3600)),
        user=user,
        account=USERS[user],
        qos=rng.choice(("", "", "high")),
        partition=rng.choice([*names, ",".join(names)]),
        name=rng.choice("xy"),
        licenses=rng.choice(("", "", "", "lic", "lic:2")),
        begin=rng.choice((0, 0, 0, 0, 20, 100)),
        hold=rng.random() < 0.05,
        dependency=_draw_dependency(rng, job_id),
    )


def draw(rng: Random) -> Scenario:
    config = _draw_config(rng)
    jobs = {job_id: _draw_job(rng, config, job_id) for job_id in range(1, rng.randint(4, 9))}
    closed = (*[PartitionState.UP] * 8, PartitionState.DOWN, PartitionState.INACTIVE)

    def some(chance: float) -> list[int]:
        return [job_id for job_id in jobs if rng.random() < chance]

    return Scenario(
        config=config,
        sched=rng.choice(("sched/builtin", "sched/backfill")),
        limits=draw_limits(rng),
        jobs=jobs,
        holds=frozenset(some(0.05)),
        cancels=frozenset(some(0.05)),
        ends={job_id: rng.choice((0, 1)) for job_id in some(0.2)},
        partitions={part.name: rng.choice(closed) for part in config.partitions},
        drained=frozenset(node.name for node in config.nodes if rng.random() < 0.05),
    )
