"""What keeping and asking who loads a Lustre file system costs: `python benchmarks/bench_lustre_store.py`.

Sixteen minutes are written for 10,000 jobs on 100 targets, each job on four of them, and for 50,000 jobs on one each;
and some steps in which each of 10,000 jobs is busy on each of 100 targets. Each job does three operations on average.
Times are processor time, but those of the process beside.
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from rota.api.lustre import answers
from rota.lustre.counters import Activity, Increase
from rota.lustre.query import Question, ask, ask_by_target, lives_of
from rota.lustre.rollups import Rollups
from rota.lustre.store import Reader, Writer, Written, tiers_of

#: A midnight (UTC); an hour later the steps begin.
DAY = 1_700_006_400
#: Jobs, targets, targets of each job, steps.
CASES = ((10_000, 100, 4, 96), (50_000, 100, 1, 96), (10_000, 100, 100, 8))


def activities(jobs: int, targets: int, each: int) -> list[Activity]:
    """Make what all jobs do in a step."""
    rng = random.Random(1)  # noqa: S311
    names = [f"scratch-OST{number:04x}" for number in range(targets)]
    found = []
    for job in range(jobs):
        weight = rng.paretovariate(0.8)
        for place in range(each):
            count = 1 + int(weight * rng.random() * 10)
            increases = {
                "read_bytes": Increase(count, count * rng.randrange(4096, 1 << 20)),
                "write_bytes": Increase(count, count << 20),
                **({"setattr": Increase(rng.randrange(1, 9), rng.randrange(9000))} if job % 2 else {}),
                **({"punch": Increase(1, rng.randrange(9000))} if job % 2 else {}),
            }
            found.append(Activity(names[(job * 7 + place) % targets], str(4_000_000 + job), 0, 0, increases))
    return found


def fill(folder: Path, jobs: int, targets: int, each: int, steps: int) -> Written:
    """Write steps, and print what that costs."""
    base, writer, seconds = activities(jobs, targets, each), Writer(folder, tiers_of(10)), []
    written = Written({}, 0)
    for step in range(1, steps + 1):
        end = DAY + 3600 + 10 * step
        now = [one._replace(begin=end - 10, end=end) for one in base]
        begun = process_time()
        written = writer.write(now, end + 1)
        seconds.append(process_time() - begun)
    writer.label({str(4_000_000 + job): _fields(job) for job in range(jobs)})
    writer.close()
    rows = written.rows
    print(f"\n{jobs:,} jobs, {targets} targets, {each} each: {len(base):,} activities, {rows:,} rows a step")
    print(f"  write a step: {statistics.median(seconds):.3f} s, with a minute's {max(seconds):.3f} s")
    import sqlite3

    database = sqlite3.connect(folder / "activity.sqlite")
    for tier, size, parts in database.execute(
        "SELECT step, sum(length(data)), count(DISTINCT start) FROM segments GROUP BY step"
    ):
        kept = {10: 86400, 60: 3 * 86400, 300: 7 * 86400, 3600: 30 * 86400, 86400: 365 * 86400}[tier]
        whole = size / parts * kept / tier
        print(f"  {tier:5} s: {size / parts / rows:5.2f} bytes a row, {whole / 1e9:7.2f} GB for {kept // 86400} days")
    database.close()
    return written


def _fields(job: int) -> dict[str, str]:
    return {"user": f"user{job % 500}", "account": f"account{job % 40}", "name": "train.sh"}


_READ_MEANWHILE = """
import sys
from pathlib import Path
from time import perf_counter
from rota.lustre.query import Question, ask
from rota.lustre.store import Reader
reader, seconds = Reader(Path(sys.argv[1])), []
for _ in range(50):
    begun = perf_counter()
    with reader.look() as look:
        ask(look, Question(look.until - 600, look.until, group="user", top=10))
    seconds.append(perf_counter() - begun)
print(f"  another process, top users while it is written: median {sorted(seconds)[25] * 1e3:.0f} ms,"
      f" longest {max(seconds) * 1e3:.0f} ms")
"""


def questions(folder: Path, steps: int, written: Written) -> None:
    """Ask, first with nothing remembered and then again."""
    end = DAY + 3600 + 10 * steps
    last = max(end - 600, DAY + 3600)
    asked = {
        "top 10 jobs": Question(last, end, group="job", top=10),
        "top 10 users": Question(last, end, group="user", top=10),
        "heat map, 60 steps": Question(last, end, ("write_bytes",), group="target", points=60),
        "heat map of a user": Question(last, end, ("write_bytes",), "target", {"user": frozenset({"user7"})}, 60),
        "one job on its targets": Question(last, end, group="target", where={"job": frozenset({"4000005"})}, points=60),
        "top 20 jobs, 60 steps": Question(last, end, ("read_bytes",), group="job", points=60, top=20),
    }
    for name, question in asked.items():
        seconds = []
        for reader in [Reader(folder)] * 4:
            begun = process_time()
            with reader.look() as look:
                ask(look, question)
            seconds.append(process_time() - begun)
        print(f"  {name:24} {seconds[0] * 1e3:6.0f} ms, again {min(seconds[1:]) * 1e3:5.0f} ms")
    with Reader(folder).look() as look:
        begun = process_time()
        answer = ask(look, asked["heat map, 60 steps"])
        text = json.dumps(answers.heat(answer, "write_bytes", sorted(look.targets())))
        print(f"  {'heat map anew, as JSON':24} {(process_time() - begun) * 1e3:6.0f} ms, {len(text):,} bytes")
        begun = process_time()
        ask_by_target(look, Question(last, end, ("read_bytes",), "user", {}, 60, 100, unknown_by_id=True))
        print(f"  {'users by target, 60 steps':24} {(process_time() - begun) * 1e3:5.0f} ms")
        jobs = [job for job in (look.job(str(4_000_000 + number)) for number in range(100)) if job is not None]
        begun = process_time()
        lives_of(look, jobs)
        print(f"  {'lives of 100 jobs':24} {(process_time() - begun) * 1e3:6.0f} ms")
        begun = process_time()
        Rollups().update(written, look, 0.0)
        print(f"  {'sums for Prometheus':24} {(process_time() - begun) * 1e3:6.0f} ms a step")


def main() -> None:
    """Measure."""
    for jobs, targets, each, steps in CASES:
        with tempfile.TemporaryDirectory() as folder:
            written = fill(Path(folder), jobs, targets, each, steps)
            questions(Path(folder), steps, written)
            writer = Writer(Path(folder), tiers_of(10))
            base = activities(jobs, targets, each) if each < targets else []
            if base:
                words = [sys.executable, "-c", _READ_MEANWHILE, folder]
                with subprocess.Popen(words) as process:
                    step = steps
                    while process.poll() is None:
                        step += 1
                        end = DAY + 3600 + 10 * step
                        writer.write([one._replace(begin=end - 10, end=end) for one in base], end + 1)
            writer.close()
        print(f"  peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
