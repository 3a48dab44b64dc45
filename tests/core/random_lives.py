"""Random lives of clusters: sequences of all events that users, administrators and machines can cause.

A life is drawn before it is run, so that the same one can be run in several ways: without and with restarts, and from a
journal. The outcome of a run depends only on the life, the job and the restart count.

Over 400 lines: it draws everything that can happen to a cluster, and each thing depends on the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rota.core import events as ev
from rota.core.effects import Accepted, Refused
from rota.core.machine import NodeMapping
from rota.model import Node, NodeState, PartitionState
from rota.model.reservation import Reservation
from rota.model.step import StepRecord
from rota.testing import MACHINES, Harness, Script, spec, with_parameters
from rota.testing.builders import accounting_of

from .random_clusters import ACCOUNTS, OWNERS, USERS, draw_limits, make_tree

if TYPE_CHECKING:
    from rota.accounting import AssociationTree
    from rota.core.effects import Effect, JobFinished, Kill, Launch
    from rota.model import ClusterConfig, JobSpec, Partition
    from rota.model.job_record import JobRecord

SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")
#: Seconds after which nobody looks any more.
_LONG = 3000
_RESERVATIONS = ("r1", "r2", "r3")
_RESERVATION_FLAGS = ("HOURLY", "WEEKEND", "MAINT", "FLEX", "IGNORE_JOBS", "OVERLAP", "MAGNETIC", "PURGE_COMP")
_QOS = ("", "normal", "high", "high", "part")
#: Ids of jobs are multiples of it: between them is room for the tasks of arrays.
_STEP = 10
#: Of all users.
_UID = 1000
_DEPENDENCIES = ("after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer")
_SCHEDULER_PARAMETERS = (
    "bf_licenses",
    "bf_continue,bf_test_time=1000000,bf_yield_sleep=5000000",
    "bf_test_time=700000,bf_yield_interval=1000000,bf_yield_sleep=3000000,bf_max_time=20",
    "bf_busy_nodes",
    "bf_one_resv_per_job",
    "bf_max_job_start=1",
    "bf_max_job_user=2",
    "bf_max_job_user_part=2",
    "bf_min_age_reserve=60",
    "bf_window_linear=60",
    "bf_running_job_reserve",
    "default_queue_depth=2",
    "sched_max_job_start=1",
    "sched_min_interval=3000000",
    "batch_sched_delay=5",
    "defer",
    "assoc_limit_stop",
    "requeue_delay=60",
    "preempt_youngest_first",
    "preempt_strict_order,preempt_reorder_count=3",
    "partition_job_depth=3",
    "easy_order=sjf",
    "time_min_as_soft_limit",
)
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "AccountingStorageEnforce": ("", "associations", *["associations,limits,qos"] * 3, "associations,limits,qos,safe"),
    "PreemptType": ("preempt/none", *["preempt/partition_prio", "preempt/qos"] * 2),
    "PreemptMode": ("CANCEL", "REQUEUE"),
    "PreemptExemptTime": ("0", "0", "00:01:00"),
    "Licenses": ("lic:2,dongle:1", "lic:3"),
    "DependencyParameters": ("", "kill_invalid_depend"),
    "EnforcePartLimits": ("NO", "NO", "ANY", "ALL"),
    "MinJobAge": ("300", "20"),
    "MaxBatchRequeue": ("5", "1"),
    "JobRequeue": ("1", "0"),
    "PriorityDecayHalfLife": ("0:10:0", "7-0"),
    "PriorityCalcPeriod": ("1", "5"),
    "PriorityWeightAge": ("0", "1000"),
    "PriorityWeightFairshare": ("0", "100000"),
    "PriorityWeightQOS": ("0", "1000"),
    "PriorityMaxAge": ("1-0",),
    "PriorityFlags": ("", "", "SMALL_RELATIVE_TO_TIME", "CALCULATE_RUNNING", "NO_FAIR_TREE"),
    "AccountingStorageTRES": ("gres/gpu",),
}


# ---- playing it -----------------------------------------------------------------------------------------------


class Living(Harness):
    """A driver that draws the outcome of every run: its end, also reported late or twice, or a failed launch.

    Args:
        seed: Seed of the life.
    """

    def __init__(self, *args: Any, seed: int, **options: Any) -> None:
        self._seed = seed
        #: How often what was seen, after each event and of each effect.
        self.seen: Counter[object] = Counter()
        super().__init__(*args, **options)
        self.checks.append(self._look)

    def launch(self, effect: Launch) -> None:
        """Begin a run, unless it has been running since before a restart, and schedule its outcome."""
        before = len(self.launches)
        super().launch(effect)
        if len(self.launches) > before:
            for seconds, event in self._fate(effect):
                self._later(seconds, event)

    def kill(self, effect: Kill) -> None:
        """Schedule the end of a run that is killed."""
        self.kills.append(effect)
        ended = ev.JobEnded(job_id=effect.job_id, restart_count=effect.restart_count, signal=effect.signal)
        self._later(self._chance(effect, "kill").choice((0, 0, 1, 7)), ended)

    def _chance(self, effect: Launch | Kill | JobRecord, what: str) -> Random:
        return Random(f"{self._seed} {effect.job_id} {effect.restart_count} {what}")  # noqa: S311 - repeatable

    def _fate(self, effect: Launch) -> list[tuple[int, ev.Event]]:
        """Draw the events about a run, each with the seconds after which it is sent."""
        rng, run = self._chance(effect, "launch"), {"job_id": effect.job_id, "restart_count": effect.restart_count}
        if rng.random() < 0.08:
            return [(rng.choice((0, 1, 6)), ev.LaunchFailed(**run, boot=rng.random() < 0.3))]
        seconds = rng.choice((rng.randint(1, 90), rng.randint(60, 1200)))
        ended = ev.JobEnded(
            **run,
            exit_code=rng.choice((0, 0, 0, 1)),
            signal=rng.choice((0, 0, 0, 0, 11)),
            time=rng.choice((None, None, self.now + seconds - 1)),
            outcome=rng.choices(list(ev.Outcome), (12, 1, 1, 1))[0],
        )
        fate: list[tuple[int, ev.Event]] = [(seconds, ended)]
        if rng.random() < 0.1:
            fate.append((seconds + rng.randint(0, 9), ended))
        if rng.random() < 0.2:
            step = StepRecord(step_id="0", start_time=self.now)
            fate.append((rng.randint(0, 9), ev.StepChanged(**run, step=step)))
        return fate

    def _later(self, seconds: int, event: ev.Event) -> None:
        self.at(self.now + seconds, lambda: self.send(event))

    def finished_with(self, effect: JobFinished) -> None:
        """Keep the record of a job that has ended, and count its final state."""
        super().finished_with(effect)
        record = effect.record
        self.seen["over", record.state] += 1
        self.seen["queued again"] += record.restart_count > 0
        self.seen["task queued again"] += record.restart_count > 0 and record.array_job_id is not None
        self.seen["was suspended"] += record.suspended > 0
        self.seen["had steps"] += bool(record.steps)
        rng = self._chance(record, "over")
        if record.array_job_id is not None and rng.random() < 0.2:
            again = ev.Resubmit(
                job_id=record.job_id,
                spec=record.spec,
                restart_count=record.restart_count + 1,
                hold=rng.random() < 0.1,
                array_job_id=record.array_job_id,
                tasks=record.tasks,
            )
            self._later(rng.choice((0, 5, 200)), again)

    # ---- what there was to see --------------------------------------------------------------------------------

    def send(self, event: ev.Event) -> list[Effect]:
        """Send an event, and count whether it was carried out."""
        effects = super().send(event)
        answers = {Refused, Accepted}.intersection(map(type, effects))
        self.seen[type(event), Refused not in answers] += 1
        return effects

    def _look(self) -> None:
        cluster = self.engine.cluster
        seen: set[object] = {timer.kind for timer in cluster.state.timers}
        for job in cluster.state.jobs.values():
            seen |= {job.state, job.reason}
            seen |= {one.type for one in job.dependencies.each} if job.dependencies else set()
            if not job.alloc:
                continue
            if job.completing:
                seen.add("completing")
            for name in ("array", "gres", "gres_per_job", "licenses", "reservation", "deadline", "constraint"):
                if getattr(job.spec, name):
                    seen.add(f"{name} runs")
        for array in cluster.state.arrays.values():
            if array.pending and array.holds_back_all():
                seen.add("throttled")
        for name, is_so in {
            "a node leaves": cluster.state.leaving_nodes,
            "a partition leaves": cluster.state.leaving_partitions,
            "refused for a limit": cluster.policy.context.refused,
            "several records": any(job.records for job in cluster.queue.queued),
        }.items():
            if is_so:
                seen.add(name)
        self.seen.update(seen)


L = TypeVar("L", bound=Living)


class Life(NamedTuple):
    """A cluster, and the events that happen to it."""

    seed: int
    config: ClusterConfig
    sched: str
    priority: str
    tree: AssociationTree
    script: Script

    def play(self, *, until: int = _LONG) -> Living:
        """Run the life up to a time."""
        return self.play_on(Living, until=until)

    def play_on(self, kind: type[L], *, until: int = _LONG) -> L:
        """Run the life with a harness, up to a time."""
        rota = kind(self.config, sched=self.sched, priority=self.priority, associations=self.tree, seed=self.seed)
        self.script.put(rota)
        rota.until(until)
        return rota


# ---- drawing it -----------------------------------------------------------------------------------------------


def draw_life(seed: int, sched: str) -> Life:
    """Draw a life for a scheduler. The same seed gives the same life."""
    rng = Random(f"{seed} {sched}")  # noqa: S311 - repeatable on purpose
    config = _draw_config(rng)
    limits = draw_limits(rng)
    happenings: list[tuple[int, ev.Event]] = []
    submissions: list[tuple[int, ev.Submit]] = []
    time = 0
    for job_id in range(_STEP, _STEP * rng.randint(12, 25), _STEP):
        time += rng.choice((0, 0, 5, rng.randint(1, 60), rng.randint(50, 150)))
        submissions.append((time, ev.Submit(job_id=job_id, spec=_draw_job(rng, config, job_id, time))))
    for _ in range(rng.randint(30, 60)):
        time, event = rng.choice(submissions)
        at = _At(rng, config, time + rng.choice((0, 1, rng.randint(0, 60), rng.randint(0, 600))), event)
        happenings += rng.choice(_HAPPENINGS)(at)
    happenings += submissions
    happenings.sort(key=lambda one: one[0])
    priority = rng.choice(("priority/basic", "priority/multifactor"))
    tree = _draw_tree(rng, limits)
    script = Script((), tuple(happenings))
    return Life(seed=seed, config=config, sched=sched, priority=priority, tree=tree, script=script)


def _draw_config(rng: Random) -> ClusterConfig:
    config = MACHINES[rng.choice(sorted(MACHINES))]()
    nodes = tuple(node._replace(features=tuple(rng.sample("ab", rng.randint(0, 2)))) for node in config.nodes)
    parts = tuple(_draw_partition(rng, part, place) for place, part in enumerate(config.partitions))
    words = {name: rng.choice(values) for name, values in _PARAMETERS.items()}
    options = ["bf_interval=30", *rng.sample(_SCHEDULER_PARAMETERS, rng.randint(0, 4))]
    words["SchedulerParameters"] = ",".join(options)
    return with_parameters(replace(config, nodes=nodes, partitions=parts), **words)


def _draw_partition(rng: Random, part: Partition, place: int) -> Partition:
    return replace(
        part,
        priority_tier=rng.choice((part.priority_tier, place + 1)),
        max_time=rng.choice((None, None, None, 1200)),
        default_time=rng.choice((None, 300)),
        max_nodes=rng.choice((None, None, None, 2)),
        grace_time=rng.choice((0, 20)),
        over_time_limit=rng.choice((0, 0, 60, None)),
        qos=rng.choice(("", "", "", "part")),
        billing_weights=rng.choice(({}, {"cpu": 1.0, "mem": 0.1, "gres/gpu": 1.7})),
        deny_accounts=rng.choice(((), (), (), ("chem",))),
        options=rng.choice(({}, {}, {"preemptmode": "REQUEUE"}, {"preemptmode": "OFF"})),
    )


def _draw_tree(rng: Random, limits: dict[str, dict[str, str]]) -> AssociationTree:
    tree = make_tree(limits)
    for place, one in enumerate(tree.qos.values()):
        one.priority = place
        one.usage_factor = rng.choice((1.0, 1.0, 1.3))
        one.grace_time = rng.choice((0, 15))
        one.preempt_exempt_time = rng.choice((None, None, 45))
        one.preempt_mode = rng.choice(((), (), ("requeue",), ("cancel",)))
        one.flags = tuple(rng.sample(("NoReserve", "DenyOnLimit", "OverPartQOS", "NoDecay", "PartitionTimeLimit"), 1))
        if rng.random() < 0.5:
            one.flags = ()
        if rng.random() < 0.15:
            one.flags, one.usage_threshold = ("EnforceUsageThreshold",), 0.3
    tree.qos["high"].preempt = ("normal", "part")
    return tree


def _draw_job(rng: Random, config: ClusterConfig, job_id: int, now: int) -> JobSpec:
    part = rng.choice(config.partitions)
    nodes = [node for place, node in enumerate(config.nodes) if part.nodes >> place & 1]
    cpus, features = sum(node.cpus for node in nodes), sorted({one for node in nodes for one in node.features})
    user = rng.choice(sorted(USERS))
    fields: dict[str, object] = {
        "partition": rng.choice((part.name, part.name, ",".join(one.name for one in config.partitions))),
        "cpus": min(rng.choice((1, 1, 2, 3, cpus // 2 or 1, cpus)), cpus),
        "nodes": rng.choice((0, 0, 0, 0, 1, rng.randint(1, len(nodes)))),
        "limit": 60 * rng.choice((1, 3, 5, 10, 25)),
        "user": user,
        "account": USERS[user],
        "qos": rng.choice(_QOS),
        "name": rng.choice("xy"),
    }
    # Each is rare, so that one does not hide what comes of another.
    seldom: dict[str, object] = {
        "array": rng.choice(("0-4", "0-5%2", "1,3,5%1")),
        "licenses": rng.choice(("lic", "lic:2", "lic,dongle")),
        "begin": now + rng.randint(-20, 300),
        "deadline": now + rng.randint(200, 900),
        "time_min": 60,
        "hold": True,
        "dependency": _draw_dependency(rng, job_id),
        "reservation": rng.choice(_RESERVATIONS),
        "requeue": rng.choice((True, False)),
        "nice": rng.choice((5, -5, 1000)),
        "priority": rng.choice((0, 77, 2**32 - 7)),
        "exclusive": True,
        "oversubscribe": True,
        "mem_per_cpu": rng.choice((100, 900)),
        "constraint": rng.choice(features or [""]),
        "prefer": rng.choice("ab"),
        "required_nodes": rng.choice(nodes).name,
        "excluded_nodes": rng.choice(nodes).name,
        "contiguous": True,
        "kill_on_invalid_dep": rng.choice((True, False)),
        "allocation_only": True,
        "user": "dan",  # whom nobody has in an association
    }
    if any(node.gres for node in nodes):
        seldom |= {"gres": rng.choice(("gpu:1", "gpu:2")), "gres_per_job": rng.choice(("gpu:1", "gpu:3"))}
    often = {"array": 0.2, "dependency": 0.25, "reservation": 0.12, "user": 0.03}
    often |= dict.fromkeys(("licenses", "gres", "gres_per_job"), 0.15)
    chosen = {name: value for name, value in seldom.items() if rng.random() < often.get(name, 0.06)}
    return spec(**fields | chosen)._replace(user_id=_UID)


def _draw_dependency(rng: Random, job_id: int) -> str:
    others = range(_STEP, job_id, _STEP)
    if not others or rng.random() < 0.15:
        return "singleton"
    found = [
        f"{rng.choice(_DEPENDENCIES)}:{other}" for other in rng.sample(others, min(rng.randint(1, 2), len(others)))
    ]
    found = [f"{one}+1" if one.startswith("after:") and rng.random() < 0.5 else one for one in found]
    found = [
        f"{one}_{rng.randint(0, 5)}" if one.startswith("afterany") and rng.random() < 0.3 else one for one in found
    ]
    return rng.choice((",", "?")).join(found)


# ---- what happens besides -------------------------------------------------------------------------------------


class _At(NamedTuple):
    """When something happens, and to which job if it is about one."""

    rng: Random
    config: ClusterConfig
    time: int
    submit: ev.Submit

    @property
    def job_id(self) -> int:
        return self.submit.job_id

    def task(self) -> int | None:
        """Draw a task of the job's array; ``None``: all of it, or the job is not an array."""
        return self.rng.choice((None, None, self.rng.randint(0, 5))) if self.submit.spec.array else None


