"""What hostile plugins do, and what is told of it: the tables of `test_hostile_plugins`.

Each code comes last in a scheduler that starts whatever fits (`conftest.FIRST_FIT`), and replaces what is there.
"""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple

from .conftest import JOBS


class Act(NamedTuple):
    """Something that a plugin does with what it is handed."""

    code: str
    #: Jobs that run to an end nevertheless.
    jobs: int = JOBS
    #: Patterns of the lines that are told, after ``rota: ``.
    told: tuple[str, ...] = ()


def act(code: str, *told: str, jobs: int = JOBS) -> Act:
    return Act(dedent(code), jobs, told)


def faults(symbol: str, problem: str, about: str = "") -> tuple[str, str]:
    """Tell of a fault the first time, and at the end how often there was one."""
    return f"plugin sched/mine: {symbol}{about} {problem}", rf"plugin sched/mine: {symbol} misbehaved \d+ times"


NOTHING_RAN = "error: no job has run: "
HELD = f"{NOTHING_RAN}{JOBS} PENDING, JobHeldAdmin"
WAITING = f"{NOTHING_RAN}{JOBS - 1} PENDING, Priority; 1 PENDING, Resources"
SCHEDULE = "slurm_sched_p_schedule"
NEWALLOC = "slurm_sched_p_newalloc"
FOR_JOB = r" for job \d+"
NO_SUCCESS = faults(SCHEDULE, "returned -1; expected SLURM_SUCCESS")

