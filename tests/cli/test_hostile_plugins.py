"""Plugins that do whatever they can to break a replay, through the whole command.

What is wrong at the door ends it with one line. What goes wrong later is told, with plugin and symbol, and the replay
goes on: rota's own FIFO takes the place of an answer that cannot be used, and nothing else changes.
"""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.results.store import read_result

from .conftest import JOBS, PROCS
from .hostile import ACTS, AT_THE_DOOR

if TYPE_CHECKING:
    from pathlib import Path

    from rota.replay import Schedule

    from .conftest import Outcome, Rota, WritePlugin

SIGNATURES = {
    "slurm_sched_p_reconfig": "()",
    "slurm_sched_p_schedule": "()",
    "slurm_sched_p_newalloc": "(job_ptr)",
    "slurm_sched_p_freealloc": "(job_ptr)",
    "slurm_sched_p_initial_priority": "(last_prio, job_ptr)",
    "slurm_sched_p_job_is_pending": "()",
    "slurm_sched_p_partition_change": "()",
    "slurm_sched_p_get_conf": "()",
    "priority_p_set": "(last_prio, job_ptr)",
    "priority_p_reconfig": "()",
    "priority_p_set_max_cluster_usage": "(procs, half_life)",
    "priority_p_set_assoc_usage": "(assoc)",
    "priority_p_get_priority_factors_list": "(req_msg)",
}
#: Nothing happens in a replay that these are called for.
NOT_CALLED = {
    "slurm_sched_p_reconfig", "slurm_sched_p_partition_change", "slurm_sched_p_get_conf", "priority_p_reconfig",
    "priority_p_set_assoc_usage", "priority_p_get_priority_factors_list",
}  # fmt: skip
#: Of type void: what they return means nothing.
VOID = {"slurm_sched_p_job_is_pending"}
#: It is called in rota's own passes only, so this goes before it.
LEAVES_PASSES_TO_ROTA = """\
def init(ctld):
    global controller
    controller = ctld
    return SLURM_SUCCESS


def slurm_sched_p_schedule():
    return SLURM_SUCCESS


"""
#: What a function does, and how that is told.
MISDEEDS = {
    "return None": "returned None; expected ",
    "return -1": "returned -1; expected ",
    "return 2**40": "returned 1099511627776; expected ",
    "return 'text'": "returned 'text'; expected ",
    "return False": "returned False; expected ",
    "import numpy; return numpy.ones(2)": "returned array([1., 1.]); expected ",
    "raise ZeroDivisionError('in two\\nlines')": "raised ZeroDivisionError: in two",
    "raise SystemExit(3)": "raised SystemExit: 3 at ",
    "return slurm_undefined": "raised NameError: name 'slurm_undefined' is not defined at ",
}


def schedule_in(out: Path) -> Schedule:
    """Read a schedule and see that it is one: nothing oversubscribed, nothing before its time, nothing cut short."""
    schedule = read_result(out).schedule
    ran = schedule.start >= 0
    assert (schedule.start >= schedule.submit)[ran].all()
    times = np.concatenate([schedule.end[ran], schedule.start[ran]])
    change = np.concatenate([-schedule.procs[ran], schedule.procs[ran]])
    in_use = np.cumsum(change[np.argsort(times, kind="stable")])  # at one time, ends come first
    assert in_use.max(initial=0) <= PROCS
    return schedule


class Replay:
    """Replays the small log, with the scratch directory's plugins where there are any."""

    def __init__(self, rota: Rota, log: Path, plugins: Path) -> None:
        self._rota, self._log, self._plugins = rota, log, plugins
        self.out = log.parent / "out"

    def __call__(self, *, pass_per: str = "instant", **default: str) -> Outcome:
        mine = {path.stem.partition("_")[0]: path.stem.replace("_", "/", 1) for path in self._plugins.iterdir()}
        chosen = {"sched": "sched/easy", "priority": "priority/basic"} | default | mine
        options = ["--scheduler", chosen["sched"], "--priority", chosen["priority"], "--plugin-dir", self._plugins]
        return self._rota("replay", self._log, *options, "--pass-per", pass_per, "--out", self.out, "--check", "--json")

    def starts(self, **default: str) -> list[int]:
        """Replay, and give the start of every job."""
        outcome = self(**default)
        assert jobs_that_ran(outcome) == JOBS
        assert outcome.err == ""
        return self.last_starts()

    def last_starts(self) -> list[int]:
        starts: list[int] = schedule_in(self.out).start.tolist()
        return starts


@pytest.fixture
def replay(rota: Rota, small_log: Path, plugins: Path) -> Replay:
    return Replay(rota, small_log, plugins)


def jobs_that_ran(outcome: Outcome) -> int:
    assert outcome.status == 0, outcome
    jobs: int = json.loads(outcome.out.splitlines()[-1])["jobs"]
    return jobs


