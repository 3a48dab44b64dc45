"""Whether database, heads, supervisor and spool of a state directory fit together.

Each of them alone may be an older copy, damaged, or gone. A controller that went on with such a one would give old
numbers to new jobs, run jobs twice, or take the ends of some for those of others. So it looks first, and begins only if
everything fits, or nothing is there.
"""

from __future__ import annotations

import json
import time
import zlib
from typing import TYPE_CHECKING

from rota.controller.clock import ClusterClock
from rota.controller.driver import CLOCK, NEXT_JOB_ID, OTHERS
from rota.executor.traces import homeless, of_copy, read_traces, supervisors
from rota.store import DatabaseError
from rota.store.heads import Generation, Head, read_heads
from rota.store.location import database_url
from rota.store.remains import MOST_JOBS, Finding, Remains, read_remains
from rota.store.schema import FIRST_SUMMED, VERSION
from rota.store.writes import set_fact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rota.executor.traces import Traces
    from rota.store import Database
    from rota.store.heads import Heads

#: Names of the facts that are the cluster's identity, and its generation.
CLUSTER, GENERATION = "mark", "generation"
#: Seconds for which a supervisor may take to make a state directory again that was removed.
_RETURN = 3.0
#: Number of findings that an error names.
_NAMED = 5


class Inspection:
    """What was found in a state directory.

    Args:
        state: The state directory.
        remains: What can be read of the database.
        head: How far that had come; ``None``: nothing says so.
        traces: What the supervisor has left.
    """

    def __init__(self, state: Path, remains: Remains, head: Head | None, traces: Traces) -> None:
        self.state = state
        self.remains = remains
        self.head = head
        self.traces = traces
        self.findings: list[Finding] = [*remains.findings]

    @property
    def cluster(self) -> str:
        """The cluster's identity, as the database has it; empty: it does not."""
        return self.remains.facts.get(CLUSTER, "")

    @property
    def losses(self) -> list[Finding]:
        """What is wrong and cannot be mended without a loss, or without somebody who says what is meant."""
        return [one for one in self.findings if one.lost]

    @property
    def mended(self) -> list[Finding]:
        """What is wrong and is known from elsewhere, so that it is written again."""
        return [one for one in self.findings if not one.lost]

    @property
    def is_behind(self) -> bool:
        """Whether the database has lost commits, or nobody knows whether it has."""
        return self.head is None or self.position.is_behind(self.head) or self.supervisor_is_ahead

    @property
    def position(self) -> Head:
        """How far the database has come."""
        facts, remains = self.remains.facts, self.remains
        known = self.head.next_job_id if self.head is not None else 1
        return Head(
            self.cluster, facts.get(GENERATION, str(Generation())), remains.seq, known, int(facts.get(OTHERS, 0))
        )

    @property
    def supervisor_is_ahead(self) -> bool:
        """Whether the supervisor has heard of events that the database does not have."""
        told = self.traces.head
        return bool(told) and self.traces.cluster == self.cluster and Head(*told).seq > self.remains.seq

    def refuse(self) -> None:
        """Refuse to begin, unless nothing is lost.

        Raises:
            DatabaseError: something is; it says what.
        """
        if not self.losses:
            return
        named = [f"{one.what} (lost: {one.lost})" for one in self.losses[:_NAMED]]
        more = [f"and {len(self.losses) - _NAMED} more"] if len(self.losses) > _NAMED else []
        raise DatabaseError(
            f"{self.state}: what the cluster has kept does not fit together: {'; '.join([*named, *more])}. Nothing was "
            f"changed: `rota recover --state {self.state}` shows what can be saved, and does it with --yes"
        )


