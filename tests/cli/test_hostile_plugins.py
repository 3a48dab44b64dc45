"""Plugins that do whatever they can to break a replay, through the whole command.

What is wrong at the door ends it with one line, and what goes wrong later with plugin, symbol, job and traceback. With
``--tolerate-faults`` the latter is told and counted, and the replay goes on: rota's own FIFO takes the place of an
answer that cannot be used, and nothing else changes.

Over 400 lines: the plugins stand beside what is told of them.
"""

from __future__ import annotations

import gc
import json
import re
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.config import interchangeable
from rota.model import PluginFaultError
from rota.replays import ReplayOptions, ReplayWarning, Scenario
from rota.replays import replay as replay_in_python
from rota.results.store import read_result
from rota.workload import read_swf

from .conftest import JOBS, PROCS
from .hostile import ACTS, AT_THE_DOOR

if TYPE_CHECKING:
    from pathlib import Path

    from rota.replays import Schedule

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
#: Of the fast tests: nothing is returned, something of another type, and something is raised.
_FAST = ("return None", "return 'text'", "raise ZeroDivisionError('in two\\nlines')")
_EACH = [
    pytest.param(symbol, misdeed, marks=() if misdeed in _FAST else pytest.mark.slow)
    for symbol, misdeed in product(SIGNATURES, MISDEEDS)
]


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
        self.more = ["--tolerate-faults"]

    def __call__(self, *, pass_per: str = "instant", **default: str) -> Outcome:
        mine = {path.stem.partition("_")[0]: path.stem.replace("_", "/", 1) for path in self._plugins.iterdir()}
        chosen = {"sched": "sched/easy", "priority": "priority/basic"} | default | mine
        options = ["--scheduler", chosen["sched"], "--priority", chosen["priority"], "--plugin-dir", self._plugins]
        return self._rota(
            "replay", self._log, *options, "--pass-per", pass_per, "--out", self.out, "--check", "--json", *self.more
        )

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


@pytest.mark.parametrize(("symbol", "misdeed"), _EACH)
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


@pytest.mark.parametrize("pass_per", ["event", pytest.param("instant", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ACTS)
def test_a_plugin_that(name: str, pass_per: str, replay: Replay, write_plugin: WritePlugin) -> None:
    act = ACTS[name]
    write_plugin("sched/mine", act.code)
    gc.collect()  # what earlier tests have left: a finaliser that runs where a plugin recurses has no room to
    outcome = replay(pass_per=pass_per)
    if not act.jobs:
        assert (outcome.status, outcome.out, replay.out.exists()) == (2, "", False)
    else:
        assert jobs_that_ran(outcome) == act.jobs == (schedule_in(replay.out).start >= 0).sum()
    lines = outcome.err.splitlines()
    assert len(lines) == len(act.told), outcome.err
    for pattern, line in zip(act.told, lines, strict=True):
        assert re.match(f"rota: {pattern}", line), line


# ---- without --tolerate-faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("symbol", "misdeed"), _EACH)
def test_the_first_fault_ends_the_replay(symbol: str, misdeed: str, replay: Replay, write_plugin: WritePlugin) -> None:
    kind = "priority" if symbol.startswith("priority") else "sched"
    before = LEAVES_PASSES_TO_ROTA if symbol in VOID else ""
    path = write_plugin(f"{kind}/mine", f"{before}def {symbol}{SIGNATURES[symbol]}:\n    {misdeed}\n")
    replay.more = []
    outcome = replay()
    if not is_fault(symbol, misdeed):
        assert jobs_that_ran(outcome) == JOBS
        return
    assert (outcome.status, outcome.out) == (2, "")
    assert not replay.out.exists()
    *trace, told, advice = outcome.err.splitlines()
    about = r" for job \d+" if "job_ptr" in SIGNATURES[symbol] else ""
    assert re.match(rf"rota: error: plugin {kind}/mine: {symbol}{about} {re.escape(MISDEEDS[misdeed])}", told)
    assert "--tolerate-faults" in advice
    # The traceback begins in the plugin; what is returned leaves none.
    raised = MISDEEDS[misdeed].startswith("raised")
    assert trace[:2] == (["Traceback (most recent call last):", trace[1]] if raised else [])
    assert not raised or trace[1].startswith(f'  File "{path}", line ')


@pytest.mark.parametrize(
    ("proposal", "problem"),
    [
        # After the whole replay, `--out` crashed at this one.
        ("plan(job, '123')", "'str' object cannot be interpreted as an integer"),
        ("plan(job, 1.5)", "'float' object cannot be interpreted as an integer"),
        ("plan(job, -1)", "time -1 is not from 0 to 253402300799"),
        ("plan(job, 2**60)", "is not from 0 to 253402300799"),
        ("plan(job, 5, 'n1')", "'str' object cannot be interpreted as an integer"),
        ("plan(job, 5, -1)", "bitmap -0x1 has other nodes than the machine's 1"),
        ("plan(job, 5, 4)", "bitmap 0x4 has other nodes than the machine's 1"),
        ("start(job, 0, '60')", "'str' object cannot be interpreted as an integer"),
        ("start(job, 0, 2**41)", "time limit "),
        ("start(job, 0, -5)", "time limit -5 is not from 0 to "),
        ("preempt(job, 1.0)", "'float' object cannot be interpreted as an integer"),
        ("set_priority(job, 'high')", "priority 'high' is not an integer from 0 to 2**32 - 1"),
        ("rank_queue(lambda job: 'last')", "key 'last' is no number"),
        ("rank_queue(lambda job: float('nan'))", "a key is NaN"),
        ("at(controller.now + 9, 'wake')", "'wake' is no function"),
        ("every(9, None)", "None is no function"),
        ("before_pass(1)", "1 is no function"),
        ("before_queue('soon')", "'soon' is no function"),
        ("in_background(print, 'done')", "'done' is no function"),
        ("in_background('work', print)", "'work' is no function"),
    ],
)
def test_what_a_plugin_hands_over_is_checked_when_it_does(
    proposal: str, problem: str, replay: Replay, write_plugin: WritePlugin
) -> None:
    path = write_plugin(
        "sched/mine",
        f"""
def slurm_sched_p_schedule():
    for job in controller.queue:
        controller.{proposal}
    return SLURM_SUCCESS
""",
    )
    replay.more = []
    outcome = replay()
    assert outcome.status == 2
    assert f"controller.{proposal}" in outcome.err  # the line of the plugin that did it
    told = outcome.err.splitlines()[-2]
    assert told.startswith("rota: error: plugin sched/mine: slurm_sched_p_schedule raised ")
    assert problem in told
    assert str(path) in outcome.err


FACTORS = """
from rota.model import PriorityFactors

def priority_p_get_priority_factors_list(req_msg):
    return [PriorityFactors({})]
"""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            "def priority_p_set_assoc_usage(assoc): assoc.usage_norm = 'much'",
            "priority_p_set_assoc_usage set usage_norm to 'much'; expected a finite number",
        ),
        (
            "def priority_p_set_assoc_usage(assoc): assoc.level_fs = -1",
            "priority_p_set_assoc_usage set level_fs to -1; expected a number of at least 0, or None",
        ),
        (
            FACTORS.format("job_id=1, user_id=1, priority=1, priority_age=float('nan')"),
            "priority_p_get_priority_factors_list returned PriorityFactors with priority_age=nan; expected a finite",
        ),
        (
            FACTORS.format("job_id='1', user_id=1, priority=1"),
            "priority_p_get_priority_factors_list returned PriorityFactors with job_id='1'; expected a whole number",
        ),
    ],
)
def test_shares_and_factors_are_checked_before_they_are_recorded(
    function: str, told: str, replay: Replay, write_plugin: WritePlugin
) -> None:
    keeps = "\ndef init(ctld):\n    ctld.keep_usage()\n    return SLURM_SUCCESS\n"
    write_plugin("priority/mine", f"{function}\n{keeps}")
    outcome = replay()
    assert outcome.status == 0, outcome
    assert f"plugin priority/mine: {told}" in outcome.err
    assert set(read_result(replay.out).summary.faults) == {f"priority/mine: {told.split(maxsplit=1)[0]}"}


