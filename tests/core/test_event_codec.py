"""Events as JSON data: they are the same after encoding and decoding, and one with a wrong field changes nothing."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.config import interchangeable
from rota.core import events as ev
from rota.core import plain
from rota.core.effects import Accepted, Refused
from rota.core.event_codec import decode, encode, problem_of
from rota.core.plain import PlainError, shape_of
from rota.core.snapshot import save
from rota.model import Errno, JobSpec, NodeState, PartitionState, Qos
from rota.model.reservation import Reservation
from rota.model.step import StepRecord
from rota.testing import Harness, cluster, partition, spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SIMPLE: dict[type, st.SearchStrategy[Any]] = {
    # Bitmaps have as many bits as a machine has nodes: more than JSON's readers, and Python's own text, can take.
    int: st.integers() | st.sampled_from((2**15_000, 2**15_001 - 1)),
    bool: st.booleans(),
    str: st.text(),
    float: st.floats(allow_nan=False) | st.integers(-100, 100),
    type(None): st.none(),
}


def drawn(shape: plain.Shape) -> st.SearchStrategy[Any]:
    """Give a strategy for values of a shape."""
    parts: dict[str, Any] = vars(shape)
    match shape:
        case plain._Simple():
            return SIMPLE[parts["_kind"]]
        case plain._Choice():
            return st.sampled_from(list(parts["_kind"]))
        case plain._Either():
            return st.one_of(*map(drawn, parts["_kinds"]))
        case plain._Alike():  # those of a run share their fields but the name
            runs = st.lists(st.tuples(drawn(parts["_item"]), st.lists(st.text(), max_size=3)), max_size=3)
            return runs.map(
                lambda found: tuple(one for first, names in found for one in (first, *_named(first, names)))
            )
        case plain._Several():
            listed = st.lists(drawn(parts["_item"]), max_size=3)
            return listed.map(parts["_kind"])
        case plain._Pair():
            return st.tuples(*map(drawn, parts["_items"]))
        case plain._Named():
            return st.dictionaries(st.text(), drawn(parts["_item"]), max_size=3)
        case plain.Record():
            kind: Any = shape.kind
            return st.fixed_dictionaries({name: drawn(one) for name, one in shape.fields.items()}).map(
                lambda found: kind(**found)
            )
        case _:
            return PLAIN


def _named(one: Any, names: Sequence[str]) -> list[Any]:
    return [one._make((name, *one[1:])) for name in names]


def _plain(value: object) -> object:
    """Give a value as it may be in a change, whose numbers have 64 bits."""
    return value % 2**63 if type(value) is int else value


@pytest.mark.parametrize("name", ev.EVENTS)
@given(data=st.data())
def test_every_event_survives_the_way_through_json(name: str, data: st.DataObject) -> None:
    kind = ev.EVENTS[name]
    event = data.draw(drawn(shape_of(kind)))
    if isinstance(event, ev.UpdateJob):
        known = shape_of(JobSpec)
        assert isinstance(known, plain.Record)
        changes = {one: drawn(shape).map(_plain) for one, shape in known.fields.items()}
        event = replace(event, changes=data.draw(st.fixed_dictionaries({}, optional=changes)))
    assert problem_of(event) == ""
    assert decode(json.loads(json.dumps(encode(event)))) == event


def test_what_has_its_default_is_left_out() -> None:
    assert encode(ev.Cancel(job_id=7)) == {"event": "Cancel", "job_id": 7}
    assert encode(ev.Submit(job_id=1, spec=JobSpec(2, name="x"))) == {
        "event": "Submit",
        "job_id": 1,
        "spec": {"num_cpus": 2, "name": "x"},
    }


def test_a_whole_configuration_survives() -> None:
    event = ev.Reconfigure(config=cluster(nodes=2000, SelectType="select/cons_tres"))
    assert len(encode(event)["config"]["nodes"]) == 1
    assert decode(json.loads(json.dumps(encode(event)))) == event


def test_nodes_that_are_equal_are_written_alike_whichever_objects_they_are() -> None:
    nodes = tuple(node._replace(features=tuple("ab")) for node in cluster(nodes=2).nodes)
    assert nodes[0].features is not nodes[1].features
    (written,) = encode(ev.Reconfigure(config=replace(cluster(nodes=2), nodes=nodes)))["config"]["nodes"]
    assert (written["name"], written["features"]) == (["n0", "n1"], ["a", "b"])


def test_of_nodes_that_are_equal_each_is_checked() -> None:
    first, second = cluster(nodes=2, cpus_per_node=1).nodes
    nodes = (first, second._replace(cpus=True))
    assert nodes[1][1:] == first[1:]
    event = ev.Reconfigure(config=replace(cluster(nodes=2), nodes=nodes))
    assert problem_of(event) == "Reconfigure.config.nodes.cpus: True is no whole number"
    assert encode(event)["config"]["nodes"] == [{"name": "n0"}, {"name": "n1", "cpus": True}]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"event": "Nonsense"}, "'Nonsense' is no event"),
        ({}, "None is no event"),
        ({"event": "Cancel"}, "Cancel.job_id is missing"),
        ({"event": "Cancel", "job_id": 1, "job": 2}, "Cancel: Cancel has no job"),
        ({"event": "Cancel", "job_id": "x"}, "Cancel.job_id: 'x' is no whole number"),
        ({"event": "Cancel", "job_id": True}, "Cancel.job_id: True is no whole number"),
        ({"event": "Cancel", "job_id": 1, "task_id": 1.5}, "Cancel.task_id: 1.5 is no whole number"),
        ({"event": "Submit", "job_id": 1, "spec": 3}, "Submit.spec: 3 is no object"),
        ({"event": "Submit", "job_id": 1, "spec": {"name": 3}}, "Submit.spec.name: 3 is no text"),
        ({"event": "UpdateNode", "name": "n", "state": "ODD"}, "UpdateNode.state: 'ODD' is no NodeState"),
        (
            {"event": "UpdateAccounting", "qos": [{"name": "a", "limits": {"b": 1}}]},
            "UpdateAccounting.qos.limits.b: 1 is no text",
        ),
        ({"event": "UpdateAccounting", "associations": 1}, "UpdateAccounting.associations: 1 is no list"),
        (
            {"event": "Reconfigure", "config": {"nodes": [{"name": ["n1", "n2"], "cpu": 1}], "partitions": []}},
            "Reconfigure.config.nodes: Node has no cpu",
        ),
        (
            {"event": "Reconfigure", "config": {"nodes": [{"name": ["n1", 2]}], "partitions": []}},
            "Reconfigure.config.nodes.name: 2 is no text",
        ),
        (
            {"event": "Reconfigure", "config": {"nodes": {"n1": 1}, "partitions": []}},
            "Reconfigure.config.nodes: a dict is no list",
        ),
        ({"event": "JobEnded", "job_id": 1, "outcome": "odd"}, "JobEnded.outcome: 'odd' is no Outcome"),
    ],
)
def test_what_is_no_event_is_told(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlainError) as caught:
        decode(data)
    assert str(caught.value) == problem


#: One of each, which the engine below takes.
GOOD: list[ev.Event] = [
    ev.Submit(job_id=50, spec=spec(cpus=1)),
    ev.Cancel(job_id=1),
    ev.SignalJob(job_id=1, signal=10),
    ev.Hold(job_id=2),
    ev.Release(job_id=2),
    ev.Requeue(job_id=1),
    ev.Resubmit(job_id=51, spec=spec(cpus=1), restart_count=1),
    ev.Suspend(job_id=1),
    ev.Resume(job_id=3),
    ev.UpdateJob(job_id=2, changes={"time_limit": 60}),
    ev.UpdateAccounting(),
    ev.CreateReservation(reservation=Reservation(name="r", start_time=100, end_time=200, nodes=8, users=("ann",))),
    ev.UpdateReservation(reservation=Reservation(name="old", start_time=100, end_time=900, nodes=4)),
    ev.DeleteReservation(name="old"),
    ev.UpdateNode(name="n3", state=NodeState.DOWN, reason="odd"),
    ev.CreatePartition(partition=partition("new", range(2))),
    ev.UpdatePartition(name="batch", state=PartitionState.DOWN, partition=partition("batch", range(3))),
    ev.DeletePartition(name="old"),
    ev.Reconfigure(config=cluster(nodes=4)),
    ev.JobEnded(job_id=1),
    ev.LaunchFailed(job_id=1),
    ev.StepChanged(job_id=1, step=StepRecord(step_id="0")),
    ev.BackgroundDone(token=7),
]
WRONG: list[object] = [None, "x", 1.5, -1, 2**70, True, (), [], {}, object(), {"time_limit": "abc"}, ("x",), b""]


def _machine() -> Harness:
    """Make a machine with a running, a suspended and a pending job."""
    rota = Harness(cluster(nodes=4), performs=False)
    rota.submit(nodes=1)
    rota.submit(nodes=4)
    rota.submit(nodes=1, priority=2**32 - 1)
    rota.send(ev.Suspend(job_id=3))
    old = Reservation(name="old", start_time=100_000, end_time=100_001, nodes=1, users=("ann",))
    rota.send(ev.CreateReservation(reservation=old))
    rota.send(ev.CreatePartition(partition=partition("old", [3])))
    return rota


#: What changes nothing that is kept.
_WITHOUT_TRACE = (ev.BackgroundDone, ev.UpdateAccounting, ev.SignalJob, ev.Release, ev.Reconfigure)


def test_there_is_one_of_each() -> None:
    assert {type(event) for event in GOOD} | {ev.Tick, ev.SchedulePass} == set(ev.EVENTS.values())
    for event in GOOD:
        with _machine() as rota:
            before = json.dumps(save(rota.engine))
            rota.send(event)
            assert not rota.refused, event
            assert json.dumps(save(rota.engine)) != before or isinstance(event, _WITHOUT_TRACE)


def _fields(record: Any) -> Sequence[str]:
    """Give the names of the fields of a dataclass or named tuple."""
    return record._fields if hasattr(record, "_fields") else [one.name for one in fields(record)]


def _replaced(record: Any, changes: dict[str, Any]) -> Any:
    """Give a copy of a dataclass or named tuple with other fields."""
    return record._replace(**changes) if hasattr(record, "_replace") else replace(record, **changes)


def _spoilt(event: ev.Event) -> Iterator[tuple[str, ev.Event]]:
    """Give copies of an event in each of which one field is wrong, also of the records in it."""
    for name in _fields(event):
        value = getattr(event, name)
        for wrong in WRONG:
            if type(wrong) is not type(value) or wrong != value:
                changed: dict[str, Any] = {name: wrong}
                yield name, _replaced(event, changed)
        if isinstance(value, JobSpec):
            for place, inner in enumerate(JobSpec._fields):
                for wrong in WRONG:
                    spoilt: Any = JobSpec._make([*value[:place], wrong, *value[place + 1 :]])
                    yield inner, ev.Submit(job_id=50, spec=spoilt)
        elif name in {"reservation", "config", "step"}:
            for inner in _fields(value):
                for wrong in WRONG:
                    yield inner, _replaced(event, {name: _replaced(value, {inner: wrong})})


@pytest.mark.parametrize("event", GOOD, ids=lambda event: type(event).__name__)
def test_with_a_wrong_field_it_is_refused_and_nothing_changes(event: ev.Event) -> None:
    refused = 0
    rota = _machine()
    before = json.dumps(save(rota.engine))
    for name, spoilt in _spoilt(event):
        effects = rota.engine.handle(spoilt, rota.now)
        rota.engine.check_invariants()
        if [type(effect) for effect in effects] == [Refused]:
            refused += 1
            assert json.dumps(save(rota.engine)) == before, (name, spoilt)
        else:  # that value can be meant
            assert problem_of(spoilt) == ""
            rota.close()
            rota = _machine()
    rota.close()
    assert refused > len(_fields(event))


@pytest.mark.parametrize("answer", [True, False])
def test_whoever_waits_gets_one_answer(answer: bool) -> None:
    with _machine() as rota:
        effects = rota.engine.handle(ev.Cancel(job_id=1 if answer else 99, request_id=8), 0)
        answers = [effect for effect in effects if isinstance(effect, Accepted | Refused)]
        assert [one.request_id for one in answers] == [8]
        assert isinstance(answers[0], Accepted) is answer


def test_without_an_id_nobody_is_told_that_it_was_done() -> None:
    with _machine() as rota:
        assert not any(isinstance(one, Accepted) for one in rota.engine.handle(ev.Cancel(job_id=1), 0))


@pytest.mark.parametrize(
    ("event", "errno"),
    [
        (ev.Cancel(job_id=1, uid=7), Errno.ACCESS_DENIED),
        (ev.Hold(job_id=2, uid=7), Errno.INVALID_USER_ID),
        (ev.UpdateJob(job_id=2, uid=7, changes={"time_limit": 1}), Errno.INVALID_USER_ID),
        (ev.UpdateJob(job_id=2, uid=1000, changes={"nice": -1}), Errno.ACCESS_DENIED),
        (ev.UpdateJob(job_id=2, uid=1000, changes={"priority": 2**32 - 1}), Errno.ACCESS_DENIED),
        (ev.UpdateJob(job_id=1, uid=1000, changes={"time_limit": 99_999}), Errno.ACCESS_DENIED),
        (ev.Submit(job_id=9, uid=7, spec=spec(user=8)), Errno.ACCESS_DENIED),
        (ev.Resubmit(job_id=9, spec=spec(user=8), restart_count=1, uid=7), Errno.ACCESS_DENIED),
        (ev.Suspend(job_id=1, uid=1000), Errno.ACCESS_DENIED),
        (ev.Resume(job_id=3, uid=1000), Errno.ACCESS_DENIED),
        (ev.UpdateNode(name="n1", state=NodeState.DOWN, uid=7), Errno.INVALID_USER_ID),
        (ev.UpdatePartition(name="batch", state=PartitionState.DOWN, uid=7), Errno.INVALID_USER_ID),
        (ev.UpdatePartition(name="other", uid=7), Errno.INVALID_USER_ID),
        (ev.CreatePartition(partition=partition("new"), uid=7), Errno.INVALID_USER_ID),
        (ev.DeletePartition(name="batch", uid=7), Errno.INVALID_USER_ID),
        (ev.DeleteReservation(name="old", uid=7), Errno.INVALID_USER_ID),
        (
            ev.CreateReservation(reservation=Reservation(name="x", start_time=5, end_time=9, nodes=1), uid=7),
            Errno.INVALID_USER_ID,
        ),
        (ev.Reconfigure(config=interchangeable(1), uid=7), Errno.INVALID_USER_ID),
        (ev.UpdateJob(job_id=2, uid=1000, changes={"priority": 1}), Errno.PRIORITY_NOT_KEPT),
        (ev.UpdateJob(job_id=2, uid=1000, changes={"contiguous": True}), Errno.ACCESS_DENIED),
        (ev.Submit(job_id=9, uid=7, spec=spec(user=7)._replace(nice=-1)), Errno.INVALID_NICE),
        (ev.UpdateAccounting(uid=7, qos=(Qos(name="x"),)), Errno.ACCESS_DENIED),
    ],
    ids=str,
)
def test_what_is_not_allowed_is_refused(event: ev.Event, errno: Errno) -> None:
    # The numbers are those of Slurm 22.05.8.
    rota = Harness(cluster(nodes=4), performs=False)
    rota.submit(nodes=1, user=1000)
    rota.submit(nodes=4, user=1000)
    rota.submit(nodes=1, user=1000, priority=2**32 - 1)
    rota.send(ev.Suspend(job_id=3))
    before = json.dumps(save(rota.engine))
    effects = rota.engine.handle(event, 0)
    assert [one.errno for one in effects if isinstance(one, Refused)] == [errno]
    assert json.dumps(save(rota.engine)) == before
    rota.close()


def test_users_may_change_their_own_jobs() -> None:
    with Harness(cluster(nodes=4), performs=False) as rota:
        rota.submit(nodes=4, user=1000)
        rota.submit(nodes=4, user=1000)
        for event in (
            ev.Hold(job_id=2, uid=1000),
            ev.Release(job_id=2, uid=1000),
            ev.UpdateJob(job_id=1, uid=1000, changes={"time_limit": 60}),
            ev.UpdateJob(job_id=2, uid=1000, changes={"nice": 5}),
            ev.Cancel(job_id=1, uid=1000),
        ):
            assert not any(isinstance(one, Refused) for one in rota.send(event))


def test_an_array_is_changed_whole_or_not_at_all() -> None:
    with Harness(cluster(nodes=2), performs=False) as rota:
        rota.submit(array="0-3", nodes=1, user=1000)
        before = json.dumps(save(rota.engine))
        effects = rota.engine.handle(ev.UpdateJob(job_id=1, changes={"partition": "nowhere"}), 0)
        assert [type(one) for one in effects] == [Refused]
        assert json.dumps(save(rota.engine)) == before
