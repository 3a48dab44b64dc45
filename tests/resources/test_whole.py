"""Whole nodes: what is chosen against Slurm's rules, followed node by node, and against trying every set of nodes.

Over 400 lines: two references, Slurm's rules and brute force, judge the same random machines.
"""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random
from typing import Any, NamedTuple

import pytest

from rota.core.job import Job
from rota.model import Errno, JobSpec, Node, Partition, RequestError
from rota.resources import WholeNodePool
from rota.resources.nodeset import indices
from rota.testing import cluster

MACHINES = range(150)


class Machine(NamedTuple):
    """Some nodes, and their pool."""

    nodes: list[Node]
    pool: WholeNodePool
    partition: Partition

    def job(self, spec: JobSpec) -> Job | None:
        """Make a job, if the machine takes it."""
        try:
            units = self.pool.units(spec, self.partition)
        except RequestError:
            return None
        return Job(1, spec, 0, self.partition, units) if units else None


def _machine(chance: Random) -> Machine:
    """Make some nodes, alike or not, in up to three lines of slurm.conf."""
    sizes, weights = chance.choice([(4,), (2, 8), (2, 4, 8)]), chance.choice([(1,), (1, 2)])
    memory, features, gpus = (1000, 4000, 8000), ("a", "b", "c"), (0, 0, 2)
    nodes: list[Node] = []
    for line in range(chance.randint(1, 3)):
        cpus, weight, has = chance.choice(sizes), chance.choice(weights), chance.choice(gpus)
        like: dict[str, Any] = {
            "cpus": cpus,
            "weight": weight,
            "line": line,
            "real_memory": chance.choice(memory),
            "features": tuple(one for one in features if chance.random() < 0.6),
            "gres": (f"gpu:{has}",) if has else (),
        }
        nodes += [Node(name=f"n{len(nodes) + number}", **like) for number in range(chance.randint(1, 4))]
    pool = WholeNodePool(cluster(nodes=nodes, SelectTypeParameters="CR_Memory"), nodes)
    most = chance.choice((None, None, None, 3))
    return Machine(nodes, pool, Partition(name="p", nodes=2 ** len(nodes) - 1, max_nodes=most))


def _some(chance: Random, machine: Machine, share: float = 0.7) -> int:
    return sum(1 << place for place in range(len(machine.nodes)) if chance.random() < share)


def _numbers(chance: Random) -> JobSpec:
    """Ask for processors and nodes."""
    least = chance.choice((0, 0, 1, 2, 3))
    most = chance.choice((0, least, least + 1, least + 3))
    return JobSpec(num_cpus=chance.choice((1, 2, 4, 6, 9, 12, 16)), min_nodes=least, max_nodes=most)


def _names(chance: Random, machine: Machine, share: float) -> str:
    return ",".join(node.name for node in machine.nodes if chance.random() < share)


# ---- Slurm's rules, node by node ---------------------------------------------------------------------------------


def _bounds(spec: JobSpec, machine: Machine, named: int) -> tuple[int, int, int]:
    """Give least and most nodes, and those that it would have."""
    limit = machine.partition.max_nodes
    least = max(spec.min_nodes, 1)
    most = spec.max_nodes or 99
    if not spec.max_nodes and limit is not None and limit >= least:
        most = limit
    wanted = max(least, min(spec.max_nodes, most))
    return max(least, named), most, max(wanted, named)


def _by_rule(spec: JobSpec, machine: Machine, avail: int) -> int:
    """Add one line of slurm.conf after the other until the job fits."""
    named = {place for place, node in enumerate(machine.nodes) if node.name in spec.required_nodes.split(",")}
    least, most, wanted = _bounds(spec, machine, len(named))
    free = set(indices(avail))
    if not named <= free:
        return 0
    there, groups = set(named), sorted({(node.weight, node.line) for node in machine.nodes})
    for group in groups:
        there |= {place for place in free if (machine.nodes[place].weight, machine.nodes[place].line) == group}
        if (len(there) >= wanted or group == groups[-1]) and len(there) >= least:
            chosen = _among(sorted(there), named, [node.cpus for node in machine.nodes], (spec.num_cpus, least, wanted))
            if least <= len(chosen) <= most and sum(machine.nodes[place].cpus for place in chosen) >= spec.num_cpus:
                return sum(1 << place for place in chosen)
    return 0


