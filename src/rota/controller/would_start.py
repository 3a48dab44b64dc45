"""``--test-only``: when and where a job would start, without submitting it.

A child of the controller asks its own copy of the engine, so nothing is changed. The job comes after those that wait
before it in the queue. What it would wait for besides, a hold or other jobs, is left out of account, as in Slurm; its
begin time is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted
from rota.controller.child import in_child
from rota.controller.submitting import sentence_of
from rota.controller.zone import utc_offset_for
from rota.core import events as ev
from rota.core.effects import Refused
from rota.listings import Answer
from rota.listings.clock import Clock
from rota.model import Errno, Reason

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.model import JobSpec

_FAILED = "allocation failure: {}\n"


async def tell_start(
    cluster: Cluster, call: Call, terminal: Terminal, job_id: int, spec: JobSpec, *, quiet: bool
) -> None:
    """Say on standard error when a job would start, or why it would not; the exit status is given.

    Args:
        cluster: The cluster.
        call: The call of the command.
        terminal: Where it is said.
        job_id: The id that the job would have.
        spec: The request.
        quiet: Whether only what is wrong is said.
    """

    def answer() -> Answer:
        text, status = _answer(cluster, call, job_id, spec)
        return Answer("", text if status or not quiet else "", status)

    await in_child(cluster, call, terminal, answer)


def _answer(cluster: Cluster, call: Call, job_id: int, spec: JobSpec) -> tuple[str, int]:
    """Submit the job to this process's copy of the engine; give what is said, and the exit status."""
    name, engine, now = call.words[0], cluster.driver.engine, cluster.clock.now()
    at_once = spec._replace(hold=False, dependency="", begin_time=0)
    event = ev.Submit(job_id, at_once, uid=cluster.rights.as_operator(call.uid))
    refused = next((one for one in engine.handle(event, now) if isinstance(one, Refused)), None)
    if refused is not None:
        sentence, more = sentence_of(refused.errno, refused.message)
        return (f"{name}: error: {more}\n" if more else "") + _FAILED.format(sentence), 1
    future = engine.view.future(job_id)
    found = None if future is None else future.earliest()
    if future is None or found is None:
        line = engine.view.job(job_id) if future is None else None
        too_large = {Reason.PARTITION_NODE_LIMIT.value, Reason.PARTITION_CONFIG.value}
        limited = line is not None and line.reason not in too_large
        errno = Errno.ACCOUNTING_POLICY if limited else Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE
        return _FAILED.format(sentence_of(errno, "")[0]), 1
    start, nodes = max(found[0], spec.begin_time), engine.view.names(found[1])
    cpus = sum(node.cpus for node in engine.view.nodes() if node.name in nodes) if spec.exclusive else spec.num_cpus
    when = Clock(now, utc_offset_for(cluster, call), call.environment.get("SLURM_TIME_FORMAT", "")).moment(start)
    where = f"on nodes {fold_sorted(nodes)} in partition {future.partition}"
    return f"{name}: Job {job_id} to start at {when} using {cpus} processors {where}\n", 0