_Happening = list[tuple[int, ev.Event]]


def _request(at: _At) -> _Happening:
    rng, time, job_id = at.rng, at.time, at.job_id
    task = at.task()
    uid = rng.choice((0, 0, 0, _UID, 7))
    kind = rng.choice((ev.Cancel, ev.Hold, ev.Release, ev.Requeue))
    own: dict[type[ev.JobRequest], dict[str, Any]] = {
        ev.Cancel: {"signal": rng.choice((0, 0, 9))},
        ev.Hold: {"by_user": rng.random() < 0.5},
        ev.Release: {"by_user": rng.random() < 0.5},
        ev.Requeue: {"hold": rng.random() < 0.2},
    }
    found: _Happening = [(time, kind(job_id=job_id, task_id=task, uid=uid, request_id=time, **own[kind]))]
    if kind is ev.Hold or kind is ev.Requeue:
        found.append((time + rng.randint(1, 200), ev.Release(job_id=job_id, task_id=task)))
    return found


def _suspension(at: _At) -> _Happening:
    rng, time, job_id = at.rng, at.time, at.job_id
    found: _Happening = [(time + 40 * place, ev.Suspend(job_id=job_id)) for place in range(3)]
    return [
        *found,
        (time + rng.randint(1, 300), ev.Resume(job_id=job_id)),
        (time, ev.SignalJob(job_id=job_id, signal=10)),
    ]


