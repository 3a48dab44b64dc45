"""``srun`` of a live cluster: within a job it makes a step; outside of one it makes the job first.

A step's tasks are children of the ``srun`` that asked for them, so this has to be a process of the job. One that is
not, like that of ``salloc``'s shell, has itself run again by the first process of the allocation.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.allocation import allocation
from rota.commands.job_ids import parse_job_id
from rota.commands.srun import (
    LETTERS,
    TABLE,
    contradictions,
    read_srun,
    step_request,
    without_odd_ntasks_per_node,
)
from rota.commands.submission import quietness
from rota.controller.allocations import Messages, allocate, allocation_spec, held, until_over_or_gone
from rota.controller.run_environment import OWN_JOB, allocation_environment
from rota.controller.steps.errors import GresError, NodesError, StepError
from rota.controller.steps.gres import check_gres, with_gres_of_job
from rota.controller.steps.layout import counts_of
from rota.controller.steps.registry import KILLED
from rota.controller.steps.spec import MPI_TYPES, read_programs, step_spec
from rota.controller.submitting import RefusedError, client_of, host_name, telling_problems, with_host_files
from rota.controller.wire import TooLargeError, WireError
from rota.controller.would_start import tell_start
from rota.controller.zone import utc_offset_for
from rota.listings.answer import VERSION
from rota.model import JobState
from rota.model.step import StepClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.commands.allocation import Allocation
    from rota.commands.srun import SrunLine
    from rota.controller.cluster import Cluster
    from rota.controller.run import Run
    from rota.controller.wire import Call, Terminal
    from rota.core.job import Job

_HELP = (
    "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]]\n\n"
    "The options are those of Slurm 22.05; the reference in rota's documentation lists them.\n"
)
_MESSAGES = Messages(
    queued="srun: job {job} queued and waiting for resources\n",
    allocated="srun: job {job} has been allocated resources\n",
    cancelled="srun: Job has been cancelled\n",
    refused="Unable to allocate resources",
    busy=("error: Unable to allocate resources: Requested nodes are busy",),
    late=("error: Unable to allocate resources: Requested nodes are busy",),
)


async def srun(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Run a step; give the exit status, ``None``: it has been given."""

    async def command() -> int | None:
        job_text = _job_text(call)
        words = await with_host_files(call, terminal, TABLE, LETTERS)
        line = read_srun(words, call.environment, call.uid, within=bool(job_text))
        terminal.is_hushed = quietness(line.texts) > 1
        if given := line.given.texts.get("jobid"):
            job_text = given
        if {"help", "usage", "version"} & line.texts.keys():
            terminal.out(f"{VERSION}\n" if "version" in line.texts else _HELP)
            return 0
        if line.texts.get("mpi") == "list":
            terminal.out("MPI plugin types are...\n" + "".join(f"\t{one}\n" for one in MPI_TYPES))
            return 0
        if "test-only" in line.texts:
            await _test(cluster, call, terminal, words)
            return None
        if not line.options.rest:
            terminal.error("srun: fatal: No command given to execute.\n")
            return 1
        mpi = _mpi_type(cluster, line)
        programs = await _programs(terminal, line)
        if not job_text and "relative" in line.texts:
            terminal.error("srun: fatal: --relative option invalid for job allocation request\n")
            return 1
        if not job_text:
            return await _in_new_job(cluster, call, terminal, line)
        place = _job_of(cluster, call, job_text)
        job = place.job
        if call.environment.get("ROTA_RUN") != cluster.runs.mark_of(job.job_id, job.restart_count):
            return await _elsewhere(cluster, call, terminal, place)
        return await _step(cluster, call, terminal, line, place, mpi=mpi, programs=programs)

    return await telling_problems("srun", terminal, command)


class _Place(NamedTuple):
    """Where a step is to run."""

    job: Job
    run: Run


def _job_text(call: Call) -> str:
    """Give the id of the job within which ``srun`` was called; empty: of none."""
    return call.environment.get("SLURM_JOB_ID") or call.environment.get("SLURM_JOBID") or ""