ACTS = {
    # ---- starting what must not start
    "starts a job twice": act("""
        def slurm_sched_p_schedule():
            for job in controller.queue:
                controller.start(job)
                controller.start(job)
            return SLURM_SUCCESS
    """),
    "starts running jobs": act("""
        def slurm_sched_p_schedule():
            for job in [*controller.running, *controller.queue]:
                controller.start(job)
            return SLURM_SUCCESS
    """),
    "starts jobs on more than there is": act("""
        def slurm_sched_p_schedule():
            for job in controller.queue:
                controller.start(job, 2**40)
                controller.start(job, -1)
                controller.start(job)
            return SLURM_SUCCESS
    """),
    "starts what is no job": act(
        """
        def slurm_sched_p_schedule():
            controller.start('a job')
        """,
        *faults(SCHEDULE, "raised AttributeError"),
    ),
    "starts a job of its own making": act(
        """
        def slurm_sched_p_schedule():
            for job in controller.queue:
                ours = type(job)()
                controller.start(ours)
            return SLURM_SUCCESS
        """,
        *faults(SCHEDULE, "raised AttributeError"),
    ),
    "starts others while it is told of a start": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            for job in controller.queue:
                controller.start(job)
            return SLURM_SUCCESS

        def slurm_sched_p_schedule():
            return SLURM_ERROR
        """,
        *NO_SUCCESS,
    ),
    "makes passes in passes": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.main_pass()
            return SLURM_SUCCESS

        def slurm_sched_p_schedule():
            return SLURM_ERROR
        """,
        *NO_SUCCESS,
    ),
    # ---- removing, holding, putting back
    "removes running jobs": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            del controller.jobs[job_ptr.job_id]
        """,
        *faults(NEWALLOC, "raised TypeError", FOR_JOB),
    ),
    "holds running jobs": act("""
        def slurm_sched_p_newalloc(job_ptr):
            return SLURM_SUCCESS if controller.hold(job_ptr) else SLURM_ERROR
    """),
    "holds everything": act(
        """
        def slurm_sched_p_schedule():
            for job in controller.queue:
                controller.hold(job)
            return SLURM_SUCCESS
        """,
        HELD,
        jobs=0,
    ),
    "holds by priority 0": act(
        """
        def slurm_sched_p_initial_priority(last_prio, job_ptr):
            return 0
        """,
        HELD,
        jobs=0,
    ),
    "holds and releases others while it is told of a start": act("""
        def slurm_sched_p_newalloc(job_ptr):
            for job in controller.queue:
                controller.hold(job)
            for job in list(controller.jobs.values()):
                controller.release(job)
            return SLURM_SUCCESS
    """),
    "moves a job that has no place yet": act("""
        def slurm_sched_p_initial_priority(last_prio, job_ptr):
            for proposal in controller.hold, controller.start, controller.release, controller.requeue:
                proposal(job_ptr)
            return controller.priority.set(last_prio, job_ptr)
    """),
    "puts back every job before it starts others": act("""
        def slurm_sched_p_schedule():
            for job in controller.running:
                controller.requeue(job)
            for job in controller.queue:
                controller.start(job)
            return SLURM_SUCCESS
    """),
    "puts back every job that it starts": act(
        """
        def slurm_sched_p_schedule():
            for job in controller.queue:
                controller.start(job)
                controller.requeue(job)
            return SLURM_SUCCESS
        """,
        NOTHING_RAN,
        jobs=0,
    ),
    "puts back every job that it is told of": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.requeue(job_ptr)
            return SLURM_SUCCESS
        """,
        NOTHING_RAN,
        jobs=0,
    ),
    "puts back what has ended": act("""
        def slurm_sched_p_freealloc(job_ptr):
            for proposal in controller.requeue, controller.hold, controller.start:
                assert proposal(job_ptr) is not None
            return SLURM_SUCCESS
    """),
    # ---- not doing its work
    "starts nothing": act(
        """
        def slurm_sched_p_schedule():
            return SLURM_SUCCESS
        """,
        WAITING,
        jobs=0,
    ),
    "never succeeds": act(
        """
        def slurm_sched_p_schedule():
            for job in controller.queue:
                controller.start(job)
            return SLURM_ERROR
        """,
        *NO_SUCCESS,
    ),
    "never succeeds and says why": act(
        """
        errno = 2016

        def slurm_sched_p_schedule():
            return SLURM_ERROR
        """,
        *faults(SCHEDULE, r"returned -1 with errno 2016 \(NODES_BUSY\)"),
    ),
    "has an errno of another kind": act(
        """
        import errno

        def slurm_sched_p_schedule():
            return SLURM_ERROR
        """,
        *NO_SUCCESS,
    ),
    "recurses for ever": act(
        """
        def slurm_sched_p_schedule():
            return slurm_sched_p_schedule()
        """,
        *faults(SCHEDULE, "raised RecursionError"),
    ),
    "raises what cannot be printed": act(
        """
        class Mute(Exception):
            def __str__(self):
                raise Mute

        def slurm_sched_p_schedule():
            raise Mute
        """,
        *faults(SCHEDULE, "raised Mute"),
    ),
    "returns what cannot be compared or printed": act(
        """
        class Odd:
            def __eq__(self, other):
                raise ValueError

            def __repr__(self):
                raise ValueError

            def __index__(self):
                raise ValueError

        def slurm_sched_p_schedule():
            return Odd()
        """,
        *faults(SCHEDULE, "returned "),
    ),
    # ---- timers, threads, orders
    "sets timers in the past": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.at(controller.now, print)
        """,
        *faults(NEWALLOC, "raised ValueError", FOR_JOB),
    ),
    "sets timers between seconds": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.every(0.5, print)
        """,
        *faults(NEWALLOC, "raised TypeError", FOR_JOB),
    ),
    "has background work that raises": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.in_background(lambda: 1 / 0, print)
            return SLURM_SUCCESS
        """,
        *faults("[a-z_<>]+", "raised ZeroDivisionError"),
    ),
    "orders the queue by what cannot be ordered": act(
        """
        def slurm_sched_p_newalloc(job_ptr):
            controller.rank_queue(lambda job: [job.job_id, None] if job.job_id % 2 else None)
            controller.rank_queue(None)
            return SLURM_SUCCESS
        """,
        *faults(NEWALLOC, "raised TypeError", FOR_JOB),
    ),
}

#: What is wrong with a plugin at the door, and what the message says. ``{last}`` is the number of its last line.
AT_THE_DOOR = {
    "init returns -1": ("def init(ctld): return -1", "init returned -1, expected SLURM_SUCCESS"),
    "init returns -1 and says why": (
        "errno = 2016\ndef init(ctld): return -1",
        "init returned -1, errno 2016, expected SLURM_SUCCESS",
    ),
    "init returns nothing": ("def init(ctld): pass", "init returned None, expected SLURM_SUCCESS: it must `return SL"),
    "init returns text": ("def init(ctld): return 'ok'", "init returned 'ok', expected SLURM_SUCCESS"),
    "init raises": ("def init(ctld): raise OSError('no licence')", "init raised OSError at {path}:{last}: no licence"),
    "init exits": ("def init(ctld): raise SystemExit(1)", "init raised SystemExit at {path}:{last}: 1"),
    "it raises when loaded": ("1 / 0", "loading it raised ZeroDivisionError at {path}:{last}: division by zero"),
    "it exits when loaded": ("raise SystemExit", "loading it raised SystemExit at {path}:{last}"),
    "it is no Python": ("def f(:", "syntax error in line {last}: "),
    "a function is missing": ("del slurm_sched_p_newalloc", "slurm_sched_p_newalloc(job_ptr) is missing"),
    "a function takes too little": (
        "def slurm_sched_p_newalloc(): return 0",
        "slurm_sched_p_newalloc() cannot be called with 1 argument: expected slurm_sched_p_newalloc(job_ptr)",
    ),
    "a function takes too much": (
        "def slurm_sched_p_schedule(now): return 0",
        "slurm_sched_p_schedule(now) cannot be called with no arguments: expected slurm_sched_p_schedule()",
    ),
    "a function is none": (
        "slurm_sched_p_get_conf = 'bf_interval=30'",
        "slurm_sched_p_get_conf is str, not a function: expected slurm_sched_p_get_conf()",
    ),
    "a function is a coroutine": (
        "async def slurm_sched_p_schedule(): return 0",
        "slurm_sched_p_schedule is a coroutine or generator",
    ),
    "it speaks another API": (
        "plugin_version = 2001",
        "no API version in common: the plugin speaks 2, this rota 0",
    ),
    "it speaks other APIs": (
        "plugin_version = 2001\nplugin_legacy = 1000",
        "no API version in common: the plugin speaks 1 to 2, this rota 0",
    ),
    "it is for another release": ("plugin_release = '0.0.1'", "it is built for rota 0.0.1 only, and this is rota "),
    "it is of another type": (
        "plugin_type = 'sched/yours'",
        "plugin_type is 'sched/yours': then the file must be called sched_yours.py",
    ),
    "its version is no number": ("plugin_version = 'new'", "plugin_version"),
    "its version is worked out": ("plugin_version = 50 + 50 * len(plugin_name)", "plugin_version"),
    "it has no name": ("del plugin_name", "plugin_name"),
}