def _update(at: _At) -> _Happening:
    rng, config, time, job_id = at.rng, at.config, at.time, at.job_id
    changes: dict[str, object] = {
        "time_limit": 60 * rng.choice((1, 4, 20)),
        "num_cpus": rng.randint(1, 4),
        "min_nodes": rng.randint(0, 2),
        "partition": rng.choice(
            [",".join(one.name for one in config.partitions), *(p.name for p in config.partitions)]
        ),
        "nice": rng.choice((0, 3)),
        "priority": rng.choice((0, 12, 2**32 - 5)),
        "begin_time": time + rng.randint(-10, 100),
        "deadline": rng.choice((0, time + rng.randint(50, 500))),
        "dependency": rng.choice(("", _draw_dependency(rng, job_id))),
        "licenses": rng.choice(("", "lic", "lic:2")),
        "qos": rng.choice(_QOS),
        "reservation": rng.choice(("", *_RESERVATIONS)),
        "name": rng.choice("xy"),
        "requeue": rng.choice((True, False)),
        "gres": rng.choice(("", "gpu:1")),
        "user": rng.choice(("ann", "bob")),
    }
    some = dict(rng.sample(sorted(changes.items()), rng.randint(0, 2)))
    return [
        (
            time,
            ev.UpdateJob(
                job_id=job_id,
                task_id=at.task(),
                uid=rng.choice((0, 0, 0, _UID)),
                changes=some,
                array_throttle=rng.choice((0, 1, 3)) if not some or rng.random() < 0.1 else None,
            ),
        )
    ]