def test_tolerated_faults_are_in_the_result_and_wherever_it_is_shown(
    rota: Rota, replay: Replay, write_plugin: WritePlugin, tmp_path: Path
) -> None:
    write_plugin("sched/mine", "def slurm_sched_p_newalloc(job_ptr):\n    return 5\n")
    counted = {"sched/mine: slurm_sched_p_newalloc": JOBS}
    assert json.loads(replay().out)["faults"] == counted
    assert json.loads((replay.out / "summary.json").read_text())["summary"]["faults"] == counted
    assert f"sched/mine: slurm_sched_p_newalloc {JOBS}×" in (replay.out / "report.html").read_text()
    page = tmp_path / "compare.html"
    compared = rota("compare", replay.out, replay.out, "--out", page)
    assert compared.status == 0
    assert f"sched/mine: slurm_sched_p_newalloc {JOBS}×" in compared.out
    assert f"sched/mine: slurm_sched_p_newalloc {JOBS}×" in page.read_text()


def test_a_slow_call_does_not_end_a_replay(
    replay: Replay, write_plugin: WritePlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.core.plugin_api.guard.SLOW_S", -1.0)
    write_plugin("sched/mine", "")
    replay.more = []
    outcome = replay()
    assert jobs_that_ran(outcome) == JOBS
    assert "plugin sched/mine: slurm_sched_p_schedule took " in outcome.err
    assert re.search(r"plugin sched/mine: slurm_sched_p_schedule was slow \d+ times", outcome.err)
    assert read_result(replay.out).summary.faults == {}  # what depends on the machine is no part of a result


# ---- in Python ------------------------------------------------------------------------------------------------------


def test_in_python_the_first_fault_is_an_exception(small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("sched/mine", "def slurm_sched_p_newalloc(job_ptr):\n    return 1 // 0\n")
    options = ReplayOptions(scheduler="sched/mine", plugin_dir=[plugins])
    with pytest.raises(PluginFaultError, match=r"sched/mine: slurm_sched_p_newalloc for job 1 raised Zero") as caught:
        replay_in_python(Scenario(read_swf(small_log), interchangeable(PROCS), options))
    assert (caught.value.plugin, caught.value.symbol, caught.value.job_id) == (
        "sched/mine", "slurm_sched_p_newalloc", 1,
    )  # fmt: skip
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_in_python_what_is_told_is_a_warning(small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("sched/mine", "def slurm_sched_p_newalloc(job_ptr):\n    return 1 // 0\n")
    options = ReplayOptions(scheduler="sched/mine", plugin_dir=[plugins], tolerate_faults=True)
    with pytest.warns(ReplayWarning) as warned:
        result = replay_in_python(Scenario(read_swf(small_log), interchangeable(PROCS), options))
    assert result.summary.faults == {"sched/mine: slurm_sched_p_newalloc": JOBS}
    assert [one.filename for one in warned] == [__file__] * 2
    assert "misbehaved 40 times" in str(warned[1].message)


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