def _among(there: list[int], named: set[int], sizes: list[int], asked: tuple[int, int, int]) -> set[int]:
    """Choose among nodes that are there; too few of them where the job does not fit."""
    chosen, (cpus, least, count) = set(named), asked
    for place in named:
        cpus, least, count = cpus - sizes[place], least - 1, count - 1
    here = {sizes[place] for place in there}
    if len(here) > 1 and cpus > min(here) * count:
        order = sorted(set(there) - named, key=lambda place: (-sizes[place], -place))
        while order and (cpus > 0 or count > 0):
            chosen.add(order[0])
            cpus, count = cpus - sizes[order.pop(0)], count - 1
        return chosen
    runs: list[list[int]] = []
    for place in there:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    while cpus > 0 or count > 0:
        best: tuple[list[int], int, list[int], bool] | None = None
        for run in runs:
            free = [place for place in run if place not in chosen]
            has, held = sum(sizes[place] for place in free), [place for place in run if place in named]
            enough = len(free) >= least and has >= cpus
            if free and (
                best is None
                or (held and not best[2])
                or (enough and not best[3])
                or (enough and has < best[1])
                or (not enough and has > best[1])
            ):
                best = free, has, held, enough
        if best is None:
            break
        free, _, held, _ = best
        runs = [run for run in runs if run[0] not in free and run[-1] not in free]
        first = held[0] if held else 0
        for place in sorted(free, key=lambda place: (place < first, place if place > first else -place)):
            if cpus > 0 or count > 0:
                chosen.add(place)
                cpus, least, count = cpus - sizes[place], least - 1, count - 1
    return chosen