def _limits(at: _At) -> _Happening:
    rng, time = at.rng, at.time
    owner = rng.choice(sorted(OWNERS))
    limits = draw_limits(rng)[owner]
    other = Random(f"{time} {owner} {limits}")  # noqa: S311 - repeatable on purpose
    if other.random() < 0.4:
        return [(time, _change_of_accounts(other))]
    words = owner.split()
    tree = make_tree({one: limits if one == owner else {} for one in OWNERS})
    if words[0] == "QOS":
        return [(time, ev.UpdateAccounting(qos=(tree.qos[words[1]],)))]
    user, account = (words[1], words[4]) if words[0] == "user" else ("", words[1])
    return [(time, accounting_of(tree, [one for one in [tree.find(user, account)] if one is not None]))]


def _change_of_accounts(rng: Random) -> ev.UpdateAccounting:
    """Draw a change of the tree, which may be refused: an account moves, or somebody comes or goes."""
    account, other = rng.choice(sorted(ACCOUNTS)), rng.choice(("root", *sorted(ACCOUNTS)))
    moved = ev.AssociationRecord(key=ev.AssociationKey(account), parent=other, shares_raw=rng.choice((1, 1, 5)))
    guest = ev.AssociationKey(account, rng.choice(("guest", *sorted(USERS))))
    comes = ev.AssociationRecord(key=guest, shares_raw=rng.choice((0, 3)), priority=rng.choice((0, 7)))
    goes = ev.UpdateAccounting(removed_associations=(guest,), removed_users=(guest.user,))
    return rng.choice((ev.UpdateAccounting(associations=(moved,)), ev.UpdateAccounting(associations=(comes,)), goes))