def _job_of(cluster: Cluster, call: Call, text: str) -> _Place:
    """Find the job for a step.

    Raises:
        RefusedError: there is none that runs, or it is somebody else's.
    """
    found = parse_job_id(text)
    if found is None:
        raise RefusedError(f'error: Invalid numeric value "{text}" for --jobid.')
    job = cluster.driver.engine.jobs.get(found.job_id)
    run = None if job is None else cluster.runs.run_of(job.job_id, job.restart_count)
    if job is None or run is None or job.state not in {JobState.RUNNING, JobState.SUSPENDED}:
        pending = job is not None and job.state is JobState.PENDING
        why = "Job is pending execution" if pending else "Invalid job id specified"
        raise RefusedError(
            f"error: Unable to confirm allocation for job {text}: {why}",
            f"Check SLURM_JOB_ID environment variable. Expired or invalid job {text}",
        )
    if call.uid != job.user_id:  # not root either: its files and environment would be in the hands of the job's user
        raise RefusedError(f"error: Unable to create step for job {text}: Access/permission denied")
    return _Place(job, run)


async def _test(cluster: Cluster, call: Call, terminal: Terminal, words: Sequence[str]) -> None:
    """Say when a job of its own would start: that of ``srun`` within a job too."""
    line = read_srun(words, call.environment, call.uid, within=False)
    wanted = _allocation(cluster, call, line)
    job_id, quiet = cluster.driver.next_job_id, "quiet" in line.texts
    await tell_start(cluster, call, terminal, job_id, wanted.spec, quiet=quiet)


def _allocation(cluster: Cluster, call: Call, line: SrunLine) -> Allocation:
    """Make the request for a job of its own."""
    program = line.options.rest[0] if line.options.rest else ""
    return allocation(
        call.words,
        without_odd_ntasks_per_node(line.options),
        client_of(call),
        name=program.rpartition("/")[2],
        program=program,
        now=cluster.clock.now(),
        utc_offset=utc_offset_for(cluster, call),
    )


async def _in_new_job(cluster: Cluster, call: Call, terminal: Terminal, line: SrunLine) -> int | None:
    """Make a job, and have ``srun`` run again within it."""
    wanted = _allocation(cluster, call, line)
    job = await allocate(cluster, call, terminal, wanted, _MESSAGES)
    if job is None:
        terminal.error("srun: error: Job allocation has been revoked.\n")
        return 1
    run = cluster.runs.run_of(job.job_id, job.restart_count)
    env = allocation_environment(run, wanted, cluster.name, cluster.conf) if run else {}
    env.pop("SLURM_NODE_ALIASES", None)
    env[OWN_JOB] = "1"
    argv = [str(cluster.state / "bin" / "srun"), *call.words[1:]]
    more = {"argv": argv, "env": env, "quiet": quietness(line.texts)}
    terminal.become("allocation", allocation_spec(cluster, call, job, hold=True, **more))
    await held(cluster, terminal, job.job_id)
    return 0


async def _elsewhere(cluster: Cluster, call: Call, terminal: Terminal, place: _Place) -> int | None:
    """Have ``srun`` run again within the job."""
    job = place.job
    argv = [str(cluster.state / "bin" / "srun"), *call.words[1:]]
    env = {"SLURM_JOB_ID": str(job.job_id), "SLURM_JOBID": str(job.job_id)}
    if job.spec.allocation_only:
        spec = allocation_spec(cluster, call, job, hold=False, argv=argv, env=env, quiet=0)
        terminal.become("allocation", spec)
        return 0 if await until_over_or_gone(cluster, terminal, job.job_id) else None
    env["ROTA_RUN"] = cluster.runs.mark_of(job.job_id, job.restart_count)
    terminal.become("guest", {"job": job.job_id, "argv": argv, "env": env, "cpus": place.run.cpus})
    return 0 if await until_over_or_gone(cluster, terminal, job.job_id) else None


def _mpi_type(cluster: Cluster, line: SrunLine) -> str:
    """Say how the tasks of a step learn of each other.

    Raises:
        RefusedError: in a way that rota does not know.
    """
    wanted = line.texts.get("mpi", cluster.driver.engine.view.config.get("MpiDefault", "none"))
    if wanted == "openmpi":  # an old word for it
        return "none"
    if wanted not in MPI_TYPES:
        raise RefusedError(f"error: Invalid MPI type '{wanted}', --mpi=list for acceptable types")
    return wanted


#: Largest file of ``--multi-prog``, as in Slurm. Bytes.
_LARGEST_PROGRAMS = 60_000


