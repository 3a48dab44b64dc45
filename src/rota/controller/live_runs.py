"""The runs of a live cluster: what they are given, how their processes are made, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from rota.client.commands import PACKAGES
from rota.controller.job_rows import as_requeued, batch_step, derived_exit_code, ended_step, job_row
from rota.controller.run import Run
from rota.controller.run_environment import expand, run_environment
from rota.controller.submissions import Submissions
from rota.core.effects import Launch
from rota.core.plain import shape_of
from rota.executor.protocol import RunSpec
from rota.executor.supervisor.shortage import DISK, missing
from rota.model import JobState, Reason, RotaError
from rota.model.accounting import AccountingRecord
from rota.model.step import Usage
from rota.store.writes import add_job, add_run, end_run
from rota.users import groups_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.controller.devices import Devices
    from rota.controller.login_shell import LoginShells
    from rota.controller.shortages import Shortages
    from rota.controller.spool import Spool
    from rota.controller.steps.clients import StepClients
    from rota.core import Engine
    from rota.core.effects import Kill, ResumeRun, SendSignal, SuspendRun
    from rota.core.events import JobEnded, LaunchFailed
    from rota.core.job import Job
    from rota.executor.protocol import Executor
    from rota.model import ClusterConfig, JobRecord, JobSpec
    from rota.model.submission import Submission
    from rota.store import Database, Write

#: Seconds after which it is tried again to write a script.
_RETRY = 1.0
#: The first process of a job without a script.
_SERVE = "from rota.client.allocation import serve; sys.exit(serve(sys.argv[1]))"
_ALLOCATION = (sys.executable, "-IS", "-c", f"import sys; sys.path.insert(0, {PACKAGES!r}); {_SERVE}")
_DECIDES_OTHERWISE = (
    "a plugin decides by something else than what happens, like a clock or random numbers, or `rota recover` has found "
    "the job"
)


#: Why a job is stopped, by the state that it is in from then on.
_WHY = {
    JobState.TIMEOUT: "TIME LIMIT",
    JobState.PREEMPTED: "PREEMPTION",
    JobState.PENDING: "JOB REQUEUE",
}
_NODE_FAILURE = "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"


class LiveRuns:
    """The runs of a live cluster.

    Args:
        database: The cluster's database.
        executor: Executes runs.
        devices: Makes an assignment of cores and GPUs, without any run.
        spool: The directories of running jobs.
        login_shells: Knows what scripts need that are login shells.
        clients: The clients that run steps.
        cluster_name: Name of the cluster.
        conf: Path of slurm.conf; empty: there is none.
        mark: The secret from which the marks of this cluster's processes are made.
        config: Gives the configuration in force.
        shortages: Is told what the machine is short of.
        log: Writes a line for the administrator.
    """

    def __init__(
        self,
        database: Database,
        executor: Executor,
        devices: Callable[[], Devices],
        *,
        spool: Spool,
        login_shells: LoginShells,
        clients: StepClients,
        cluster_name: str,
        conf: str,
        mark: str,
        config: Callable[[], ClusterConfig],
        shortages: Shortages,
        log: Callable[[str], None],
    ) -> None:
        self._database = database
        self._executor = executor
        self._new_devices = devices
        self._spool = spool
        self._login_shells = login_shells
        self._clients = clients
        self._cluster_name = cluster_name
        self._conf = conf
        self._mark = mark
        self._config = config
        self._shortages = shortages
        self._log = log
        #: What users have handed in with the jobs.
        self.submissions = Submissions(database)
        #: Measured usage of runs whose end is being recorded.
        self._usage: dict[tuple[int, int], Usage] = {}
        self._runs: dict[tuple[int, int], Run] = {}
        #: Those that were written down when the state was read, and may have been launched before.
        self._before: frozenset[tuple[int, int]] = frozenset()
        #: Records of jobs that have ended, by job id, until they are on disk.
        self.ending: dict[int, AccountingRecord] = {}
        self._devices: Devices

    # ---- records ----------------------------------------------------------------------------------------------

    def read_state(self) -> None:
        """Begin with the runs that are written down."""
        self.ending = {}
        shape = shape_of(Run)
        self._runs = {key: shape.decode(data) for key, data in self._database.runs().items()}
        self.submissions.fetch(run.job.request.payload for run in self._runs.values())
        self._before = frozenset(self._runs)
        self._devices = self._new_devices()
        for run in self._runs.values():
            self._devices.add(run.devices)

    def agree(self, engine: Engine) -> list[Write]:
        """Agree with an engine that was made from what is written down, and give what to write down.

        Both know the same runs, unless a plugin decides by a clock or random numbers: then events that were handled
        again led elsewhere. What the engine does not know is ended, and what it has started besides is chosen.
        """
        jobs = {(job.job_id, job.restart_count): job for job in engine.jobs.values() if job.alloc}
        writes: list[Write] = []
        for key in sorted(self._runs.keys() - jobs.keys()):
            self._log(f"error: job {key[0]} was started, and now is not to run: {_DECIDES_OTHERWISE}; it is killed")
            self._devices.free(self._runs.pop(key).devices)
            self._executor.kill(*key, signal.SIGKILL, 0)
            writes.append(end_run(*key))
        for key in sorted(jobs.keys() - self._runs.keys()):
            self._log(f"error: job {key[0]} was not started, and now is to run: {_DECIDES_OTHERWISE}")
            writes += self.choose(engine, Launch(*key, jobs[key].alloc))
            self._before |= {key}
        if not self._before:  # else what is launched next says so
            self._executor.has_launched_all()
        live = {job.spec.payload: job.array_job_id or job.job_id for job in engine.jobs.values()}
        self.submissions.read_state(live, engine.view.now)
        return writes

    def run_of(self, job_id: int, restart_count: int) -> Run | None:
        """Give a run that has not ended; ``None``: there is none."""
        return self._runs.get((job_id, restart_count))

    def directory(self, job_id: int) -> Path:
        """Give the directory of a running job, below the state directory."""
        return self._spool.directory(job_id)

    def mark_of(self, job_id: int, restart_count: int) -> str:
        """Give the value of ``ROTA_RUN`` in the environment of a run's processes. Others cannot know it."""
        name = f"{job_id}:{restart_count}"
        return f"{blake2b(name.encode(), key=self._mark.encode(), digest_size=8).hexdigest()}:{name}"

    def choose(self, engine: Engine, effect: Launch) -> list[Write]:
        """Choose cores and devices for a run, and give what to write down."""
        view, job = engine.view, engine.jobs[effect.job_id]
        allocation = view.allocation(effect.job_id)
        run = Run(
            job=view.line(job),
            allocation=allocation,
            devices=self._devices.choose(allocation, view.gpus(effect.job_id)),
            mem_per_cpu=_mem_per_cpu(job.spec, job.partition.default_memory(self._config().default_memory())[1]),
        )
        self._runs[effect.job_id, effect.restart_count] = run
        data = json.dumps(shape_of(Run).encode(run), separators=(",", ":"))
        return [add_run(effect.job_id, effect.restart_count, data)]

    def measured(self, job_id: int, restart_count: int, usage: Usage) -> None:
        """Note what a run has used; it is kept when the end of the run is recorded."""
        self._usage[job_id, restart_count] = usage

    def ended(self, event: JobEnded | LaunchFailed) -> list[Write]:
        """Take back what a run has had, and give what to write down."""
        key = event.job_id, event.restart_count
        self._usage.pop(key, None)
        run = self._runs.pop(key, None)
        if run is None:
            return []
        self._devices.free(run.devices)
        self._spool.remove(event.job_id)
        return [end_run(*key)]

    def finished(self, engine: Engine, record: JobRecord) -> list[Write]:
        """Give what to write down about a job that has ended."""
        accounting = self.ending[record.job_id] = self._accounting(engine, record)
        if record.spec.payload and (record.array_job_id is None or record.array_is_over):
            self.submissions.leave(record.spec.payload, record.end_time)
        return add_job(job_row(accounting))

    def requeued(self, engine: Engine, record: JobRecord) -> list[Write]:
        """Give what to write down about a run after which its job is queued again."""
        is_lost = record.reason is Reason.NODE_DOWN
        state = JobState.NODE_FAIL if is_lost else JobState.CANCELLED  # which its steps show
        accounting = self._accounting(engine, record._replace(state=state))
        job = accounting.job._replace(reason=Reason.NONE.value, exit_code=0, signal=0)
        accounting = replace(accounting, job=job, details=replace(accounting.details, cancelled_by=None))
        return add_job(job_row(accounting if is_lost else as_requeued(accounting)))

    def _accounting(self, engine: Engine, record: JobRecord) -> AccountingRecord:
        job, key = engine.view.ended(record), (record.job_id, record.restart_count)
        details = self.submissions.of(record.spec.payload).details
        last = record.start_time or record.submit_time
        steps = tuple(ended_step(step, record) for step in record.steps)
        counted = steps if record.state is JobState.OUT_OF_MEMORY else record.steps
        details = replace(details, derived_exit_code=derived_exit_code(counted), last_sched_eval=last)
        if record.state is JobState.CANCELLED and record.reason is not Reason.DEPENDENCY_NEVER_SATISFIED:
            by = record.spec.user_id if record.cancelled_by is None else record.cancelled_by
            details = replace(details, cancelled_by=by)
        if details.batch and record.start_time is not None:
            run = self._runs.get(key)
            cpus, gres = (run.allocation[0].cpus, run.gres_of_script) if run else (job.num_cpus, ())
            # The processes of the steps are among those of the run.
            own = self._usage.get(key, Usage()).without(step.usage for step in steps)
            steps = (batch_step(record, job.nodes[:1], cpus, gres, own), *steps)
        return AccountingRecord(job=job, details=details, steps=steps)

    def kept(self, record: JobRecord) -> None:
        """Hear that what there is to write down about a job that has ended is on disk."""
        self.ending.pop(record.job_id, None)

    # ---- processes --------------------------------------------------------------------------------------------

    def launch(self, effect: Launch) -> None:
        """Start a run, unless it has started.

        Raises:
            RotaError: its script is gone; without it the job would be an allocation, and would not end.
        """
        key = effect.job_id, effect.restart_count
        run = self._runs.get(key)
        if run is None:
            return
        if key not in self._before and self.submissions.is_lost(run.job.request.payload):
            raise RotaError(f"job {effect.job_id} cannot be launched: its script is not in the database")
        try:
            spec = self._spec(run, self.submissions.of(run.job.request.payload), key)
        except OSError as error:  # the disk is full
            self._shortages.note(missing(error) or DISK, f"writing a job's directory ({error.strerror})")
            asyncio.get_running_loop().call_later(_RETRY, self.launch, effect)
            return
        self._executor.launch(spec, again=key in self._before)

    def look_for(self, job_id: int, restart_count: int) -> None:
        """Have a run found that was launched and that the supervisor does not know any more."""
        self._before |= {(job_id, restart_count)}
        self.launch(Launch(job_id, restart_count, 0))

    def gpu_kinds(self, node: str) -> dict[int, str]:
        """Give the kind of each GPU of a node, ``gpu`` or ``gpu:a100``, by its id."""
        return self._devices.gpu_kinds(node)

    def kill(self, effect: Kill, job: Job | None) -> None:
        """Stop a run, and say so in its output.

        Args:
            effect: Which run, and how.
            job: Its job; ``None``: it is not known any more.
        """
        said = ""
        run = self.run_of(effect.job_id, effect.restart_count)
        if run is not None and self._executor.is_suspect and (effect.job_id, effect.restart_count) in self._before:
            self.look_for(effect.job_id, effect.restart_count)  # else it would count as one that has never begun
        if job is not None and run is not None:
            why = f" DUE TO {_WHY[job.state]}" if job.state in _WHY else ""
            why = f" DUE TO {_NODE_FAILURE}" if job.reason is Reason.NODE_DOWN else why
            moment = time.strftime("%Y-%m-%dT%H:%M:%S")
            said = f"slurmstepd: error: *** JOB {job.job_id} ON {run.job.nodes[0]} CANCELLED AT {moment}{why} ***\n"
        self._executor.kill(effect.job_id, effect.restart_count, effect.signal, effect.wait, said)

    def send_signal(self, effect: SendSignal) -> None:
        """Send a signal to the steps of a run. As in Slurm, a batch script does not get it."""
        self._clients.signal(effect.job_id, effect.signal)

    def suspend(self, effect: SuspendRun) -> None:
        """Suspend a run."""
        self._executor.suspend(effect.job_id, effect.restart_count)

    def resume(self, effect: ResumeRun) -> None:
        """Resume a suspended run."""
        self._executor.resume(effect.job_id, effect.restart_count)

    def warning(self, job_id: int, restart_count: int) -> tuple[int, int, bool] | None:
        """Give the signal before a run's time limit, how many seconds before, and whether only the script gets it."""
        run = self._runs.get((job_id, restart_count))
        submission = None if run is None else self.submissions.of(run.job.request.payload)
        if submission is None or not submission.warning_signal:
            return None
        return submission.warning_signal, submission.warning_seconds, submission.warning_batch_only

    def _spec(self, run: Run, submission: Submission, key: tuple[int, int]) -> RunSpec:
        job, details = run.job, submission.details
        node = run.allocation[0].node
        if submission.script:
            script = self._spool.write_script(job.job_id, submission.script, job.user_id, job.group_id)
            argv = str(script), *submission.arguments
        else:
            directory = self._spool.make_allocation(job.job_id, job.user_id, job.group_id)
            argv = *_ALLOCATION, str(directory)
        out = expand(details.std_out or "/dev/null", job, node)
        return RunSpec(
            job_id=key[0],
            restart_count=key[1],
            argv=argv,
            env=self._login_shells.environment(submission.script, submission.environment),
            own_env=run_environment(run, self._cluster_name, self._conf),
            cwd=details.work_dir,
            stdin=expand(details.std_in, job, node),
            stdout=out,
            stderr=out if details.std_err == details.std_out else expand(details.std_err or out, job, node),
            append=submission.append or bool(job.restart_count),
            umask=submission.umask,
            rlimits=submission.rlimits,
            uid=job.user_id,
            gid=job.group_id,
            groups=_groups(job.user_id, job.group_id, int(time.monotonic()) // 60),
            cpus=run.cpus,
            memory=run.memory,
            prolog=self._config().get("Prolog"),
            epilog=self._config().get("Epilog"),
            prolog_epilog_timeout=self._config().prolog_epilog_timeout(),
            mark=self.mark_of(*key),
        )


def _mem_per_cpu(spec: JobSpec, default: int) -> int:
    return spec.mem_per_cpu or (0 if spec.mem_per_node or spec.mem_per_gpu else default)


@lru_cache(maxsize=1000)
def _groups(uid: int, gid: int, minute: int) -> tuple[int, ...]:  # noqa: ARG001 - they are looked up each minute
    """Give the groups of a user."""
    return groups_of(uid, gid)