def _reservation(at: _At) -> _Happening:
    rng, config, time = at.rng, at.config, at.time
    name, start = rng.choice(_RESERVATIONS), time + rng.choice((-30, 0, 0, 100, rng.randint(1, 500)))
    some = rng.sample(range(len(config.nodes)), rng.randint(1, len(config.nodes)))
    one = Reservation(
        name=name,
        start_time=start,
        end_time=start + rng.randint(60, 600),
        nodes=sum(1 << place for place in some),
        node_cnt=rng.choice((0, 0, 1)),
        features=rng.choice(("", "", "", "a")),
        users=rng.choice((("ann",), ("ann", "bob"), ("-cat",), ())),
        accounts=rng.choice(((), (), ("phys",))),
        flags=frozenset(rng.sample(_RESERVATION_FLAGS, rng.choice((0, 0, 1, 2)))),
        purge_after=60,
    )
    found: _Happening = [(rng.choice((0, time)), ev.CreateReservation(reservation=one))]
    if time % 2:
        longer = ev.UpdateReservation(reservation=replace(one, end_time=one.end_time + 60))
        found.append((time + 5, longer))
    if rng.random() < 0.3:
        found.append((time + rng.randint(10, 500), ev.DeleteReservation(name=name)))
    return found


def _failure(at: _At) -> _Happening:
    rng, config, time = at.rng, at.config, at.time
    name = rng.choice(config.nodes).name
    state = rng.choice((NodeState.DOWN, NodeState.DRAIN))
    return [
        (time, ev.UpdateNode(name=name, state=state, reason=rng.choice(("", "odd")), uid=0)),
        (time + rng.randint(1, 300), ev.UpdateNode(name=name, state=NodeState.UP)),
    ]


