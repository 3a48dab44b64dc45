"""No request costs the controller much, whatever lists it has: 100 ms of its thread and 50 MB at most.

Requests are drawn: all commands, and hostile texts in every option, key and word that takes one. What a request costs
is what the kernel counts of the controller: the processor time of its thread, and the growth of its largest size. Who
measures while others work on the machine measures too much: a request that seems to cost too much is tried again.
"""

from __future__ import annotations

import os
from time import process_time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rota.controller.run_environment import array_environment
from rota.testing.live import LiveCluster

from .hostile import CALLS, Measured, with_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.model.lines import JobLine

#: Seconds of the controller's thread, bytes, and how often a request is tried.
_SECONDS, _BYTES, _TRIES = 0.1, 50 << 20, 5
#: Seconds of what is done to up to 5,000 jobs in slices; `test_slices` shows that others have their turn meanwhile.
_SECONDS_OF_SLICES = 0.5
_SLICED = ("scancel", "hold", "release", "requeue", "suspend", "resume", "jobid=")
_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
GresTypes=gpu
AccountingStorageEnforce=limits
NodeName=n[0-299] CPUs=4 RealMemory=8000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE
PartitionName=high Nodes=ALL MaxTime=60
"""

_COUNT = st.sampled_from([1, 2, 16, 300, 5_000, 40_000])
_NUMBER = st.sampled_from(
    ["0", "7", "00001", "999", "99999", "65535", "4000000", "9" * 9, "9" * 18, "9" * 19, "9" * 5000]
)
_RANGE = st.one_of(
    st.tuples(_NUMBER, _NUMBER).map("-".join),
    st.sampled_from(
        ["0-9", "0-99", "0-999", "000-999", "0-9999:2", "1,3,5-7", "0-", "-", "", "a-b", "0-9%5", "0-65535"]
    ),
)
_BRACKETS = st.tuples(_RANGE, st.integers(1, 6)).map(lambda one: "-".join([f"[{one[0]}]"] * one[1]))
_HEAD = st.sampled_from(["n", "", "0_", "1_", "3_", "n1", "gpu:", "afterok:", "x" * 300, "-", "+", "!", "%", "ü"])
_TERM = st.one_of(
    st.tuples(_HEAD, _BRACKETS).map("".join),
    st.tuples(_HEAD, _BRACKETS, st.sampled_from(["x", "[0-9]", ".0", ":5", "*9"])).map("".join),
    st.tuples(_HEAD, _NUMBER).map("".join),
    st.sampled_from(
        ["root", "n1", "1", "1_1", "3_[0-999]", "2.0", "debug", "PENDING", "virt", "%i", "%.999999999i", "i:9"]
    ),
    st.sampled_from(
        ["[", "]", "[" * 5000, "n[" * 2000 + "0" + "]" * 2000, "(" * 900 + "virt" + ")" * 900, "&|", "=", "@@"]
    ),
    st.text(max_size=8),
)
_JOIN = st.sampled_from([",", ",", ",", "", " ", ":", "&", "|", "\n", ",,", ";", "?"])


def _numbered(term: str, count: int) -> list[str]:
    """Make many different terms of one."""
    return [term.replace("0", str(number), 1) if number else term for number in range(count)]


_HOSTILE = st.one_of(
    st.tuples(_TERM, _COUNT, _JOIN).map(lambda one: one[2].join([one[0]] * one[1])),
    st.tuples(_TERM, _COUNT, _JOIN).map(lambda one: one[2].join(_numbered(one[0], one[1]))),
    st.tuples(st.lists(_TERM, max_size=8), _JOIN).map(lambda one: one[1].join(one[0])),
    st.tuples(_HEAD, _COUNT).map(lambda one: ",".join(f"{one[0]}{number}" for number in range(one[1]))),
    st.sampled_from(["x", "0", "9", ",", "[0-9]", "%i", "a=b,", "-"]).flatmap(
        lambda one: _COUNT.map(lambda n: one * n)
    ),
).map(lambda text: text.replace("\0", "")[:400_000])


def _check(measured: Measured, words: Sequence[str], uid: int = 0) -> str:
    """Give a command until it has cost little enough; give the beginning of what was said."""
    costs = []
    most = _SECONDS_OF_SLICES if any(word.startswith(_SLICED) for word in words[:3]) else _SECONDS
    for _ in range(_TRIES):
        costs.append(measured.cost(words, uid))
        if costs[-1].seconds < most and costs[-1].bytes_ < _BYTES:
            return costs[-1].said
    shown = [word[:200] for word in words]
    raise AssertionError((shown, costs))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A cluster of 300 nodes with jobs that wait, an array of 40 tasks, and a reservation."""
    with LiveCluster(tmp_path_factory.mktemp("bounds"), _CONF) as cluster:
        for options in ("-H", "-H", "-H -a 0-39"):
            cluster.submit(*options.split(), "--wrap", "true")
        made = "create reservation reservationname=kept starttime=now+9hours duration=1 users=root nodes=n[1-9]"
        cluster.run("scontrol", *made.split())
        found = Measured(cluster)
        for words in CALLS:  # what is only needed at the first time is loaded
            found.cost([word.replace("@", "1") for word in words if words[0] not in {"scancel", "sbatch", "srun"}])
        yield found


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(
    max_examples=8 * settings().max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(words=st.sampled_from(CALLS), text=_HOSTILE)
def test_no_request_costs_much(measured: Measured, words: list[str], text: str) -> None:
    longest = len(text) if words[0] == "rota-api" else 130_000  # longer arguments are refused, see below
    _check(measured, with_text(words, text[:longest]))


_MANY = "n[0-999]-[0-999]-[0-99]"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as others")
@pytest.mark.parametrize(
    "line",
    [
        f"scontrol create reservation reservationname=x starttime=now duration=1 users=bin nodes={_MANY}",
        f"scontrol update reservationname=kept nodes={_MANY}",
        f"scontrol update nodename={','.join(['n[0-99999]'] * 50)} comment=x",
        f"scontrol update partitionname=high nodes={_MANY}",
        f"scontrol create partitionname=new nodes={_MANY}",
        "scontrol reconfigure",
    ],
)
def test_who_may_not_is_refused_before_anything_is_expanded(measured: Measured, line: str) -> None:
    assert "Invalid user id" in _check(measured, line.split(), uid=1)


@pytest.mark.parametrize("command", ["scancel", "scontrol hold", "scontrol release", "squeue -j", "scontrol requeue"])
def test_many_tasks_of_many_jobs_are_not_expanded(measured: Measured, command: str) -> None:
    ids = ",".join(f"{job}_[0-99999]" for job in range(300))
    assert "names more than 5,000 jobs" in _check(measured, [*command.split(), ids])
    ids = " ".join(f"{job}_[0-999]" for job in range(5, 300))
    if "-j" not in command:
        assert "names more than 5,000 jobs" in _check(measured, [*command.split(), *ids.split()])


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (f"NodeName={_MANY}", "names more than 262,144 nodes"),
        ("NodeName=m[0-200000]\nNodeName=k[0-200000]", "the machine has more than 262,144 nodes"),
        (f"NodeName=DEFAULT CPUs=4\nPartitionName=many Nodes={_MANY}", "names more than 262,144 nodes"),
        (f"NodeSet=many Nodes={_MANY}\nPartitionName=many Nodes=many", "names more than 262,144 nodes"),
        (f"DownNodes={_MANY}", "names more than 262,144 nodes"),
        (f"PartitionName=many Nodes=n1 AllowGroups={','.join(['x'] * 300)}", "names more than 200 groups"),
    ],
)
def test_a_configuration_that_is_too_large(measured: Measured, lines: str, problem: str) -> None:
    conf = measured.cluster.conf
    before = conf.read_text()
    try:
        conf.write_text(f"{before}\n{lines}\n")
        assert problem in _check(measured, ["scontrol", "reconfigure"])
    finally:
        conf.write_text(before)


