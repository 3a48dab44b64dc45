"""Command lines of sbatch: what options ask for, alone and together.

Where a case says nothing else, its figures are those that ``scontrol show job`` of Slurm 22.05.8 showed for a held job
with these options (NumNodes, NumCPUs, NumTasks, MinCPUsNode, TresPer…), and what is refused here was refused there, by
sbatch or by slurmctld. The nodes there had 4 processors, 2 GPUs and 8000 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.commands.sbatch import OptionError, parse_request, split_words
from rota.workload.events import read_events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    LogFile = Callable[..., Path]

from .conftest import different


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {}),
        ("-n 6", {"num_cpus": 6, "num_tasks": 6}),
        ("-N 3", {"num_cpus": 3, "min_nodes": 3, "max_nodes": 3}),
        # Slurm counts one processor for -N 2-4, and gives each node one all the same.
        ("-N 2-4", {"min_nodes": 2, "max_nodes": 4}),
        ("-N 1k", {"num_cpus": 1024, "min_nodes": 1024, "max_nodes": 1024}),
        ("-c 3", {"num_cpus": 3, "cpus_per_task": 3, "min_cpus_per_node": 3}),
        (
            "-N 2-4 --ntasks-per-node=2",
            {"num_cpus": 4, "min_nodes": 2, "max_nodes": 4, "ntasks_per_node": 2, "min_cpus_per_node": 2},
        ),
        (
            "-N 2 --ntasks-per-node=2 -c 2",
            {
                "num_cpus": 8,
                "min_nodes": 2,
                "max_nodes": 2,
                "cpus_per_task": 2,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 4,
            },
        ),
        ("--ntasks-per-node=3", {"num_cpus": 3, "ntasks_per_node": 3, "min_cpus_per_node": 3}),
        ("-n 1 --ntasks-per-node=3", {"num_tasks": 1, "ntasks_per_node": 3}),
        (
            "-n 2 --ntasks-per-node=4",
            {"num_cpus": 2, "num_tasks": 2, "ntasks_per_node": 4, "min_cpus_per_node": 4},
        ),
        # It ran on three nodes: how many follow from the tasks is not part of the request.
        (
            "-n 9 --ntasks-per-node=4",
            {"num_cpus": 9, "num_tasks": 9, "ntasks_per_node": 4, "min_cpus_per_node": 4},
        ),
        (
            "-n 6 -N 2-4 --ntasks-per-node=2",
            {
                "num_cpus": 6,
                "num_tasks": 6,
                "min_nodes": 2,
                "max_nodes": 4,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 2,
            },
        ),
        # No node is without a task.
        ("-n 2 -N 4", {"num_cpus": 2, "num_tasks": 2, "min_nodes": 2, "max_nodes": 2}),
        ("-n 2 -N 2-4", {"num_cpus": 2, "num_tasks": 2, "min_nodes": 2, "max_nodes": 2}),
        ("-n 3 -N 2-4", {"num_cpus": 3, "num_tasks": 3, "min_nodes": 2, "max_nodes": 3}),
        ("-n 5 -N 6-8", {"num_cpus": 5, "num_tasks": 5, "min_nodes": 5, "max_nodes": 5}),
        ("--mincpus=2", {"min_cpus_per_node": 2}),
        (
            "-n 2 --ntasks-per-node=2 -c 2 --mincpus=1",
            {
                "num_cpus": 4,
                "num_tasks": 2,
                "cpus_per_task": 2,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 4,
            },
        ),
    ],
)
def test_nodes_tasks_and_processors(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--sockets-per-node=2", {"sockets_per_node": 2}),
        ("--ntasks-per-socket=2", {"ntasks_per_socket": 2}),
        ("-n 1 -B 1:2", {"num_tasks": 1, "sockets_per_node": 1, "cores_per_socket": 2}),
        ("-n 1 -B 2-3:1-2", {"num_tasks": 1, "sockets_per_node": 2, "cores_per_socket": 1}),
        ("-n 1 -B '*:2'", {"num_tasks": 1, "cores_per_socket": 2}),
        ("-n 1 -B 0", {"num_tasks": 1}),
        # Where nodes are told and tasks are not, each core of what is told has one, or each of its threads.
        ("-B 2:2", {"num_cpus": 4, "num_tasks": 4, "sockets_per_node": 2, "cores_per_socket": 2}),
        (
            "-N 1 --sockets-per-node=2",
            {"num_cpus": 2, "num_tasks": 2, "min_nodes": 1, "max_nodes": 1, "sockets_per_node": 2},
        ),
        (
            "-N 2-2 --threads-per-core=2",
            {"num_cpus": 4, "num_tasks": 4, "min_nodes": 2, "max_nodes": 2, "threads_per_core": 2},
        ),
        (
            "-N 1 -c 2 -B 2:*:1",
            {
                "num_cpus": 4,
                "num_tasks": 2,
                "cpus_per_task": 2,
                "min_cpus_per_node": 2,
                "min_nodes": 1,
                "max_nodes": 1,
                "sockets_per_node": 2,
                "threads_per_core": 1,
            },
        ),
        ("-N 1-2 -B 2", {"min_nodes": 1, "max_nodes": 2, "sockets_per_node": 2}),
        (
            "-N 1 -B 2 --ntasks-per-node=3",
            {
                "num_cpus": 3,
                "ntasks_per_node": 3,
                "min_cpus_per_node": 3,
                "min_nodes": 1,
                "max_nodes": 1,
                "sockets_per_node": 2,
            },
        ),
        # The last one counts, and of all of them a hint the least.
        ("-n 1 --threads-per-core=1 -B 2", {"num_tasks": 1, "sockets_per_node": 2}),
        ("-n 1 -B 2:2 --sockets-per-node=1", {"num_tasks": 1, "sockets_per_node": 1, "cores_per_socket": 2}),
        ("-n 1 --hint=nomultithread -B 2", {"num_tasks": 1, "sockets_per_node": 2}),
        ("-n 1 --threads-per-core=2 --hint=nomultithread", {"num_tasks": 1, "threads_per_core": 2}),
        ("-n 1 --hint=multithread --ntasks-per-core=1", {"num_tasks": 1, "ntasks_per_core": 1}),
        ("-n 1 --hint=nomultithread --sockets-per-node=2", {"num_tasks": 1, "threads_per_core": 1}),
    ],
)
def test_sockets_and_cores(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-w n01", {"required_nodes": "n01", "min_nodes": 1}),
        ("-w n01,n01", {"required_nodes": "n01", "min_nodes": 1}),
        ("-w n0[1-2]", {"required_nodes": "n01,n02", "min_nodes": 2, "num_cpus": 2}),
        ("-w 'n01 n02'", {"required_nodes": "n01,n02", "min_nodes": 2, "num_cpus": 2}),
        ("-w n01 -N 2", {"required_nodes": "n01", "min_nodes": 2, "max_nodes": 2, "num_cpus": 2}),
        ("-w n0[1-3] -N 2-4", {"required_nodes": "n01,n02,n03", "min_nodes": 3, "max_nodes": 4}),
        # More nodes than tasks: the first of them, in order.
        (
            "-w n03,n01,n02 -n 2",
            {
                "required_nodes": "n01,n02",
                "min_nodes": 2,
                "max_nodes": 2,
                "num_cpus": 2,
                "num_tasks": 2,
            },
        ),
        (
            "-w n01,n02 --ntasks-per-node=2",
            {
                "required_nodes": "n01,n02",
                "min_nodes": 2,
                "num_cpus": 4,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 2,
            },
        ),
        ("-x n02 --contiguous", {"excluded_nodes": "n02", "contiguous": True}),
        ("--switches=1@5:00", {"switches": 1, "switch_wait": 300}),
        ("--switches=2", {"switches": 2}),
        ("--switches=2@UNLIMITED", {"switches": 2}),
    ],
)
def test_named_nodes(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--mem=0", {"mem_per_node": -1}),
        ("--mem-per-cpu=0", {"mem_per_node": -1}),
        ("--mem=5 --mem=0", {"mem_per_node": -1}),
        ("--mem=1500K", {"mem_per_node": 2}),
        ("--mem-per-cpu=1G --mem-per-cpu=2G", {"mem_per_cpu": 2048}),
        ("--exclusive", {"exclusive": True}),
        # Not Slurm's meaning: see the module's docstring.
        ("--exclusive=user", {"exclusive": True}),
        ("--exclusive=mcs", {"exclusive": True}),
        ("-s", {"oversubscribe": True}),
        ("-s --exclusive", {"exclusive": True}),
        ("--hint=nomultithread", {"threads_per_core": 1}),
        ("--hint=multithread", {}),
        ("--threads-per-core=2", {"threads_per_core": 2}),
        ("--hint=compute_bound", {"threads_per_core": 1}),
        ("--hint=memory_bound", {"threads_per_core": 1}),
        ("--ntasks-per-core=2 -n3", {"ntasks_per_core": 2, "num_cpus": 3, "num_tasks": 3}),
        ("--ntasks-per-core=2 --threads-per-core=1", {"ntasks_per_core": 2, "threads_per_core": 1}),
        ("--spread-job -n3", {"spread": True, "num_cpus": 3, "num_tasks": 3}),
        ("--use-min-nodes -N 1-3", {"use_min_nodes": True, "min_nodes": 1, "max_nodes": 3}),
        ("-m block:fcyclic:*,nopack", {}),
        ("--distribution=pack", {}),
        (
            "-m plane=2 -n3 -N2",
            {"min_nodes": 2, "max_nodes": 2, "num_cpus": 3, "num_tasks": 3, "fills_sockets": True},
        ),
        ("-m cyclic:block:cyclic", {"fills_sockets": True}),
        ("-m *:Block", {"fills_sockets": True}),
        ("--exclusive -s", {"oversubscribe": True}),
        ("-L matlab:2,ansys", {"licenses": "matlab:2,ansys"}),
        ("-C '[a|b]&c' --prefer 'a*2'", {"constraint": "[a|b]&c", "prefer": "a*2"}),
        ("-t 5 --time-min=3", {"time_limit": 300, "time_min": 180}),
        ("--time-min=0:01", {"time_min": 60}),
        ("-t 2:30 --time-min=3", {"time_limit": 180, "time_min": 180}),
        ("--deadline=now+1hour", {"deadline": 3600}),
        ("-t 5 --deadline=now+30", {"time_limit": 300, "deadline": 30}),
        ("-b now+60", {"begin_time": 60}),
        ("--begin=now+5minute", {"begin_time": 300}),
        ("--begin=now+2days", {"begin_time": 172800}),
        ("--begin=now+2weeks", {"begin_time": 1209600}),
        ("--begin='NOW + 60 minutes'", {"begin_time": 3600}),
        ("--begin=now", {}),
        ("--begin=now+60minutes --deadline=now+1hour", {"begin_time": 3600, "deadline": 3600}),
        ("--priority=4294967293", {"priority": 4294967293}),
        ("--priority=TOP", {"priority": 4294967293}),
        ("--priority=0", {}),
        ("--nice=", {"nice": 100}),
        ("--nice=-2147483645", {"nice": -2147483645}),
        ("-p short,debug", {"partition": "short,debug"}),
        ("--requeue", {"requeue": True}),
        ("--no-requeue --requeue", {"requeue": True}),
        ("--requeue --no-requeue", {"requeue": False}),
        # Letters follow each other; a word of its own is no value of an option whose value may be left out.
        ("-Hn3", {"hold": True, "num_cpus": 3, "num_tasks": 3}),
        ("-sHvQn 3", {"oversubscribe": True, "hold": True, "num_cpus": 3, "num_tasks": 3}),
        ("--nice 5 -n 2", {"nice": 100}),
    ],
)
def test_one_by_one(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


#: What Slurm 22.05.8 takes with an empty value, and submits as if it were not there.
MAY_BE_EMPTY = "array constraint dependency exclude gpus gpus-per-node gpus-per-task job-name prefer reservation"


def test_empty_values_take_back_what_was_said_before() -> None:
    empty = " ".join(f"--{name}=" for name in MAY_BE_EMPTY.split())
    assert different(empty) == {}
    assert different(f"-x n2 -a 1-2 -d afterok:1 -C big --gpus=a:1 --reservation=r {empty}") == {}


#: Of sbatch's manual, with a value where it takes one.
NO_MEANING = """
-D /home/a | --chdir=/home/a | -e a.err | --error=a.err | -i in | --input=in | -o a.out | --output=a.out | -Q | --quiet
-W | --wait | -k | --no-kill | --no-kill=off | -v | --verbose | --acctg-freq=30 | --comment 'two words'
--container=/bundle | --cpu-freq=low | --export=ALL,A=b | --export-file=env | --get-user-env | --get-user-env=10L
--gid=staff | --gpu-bind=closest | --gpu-freq=low | --ignore-pbs | --mail-type=END
--mail-user=ann | --mcs-label=a | --mem-bind=local | --open-mode=append | --parsable | --power=level | --profile=all
--propagate=STACK | --reboot | --signal=B:USR2@30 | --wckey= | --wrap='sleep 5'
"""


@pytest.mark.parametrize("option", [one.strip() for one in NO_MEANING.replace("\n", "|").split("|") if one.strip()])
def test_options_without_a_meaning_are_read_past(option: str) -> None:
    assert different(f"{option} -n 2") == {"num_cpus": 2, "num_tasks": 2}


@pytest.mark.parametrize(
    ("options", "option", "problem"),
    [
        ("-n 0", "-n", 'Invalid numeric value "0" for --ntasks.'),
        ("-n -1", "-n", 'Invalid numeric value "-1" for --ntasks.'),
        ("-n 1k", "-n", 'Invalid numeric value "1k" for --ntasks.'),
        ("-c 0", "-c", 'Invalid numeric value "0" for --cpus-per-task.'),
        ("--mincpus=0", "--mincpus", 'Invalid numeric value "0" for --mincpus.'),
        ("--ntasks-per-node=0", "--ntasks-per-node", 'Invalid numeric value "0" for --ntasks-per-node.'),
        ("-N 3-2", "-N", "Maximum node count 2 is less than minimum node count 3"),
        ("-N 2-", "-N", "Maximum node count -1 is less than minimum node count 2"),
        ("-N 1,3", "-N", '"1,3" is not a valid node count'),
        ("-N 4097m", "-N", '"4097m" is not a valid node count'),
        ("-n 3 -N 1 --ntasks-per-node=2", "--ntasks-per-node", "3 tasks need 2 nodes, and --nodes allows 1"),
        ("-w n01,n02 -N 1", "--nodelist", "2 nodes are named, and --nodes allows 1"),
        ("-w n01,n02 -x n02", "--exclude", "n02 is in --nodelist too"),
        ("-w ./hosts", "-w", "'./hosts' is a file: write the names"),
        ("-w n[1-", "-w", "'n[1-' is not a list of nodes"),
        ("-w @all", "-w", "'@all' is not a list of nodes"),
        ("-w n[1-9999999999]", "-w", "'n[1-9999999999]' names more than 32,768 nodes"),
        ("-w n[0-9999][0-9999]", "-w", "'n[0-9999][0-9999]' names more than 32,768 nodes"),
        ("-x n[1-60000],m[1-60000]", "-x", "'n[1-60000],m[1-60000]' names more than 32,768 nodes"),
        ("-w a+b", "-w", "'a+b' is not a list of nodes"),
        ("--mem=1G --mem-per-cpu=100", "--mem-per-cpu", "--mem is there too: give one of them"),
        ("--mem-per-cpu=0 --mem=5", "--mem-per-cpu", "--mem is there too"),
        ("--mem=1.5G", "--mem", "'1.5G' is no size"),
        ("--mem=-1", "--mem", "'-1' is no size"),
        ("--gres=gpu::1", "--gres", "Invalid generic resource (gres) specification"),
        ("--partition=", "--partition", "invalid partition specified: (null)"),
        ("--gpus=2x", "--gpus", "Invalid Trackable RESource (TRES) specification"),
        ("--gpus=2 -N 4", "--gpus", "2 GPUs are too few for 4 nodes"),
        ("--gpus=4 --gpus-per-node=3", "--gpus", "4 is no multiple of the 3 of --gpus-per-node"),
        ("--gres=gpu:2 --gpus=3", "--gpus", "3 is no multiple of the 2 of --gpus-per-node"),
        ("--gpus=4 --gpus-per-node=2 -N 1", "--gpus", "4 with 2 a node take 2 nodes, against --nodes"),
        ("--gpus=a:4 --gpus-per-node=2", "--gpus", "GPUs are asked for with and without a type"),
        ("--gpus-per-node=a:2 --gres=gpu:1", "--gpus", "GPUs are asked for with and without a type"),
        ("--gpus-per-task=1", "--gpus-per-task", "needs --ntasks, or --gpus"),
        ("--gpus-per-task=2 -N 1-3", "--gpus-per-task", "needs --ntasks, or --gpus"),
        ("--gpus-per-task=1 --gpus=4 -n 2", "--gpus-per-task", "4 GPUs are for 4 tasks, and there are 2"),
        ("--gpus-per-task=2 --gpus=4 -N 1", "--gpus-per-task", "4 GPUs are for 2 tasks, and there are 1"),
        ("--gpus-per-task=2 --gpus=3", "--gpus", "3 is no multiple of the 2 of --gpus-per-task"),
        ("--gpus-per-node=3 --gpus-per-task=2 -n 4", "--gpus-per-node", "3 is no multiple of the 2"),
        (
            "--gpus-per-node=2 --gpus-per-task=1 -n 4 --ntasks-per-node=1",
            "--ntasks-per-node",
            "GPUs of node and task make it 2",
        ),
        ("--exclusive=foo", "--exclusive", "'foo' is not user or mcs"),
        ("--hold=1", "--hold", "takes no value"),
        ("--contiguous=yes", "--contiguous", "takes no value"),
        ("-L matlab:2:3", "-L", "Invalid license specification: 'matlab:2:3' is not"),
        ("-L matlab=2", "-L", "Invalid license specification: 'matlab=2' is not"),
        ("-C 'a&&b'", "-C", "'a&&b': "),
        ("--prefer=[a", "--prefer", "'[a': "),
        ("-t 5 --time-min=7", "--time-min", "is more than --time"),
        ("--time-min=0", "--time-min", "'0' is no shortest time"),
        ("--time-min=unlimited", "--time-min", "'unlimited' is no shortest time"),
        ("--time-min=5 --deadline=now+60", "--time-min", "is more than there is until --deadline"),
        ("--begin=now+1hour --deadline=now+60", "--deadline", "is before --begin"),
        ("--begin=now+", "--begin", "'now+' is no time after submission: write now+COUNT"),
        ("--begin=now+5min", "--begin", "'now+5min' is no time after submission"),
        ("--begin=now+5s", "--begin", "'now+5s' is no time after submission"),
        # Slurm takes these; in a replay they say nothing, or leave nothing to do.
        ("--begin=16:00", "--begin", "'16:00' is no time after submission"),
        ("--deadline=now", "--deadline", "'now' leaves no time to run"),
        ("--priority=-1", "--priority", "Priority must be >= 0"),
        ("--priority=4294967294", "--priority", "Priority must be < 4294967294"),
        ("--nice=2147483646", "--nice", "Invalid --nice value, out of range (+/- 2147483645)"),
        ("--wrap", "--wrap", "has no value"),
        ("-w ''", "--nodelist", "names no nodes"),
        ("-w , -n2", "--nodelist", "names no nodes"),
        # What sbatch knows and rota cannot replay.
        ("-F hosts", "-F", "is not supported by rota"),
        ("-Z", "-Z", "no option that rota knows"),
        ("--dependency=afterok", "--dependency", "Job dependency problem: 'afterok' names"),
        ("--hint=xx", "--hint", 'unrecognized --hint argument "xx", see --hint=help'),
        ("--ntasks-per-socket=0", "--ntasks-per-socket", 'Invalid numeric value "0" for --ntasks-per-socket.'),
        ("--sockets-per-node=1-2", "--sockets-per-node", 'Invalid numeric value "1-2" for --sockets-per-node.'),
        ("--cores-per-socket=*", "--cores-per-socket", 'Invalid numeric value "*" for --cores-per-socket.'),
        ("-B x", "-B", 'Invalid numeric value "x" for first arg of -B.'),
        ("-m foo", "-m", "'foo' is not block or cyclic for nodes[:sockets[:cores]] or plane=SIZE"),
        ("-m plane", "-m", "Invalid plane size or size not specified"),
        ("-m plane=0", "-m", "Invalid plane size or size not specified"),
        ("-m block:plane", "-m", "'block:plane' is not block or cyclic"),
        ("-m pack,block", "-m", "'pack,block' is not block or cyclic"),
        ("-m plane=4 -N3 -n7", "--distribution", "Too few processes for"),
        ("-m plane=2 -N2 -n2", "--distribution", "Too few processes for"),
        ("--mem-per-gpu=1", "--mem-per-gpu", "no GPUs are asked for"),
        ("-G 1 --mem-per-gpu=1 --mem=10", "--mem-per-gpu", "--mem is there too: give one of them"),
        ("-G 1 --mem-per-gpu=1 --mem-per-cpu=1", "--mem-per-gpu", "--mem-per-cpu is there too: give one of them"),
        ("-G 1 --cpus-per-gpu=0", "--cpus-per-gpu", 'Invalid numeric value "0" for --cpus-per-gpu.'),
        ("-G 1 --cpus-per-gpu=2 -c1", "--cpus-per-gpu", "--cpus-per-task is there too: give one of them"),
        ("-n3 --ntasks-per-gpu=2", "--ntasks", "3 is no multiple of the 2 of --ntasks-per-gpu"),
        ("--ntasks-per-gpu=2", "--ntasks-per-gpu", "needs GPUs, --ntasks or --nodes"),
        ("-w n04 --ntasks-per-gpu=2", "--ntasks-per-gpu", "needs GPUs, --ntasks or --nodes"),
        ("-n2 --gpus-per-task=1 --ntasks-per-gpu=1", "--ntasks-per-gpu", "--gpus-per-task is there too"),
        ("-n2 --ntasks-per-node=1 --ntasks-per-gpu=1", "--ntasks-per-gpu", "--ntasks-per-node is there too"),
        ("-w n04 --gpus-per-task=1", "--gpus-per-task", "needs --ntasks, or --gpus"),
    ],
)
def test_refused(options: str, option: str, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_request(split_words(options))
    assert caught.value.option == option
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_an_event_file_tells_times_from_the_submission_of_each_line(log_file: LogFile) -> None:
    line = "-dt 100.5 -e submit_batch_job | -sim-walltime 5 --begin=now+60 --deadline=now+1hour job\n"
    log = read_events(log_file(line + line.replace("-dt 100.5", "-dt 0").replace("--begin=now+60", "")))
    assert log.requests is not None
    assert [(one.begin_time, one.deadline) for one in log.requests] == [(160, 3700), (0, 3600)]


def test_all_memory_is_no_size_to_count(log_file: LogFile) -> None:
    log = read_events(log_file("-dt 0 -e submit_batch_job | -sim-walltime 5 -N 2 --mem=0 job\n"))
    assert log.requested_memory.tolist() == [-1]