async def _programs(terminal: Terminal, line: SrunLine) -> str | None:
    """Read the file of ``--multi-prog``; ``None``: there is none.

    Raises:
        RefusedError: it cannot be read.
    """
    if "multi-prog" not in line.texts:
        return None
    path = line.options.rest[0]
    try:
        if not path:
            raise FileNotFoundError  # it would read standard input
        return (await terminal.read(path, _LARGEST_PROGRAMS)).decode(errors="surrogateescape")
    except TooLargeError:
        raise RefusedError(f"error: multi_prog config file {path} has more than {_LARGEST_PROGRAMS} bytes") from None
    except OSError:
        raise RefusedError(f"error: Could not open multi_prog config file {path}") from None


@contextmanager
def _refusals(job: Job) -> Iterator[None]:
    """Give a context in which a step may turn out to be impossible, which ``srun`` says."""
    try:
        yield
    except NodesError as error:
        raise RefusedError(*(f"error: {line}" for line in error.args)) from None
    except StepError as error:
        why = [f"error: {line}" for line in error.args] if isinstance(error, GresError) else []
        raise RefusedError(*why, f"error: Unable to create step for job {job.job_id}: {error}") from None


async def _step(
    cluster: Cluster, call: Call, terminal: Terminal, line: SrunLine, place: _Place, *, mpi: str, programs: str | None
) -> int | None:
    """Make a step and let the client run it."""
    config, asked = cluster.driver.engine.view.config, step_request(line)
    of_job = cluster.driver.engine.view.allocation(place.job.job_id)
    if OWN_JOB in call.environment:  # of a range of nodes it has those of its job, and what that has of time and memory
        nodes = len(of_job)
        asked = replace(asked, min_nodes=nodes, max_nodes=nodes, time_limit=0, mem_per_node=0, mem_per_cpu=0)
    quiet = "quiet" in line.texts
    told = False
    problems = contradictions(line.texts)
    for problem in problems:
        terminal.error(f"srun: error: {problem}\n")
    counts = counts_of(asked, of_job)
    for warning in counts.warnings:  # with --quiet, too
        terminal.error(f"srun: {warning}\n")
    if problems:
        return 1
    names_gpus = "SLURM_GPUS" in call.environment or "gpus" in line.texts
    with _refusals(place.job):
        request = with_gres_of_job(asked, place.run, counts.tasks, (counts.least, counts.most), names_gpus=names_gpus)

    def busy(why: str) -> None:
        nonlocal told
        told = True
        if not quiet:
            number = place.job.job_id
            terminal.error(f"srun: Job {number} step creation temporarily disabled, retrying ({why})\n")

    gone: asyncio.Future[None] = asyncio.ensure_future(terminal.closed())
    try:
        with _refusals(place.job):
            check_gres(asked, counts.least, place.run, config.get("GresTypes"))
            made = await cluster.steps.create(place.run, request, busy, gone, call)
    finally:
        gone.cancel()
        await asyncio.wait([gone])
    if made is None:
        terminal.error(f"srun: error: Unable to create step for job {place.job.job_id}: Job has ended\n")
        return 1
    step, layout = made
    if told and not quiet:
        terminal.error(f"srun: Step created for job {place.job.job_id}\n")
    try:
        spec = step_spec(
            place.run,
            step,
            request,
            layout,
            call,
            cluster=(cluster.name, cluster.conf),
            config=config,
            mpi=mpi,
            programs=[] if programs is None else read_programs(programs, request.argv[0], len(layout.node_of_task)),
        )
    except ValueError as error:
        job = place.job
        end = {"status": 1, "cancelled": False, "usage": {}}
        await cluster.steps.ended(job.job_id, job.restart_count, step.step_id, end)
        raise RefusedError(f"error: {error}") from None
    terminal.become("step", spec)
    client = StepClient(f"{host_name()}:{call.pid}", layout.distribution.title())
    return await serve_step(cluster, terminal, place.job, step.step_id, client)


async def serve_step(cluster: Cluster, terminal: Terminal, job: Job, step_id: str, client: StepClient) -> int | None:
    """Stay connected to a client that runs a step, and record how it ends."""
    key = job.job_id, job.restart_count, step_id
    with cluster.step_clients.connected(job.job_id, step_id, terminal, client):
        try:
            await cluster.steps.ended(*key, await terminal.result())
        except (WireError, ValueError):  # it was killed, or says what cannot be
            await cluster.steps.ended(*key, KILLED)
            return None
    return 0