@pytest.mark.parametrize("line", ["sbatch -H --wrap true -C", "scontrol update jobid=2 features=", "srun -C"])
def test_features_are_read_up_to_a_length(measured: Measured, line: str) -> None:
    text = ",".join(f"!{number}" for number in range(16_000))
    words = line.split() if line.endswith("=") else [*line.split(), ""]
    words[-1] += text
    assert "Invalid feature specification" in _check(measured, words)


def test_arguments_and_variables_are_counted(measured: Measured) -> None:
    assert "more than 50,000 arguments" in _check(measured, ["sbatch", *["x"] * 60_000])


@pytest.mark.parametrize("command", ["scontrol hold", "scancel", "squeue -j", "sbatch -H --wrap"])
def test_an_argument_is_as_long_as_linux_lets_it_be(measured: Measured, command: str) -> None:
    assert "has 131,072 characters or more" in _check(measured, [*command.split(), "[" * (1 << 17)])
    assert "has 131,072 characters or more" not in _check(measured, [*command.split(), "[" * ((1 << 17) - 1)])


@pytest.mark.parametrize("command", ["scontrol hold", "scancel", "scontrol requeue", "scontrol suspend"])
def test_long_words_are_not_split(measured: Measured, command: str) -> None:
    assert "names more than 5,000 jobs" in _check(measured, [*command.split(), *["[" * 130_000] * 20])