def is_fault(symbol: str, misdeed: str) -> bool:
    return symbol not in NOT_CALLED and (symbol not in VOID or MISDEEDS[misdeed].startswith("raised"))


@pytest.mark.parametrize(("symbol", "misdeed"), list(product(SIGNATURES, MISDEEDS)))
def test_a_function_that_misbehaves(symbol: str, misdeed: str, replay: Replay, write_plugin: WritePlugin) -> None:
    kind = "priority" if symbol.startswith("priority") else "sched"
    before = LEAVES_PASSES_TO_ROTA if symbol in VOID else ""
    # The same plugin without the function; but when its passes fail, rota makes its own.
    if symbol == "slurm_sched_p_schedule":
        expected = replay.starts(sched="sched/builtin")
    else:
        write_plugin(f"{kind}/mine", before)
        expected = replay.starts()
    path = write_plugin(f"{kind}/mine", f"{before}def {symbol}{SIGNATURES[symbol]}:\n    {misdeed}\n")
    outcome = replay()
    assert jobs_that_ran(outcome) == JOBS
    lines = outcome.err.splitlines()
    if not is_fault(symbol, misdeed):
        assert lines == []
        assert replay.last_starts() == expected
        return
    # The first time in full, and at the end how often.
    about = r" for job \d+" if "job_ptr" in SIGNATURES[symbol] else ""
    message = rf"rota: plugin {kind}/mine: {symbol}{about} {re.escape(MISDEEDS[misdeed])}.*"
    assert re.fullmatch(message, " ".join(lines[:-1])), lines
    assert re.fullmatch(rf"rota: plugin {kind}/mine: {symbol} misbehaved \d+ times; .*", lines[-1])
    if "raised" in message:
        assert f" at {path}:" in outcome.err
    assert replay.last_starts() == expected


@pytest.mark.parametrize("pass_per", ["event", "instant"])
@pytest.mark.parametrize("name", ACTS)
def test_a_plugin_that(name: str, pass_per: str, replay: Replay, write_plugin: WritePlugin) -> None:
    act = ACTS[name]
    write_plugin("sched/mine", act.code)
    outcome = replay(pass_per=pass_per)
    assert jobs_that_ran(outcome) == act.jobs
    assert (schedule_in(replay.out).start >= 0).sum() == act.jobs
    lines = outcome.err.splitlines()
    assert len(lines) == len(act.told), outcome.err
    for pattern, line in zip(act.told, lines, strict=True):
        assert re.match(f"rota: {pattern}", line), line


# ---- at the door --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AT_THE_DOOR)
def test_what_is_wrong_at_the_door_is_one_line(name: str, replay: Replay, write_plugin: WritePlugin) -> None:
    code, problem = AT_THE_DOOR[name]
    path = write_plugin("sched/mine", code + "\n")
    last = len(path.read_text().splitlines())
    found = replay().problem
    assert found.startswith(f"plugin sched/mine ({path}): ")
    assert problem.format(path=path, last=last) in found
    assert not replay.out.exists()


@pytest.mark.parametrize(("what", "mode"), [("file", 0o666), ("directory", 0o777)])
def test_a_plugin_that_others_may_write_is_not_run(
    what: str, mode: int, replay: Replay, write_plugin: WritePlugin
) -> None:
    path = write_plugin("sched/mine", "raise KeyboardInterrupt\n")
    writable = path if what == "file" else path.parent
    writable.chmod(mode)
    assert replay().problem == (
        f"plugin sched/mine ({path}): {what} {writable} is writable by others: chmod o-w {writable}"
    )
    writable.chmod(0o755)


def test_one_that_would_replace_a_built_in_one_is_passed_over(replay: Replay, write_plugin: WritePlugin) -> None:
    expected = replay.starts()
    path = write_plugin("sched/easy", "raise KeyboardInterrupt\n", version=900)
    path.chmod(0o666)
    outcome = replay()
    assert jobs_that_ran(outcome) == JOBS
    assert outcome.err.startswith(f"rota: plugin sched/easy ({path}) is passed over: file {path} is writable by others")
    assert replay.last_starts() == expected


def test_of_two_revisions_the_higher_is_used(
    rota: Rota, small_log: Path, tmp_path: Path, write_plugin: WritePlugin
) -> None:
    newer = write_plugin("sched/mine", "def fini(): print('newer')\n", version=102)
    second = tmp_path / "second"
    second.mkdir()
    newer.rename(second / newer.name)
    older = write_plugin("sched/mine", "def fini(): print('older')\n", version=101)
    options = ("--scheduler", "sched/mine", "--plugin-dir", older.parent, "--plugin-dir", second)
    outcome = rota("replay", small_log, *options)
    assert outcome.status == 0
    assert outcome.out.startswith("newer\n")
    assert "older" not in outcome.out
    assert outcome.err == (
        f"rota: plugin sched/mine ({older}) is passed over: minor revision 101, {second / newer.name} has 102\n"
    )