def inspect(state: Path, *, most_jobs: int | None = MOST_JOBS) -> Inspection:
    """Look at a state directory.

    Args:
        state: The state directory. No controller uses it.
        most_jobs: Number of ended jobs to look at, the last ones; ``None``: all.

    Raises:
        DatabaseError: the database cannot be reached, or the directory is a copy of one that is in use.
    """
    remains = read_remains(database_url(state), most_jobs=most_jobs)
    head, wrong_heads = read_heads(state)
    until, cluster = time.monotonic() + _RETURN, remains.facts.get(CLUSTER) or read_traces(state).cluster
    others = supervisors()
    # One that has lost its directory makes it again, and one that has nothing to do ends.
    while (homeless(state, others) or of_copy(state, cluster, others)) and time.monotonic() < until:
        time.sleep(0.05)
        others = supervisors()
    found = Inspection(state, remains, head, read_traces(state))
    if (pid := homeless(state, others)) is not None:
        what = f"a supervisor, process {pid}, had this directory, which was removed while jobs ran"
        found.findings.append(Finding(what, "control of its jobs, until they end or it is killed"))
    if (original := of_copy(state, cluster, others)) is not None:
        raise DatabaseError(
            f"{state} is a copy of {original[1]}, where a supervisor of the same cluster runs (process {original[0]}): "
            f"two controllers would be in each other's way; stop the one there with `rota down --jobs cancel`"
        )
    if found.remains.version == VERSION:
        _look_at_heads(found, wrong_heads)
        _look_at_snapshots(found)
    else:
        _look_at_beginning(found)
    _look_at_supervisor(found)
    _look_at_spool(found)
    return found


def _look_at_beginning(found: Inspection) -> None:
    """See whether there was more than there is now: no database, or that of an older rota."""
    head, version = found.head, found.remains.version
    what = "the database is gone, or empty" if version is None else f"the database is of version {version}"
    if version is not None and (version > VERSION or version >= FIRST_SUMMED):
        return  # who opens it says what to do, or upgrades it; then it can be looked at
    if head is not None:
        lost = f"what happened until event {head.seq}, with jobs up to {head.next_job_id - 1}"
        found.findings.append(Finding(f"{what}, and had come to event {head.seq}", lost))
    elif version is None:
        _look_for_jobs(found, what)


def _look_for_jobs(found: Inspection, what: str) -> None:
    """See whether there have been jobs although the database has nothing."""
    if found.traces.cluster or found.traces.runs:
        found.findings.append(Finding(f"{what}, and a supervisor has had jobs", _of_jobs(found)))
    elif jobs := _spooled(found.state):
        found.findings.append(Finding(f"{what}, and the spool has job {jobs[-1]}", "all jobs"))


def _look_at_heads(found: Inspection, wrong: list[str]) -> None:
    head, position = found.head, found.position
    if head is None and GENERATION not in found.remains.facts:
        if not found.remains.seq:  # tables that have just been made; else they have been upgraded
            _look_for_jobs(found, "the database is empty")
        return
    if head is None:
        lost = "nobody can tell: maybe the last commits, if this is an older copy"
        found.findings.append(Finding("; ".join(wrong) + ", which say how far the database had come", lost))
        return
    found.findings += [Finding(one) for one in wrong]
    if position.cluster not in ("", head.cluster):
        found.findings.append(Finding("the database is that of another cluster", "the one that was here"))
    elif position.is_behind(head):
        events = f"the events from {position.seq + 1} to {head.seq}" if position.seq < head.seq else "changes"
        what = f"the database has come to event {position.seq}, and had come to {head.seq}"
        found.findings.append(Finding(what, f"{events}, with jobs up to {head.next_job_id - 1}"))
    elif not _follows(position, head):
        what = "somebody has gone on with another copy of the database since it was here"
        found.findings.append(Finding(what, "what was done with that one"))


def _follows(position: Head, head: Head) -> bool:
    try:
        return Generation.read(position.generation).follows(Generation.read(head.generation))
    except ValueError:
        return False


def _look_at_snapshots(found: Inspection) -> None:
    snapshots, seq = found.remains.snapshots, found.remains.seq
    is_bad = any(one.what.startswith("table snapshots") for one in found.findings)
    last, until = (max(snapshots), snapshots[max(snapshots)][1]) if snapshots else (0, None)
    if not snapshots and (seq or is_bad or (found.head is not None and found.head.seq)):
        found.findings.append(
            Finding("there is no snapshot that can be read", "pending jobs, accounts and reservations")
        )
    elif is_bad and until is not None:
        what = f"the snapshot that can be read, at event {last}, was made with another slurm.conf"
        found.findings.append(Finding(what, f"how the events from {until + 1} to {seq} were handled"))


