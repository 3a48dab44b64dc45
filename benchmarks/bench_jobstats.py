"""Reading ``job_stats``: each generation beside PyYAML's C loader, a large dump, and the changes between two readings.

Run it as ``python benchmarks/bench_jobstats.py [--json]``. Times are processor time of this process, the best of three.
The dumps are made: four counters of five are zero, as in the large ones that were published (78 and 84 of 100). The
large one takes as many bytes of disk for that time.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import yaml

from rota.lustre.counters import Counter, JobStats
from rota.lustre.deltas import Deltas
from rota.lustre.job_stats import JobStatsParser
from rota.lustre.simulation.texts import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OST, _MDT = "lustre-OST0000", "lustre-MDT0000"
_JOBS, _YAML_JOBS = 20_000, 300
#: Bytes of the largest dump of which users have told (whamcloud/lustrefs-exporter).
_LARGE = 449_170_582
_CHILD = """
import pathlib, re, sys, time
from rota.lustre.job_stats import JobStatsParser
begun, wall = time.process_time(), time.perf_counter()
parser = JobStatsParser()
with open(sys.argv[1], "rb") as stream:
    for entry in parser.read(stream):
        pass
# Not ru_maxrss, in which the process that started this one has a part.
[peak] = re.findall(r"VmHWM:\\s*(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
print(parser.findings.jobs, parser.findings.bad_lines, time.process_time() - begun, time.perf_counter() - wall, peak)
"""


def _entries(target: str, count: int, seed: int = 0) -> Iterator[JobStats]:
    """Make entries in which a job has read, written or neither, and done something besides."""
    dice = random.Random(seed)  # noqa: S311 - the same dumps each time, no secrets
    others = (
        ["setattr", "punch", "sync"] if target == _OST else ["open", "close", "mknod", "unlink", "getattr", "setattr"]
    )
    for number in range(count):
        counters = {}
        for name in dice.sample(others, len(others) // 2):
            samples = dice.randrange(1, 100_000)
            counters[name] = Counter(samples, "usecs", 3, 90_000, samples * 250, samples * 90_000)
        for name in ("read", "write"):
            if dice.random() < 0.6 and target == _OST:
                samples, size = dice.randrange(1, 1_000_000), 1 << dice.randrange(12, 23)
                sizes = b"4K: 35, 8K: 49, 16K: 96, 32K: 276, 1M: %d" % samples
                squares = samples * size * size
                counters[f"{name}_bytes"] = Counter(samples, "bytes", 4096, size, samples * size, squares, sizes)
                counters[name] = Counter(samples, "usecs", 8, 1_586_470, samples * 900, samples * 1_000_000)
        job_id = b"%d" % (4_000_000 + number) if number % 5 else b"%d[%d].pbs" % (number, number % 9)
        yield JobStats(target, job_id, "", 1.72e9 + number, 1.71e9 + number, counters)


def _dump(generation: str, target: str, jobs: int, seed: int = 0) -> bytes:
    return GENERATIONS[generation].text(target, _entries(target, jobs, seed), boot=1.7e9)


def _seconds(call: Callable[[], object]) -> float:
    """Tell the least processor time of three calls."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def _parse(data: bytes) -> JobStatsParser:
    """Read a text in the pieces in which it would come from a file."""
    parser = JobStatsParser()
    for _ in parser.read_pieces(data[begin : begin + (1 << 17)] for begin in range(0, len(data), 1 << 17)):
        pass
    return parser


def generations() -> dict[str, dict[str, float]]:
    """Measure each generation, OST and MDT."""
    found = {}
    for generation in GENERATIONS:
        for target in (_OST, _MDT):
            data = _dump(generation, target, _JOBS)
            seconds = _seconds(partial(_parse, data))
            figures = {"bytes_a_job": len(data) / _JOBS, "MB_s": len(data) / seconds / 1e6, "jobs_s": _JOBS / seconds}
            if generation != "2.15.0":  # which is no YAML
                small = _dump(generation, target, _YAML_JOBS).partition(b"\n")[2]
                loading = _seconds(partial(yaml.load, small, yaml.CSafeLoader))
                figures["times_yaml"] = len(data) / seconds / (len(small) / loading)
            found[f"{generation} {target[7:10]}"] = figures
    return found


def large() -> dict[str, float]:
    """Read a dump as large as the largest that users have told of, in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".lctl") as file:
        written = seed = 0
        while written < _LARGE:
            written += file.write(_dump("2.16", _OST, _JOBS, seed))
            seed += 1
        file.flush()
        done = subprocess.run([sys.executable, "-c", _CHILD, file.name], check=True, capture_output=True, text=True)
        jobs, bad, processor, wall, memory = map(float, done.stdout.split())
    if bad:
        raise SystemExit(f"{bad:.0f} bad lines")
    return {"MB": written / 1e6, "jobs": jobs, "processor_s": processor, "wall_s": wall, "peak_MB": memory / 1024}


def deltas() -> dict[str, float]:
    """Measure the second of two readings of one target, in which every counter has grown."""
    first, second = ([_grown(number, one, more) for number, one in enumerate(_entries(_OST, _JOBS))] for more in (0, 1))
    findings = JobStatsParser().findings
    known = Deltas()
    tracemalloc.start()
    for _ in known.activities(first, findings, 1.0):
        pass
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    begun = time.process_time()
    told = sum(1 for _ in known.activities(second, findings, 2.0))
    seconds = time.process_time() - begun
    counters = sum(len(one.counters) for one in second)
    return {"counters_s": counters / seconds, "jobs_s": told / seconds, "bytes_an_entry": memory / told}


def _grown(number: int, entry: JobStats, more: int) -> JobStats:
    counters = {name: counter._replace(samples=counter.samples + more) for name, counter in entry.counters.items()}
    return replace(entry, job_id=f"job{number}", counters=counters)


def main() -> None:
    """Measure all, and print it."""
    by_generation, others = generations(), {"deltas": deltas(), "large": large()}
    if "--json" in sys.argv[1:]:
        print(json.dumps({"generations": by_generation, **others}, indent=2))
        return
    print("| generation | bytes a job | MB/s | jobs/s | × PyYAML's C loader |\n|---|---:|---:|---:|---:|")
    for name, one in by_generation.items():
        times = f"{one['times_yaml']:.0f}" if "times_yaml" in one else "no YAML"
        print(f"| {name} | {one['bytes_a_job']:,.0f} | {one['MB_s']:.0f} | {one['jobs_s']:,.0f} | {times} |")
    for name, one in others.items():
        print(f"\n{name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in one.items()))


if __name__ == "__main__":
    main()
