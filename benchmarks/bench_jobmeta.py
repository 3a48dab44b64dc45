"""Looking jobs up by their ids: lookups a second with nothing known yet, and with all known.

The schedulers are commands that print recorded answers at once, made for as many jobs as are asked; so what is measured
is rota's part: starting one command for a batch, reading its answer, and remembering it. Run it as
``python benchmarks/bench_jobmeta.py [--json]``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rota.interfaces import SEPARATOR
from rota.jobmeta import Lookups

if TYPE_CHECKING:
    from collections.abc import Callable

_IDS, _RUNS, _VIEWS = 1_000, 5, 50
_DATA = Path(__file__).resolve().parents[1] / "tests" / "jobmeta" / "data"
#: Prints its answer with the delimiter that it was asked for.
_COMMAND = """\
#!/bin/sh
for word; do case $word in --delimiter=*) secret=${{word#--delimiter=}};; esac; done
case $secret in '') exec cat {answer};; *) exec sed "s/{separator}/$secret/g" {answer};; esac
"""


def _sacct(ids: list[str]) -> str:
    rest = (
        "alice",
        "1001",
        "users",
        "phys",
        "debug",
        "normal",
        "RUNNING",
        "1795401324",
        "1795401330",
        "Unknown",
        "2",
        "n[1-2]",
    )
    return "".join(SEPARATOR.join((job_id, *rest, "8", "c", "name", "/home/alice", "\n")) for job_id in ids)


def _qstat_xml(ids: list[str]) -> str:
    head, element, tail = _cut(
        (_DATA / "sge-qstat-xml-j.xml").read_text(), "    <element>\n      <JB_job", "  </djob_info>"
    )
    return head + "".join(element.replace("4147342", job_id) for job_id in ids) + tail


def _qstat_json(ids: list[str]) -> str:
    said = json.loads((_DATA / "openpbs-22.05-qstat-xf-Fjson.json").read_text())
    (job,) = said["Jobs"].values()
    return json.dumps({**said, "Jobs": dict.fromkeys(ids, job)})


def _bjobs(ids: list[str]) -> str:
    said = json.loads((_DATA / "lsf-bjobs-json-gpu-year.json").read_text())
    (job,) = said["RECORDS"]
    return json.dumps({**said, "RECORDS": [{**job, "JOBID": job_id} for job_id in ids]})


def _flux(ids: list[str]) -> str:
    job = json.loads((_DATA / "flux-jobs--json-running.json").read_text())
    return json.dumps({"jobs": [{**job, "jobid": job_id} for job_id in ids]})


def _cut(text: str, begin: str, end: str) -> tuple[str, str, str]:
    start, stop = text.index(begin), text.index(end)
    return text[:start], text[start:stop], text[stop:]


#: By plugin: the form of its ids, the command, and what makes its answer. Users are asked of the system's own getent.
_SCHEDULERS: dict[str, tuple[str, str, Callable[[list[str]], str]]] = {
    "slurm_job_id": ("{}", "sacct", _sacct),
    "job_id": ("{}", "qstat", _qstat_xml),
    "pbs_jobid": ("{}.server", "qstat", _qstat_json),
    "lsb_jobid": ("{}", "bjobs", _bjobs),
    "flux_job_id": ("f{}", "flux", _flux),
    "procname_uid": ("program.{}", "", lambda _: ""),
}


def measure(plugin: str, folder: Path) -> dict[str, object]:
    """Measure lookups with one plugin."""
    form, command, make = _SCHEDULERS[plugin]
    ids = [form.format(job_id) for job_id in range(1_111_111, 10**7) if "0" not in str(job_id)][:_IDS]  # as Flux's
    if command:
        answer, program = folder / "answer", folder / command
        answer.write_text(make(ids))
        program.write_text(_COMMAND.format(answer=answer, separator=SEPARATOR))
        program.chmod(0o755)
    cold, processor, warm = [], [], []
    for _ in range(_RUNS):
        with Lookups(variable=plugin) as lookups:
            lookups.lookup(["x"], plugin)  # loads the plugin
            begin, work = time.perf_counter(), time.process_time()
            answers = lookups.lookup(ids)
            cold.append(time.perf_counter() - begin)
            processor.append(time.process_time() - work)
            if len(answers.jobs) != len(ids):
                raise SystemExit(f"{plugin}: {len(answers.jobs)} of {len(ids)} known: {answers.faults}")
            begin = time.perf_counter()
            for _ in range(_VIEWS):
                lookups.known(ids)
            warm.append((time.perf_counter() - begin) / _VIEWS)
    seconds = statistics.median(cold)
    return {
        "plugin": plugin,
        "cold_s": round(seconds, 3),
        "cold_processor_s": round(statistics.median(processor), 3),
        "cold_per_s": round(len(ids) / seconds),
        "warm_per_s": round(len(ids) / statistics.median(warm)),
    }


def main() -> None:
    """Measure all, and print a table or JSON."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        rows = [measure(plugin, Path(folder)) for plugin in _SCHEDULERS]
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'plugin':<14}{'cold, s':>10}{'processor, s':>14}{'cold, ids/s':>13}{'warm, ids/s':>13}")
    for row in rows:
        print(
            f"{row['plugin']:<14}{row['cold_s']:>10}{row['cold_processor_s']:>14}{row['cold_per_s']:>13,}{row['warm_per_s']:>13,}"
        )


if __name__ == "__main__":
    main()
