"""Properties of sched/backfill: what its plans are worth, and that nothing is given twice."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.core.sorted_jobs import queue_key
from rota.model import NodeState, PartitionState
from rota.model.licenses import parse_licenses
from rota.testing import MACHINES, Harness, cluster, partition, random_script, with_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.job import Job, QueueRecord
    from rota.testing import Script

    Planned = Job | QueueRecord

#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)
LICENSES = {"matlab": 2, "ansys": 3}


# ---- plans hold for the cycle that makes them -----------------------------------------------------------------


class _Cycles:
    """Looks at what each cycle has planned and started: nothing that it starts is in the way of what it plans."""

    def __init__(self, rota: Harness, *, licenses: bool) -> None:
        self._rota = rota
        self._licenses = licenses
        self._plugin: Any = rota.engine.sched_guard._container
        self._seen = 0
        self._running: set[int] = set()
        #: Cycles that have started a job and planned another one: else nothing has been tested.
        self.telling = 0
        rota.checks.append(self.look)

    def look(self) -> None:
        """Look whether the event just handled was a cycle and, if so, what came of it."""
        state = self._rota.engine.state
        before, self._running = self._running, {job.job_id for job in state.running}
        if self._plugin.statistics.cycles == self._seen:
            return
        self._seen = self._plugin.statistics.cycles
        started = [job for job in state.running if job.job_id not in before]
        planned = [one for one in self._plugin._planned if not one.whole.alloc]
        self.telling += bool(started and planned)
        self._check_starts(planned, started)
        if state.pool.interchangeable:
            self._check_numbers(planned)
        else:
            self._check_nodes(planned)
        if self._licenses:
            self._check_licenses(planned)

    def _check_starts(self, planned: list[Planned], started: list[Job]) -> None:
        """Who starts now does not hold, at the planned start of another, nodes that were promised to that one.

        Where nodes are shared a job may be promised what one that comes before it leaves of a node.
        """
        state = self._rota.engine.state
        for job in started:
            assert job.start_time == state.now
            for other in planned:
                assert (other.planned_start or 0) > state.now
                if state.pool.interchangeable or (job.end_time or 0) <= (other.planned_start or 0):
                    continue
                if job.alloc_nodes & other.planned_nodes:
                    assert queue_key(job) < queue_key(other)
                    assert "linear" not in state.config.get("SelectType")

    def _still_held(self, time: int) -> list[Job]:
        """Give the jobs that will run at a time: all go by their time limits, those that are completing have ended."""
        state = self._rota.engine.state
        return [job for job in state.running if (job.end_time or 0) > max(time, state.now)]

    def _check_numbers(self, planned: list[Planned]) -> None:
        """Whenever a planned job starts there are processors enough, for it and all that are planned and running."""
        up = self._rota.engine.state.nodes[0].cpus  # of a drained node see the test below
        for one in planned:
            time = one.planned_start or 0
            ours = [other.units for other in planned if _covers(other, time)]
            assert sum(ours) + sum(job.alloc for job in self._still_held(time)) <= up

    def _check_nodes(self, planned: list[Planned]) -> None:
        """A planned job fits on its nodes when it is to start, and nobody else is promised one of them meanwhile."""
        pool = self._rota.engine.state.pool
        for one in planned:
            time = one.planned_start or 0
            for other in planned:
                if other is not one and _covers(other, time) and _covers(one, time):
                    assert not other.planned_nodes & one.planned_nodes
            free = pool.up - sum(pool.common(job.alloc, pool.up) for job in self._still_held(time))
            assert pool.select(one._record, pool.without(free, ~one.planned_nodes))

    def _check_licenses(self, planned: list[Planned]) -> None:
        """Whenever a job that is planned with licences starts there are enough of them."""
        for one in planned:
            time, wanted = one.planned_start or 0, parse_licenses(one.spec.licenses)
            used: Counter[str] = Counter()
            for other in (*(other for other in planned if _covers(other, time)), *self._still_held(time)):
                used.update(parse_licenses(other.spec.licenses))
            assert all(used[name] <= LICENSES[name] for name in wanted)


def _covers(job: Planned, time: int) -> bool:
    """Whether a planned job is to run at a time, for as long as it was planned."""
    duration = min(job.spec.time_min or job.time_limit, job.time_limit)
    return (job.planned_start or 0) <= time < (job.planned_start or 0) + duration


def _with_more_wishes(rng: Random, script: Script) -> Script:
    """Let some of a script's jobs ask for licences too, and some be content with a shorter limit."""
    submissions = []
    for one in script.submissions:
        licenses = rng.choice(("", "", "", "matlab", "matlab:2", "ansys:2", "matlab,ansys:3"))
        time_min = rng.choice((None, None, rng.randint(1, one.spec.time_limit or 1)))
        submissions.append(one._replace(spec=one.spec._replace(licenses=licenses, time_min=time_min)))
    return script._replace(submissions=tuple(submissions))