@pytest.mark.parametrize("seed", MACHINES)
def test_nodes_are_chosen_by_slurms_rules(seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - the same machines each time, no secrets
    machine = _machine(chance)
    for _ in range(20):
        spec = _numbers(chance)._replace(required_nodes=_names(chance, machine, 0.15) if chance.random() < 0.5 else "")
        job, avail = machine.job(spec), _some(chance, machine)
        if job is not None:
            assert machine.pool.select(job, avail) == _by_rule(spec, machine, avail), spec


# ---- every set of nodes ------------------------------------------------------------------------------------------


def _particular(chance: Random, machine: Machine) -> JobSpec:
    """Ask for something of everything."""
    spec = _numbers(chance)
    changes: dict[str, Any] = {
        "constraint": chance.choice(("a", "a&b", "a|b", "[a|b]", "[a|b]&c", "(a|b)&c")),
        "required_nodes": _names(chance, machine, 0.1),
        "excluded_nodes": _names(chance, machine, 0.2),
        "min_cpus_per_node": chance.choice((3, 8)),
        "mem_per_node": chance.choice((500, 2000, 5000)),
        "mem_per_cpu": chance.choice((500, 1000)),
        "gres": "gpu:2",
        "ntasks_per_node": chance.choice((1, 2, 4)),
    }
    known = {feature for node in machine.nodes for feature in node.features}
    if not {letter for letter in changes["constraint"] if letter.isalpha()} <= known:
        del changes["constraint"]  # it would be refused
    asked = spec._replace(**{key: value for key, value in changes.items() if chance.random() < 0.25})
    return asked._replace(required_nodes="") if asked.excluded_nodes else asked


def _would_do(spec: JobSpec, machine: Machine, chosen: tuple[int, ...]) -> bool:
    """Whether a job could run on just these nodes."""
    nodes = [machine.nodes[place] for place in chosen]
    named = set(filter(None, spec.required_nodes.split(",")))
    least, most, _ = _bounds(spec, machine, len(named))
    cap = spec.ntasks_per_node * spec.cpus_per_task or 99
    return (
        least <= len(nodes) <= most
        and sum(min(node.cpus, cap) for node in nodes) >= spec.num_cpus
        and named <= {node.name for node in nodes}
        and not {node.name for node in nodes} & set(spec.excluded_nodes.split(","))
        and all(_could_serve(spec, node) for node in nodes)
        and _has_features(spec.constraint, [set(node.features) for node in nodes])
    )


def _could_serve(spec: JobSpec, node: Node) -> bool:
    memory = spec.mem_per_node or spec.mem_per_cpu * node.cpus
    tasks = 1 if spec.num_tasks == 1 else spec.ntasks_per_node  # all that may be on a node must fit there
    cpus = max(spec.min_cpus_per_node, tasks * spec.cpus_per_task)
    return node.cpus >= cpus and node.real_memory >= memory and bool(not spec.gres or node.gres)


def _has_features(text: str, nodes: list[set[str]]) -> bool:
    """Whether nodes fulfil one of the few constraints that are asked here."""
    return {
        "": True,
        "a": all("a" in one for one in nodes),
        "a&b": all({"a", "b"} <= one for one in nodes),
        "a|b": all({"a", "b"} & one for one in nodes),
        "(a|b)&c": all({"a", "b"} & one and "c" in one for one in nodes),
        "[a|b]": any(all(option in one for one in nodes) for option in "ab"),
        "[a|b]&c": any(all({option, "c"} <= one for one in nodes) for option in "ab"),
    }[text]


@pytest.mark.parametrize("seed", MACHINES)
def test_what_is_asked_for_is_given_whenever_some_nodes_would_do(seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    machine = _machine(chance)
    pool, places = machine.pool, range(len(machine.nodes))
    for _ in range(5):
        spec = _particular(chance, machine)
        would_do = [some for n in places for some in combinations(places, n + 1) if _would_do(spec, machine, some)]
        job = machine.job(spec)
        assert (job is not None) == bool(would_do), spec
        if job is None:
            continue
        assert job.units == min(map(len, would_do))
        avail, opened = _some(chance, machine), _some(chance, machine, 0.9)
        there = [some for some in would_do if set(some) <= set(indices(avail & opened))]
        found = pool.find(job, pool.view(avail), opened)
        assert bool(found) == bool(there), spec
        assert not found or tuple(indices(found)) in there
        assert not found & ~pool.ever_feasible_nodes(job)
        assert not found & ~pool.feasible_nodes(job, pool.view(avail))
        assert pool.find_now(job, pool.view(avail), opened) == pool.select(job, avail & opened)


def _could_count(spec: JobSpec, nodes: list[Node]) -> bool:
    """Whether each of the nodes that are counted can be another one: each way to choose them is tried.

    In brackets all nodes of the job have one of the features.
    """
    wanted = [part.split("*") for part in spec.constraint.strip("[]").split("&") if part]
    if "[" in spec.constraint and not all({feature for feature, _ in wanted} & set(node.features) for node in nodes):
        return False
    features = [feature for feature, count in wanted for _ in range(int(count))]
    return any(
        all(feature in node.features for feature, node in zip(features, some, strict=True))
        for some in permutations(nodes, len(features))
    )


@pytest.mark.parametrize("seed", MACHINES)
def test_nodes_that_follow_each_other_are_given_whenever_some_run_would_do(seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    machine = _machine(chance)
    runs = [
        range(first, end) for first in range(len(machine.nodes)) for end in range(first + 1, len(machine.nodes) + 1)
    ]
    for _ in range(12):
        spec = _numbers(chance)._replace(contiguous=True, ntasks_per_node=chance.choice((0, 0, 2)))
        known = {feature for node in machine.nodes for feature in node.features}
        if chance.random() < 0.3 and {"a", "b"} <= known:
            spec = spec._replace(constraint=chance.choice(("a*1", "b*2", "[a*1&b*1]", "[a*1&b*2]")))
        named = chance.choice(("", "", _names(chance, machine, 0.2)))
        spec = spec._replace(required_nodes=named)
        plain = spec._replace(constraint="")
        would_do = [
            set(run)
            for run in runs
            if _would_do(plain, machine, tuple(run)) and _could_count(spec, [machine.nodes[place] for place in run])
        ]
        job = machine.job(spec)
        assert (job is not None) == bool(would_do), spec
        if job is None:
            continue
        assert job.units <= min(map(len, would_do))
        avail = _some(chance, machine)
        there = [run for run in would_do if run <= set(indices(avail))]
        found = machine.pool.select(job, avail)
        assert bool(found) == bool(there), spec
        assert not found or set(indices(found)) in there


def test_nodes_that_follow_each_other_are_no_more_than_may_be() -> None:
    """Two small nodes, then two large ones: from the first node on it would be three of them."""
    nodes = [Node(name=f"n{place}", cpus=cpus) for place, cpus in enumerate((2, 2, 8, 8, 2))]
    machine = Machine(nodes, WholeNodePool(cluster(nodes=nodes), nodes), Partition(name="p", nodes=0b11111))
    for asked, expected in (
        ({"num_cpus": 10, "max_nodes": 2}, 0b00110),
        ({"num_cpus": 16, "max_nodes": 2}, 0b01100),
        ({"num_cpus": 12, "min_nodes": 3, "max_nodes": 3}, 0b00111),
        ({"num_cpus": 18, "min_nodes": 2, "max_nodes": 3}, 0b01110),
        ({"num_cpus": 10, "max_nodes": 2, "required_nodes": "n4"}, 0b11000),
        ({"num_cpus": 12, "max_nodes": 3, "required_nodes": "n1"}, 0b01110),
    ):
        job = machine.job(JobSpec(contiguous=True, **asked))
        assert job is not None
        assert bin(machine.pool.select(job, 0b11111)) == bin(expected)
    assert machine.job(JobSpec(contiguous=True, num_cpus=17, max_nodes=2)) is None


@pytest.mark.parametrize("seed", range(100))
def test_jobs_that_are_alike_are_placed_alike(seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    machine = _machine(chance)
    jobs = [job for _ in range(20) if (job := machine.job(_particular(chance, machine))) is not None]
    avail = _some(chance, machine)
    for one, other in combinations(jobs, 2):
        if machine.pool.class_of(one) == machine.pool.class_of(other):
            assert machine.pool.select(one, avail) == machine.pool.select(other, avail)


# ---- what is not for brute force ---------------------------------------------------------------------------------


def _row(count: int, **like: Any) -> Machine:
    features = ("even",), ("odd",)
    nodes = [Node(name=f"n{place}", cpus=4, features=features[place % 2], **like) for place in range(count)]
    return Machine(nodes, WholeNodePool(cluster(nodes=nodes), nodes), Partition(name="p", nodes=2**count - 1))


@pytest.mark.parametrize(
    ("asked", "avail", "expected"),
    [
        ({"min_nodes": 3}, 0b11011, 0b01011),
        ({"min_nodes": 3, "contiguous": True}, 0b11011, 0),
        ({"min_nodes": 2, "contiguous": True}, 0b11011, 0b00011),
        ({"min_nodes": 2, "contiguous": True, "required_nodes": "n4"}, 0b11011, 0b11000),
        ({"contiguous": True, "required_nodes": "n0,n2"}, 0b11111, 0b00111),
        ({"contiguous": True, "required_nodes": "n0,n2"}, 0b11101, 0),
        ({"min_nodes": 2, "constraint": "odd*2"}, 0b11111, 0b01010),
        ({"min_nodes": 2, "constraint": "odd*2"}, 0b10111, 0),
        ({"min_nodes": 3, "constraint": "[odd*1&even*2]"}, 0b11110, 0b10110),
        ({"min_nodes": 3, "constraint": "odd*1"}, 0b11101, 0b11100),
        ({"min_nodes": 3, "constraint": "[odd|even]"}, 0b11111, 0b10101),
    ],
)
def test_nodes_in_a_row_and_counted_ones(asked: dict[str, Any], avail: int, expected: int) -> None:
    machine = _row(5)
    job = machine.job(JobSpec(**asked))
    assert job is not None
    assert bin(machine.pool.select(job, avail)) == bin(expected)


@pytest.mark.parametrize(
    "asked",
    [
        {"constraint": "nosuch"},
        {"constraint": "odd*3"},
        {"constraint": "odd&even"},
        {"min_nodes": 4, "constraint": "[odd|even]"},
        {"required_nodes": "n9"},
        {"required_nodes": "n1", "excluded_nodes": "n1"},
        {"contiguous": True, "required_nodes": "n0,n3", "max_nodes": 3},
        {"gres": "gpu:1"},
        {"gres_per_job": "gpu:1"},
        {"gres_per_task": "gpu:1"},
        {"num_cpus": 21},
        {"num_cpus": 9, "max_nodes": 2},
    ],
)
def test_what_can_never_be_had_takes_no_units(asked: dict[str, Any]) -> None:
    assert _row(5).job(JobSpec(**asked)) is None


@pytest.mark.parametrize(
    ("asked", "errno", "said"),
    [
        ({"constraint": "nosuch|odd"}, Errno.INVALID_FEATURE, "no node has nosuch"),
        ({"constraint": "odd&"}, Errno.INVALID_FEATURE, "Invalid feature specification: "),
        ({"prefer": "nosuch"}, Errno.INVALID_PREFER, "Invalid preferred feature specification: no node has nosuch"),
        ({"required_nodes": "n1,n9"}, Errno.INVALID_NODE_NAME, "there is no node n9"),
        ({"excluded_nodes": "n9"}, Errno.INVALID_NODE_NAME, "there is no node n9"),
        ({"gres": "tape:1"}, Errno.INVALID_GRES, "no node has tape"),
        ({"gres": "gpu:x:y:1"}, Errno.INVALID_GRES, "'gpu:x:y:1' is not name"),
        ({"gres": "gpu:h100:1"}, Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE, "no node has GRES gpu:h100"),
        ({"gres_per_job": "gpu:1"}, Errno.UNSUPPORTED_GRES, "whole nodes have GRES by node only"),
        (
            {"contiguous": True, "constraint": "[" + "&".join(["odd*1"] * 9) + "]"},
            Errno.INVALID_FEATURE,
            "9 counts; of nodes that follow each other 8 can be counted at most",
        ),
    ],
)
def test_what_no_node_has_is_named(asked: dict[str, Any], errno: Errno, said: str) -> None:
    machine = _row(5, gres=("gpu:2",))
    with pytest.raises(RequestError) as refused:
        machine.pool.units(JobSpec(**asked), machine.partition)
    assert refused.value.errno is errno
    assert said in str(refused.value)


def test_gres_are_had_by_node_only() -> None:
    machine = _row(3, gres=("gpu:2",))
    assert machine.job(JobSpec(gres="gpu:2")) is not None
    assert machine.job(JobSpec(gres_per_job="gpu:2")) is None
    assert machine.job(JobSpec(gres_per_task="gpu:2")) is None


def test_nodes_that_a_job_prefers_are_tried_first_when_it_starts_and_not_when_it_is_planned() -> None:
    """As the page of sbatch says of ``--prefer``; ``tests/core/data/real_slurm/prefer.txt`` shows it for cons_tres."""
    nodes = [Node(name=f"n{place}", cpus=4, features=("red",) if place == 2 else ("blue",)) for place in range(3)]
    pool, every = WholeNodePool(cluster(nodes=nodes), nodes), 0b111
    machine = Machine(nodes, pool, Partition(name="p", nodes=every))
    job = machine.job(JobSpec(num_cpus=4, prefer="red"))
    assert job is not None
    assert pool.select(job, every) == pool.find_now(job, every, every) == 0b100
    assert pool.select(job, 0b011) == pool.find(job, every, every) == 0b001
    over = machine.job(JobSpec(num_cpus=4, constraint="blue", prefer="red"))
    assert over is not None
    assert (pool.select(over, every), pool.select(over, 0b011)) == (0b100, 0b001)
    assert machine.job(JobSpec(num_cpus=8, prefer="red")) is None, "as in Slurm, which asks for enough of those"
