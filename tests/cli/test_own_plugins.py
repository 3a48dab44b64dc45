"""Plugins that a user writes from the documentation, drops into a directory and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.results.store import read_result

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

#: Four jobs that each take the whole machine, submitted one a second while the first one runs.
LOG = """\
; MaxProcs: 4
1 0 -1 100 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1
2 1 -1 10 4 -1 -1 4 30 -1 1 1 1 -1 1 1 -1 -1
3 2 -1 10 4 -1 -1 4 10 -1 1 1 1 -1 1 1 -1 -1
4 3 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 1 1 -1 -1
"""
FIRST_COME = {1: 0, 2: 100, 3: 110, 4: 120}
LAST_COME = {1: 0, 4: 100, 3: 110, 2: 120}
SHORTEST = {1: 0, 3: 100, 4: 110, 2: 120}

#: The last to come is served first.
LAST_COME_FIRST = """\
'''Last come, first served.'''

from rota.interfaces.stubs.sched import *

plugin_type = "{type}"
plugin_name = "Last come, first served"
plugin_version = {version}


def init(ctld):
    global controller
    controller = ctld
    controller.disable_main_pass()
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio, job_ptr):
    return controller.priority.set(last_prio, job_ptr)


def slurm_sched_p_schedule():
    for job in reversed(controller.queue):
        controller.start(job)
    return SLURM_SUCCESS
"""
SHORTEST_FIRST = """\
from rota.interfaces.stubs.priority import *

plugin_type = "priority/mine"
plugin_name = "Shortest time limit first"
plugin_version = 100


def priority_p_set(last_prio, job_ptr):
    return 2**32 - 1 - job_ptr.time_limit
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "four.swf"
    path.write_text(LOG)
    return path


def starts(out: Path) -> dict[int, int]:
    schedule = read_result(out).schedule
    return dict(zip(schedule.job_id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize(
    ("plugin_type", "version"),
    [("sched/mine", 100), ("sched/easy", 101), ("sched/easy", 100)],
    ids=["under a new name", "newer than the built-in one", "before it in search order"],
)
def test_a_scheduler_is_used(plugin_type: str, version: int, rota: Rota, log: Path, plugins: Path) -> None:
    path = plugins / f"{plugin_type.replace('/', '_')}.py"
    path.write_text(LAST_COME_FIRST.format(type=plugin_type, version=version))
    out = plugins / "out"
    outcome = rota("replay", log, "--scheduler", plugin_type, "--plugin-dir", plugins, "--check", "--out", out)
    assert (outcome.status, outcome.err) == (0, "")
    assert starts(out) == LAST_COME


def test_a_scheduler_older_than_the_built_in_one_is_passed_over(rota: Rota, log: Path, plugins: Path) -> None:
    path = plugins / "sched_easy.py"
    path.write_text(LAST_COME_FIRST.format(type="sched/easy", version=99))
    outcome = rota("replay", log, "--plugin-dir", plugins, "--out", plugins / "out")
    assert outcome.status == 0
    assert outcome.err.startswith(f"rota: plugin sched/easy ({path}) is passed over: minor revision 99, ")
    assert outcome.err.count("\n") == 1
    assert starts(plugins / "out") == FIRST_COME


@pytest.mark.parametrize("scheduler", ["sched/builtin", "sched/easy", "sched/conservative"])
def test_a_priority_plugin_under_any_scheduler(scheduler: str, rota: Rota, log: Path, plugins: Path) -> None:
    (plugins / "priority_mine.py").write_text(SHORTEST_FIRST)
    out = plugins / "out"
    options = ("--scheduler", scheduler, "--priority", "priority/mine", "--plugin-dir", plugins, "--out", out)
    assert rota("replay", log, *options).status == 0
    # A reservation is made at submission, in the order of that day.
    assert starts(out) == (FIRST_COME if scheduler == "sched/conservative" else SHORTEST)


def test_slurm_conf_names_plugins_and_where_they_are(rota: Rota, log: Path, plugins: Path) -> None:
    (plugins / "priority_mine.py").write_text(SHORTEST_FIRST)
    (plugins / "sched_mine.py").write_text(LAST_COME_FIRST.format(type="sched/mine", version=100))
    conf = plugins / "slurm.conf"
    conf.write_text(
        f"PluginDir={plugins}\nSchedulerType=sched/mine\nPriorityType=priority/mine\n"
        "NodeName=n1 CPUs=4\nPartitionName=all Nodes=n1 Default=YES\n"
    )
    outcome = rota("replay", log, "--config", conf, "--out", plugins / "out")
    assert (outcome.status, outcome.err) == (0, "")
    result = read_result(plugins / "out")
    assert (result.scheduler, result.priority) == ("sched/mine", "priority/mine")
    # The queue is in order of priority, and it is walked through from its end.
    assert starts(plugins / "out") == {1: 0, 2: 100, 4: 110, 3: 120}


def test_what_a_plugin_logs_is_told(rota: Rota, log: Path, plugins: Path) -> None:
    more = "def slurm_sched_p_newalloc(job):\n"
    more += "    controller.log(f'{job.job_id} at {controller.now}')\n    return SLURM_SUCCESS\n"
    (plugins / "sched_mine.py").write_text(LAST_COME_FIRST.format(type="sched/mine", version=100) + more)
    outcome = rota("replay", log, "--scheduler", "sched/mine", "--plugin-dir", plugins, "--json")
    assert outcome.err.splitlines() == ["rota: 1 at 0", "rota: 4 at 100", "rota: 3 at 110", "rota: 2 at 120"]


def test_two_replays_in_one_process_share_nothing(rota: Rota, log: Path, plugins: Path) -> None:
    more = "seen = []\ndef slurm_sched_p_newalloc(job):\n    seen.append(job.job_id)\n"
    more += "    controller.log(str(seen))\n    return SLURM_SUCCESS\n"
    (plugins / "sched_mine.py").write_text(LAST_COME_FIRST.format(type="sched/mine", version=100) + more)
    told = [rota("replay", log, "--scheduler", "sched/mine", "--plugin-dir", plugins, "--json").err for _ in range(2)]
    assert told[0] == told[1]
    assert told[0].endswith("rota: [1, 4, 3, 2]\n")
