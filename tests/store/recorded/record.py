"""Record the database of a cluster on which jobs of every kind have run, and what sacct and squeue show of it.

It runs with the rota that is to be recorded, as root, in a place that tells nothing about the machine. For version 1,
for version 2 at 9f07187, for version 3 at a30a83c, for version 4 at d10a632, for version 5 at bf86a24, for version 6 at
2cb4a61, for version 7 at the merge before version 8, for version 8 at 81a6031, and for version 9 at 89d363c::

    git worktree add --detach ../before 89d363c && cd ../before && make .venv/run.stamp
    unshare --uts sh -c 'hostname host; exec env -i PATH=/usr/bin:/bin TZ=UTC .venv/bin/python "$0"' …/record.py

writes beside this file ``version_1.db.gz``; ``version_1.sql``, which makes the tables in PostgreSQL; the listings,
``version_1.txt``; and what was beside the database and is needed. The listings are of the same rota when it finds the
database on another machine: its running jobs are lost then, and are requeued or have failed.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from rota.store.schema import VERSION, metadata
from rota.store.sums import sum_of
from rota.testing.live import LiveCluster

_HERE = Path(__file__).resolve().parent
#: What has to be beside a database from version 7 on.
BESIDE = ("journal.head", "supervisor.log", "supervisor.tail")
_SCRATCH = Path("/tmp/recorded")  # noqa: S108 - it is part of the records
_ENDED = ",".join(map(str, (*range(1, 17), 20)))
_JOB = (
    "JobID,JobName,User,Account,Partition,Submit,State,ExitCode,DerivedExitCode,AllocTRES,ReqTRES,ReqMem,Timelimit,"
    "NodeList,Constraints,Reservation,Priority,QOS,WorkDir"
)
#: What does not depend on the time at which it is asked.
_LISTINGS = (
    f"sacct -P -j {_ENDED},17,19,21,22,25 -o {_JOB}",
    f"sacct -P -j {_ENDED} -o JobID,Eligible,Start,End,Elapsed,TotalCPU,MaxRSS,State",
    "squeue -a -t all -S i -o %i|%j|%u|%P|%T|%r|%E|%l|%C|%D|%c|%m|%b|%f|%W|%n|%x|%v|%h|%O|%Q|%y|%N|%V",
    "squeue -a -t all -S i -O jobid:10,jobarrayid:20,deadline:30,mintime:20,prefer:10,restartcnt:10",
)


def main() -> None:
    """Record."""
    shutil.rmtree(_SCRATCH, ignore_errors=True)
    conf = (_HERE / "slurm.conf").read_text()
    recorded = _HERE / f"version_{VERSION}.db"
    recorded.unlink(missing_ok=True)
    cluster = _start(_SCRATCH / "first", conf)
    _work(cluster)
    cluster.kill()
    _copy(cluster.state / "rota.db", recorded)
    for name in BESIDE:
        shutil.copy(cluster.state / name, _HERE / f"version_{VERSION}.{name}")
    cluster.up()
    supervisor = Path("/proc", str(cluster.status()["supervisor_pid"]))
    cluster.rota("down", "--jobs", "cancel")
    cluster.wait(lambda: not supervisor.exists())

    other = _SCRATCH / "other"
    (other / "state").mkdir(parents=True)
    shutil.copy(recorded, other / "state" / "rota.db")
    for name in BESIDE:
        shutil.copy(_HERE / f"version_{VERSION}.{name}", other / "state" / name)
    cluster = _start(other, conf)
    shown = "".join(f"$ {listing}\n{cluster.run(*listing.split()).stdout}" for listing in _LISTINGS)
    cluster.rota("down", "--jobs", "cancel")

    recorded.with_suffix(".sql").write_text(_tables())
    recorded.with_suffix(".txt").write_text(shown)
    recorded.with_suffix(".db.gz").write_bytes(gzip.compress(recorded.read_bytes(), mtime=0))
    recorded.unlink()


def _start(directory: Path, conf: str) -> LiveCluster:
    directory.mkdir(parents=True, exist_ok=True)
    cluster = LiveCluster(directory, conf)
    cluster.up()
    return cluster


def _work(cluster: LiveCluster) -> None:
    """Let jobs run of every kind; at the end some run, and some wait in partitions that are down.

    The controller is stopped on the way: a later rota need not decide the same, as what was decided is in the snapshot.
    A few events are in the journal behind it.
    """
    slow = cluster.submit("-J", "over-time", "-t1", "--wrap", "sleep 200")
    done = cluster.submit("-J", "done", "-n2", "-c2", "-C", "fast", "--comment=caf\udce9", "--wrap", "true")
    failed = cluster.submit("-J", "failed", "-H", "-w", "n2", "--mem=50", "--wrap", "exit 3")
    cluster.submit("-J", "gpus", "--gres=gpu:1", "-x", "n3", "--exclusive", "--wrap", "true")
    cluster.submit("-J", "licences", "-L", "matlab:1", "-N2", "--contiguous", "--wrap", "true")
    cluster.submit("-J", "shared", "-p", "shared", "-s", "--prefer=fast", "--requeue", "--wrap", "true")
    cluster.submit("-J", "array", "-a", "1-4%2", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 3))")
    cluster.submit("-J", "after", "-d", f"afterok:{done}", "--ntasks-per-node=1", "--wrap", "true")
    cluster.submit("-J", "never", "-d", f"afterok:{failed}", "--kill-on-invalid-dep=yes", "--wrap", "true")
    cluster.run("scontrol", "release", str(failed))
    cluster.submit("-J", "times", "--begin=now+1", "--deadline=now+2days", "--time-min=5", "-t10", "--wrap", "true")
    cluster.run(
        "scontrol",
        "create",
        "reservation",
        "reservationname=held",
        "starttime=now",
        "duration=99-0",
        "nodes=n4",
        "users=root",
    )
    cluster.submit("-J", "reserved", "--reservation=held", "--wrap", "true")
    cluster.run("scancel", str(cluster.submit("-J", "cancelled", "-H", "--wrap", "true")))
    again = cluster.submit("-J", "again", "-o", "again", "--wrap", "echo; [ $SLURM_RESTART_COUNT = 1 ] || sleep 200")
    cluster.wait((cluster.directory / "again").exists)
    cluster.run("scontrol", "requeue", str(again))
    cluster.wait(lambda: cluster.status()["jobs"] == {"RUNNING": 1}, patience=200)
    cluster.wait(lambda: slow in cluster.ended(), patience=200)

    requeued = cluster.submit("-J", "requeued", "-a", "7-8", "-n3", "-L", "matlab", "--wrap", "sleep 200")
    lost = cluster.submit("-J", "lost", "--no-requeue", "--ntasks-per-node=1", "--gres=gpu:2", "--wrap", "sleep 200")
    killed = cluster.submit("-J", "killed", "--wrap", "sleep 200")
    cluster.wait(lambda: cluster.status()["jobs"] == {"RUNNING": 4})
    cluster.run("scancel", str(killed))
    cluster.wait(lambda: killed in cluster.ended())
    for partition in ("debug", "shared"):
        cluster.run("scontrol", "update", f"partitionname={partition}", "state=down")
    cluster.rota("down")
    cluster.up()
    cluster.submit("-J", "held", "-H", "-C", "fast", "-L", "matlab:2", "--wrap", "true")
    cluster.submit("-J", "waits", "-a", "0-2", "-p", "shared", "--gres=gpu:1", "--wrap", "true")
    cluster.submit("-J", "depends", "-d", f"afterany:{lost}:{requeued}", "-x", "n1", "--wrap", "true")


def _copy(live: Path, recorded: Path) -> None:
    """Copy a database; whoever opens the copy is on another machine."""
    with closing(sqlite3.connect(live)) as database:
        database.execute("VACUUM INTO ?", (str(recorded),))
    with closing(sqlite3.connect(recorded)) as database, database:
        (old,) = database.execute("SELECT value FROM facts WHERE name = 'clock'").fetchone()
        clock = json.dumps({**json.loads(old), "boot_id": "another"})
        values = clock, sum_of("facts", "clock", clock)
        database.execute("UPDATE facts SET value = ?, sum = ? WHERE name = 'clock'", values)


def _tables() -> str:
    """Give the statements that make the tables in PostgreSQL."""
    made: list[CreateTable | CreateIndex] = []
    for table in metadata.sorted_tables:
        made.append(CreateTable(table))
        made += [CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name))]
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return "".join(f"{str(one.compile(dialect=dialect)).strip()};\n" for one in made)


if __name__ == "__main__":
    main()
