"""Ctrl-C ends a replay at once, also while a plugin's code runs and catches whatever is raised."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import WritePlugin

#: It tells when it runs, and waits in a call of its own.
_WAITS = """
import sys, time

def {function}():
    print("here", flush=True)
    {wait}
    return SLURM_SUCCESS
"""
_WAITS_OF = {
    "raises it on": "time.sleep(30)",
    "catches it": "\n    try:\n        time.sleep(30)\n    except BaseException:\n        pass",
    "raises something else": "\n    try:\n        time.sleep(30)\n    finally:\n        1 / 0",
}


def _replay(log: Path, plugins: Path) -> list[str]:
    words = ["replay", str(log), "--scheduler", "sched/mine", "--plugin-dir", str(plugins)]
    return [sys.executable, "-m", "rota", *words]


@pytest.mark.parametrize("wait", _WAITS_OF.values(), ids=_WAITS_OF)
def test_ctrl_c_while_a_plugin_runs(wait: str, small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("sched/mine", _WAITS.format(function="slurm_sched_p_schedule", wait=wait))
    command = _replay(small_log, plugins)
    with subprocess.Popen(
        [*command, "--tolerate-faults"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as replay:
        assert replay.stdout is not None
        assert replay.stdout.readline() == "here\n"
        replay.send_signal(signal.SIGINT)
        out, err = replay.communicate(timeout=25)
    assert (replay.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "rota: interrupted"


def test_one_that_a_plugin_raises_is_a_fault(small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("sched/mine", "def slurm_sched_p_newalloc(job_ptr):\n    raise KeyboardInterrupt('mine')\n")
    command = _replay(small_log, plugins)
    done = subprocess.run([*command, "--tolerate-faults", "--json"], capture_output=True, text=True, check=True)
    assert "sched/mine: slurm_sched_p_newalloc" in json.loads(done.stdout)["faults"]
    assert "raised KeyboardInterrupt: mine at " in done.stderr
    strict = subprocess.run(command, capture_output=True, text=True, check=False)
    assert strict.returncode == 2
    assert "rota: error: plugin sched/mine: slurm_sched_p_newalloc for job 1 raised KeyboardInterrupt" in strict.stderr


_FROM_PYTHON = """
import sys
import rota

scenario = rota.Scenario.from_files(
    sys.argv[1], scheduler="sched/mine", plugin_dir=sys.argv[2], tolerate_faults=True
)
try:
    rota.replay(scenario)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("function", ["init", "slurm_sched_p_schedule", "fini"])
def test_ctrl_c_in_a_program_that_replays(
    function: str, small_log: Path, plugins: Path, write_plugin: WritePlugin
) -> None:
    write_plugin("sched/mine", _WAITS.format(function=function, wait="time.sleep(30)"))
    command = [sys.executable, "-c", _FROM_PYTHON, str(small_log), str(plugins)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "here\n"
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=25)[0] == "interrupted\n"