def _play(rng: Random, machine: str, *, calm: bool) -> tuple[Harness, _Cycles]:
    """Play a random script to a random machine."""
    options = [
        "bf_interval=30",
        f"bf_resolution={rng.choice((1, 60, 300))}",
        f"bf_window={rng.choice((1440, 1440, 10))}",
        f"bf_max_job_test={rng.choice((500, 500, 3))}",
    ]
    licenses = rng.random() < 0.5
    words = ",".join([*options, "bf_licenses"] if licenses else options)
    text = ",".join(f"{name}:{count}" for name, count in LICENSES.items())
    pieces = "CR_CPU_Memory" if machine == "shared" else "CR_CPU"
    # 22.05 rounds ends of what is planned down, so that plans of one node may overlap by less than a minute.
    parameters = {"SchedulerParameters": words, "Licenses": text, "SelectTypeParameters": pieces}
    config = with_parameters(MACHINES[machine](), SlurmVersion="25.11", **parameters)
    rota = Harness(config, sched="sched/backfill")
    cycles = _Cycles(rota, licenses=licenses)
    rota.checks.append(lambda: _check_that_nothing_is_given_twice(rota))
    _with_more_wishes(rng, random_script(rng, config, jobs=12, calm=calm)).put(rota)
    rota.run_to_end()
    rota.close()
    assert not rota.faults
    return rota, cycles


#: Machines without those where jobs are planned for nodes that they cannot have yet, as in Slurm.
CAREFUL = sorted(set(MACHINES) - {"oversubscribed whole"})


@pytest.mark.parametrize("machine", CAREFUL)
@given(rng=RANDOMS, calm=st.booleans())
def test_what_a_cycle_starts_is_not_in_the_way_of_what_it_plans(machine: str, rng: Random, calm: bool) -> None:
    rota, _ = _play(rng, machine, calm=calm)
    assert rota.live == []


@pytest.mark.parametrize("machine", CAREFUL)
def test_the_cycles_that_are_looked_at_start_and_plan_jobs(machine: str) -> None:
    """Else the test above would say nothing."""
    assert sum(_play(Random(seed), machine, calm=True)[1].telling for seed in range(10)) > 3  # noqa: S311


# ---- nothing is given twice -----------------------------------------------------------------------------------


def _check_that_nothing_is_given_twice(rota: Harness) -> None:
    """Add up what jobs hold, by what the machine was said to have: nodes, processors, memory, GPUs and licences."""
    state = rota.engine.state
    holding = [*state.running, *state.completing.values()]
    used: Counter[str] = Counter()
    for job in holding:
        used.update(parse_licenses(job.spec.licenses))
    assert all(used[name] <= count for name, count in LICENSES.items())
    assert {one.name: one.used for one in rota.engine.view.licenses() if one.used} == dict(used)
    nodes = rota.engine.state.nodes
    if state.pool.interchangeable:
        assert sum(job.alloc for job in holding) <= nodes[0].cpus
    elif "linear" in state.config.get("SelectType") and any(part.max_share > 1 for part in state.partitions.values()):
        _check_places(rota, holding)
    elif "linear" in state.config.get("SelectType"):
        assert sum(job.alloc for job in holding) < 1 << len(nodes)
        assert sum(job.alloc_nodes.bit_count() for job in holding) == sum(job.alloc for job in holding).bit_count()
    elif any(part.max_share > 1 for part in state.partitions.values()):
        _check_shares(rota, holding)
    else:
        _check_pieces(rota, holding)