_MACHINE = 4_000  # nodes: what changes the machine costs about 10 µs for each


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A large machine with jobs that run and wait."""
    conf = _CONF.replace("n[0-299]", f"n[0-{_MACHINE - 1}]")
    with LiveCluster(tmp_path_factory.mktemp("large"), conf) as cluster:
        for options in ("-H", "-N1 -c4", "-N1 -c4"):
            cluster.submit(*options.split(), "--wrap", "sleep 1000")
        found = Measured(cluster)
        found.cost(["sinfo"])
        yield found


@pytest.mark.parametrize(
    "line",
    [
        "scontrol reconfigure",
        f"scontrol update nodename=n[0-{_MACHINE - 1}] state=drain reason=odd",
        f"scontrol update nodename=n[0-{_MACHINE - 1}] state=resume",
        f"scontrol update nodename=n[0-{_MACHINE - 1}] comment=text",
        f"scontrol update nodename=n[0-{_MACHINE - 1}] activefeatures=a,b weight=7",
        "scontrol update partitionname=high nodes=ALL maxtime=30",
        "scontrol create partitionname=new nodes=n[1-9]",
        "scontrol delete partitionname=new",
        "scontrol create reservation reservationname=r1 starttime=now+9hours duration=1 users=root nodecnt=2000",
        f"sbatch -H --wrap true -x n[0-{_MACHINE // 2}]",
        "scontrol show node",
    ],
)
def test_a_large_machine_is_changed_at_once(large: Measured, line: str) -> None:
    _check(large, line.split())


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A queue of 20,000 jobs: tasks of arrays, each of which depends on one of another array."""
    with LiveCluster(tmp_path_factory.mktemp("long"), f"{_CONF}MaxJobCount=40000\n") as cluster:
        first = cluster.submit("-H", "-a", "0-999", "--wrap", "true")
        for _ in range(20):
            cluster.submit("-a", "0-999", "-d", f"aftercorr:{first}", "--wrap", "true")
        found = Measured(cluster)
        found.cost(["sinfo"])
        yield found


@pytest.mark.parametrize("line", ["rota-call plan", "rota-call explain 1", "rota-call status", "sprio -l", "sdiag"])
def test_a_long_queue_is_told_of_by_children(long: Measured, line: str) -> None:
    assert "defect" not in _check(long, line.split())


def test_the_tasks_of_an_array_are_counted_once() -> None:
    """A user can start thousands of tasks of an array of a million: each has variables that tell of all of them."""
    request = SimpleNamespace(array="0-999999,1-1000000:2")
    task = cast("JobLine", SimpleNamespace(array_job_id=1, array_task="7", request=request))
    assert array_environment(task)["SLURM_ARRAY_TASK_COUNT"] == "1000000"
    began = process_time()
    for _ in range(1_000):
        array_environment(task)
    assert process_time() - began < 0.1