def _look_at_supervisor(found: Inspection) -> None:
    traces = found.traces
    if traces.wrong:
        found.findings.append(Finding(f"supervisor.log: {'; '.join(traces.wrong[:3])}", "how some runs have ended"))
    if not traces.is_there and found.remains.runs and not _was_booted(found.remains.facts):
        found.findings.append(Finding("supervisor.log is gone", "how jobs ended that had not when it was written last"))
    if found.cluster and traces.cluster and traces.cluster != found.cluster:
        found.findings.append(Finding("supervisor.log is that of another cluster", _of_jobs(found)))
    elif found.supervisor_is_ahead and (found.head is None or found.head.seq <= found.remains.seq):
        told, seq = Head(*traces.head).seq, found.remains.seq
        what = f"the supervisor has heard of event {told}, and the database has come to {seq}"
        found.findings.append(Finding(what, f"what happened between these, with jobs up to {traces.last_job_id}"))


def _was_booted(facts: Mapping[str, str]) -> bool:
    """Whether the machine was booted since the controller ran, so that nothing runs any more."""
    clock = facts.get(CLOCK)
    return clock is not None and json.loads(clock)["boot_id"] != ClusterClock().boot_id


def _look_at_spool(found: Inspection) -> None:
    """See whether the scripts of jobs that run are as they were written; the controller writes them anew."""
    if found.remains.version != VERSION:
        return
    runs = set(found.remains.runs) & {key for key, run in found.traces.runs.items() if not run.has_ended}
    for job_id, restart_count in sorted(runs):
        request = json.loads(found.remains.runs[job_id, restart_count])["job"]["request"]
        data = found.remains.submissions.get(request.get("payload", ""))
        script = json.loads(zlib.decompress(data)).get("script", "") if data is not None else ""
        path = found.state / "spool" / f"job{job_id:05}" / "slurm_script"
        if script and (not path.exists() or path.read_bytes() != script.encode(errors="surrogateescape")):
            what = "gone" if not path.exists() else "not as it was written"
            found.findings.append(Finding(f"{path} is {what}: job {job_id}, which runs, may have read it so"))


def _of_jobs(found: Inspection) -> str:
    live = sorted(run.job_id for run in found.traces.runs.values())
    return f"control of jobs {', '.join(map(str, live))}" if live else "what was known of jobs that have ended"


def _spooled(state: Path) -> list[int]:
    """Give the ids of the jobs that have a directory in the spool."""
    names = [path.name[3:] for path in (state / "spool").glob("job*")]
    return sorted(int(name) for name in names if name.isdigit())


def last_known_job(found: Inspection) -> int:
    """Give the highest id of a job that anything knows."""
    head = found.head.next_job_id - 1 if found.head is not None else 0
    told = Head(*found.traces.head).next_job_id - 1 if found.traces.head else 0
    ended = max((row["job_id"] for row in found.remains.jobs), default=0)
    runs = max((job_id for job_id, _ in found.remains.runs), default=0)
    kept = int(found.remains.facts.get(NEXT_JOB_ID, 1)) - 1
    return max(head, told, ended, runs, kept, found.traces.last_job_id, *_spooled(found.state), 0)


def begin_generation(database: Database, heads: Heads, before: Head) -> None:
    """Begin another generation of a cluster: write it into the database, and then beside it.

    Args:
        database: The database.
        heads: What is beside it.
        before: How far it had come, as that said; without a generation for a new cluster.
    """
    facts = database.facts()
    known = Generation.read(facts[GENERATION]) if GENERATION in facts else Generation()
    head = before._replace(generation=str(known), seq=database.last_seq(), others=int(facts.get(OTHERS, 0)))
    heads.write(head)  # a controller may have been killed between the two, and this one may be
    new = str(known.next())
    database.write(set_fact(GENERATION, new))
    heads.write(head._replace(generation=new), sync=True)