def _check_places(rota: Harness, holding: Sequence[Job]) -> None:
    """Whole nodes that jobs share: no more have a node than may, and who shares with none has it alone."""
    for place in range(len(rota.engine.state.nodes)):
        jobs = [job for job in holding if job.alloc_nodes >> place & 1]
        shares = [job.partition.force_share or job.spec.oversubscribe for job in jobs if job.partition.max_share > 1]
        assert len(jobs) <= (max(job.partition.max_share for job in jobs) if jobs else 0)
        assert len(jobs) < 2 or sum(shares) == len(jobs)


def _check_shares(rota: Harness, holding: Sequence[Job]) -> None:
    """Cores that jobs share: each has what it asks for, and of a partition no more have a core than may."""
    state = rota.engine.state
    cpus = {job.job_id: state.pool.processors(job.alloc).astype(int) for job in holding}  # type: ignore[attr-defined]
    assert all(int(cpus[job.job_id].sum()) >= job.num_cpus for job in holding)
    for name, part in state.partitions.items():
        held = sum(cpus[job.job_id] for job in holding if job.partition.name == name)
        assert np.all(held <= part.max_share * np.array([node.cpus for node in state.nodes]))


def _check_pieces(rota: Harness, holding: Sequence[Job]) -> None:
    """Nodes that are shared: by node and kind, and whether each job has what it asks for."""
    state = rota.engine.state
    pieces = {job.job_id: state.pool.view(job.alloc).astype(int) for job in holding}  # type: ignore[attr-defined]
    for place, node in enumerate(state.nodes):
        gpus = int(node.gres[0].partition(":")[2]) if node.gres else 0
        assert all(sum(one[:3, place]) >= 0 for one in pieces.values())
        held = [sum(int(one[row, place]) for one in pieces.values()) for row in range(3)]
        assert held[0] <= node.cpus
        assert held[1] <= node.real_memory
        assert held[2] <= gpus
    for job in holding:
        one, count = pieces[job.job_id], job.alloc_nodes.bit_count()
        assert int(one[0].sum()) >= job.num_cpus
        assert int(one[1].sum()) >= (job.spec.mem_per_cpu or 500) * job.num_cpus
        asked = int(job.spec.gres.partition(":")[2] or 0)
        assert int(one[2].sum()) >= asked * count


# ---- what is known to be wrong --------------------------------------------------------------------------------


def test_nothing_is_planned_on_a_drained_node() -> None:
    with Harness(cluster(cpus=4, SchedulerParameters="bf_interval=30"), sched="sched/backfill") as rota:
        rota.submit(cpus=3, limit=600)
        job = rota.submit(cpus=3, limit=300)
        rota.node("n0", NodeState.DRAIN)
        rota.wait(30)
        assert job.planned_start is None


def test_a_plan_in_a_partition_that_is_closed_is_forgotten() -> None:
    parts = [partition("a", (0, 1)), partition("b", (2, 3))]
    config = cluster(nodes=4, partitions=parts, SchedulerParameters="bf_interval=30")
    with Harness(config, sched="sched/backfill") as rota:
        rota.submit(cpus=2, partition="a", limit=600)
        rota.submit(cpus=2, partition="b", limit=1200)
        job = rota.submit(cpus=2, partition="a,b", limit=300)
        rota.wait(30)
        assert job.planned_start == 600
        rota.partition("a", PartitionState.DOWN)
        rota.wait(30)
        assert job.planned_start == 1200