def _closure(at: _At) -> _Happening:
    rng, config, time = at.rng, at.config, at.time
    name = rng.choice(config.partitions).name
    return [
        (time, ev.UpdatePartition(name=name, state=rng.choice(list(PartitionState)))),
        (time + rng.randint(1, 200), ev.UpdatePartition(name=name, state=PartitionState.UP)),
    ]


def _resubmission(at: _At) -> _Happening:
    """Queue a job again, which has perhaps ended by then."""
    count = at.rng.randint(100, 200)  # more often than it is requeued while it lives
    event = ev.Resubmit(job_id=at.job_id, spec=at.submit.spec, restart_count=count, hold=at.rng.random() < 0.2)
    return [(at.time + at.rng.randint(100, 900), event)]


def _partition_change(at: _At) -> _Happening:
    """Set a partition, delete it, and create one; all of it until slurm.conf is read again."""
    rng, config, time = at.rng, at.config, at.time
    part = rng.choice(config.partitions)
    other = replace(
        part,
        nodes=rng.randrange(2 ** len(config.nodes)),
        max_time=rng.choice((None, 60, 600)),
        priority_tier=rng.choice((1, 2, 9)),
        max_share=rng.choice((1, 1, 3)),
        max_nodes=rng.choice((None, 1)),
        default=rng.random() < 0.5,
    )
    return [
        (time, ev.UpdatePartition(name=part.name, partition=other, state=rng.choice((None, PartitionState.UP)))),
        (time + rng.randint(1, 300), ev.CreatePartition(partition=replace(other, name="made"))),
        (time + rng.randint(1, 300), ev.DeletePartition(name=rng.choice(("made", part.name)))),
        (time + rng.randint(300, 500), ev.Reconfigure(config=config)),
    ]


