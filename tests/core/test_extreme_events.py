"""Events with extreme values, sent to busy clusters: they are carried out, or refused and nothing changes.

All fields have valid types; for invalid ones see ``test_event_codec``.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest

from rota.core import events as ev
from rota.core.effects import Accepted, Log, PluginFault, Refused
from rota.core.event_codec import decode, encode, problem_of
from rota.core.plain import shape_of
from rota.core.snapshot import save
from rota.model import Account, ClusterConfig, Errno, JobSpec, Node, NodeState, PartitionState, User
from rota.model.limits import COUNT_LIMITS, TIME_LIMITS, TRES_LIMITS
from rota.model.reservation import FLAGS, Reservation
from rota.model.step import StepRecord
from rota.testing import Harness, cluster, spec, with_parameters
from rota.testing.builders import accounting_of

from .random_lives import SCHEDULERS, Living, draw_life

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Partition

    from .random_lives import Life

NUMBERS = (-(2**70), -(2**63), -(2**31), -2, -1, 0, 1, 2, 7, 60, 2**31 - 1, 2**32 - 1, 2**32, 2**63, 2**64, 2**70)
WORDS = (
    "", " ", "\0", "x" * 5000, "ü☃\u202e", ",", ",,", ":", "=", "%", "+", "[", "]", "&", "|", "?", "\n", "-", "-1", "0",
    "1", "nan", "inf", "1e999", "9" * 40, "n0", "n0,n0", "n1,n0,n1", "n[0-1]", "n[0-99999999]", "nowhere",
    "root", "ann",
    "lic", "lic:0", "lic:-1", "lic:" + "9" * 30, "lic,lic", "lic:2,dongle,lic", "gpu", "gpu:0", "gpu:-1", "gpu:1,gpu:1",
    "gpu:" + "9" * 30, "gpu:x:1", "0-3", "0-3%0", "3-0", "1,1,1", "0-99999999", "0-1%" + "9" * 30, "afterok:10:10",
    "afterok:" + "9" * 30, "after:10+" + "9" * 20, "singleton", "singleton,singleton", "aftercorr:20?afterany:20_0",
    "a&b", "[a*2&b]", "a*99999999999", "batch", "batch,batch", ",batch", "r1", "r2", "cpu=1", "cpu=-1",
    "cpu=" + "9" * 30, "cpu=1,cpu=2", "nosuch=1", "node=0", "UNLIMITED", "normal", "high",
)  # fmt: skip
FLOATS = (-1e308, -1.0, 0.0, 0.5, 1e308)


class Extremes:
    """Makes events with extreme values for the cluster of a life.

    Args:
        rng: The random number generator.
        life: The life whose requests are changed.
        rota: The harness that runs the life.
    """

    def __init__(self, rng: Random, life: Life, rota: Living) -> None:
        self.rng = rng
        self.life = life
        self.rota = rota
        self.specs = [event.spec for _, event in life.script.other_events if isinstance(event, ev.Submit)]
        self._makers: dict[type[ev.Event], Callable[[], dict[str, Any]]] = {
            ev.Submit: lambda: {
                "job_id": self.rng.choice((*NUMBERS, 7001)),
                "spec": self.bend(self.rng.choice(self.specs)),
            },
            ev.Resubmit: lambda: {
                "job_id": self.rng.choice((*NUMBERS, 7001)),
                "spec": self.bend(self.rng.choice(self.specs)),
                "restart_count": self.number(),
                "hold": self.rng.random() < 0.5,
                "array_job_id": self.number_or_none(),
                "tasks": tuple(self.rng.choices(NUMBERS, k=self.rng.randint(0, 2))),
            },
            ev.UpdateJob: lambda: (
                self.about_a_job() | {"changes": self.changes(), "array_throttle": self.number_or_none()}
            ),
            ev.UpdateAccounting: self.accounting,
            ev.CreateReservation: lambda: {"reservation": self.bend(self.reservation())},
            ev.UpdateReservation: lambda: {"reservation": self.bend(self.reservation())},
            ev.DeleteReservation: lambda: {"name": self.word()},
            ev.UpdateNode: lambda: {
                "name": self.word(),
                "others": tuple(self.word() for _ in range(self.rng.choice((0, 0, 1, 3)))),
                "state": self.rng.choice((None, *NodeState)),
                "features": self.rng.choice((None, None, (), (self.word(),))),
                "weight": self.number_or_none(),
                "reason": self.word(),
            },
            ev.CreatePartition: lambda: {"partition": self.partition()},
            ev.UpdatePartition: lambda: {
                "name": self.word(),
                "state": self.rng.choice((None, *PartitionState)),
                "partition": self.rng.choice((None, self.partition())),
            },
            ev.DeletePartition: lambda: {"name": self.word()},
            ev.Reconfigure: lambda: {"config": self.config()},
            ev.JobEnded: lambda: (
                self.about_a_run()
                | {
                    "exit_code": self.number(),
                    "signal": self.number(),
                    "time": self.number_or_none(),
                    "outcome": self.rng.choice(list(ev.Outcome)),
                }
            ),
            ev.LaunchFailed: lambda: self.about_a_run() | {"boot": self.rng.random() < 0.5},
            ev.StepChanged: lambda: self.about_a_run() | {"step": self.bend(StepRecord(step_id="0"))},
            ev.BackgroundDone: lambda: {"token": self.number(), "result": self.word(), "error": self.word()},
            ev.Tick: dict,
            ev.SchedulePass: dict,
        }

    def event(self) -> ev.Event:
        """Make an event."""
        kind = self.rng.choice(list(ev.EVENTS.values()))
        if kind in self._makers:
            found = self._makers[kind]()
        else:
            found = self.about_a_job()
            for one in fields(kind):  # type: ignore[arg-type] # all of them are dataclasses
                if one.name in {"signal", "uid"}:
                    found[one.name] = self.rng.choice((0, 0, 10, self.number()))
        if issubclass(kind, ev.Request):
            found["request_id"] = self.rng.choice((0, 1, 2**70))
        return kind(**found)

    def number(self) -> int:
        return self.rng.choice(NUMBERS)

    def number_or_none(self) -> int | None:
        return self.rng.choice((None, self.number()))

    def word(self) -> str:
        return self.rng.choice(WORDS)

    def job_id(self) -> int:
        return self.rng.choice((*NUMBERS, *list(self.rota.engine.jobs) * 5))

    def about_a_job(self) -> dict[str, Any]:
        return {"job_id": self.job_id(), "task_id": self.rng.choice((None, None, None, self.number()))}

    def about_a_run(self) -> dict[str, Any]:
        return {"job_id": self.job_id(), "restart_count": self.rng.choice((0, 0, 0, 1, self.number()))}

    def value(self, now: object) -> Any:
        """Give another value of the type that a field has now."""
        rng = self.rng
        match now:
            case bool():
                return not now
            case int():
                return self.number()
            case float():
                return rng.choice(FLOATS)
            case str():
                return self.word()
            case None:
                return self.number()
            case Enum():
                return rng.choice(list(type(now)))
            case frozenset():
                return frozenset(rng.sample([*sorted(FLAGS), *WORDS], rng.randint(0, 3)))
            case tuple():
                return tuple(rng.choices(WORDS, k=rng.randint(0, 3)))
            case dict():
                return {self.word(): self.word() for _ in range(rng.randint(0, 2))}
            case _:
                return now

    def bend(self, record: Any) -> Any:
        """Give a record with extreme values in some fields; fields whose type would become wrong are unchanged."""
        is_tuple = isinstance(record, JobSpec | Node)
        names = list(record._fields) if is_tuple else [one.name for one in fields(record) if one.init]
        for name in self.rng.sample(names, min(self.rng.choice((0, 1, 1, 2, 3)), len(names))):
            changed = {name: self.value(getattr(record, name))}
            bent = record._replace(**changed) if is_tuple else replace(record, **changed)
            if not _problem(bent):
                record = bent
        return record

    def changes(self) -> dict[str, Any]:
        """Draw changes of some fields of a request."""
        base = self.rng.choice(self.specs)
        names = self.rng.sample(JobSpec._fields, self.rng.choice((0, 1, 1, 2, 4)))
        found = {name: self.rng.choice((getattr(base, name), self.value(getattr(base, name)))) for name in names}
        return {name: one for name, one in found.items() if not _problem(JobSpec()._replace(**{name: one}))}

    def accounting(self) -> dict[str, Any]:
        rng = self.rng
        names = [*TRES_LIMITS, *COUNT_LIMITS, *TIME_LIMITS, "nosuch", ""]
        tree = self.life.tree
        event = accounting_of(tree, rng.sample([one for one in tree.associations if one.account], 1))
        limits = {rng.choice(names): self.word() for _ in range(rng.randint(0, 3))}
        one = replace(event.associations[0], limits=limits)
        key = ev.AssociationKey(*(rng.choice((part, self.word())) for part in one.key))
        qos = replace(rng.choice(list(tree.qos.values())), limits=rng.choice((limits, {})))
        user = User(name=self.word(), default_account=rng.choice(("", self.word())))
        makers: dict[str, Callable[[], Any]] = {
            "associations": lambda: (rng.choice((one, self.bend(one), replace(one, key=key))),) * rng.choice((1, 1, 2)),
            "qos": lambda: (rng.choice((qos, self.bend(qos))),),
            "users": lambda: (rng.choice((user, self.bend(user))),),
            "accounts": lambda: (Account(name=self.word()),),
            "removed_associations": lambda: (rng.choice((one.key, key)),),
            "removed_users": lambda: (self.word(),),
            "removed_qos": lambda: (rng.choice((qos.name, self.word())),),
        }
        return {name: makers[name]() for name in rng.sample(sorted(makers), rng.choice((1, 1, 2, 3)))}

    def reservation(self) -> Reservation:
        start = self.rota.now + self.rng.choice((-10, 0, 100))
        return Reservation(
            name=self.rng.choice(("r1", "r9")),
            start_time=start,
            end_time=start + 500,
            nodes=self.rng.choice((1, 2, 3)),
            users=("ann",),
            flags=frozenset(self.rng.sample(sorted(FLAGS), self.rng.choice((0, 1, 2)))),
        )

    def partition(self) -> Partition:
        return cast("Partition", self.bend(self.rng.choice(self.life.config.partitions)))

    def config(self) -> ClusterConfig:
        """Give slurm.conf with extreme values in a node, a partition or a parameter."""
        rng, config = self.rng, self.life.config
        nodes, parts, words = list(config.nodes), list(config.partitions), dict(config.parameters)
        match rng.choice("npwdx"):
            case "n":
                place = rng.randrange(len(nodes))
                nodes[place] = self.bend(nodes[place])
            case "p":
                place = rng.randrange(len(parts))
                parts[place] = self.bend(parts[place])
            case "w":
                words[rng.choice((*words, "selecttype", "kilwait", "killwait"))] = self.word()
            case "d":
                nodes, parts = rng.choice(
                    ((nodes * 2, parts), (nodes, parts * 2), (nodes[:1], parts), (nodes, parts[:1]))
                )
            case _:
                nodes, parts = rng.choice((([], parts), (nodes, []), ([], [])))
        return replace(config, nodes=tuple(nodes), partitions=tuple(parts), parameters=words)


def _problem(record: Any) -> str:
    """Say why a record is not valid plain data of its type; empty: it is."""
    return shape_of(type(record)).problem(record)


class _Bent(Living):
    """Runs a life, and keeps the last slurm.conf that was accepted."""

    sound: ClusterConfig


def _send(rota: _Bent, event: ev.Event) -> None:
    before = json.dumps(save(rota.engine))
    effects = rota.engine.handle(event, rota.now)
    faults = [one for one in effects if isinstance(one, PluginFault)]
    if faults and isinstance(event, ev.Reconfigure):  # a plugin cannot use an option of its own: it goes on as before
        _send(rota, ev.Reconfigure(config=rota.sound))
        return
    if isinstance(event, ev.Reconfigure) and not any(isinstance(one, Refused) for one in effects):
        rota.sound = event.config
    assert faults == [], faults
    rota.engine.check_invariants()
    answers = [one for one in effects if isinstance(one, Accepted | Refused)]
    assert len(answers) == bool(getattr(event, "request_id", 0)) or isinstance(answers[0], Refused)
    if any(isinstance(one, Refused) for one in answers):
        assert [one for one in effects if not isinstance(one, Log)] == answers
        assert json.dumps(save(rota.engine)) == before, event
    rota._check()
    rota._take(effects)


@pytest.mark.parametrize("sched", SCHEDULERS)
@pytest.mark.seeds(2, 12)
def test_an_extreme_event_is_carried_out_or_refused(sched: str, seeds: range) -> None:
    for seed in seeds:
        rng, life = Random(seed), draw_life(seed, sched)  # noqa: S311 - repeatable on purpose
        with life.play_on(_Bent, until=rng.randint(50, 900)) as rota:
            rota.sound = life.config
            rota.tick()
            extremes = Extremes(rng, life, rota)
            for _ in range(100):
                event = extremes.event()
                if not problem_of(event):
                    assert decode(json.loads(json.dumps(encode(event)))) == event
                _send(rota, event)
                rota._pass_if_due()
            rota.restart()
            rota.until(rota.now + 2000)
            assert rota.faults == []


# ---- what was not refused -------------------------------------------------------------------------------------


def _refusals(event: ev.Event, *, config: ClusterConfig | None = None) -> list[Errno]:
    with Harness(config or cluster(nodes=2, SelectType="select/cons_tres")) as rota:
        rota.submit(array="0-4", job_id=10, begin=100)
        return [one.errno for one in rota.send(event) if isinstance(one, Refused)]


@pytest.mark.parametrize("job_id", [-1, 0, 10, 11, 14, 2**53])
def test_ids_are_of_one_job_each(job_id: int) -> None:
    assert _refusals(ev.Submit(job_id=job_id, spec=spec())) in ([Errno.DUPLICATE_JOB_ID], [Errno.INVALID_JOB_ID])


@pytest.mark.parametrize("job_id", [6, 12])
def test_the_ids_of_an_array_are_its_own(job_id: int) -> None:
    assert _refusals(ev.Submit(job_id=job_id, spec=spec(array="0-4"))) == [Errno.DUPLICATE_JOB_ID]
    assert _refusals(ev.Submit(job_id=5, spec=spec(array="0-4"))) == []


@pytest.mark.parametrize("name", ["ntasks_per_socket", "ntasks_per_core", "mem_per_cpu", "min_nodes"])
@pytest.mark.parametrize("count", [-1, 2**31, 2**70])
def test_counts_are_within_bounds(name: str, count: int) -> None:
    fields: dict[str, Any] = {name: count}
    assert _refusals(ev.Submit(job_id=1, spec=spec(**fields))) == [Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE]


@pytest.mark.parametrize("fields", [{"mem_per_gpu": 7}, {"gres_per_task": "\n", "num_tasks": 1}])
def test_what_is_asked_for_of_gpus_that_there_are_not_does_no_harm(fields: dict[str, Any]) -> None:
    assert _refusals(ev.Submit(job_id=1, spec=spec(**fields))) == []


@pytest.mark.parametrize("limit", [None, -1, 2**41])
def test_a_running_job_keeps_a_time_limit(limit: int | None) -> None:
    with Harness() as rota:
        job = rota.submit()
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"time_limit": limit}))
        assert ([one.errno for one in rota.refused], job.time_limit) == ([Errno.INVALID_TIME_LIMIT], 3600)


@pytest.mark.parametrize("name", ["cpus", "sockets", "real_memory", "weight"])
@pytest.mark.parametrize("number", [-1, 2**70])
def test_numbers_of_nodes_are_within_bounds(name: str, number: int) -> None:
    config = cluster(nodes=2, SelectType="select/cons_tres")
    numbers: dict[str, Any] = {name: number}
    nodes = (config.nodes[0]._replace(**numbers), config.nodes[1])
    assert len(_refusals(ev.Reconfigure(config=replace(config, nodes=nodes)))) == 1


def test_names_and_nodes_of_a_configuration_are_those_that_there_are() -> None:
    config = cluster(nodes=2)
    for wrong in (
        replace(config, nodes=()),
        replace(config, partitions=()),
        replace(config, nodes=config.nodes[:1]),
        replace(config, nodes=config.nodes[:1] * 2),
        replace(config, partitions=config.partitions * 2),
        replace(config, partitions=(replace(config.partitions[0], nodes=-1),)),
        replace(config, partitions=(replace(config.partitions[0], billing_weights={"cpu": float("nan")}),)),
        with_parameters(config, DefMemPerCPU="much"),
    ):
        assert len(_refusals(ev.Reconfigure(config=wrong))) == 1