def _reconfiguration(at: _At) -> _Happening:
    rng, config, time = at.rng, at.config, at.time
    return [
        (time, ev.Reconfigure(config=_other(rng, config))),
        (time + rng.randint(1, 400), ev.Reconfigure(config=config)),
    ]


def _other(rng: Random, config: ClusterConfig) -> ClusterConfig:
    """Give a slurm.conf with another machine, or other parameters."""
    nodes = list(config.nodes)
    if len(nodes) > 2:
        way = rng.choice(("none", "one less", "one more", "other hardware", "another order"))
        if way == "one less":
            nodes.pop(rng.randrange(len(nodes)))
        elif way == "one more":
            nodes.insert(rng.randint(0, len(nodes)), nodes[0]._replace(name="extra"))
        elif way == "other hardware":
            place = rng.randrange(len(nodes))
            nodes[place] = _enlarged(nodes[place])
        elif way == "another order":
            rng.shuffle(nodes)
    move = NodeMapping([node.name for node in config.nodes], [node.name for node in nodes])
    added = sum(1 << place for place, node in enumerate(nodes) if node.name == "extra")
    parts = [replace(part, nodes=move.bitmap(part.nodes) | added) for part in config.partitions]
    if len(parts) > 1 and rng.random() < 0.3:
        parts = [part for part in parts if part.default]
    words = {name: rng.choice(_PARAMETERS[name]) for name in rng.sample(sorted(_PARAMETERS), 2)}
    if rng.random() < 0.3:
        words["SchedulerParameters"] = rng.choice(_SCHEDULER_PARAMETERS)
    return with_parameters(replace(config, nodes=tuple(nodes), partitions=tuple(parts)), **words)


def _enlarged(node: Node) -> Node:
    return node._replace(cpus=2 * node.cpus, real_memory=2 * node.real_memory)


_HAPPENINGS = (
    *[_request] * 6,
    _suspension,
    *[_update] * 4,
    _limits,
    _reservation,
    _reservation,
    _failure,
    _closure,
    _partition_change,
    _resubmission,
    _reconfiguration,
)
