"""``--json`` and ``--yaml``: the documents of a recorded Slurm, key by key. See data/README.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatch
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from .rig import Snapshot, answer_of, partition_of, recorded, rig

if TYPE_CHECKING:
    from collections.abc import Iterator

SLURM = recorded("openapi.txt.gz")
NOW = SLURM["squeue --json"].now
#: Differences in `squeue --json` and of a job of the REST path; see docs/differences.md.
OF_JOBS = {
    "*.flags": "what Slurm notes for itself is left out",
    "*.gres_detail": "numbers of devices are not shown",
    "*.job_resources.allocated_nodes.*.sockets": "nor are those of cores",
    "*.standard_error": "the names of files are shown, whether they were given or not",
    "*.standard_output": "likewise",
}
OF_AN_ARRAY = {one: why for one, why in OF_JOBS.items() if one != "*.gres_detail"}  # as it has no GRES
OF_NODES = {"b[12].reason_set_by_user": "of nodes that were never up, Slurm says that root has set the reason"}
OF_ONE_NODE = {"n01.partitions": "here Slurm names only two of three"}
OF_RESERVATIONS = {"team.partition": "the partition of a reservation is not kept"}
#: Differences in `sacct --json`.
OF_ACCOUNTING = {
    "*.exit_code.status": "exit codes are the true ones; in Slurm they are always 0",
    "*.exit_code.return_code": "likewise",
    "*.derived_exit_code.status": "likewise",
    "*.derived_exit_code.return_code": "likewise",
    "*.time.*.microseconds": "the time of all steps; in Slurm 0. And the recorded text of steps is rounded",
    "*.tres.requested.*": "memory that is swapped out, and processor time as above",
    "*.tres.allocated*": "Slurm lists energy that was not measured, without a count",
    "2.steps.*.CPU.requested_frequency.*": "steps of `srun`, for which Slurm says that it knows nothing",
    "2.steps.*.CPU.governor*": "likewise",
    "2.steps.*.task.distribution": "likewise",
    "17.name": "Slurm changes the quotation mark for its database",
    "15.state.reason": "stored when the job was last considered",
}


@pytest.fixture(scope="module")
def view() -> Snapshot:
    found = rig("openapi.txt.gz", "openapi.txt.gz")
    parameters = {**found.config.parameters, "accountingstoragetres": "gres/gpu"}
    asked = {record.job.job_id: record.job.tres_requested for record in found.records}
    lines = [job._replace(tres_requested=asked.get(job.job_id, job.tres_requested)) for job in found.job_lines]
    return replace(found, now=NOW, config=replace(found.config, parameters=parameters), job_lines=lines)


def _document(view: Snapshot, command: str) -> Any:
    answer = answer_of(view, command, NOW)
    assert not answer.err
    return json.loads(answer.out)


def _differences(mine: Any, slurms: Any, path: str = "") -> Iterator[str]:
    """Name what differs in keys, their order, types or values."""
    if isinstance(mine, dict) and isinstance(slurms, dict):
        if list(mine) != list(slurms):
            yield path
        for key in mine.keys() & slurms.keys():
            yield from _differences(mine[key], slurms[key], f"{path}.{key}".lstrip("."))
    elif isinstance(mine, list) and isinstance(slurms, list) and mine and len(mine) == len(slurms):
        for place, (one, other) in enumerate(zip_longest(mine, slurms)):
            yield from _differences(one, other, f"{path}.{place}")
    elif mine != slurms or type(mine) is not type(slurms):
        yield path


def _compare(mine: Any, slurms: Any, known: dict[str, str]) -> None:
    """Compare documents: objects by their name or id, all that differs is known, and all that is known differs."""
    assert list(mine) == list(slurms)
    kind = list(slurms)[-1]
    assert {**mine, kind: []} == {**slurms, kind: []}
    by_key = [{str(one.get("job_id", one["name"])): one for one in each[kind]} for each in (mine, slurms)]
    assert by_key[0].keys() == by_key[1].keys()
    found = {path for key in by_key[1] for path in _differences(by_key[0][key], by_key[1][key], key)}
    assert [path for path in sorted(found) if not any(fnmatch(path, one) for one in known)] == []
    assert [one for one in known if not any(fnmatch(path, one) for path in found)] == []


@pytest.mark.parametrize(
    ("command", "slurms", "known"),
    [
        ("squeue --json", "squeue --json", OF_JOBS),
        ("scontrol --json show job 6", "GET /slurm/v0.0.38/job/6", {**OF_AN_ARRAY, "6.priority": "it grows"}),
        ("sinfo --json", "sinfo --json", OF_NODES),
        ("scontrol show node n01 --json", "GET /slurm/v0.0.38/node/n01", OF_ONE_NODE),
        ("scontrol show partitions --json", "GET /slurm/v0.0.38/partitions", {}),
        ("scontrol show partition short --json", "GET /slurm/v0.0.38/partition/short", {}),
        ("scontrol show reservations --json", "GET /slurm/v0.0.38/reservations", OF_RESERVATIONS),
        ("scontrol show res maint --json", "GET /slurm/v0.0.38/reservation/maint", {}),
        ("sacct --json", "sacct --json", OF_ACCOUNTING),
    ],
)
def test_documents_are_slurms(command: str, slurms: str, known: dict[str, str], view: Snapshot) -> None:
    _compare(_document(view, command), json.loads(SLURM[slurms].out), known)


def test_pending_tasks_in_the_accounting(view: Snapshot) -> None:
    mine, slurms = _document(view, "sacct --json -j 6"), json.loads(SLURM["sacct --json -j 6"].out)
    by_id = [{one["job_id"]: one for one in each["jobs"]} for each in (mine, slurms)]
    assert by_id[0].keys() == by_id[1].keys() == {6, 8, 9}
    for key in ("array", "state", "nodes", "flags", "tres", "steps"):
        assert by_id[0][6][key] == by_id[1][6][key]
    assert by_id[0][6]["array"]["task"] == "0x78"


def test_partitions_of_all_kinds() -> None:
    printed = recorded("openapi-partitions.txt")
    texts = re.split(r"\n\n", printed["scontrol show partition"].out.strip())
    view = Snapshot(partition_lines=[partition_of(text) for text in texts])
    known = {
        "p1.billing_weights": "not shown",
        "p[12].preemption_mode": "partitions have no PreemptMode of their own in rota",
        "p3.preemption_mode.0": "likewise",
        "p[23].flags*": "rota has no such partitions",
        "p3.allowed_allocation_nodes": "likewise",
        "p3.alternative": "likewise",
        "p[23].maximum_*": "likewise",
    }
    slurms = json.loads(printed["GET /slurm/v0.0.38/partitions"].out)
    _compare(_document(view, "scontrol show partitions --json"), slurms, known)


@pytest.mark.parametrize(
    ("command", "slurms"),
    [
        ("scontrol --json show job 999", "GET /slurm/v0.0.38/job/999"),
        ("scontrol --json show node nosuch", "GET /slurm/v0.0.38/node/nosuch"),
        ("scontrol --json show partition nosuch", "GET /slurm/v0.0.38/partition/nosuch"),
        ("scontrol --json show reservation nosuch", "GET /slurm/v0.0.38/reservation/nosuch"),
        ("sacct --json -j 999", "sacct --json -j 999"),
    ],
)
def test_what_does_not_exist_is_an_error_in_the_document(command: str, slurms: str, view: Snapshot) -> None:
    answer = answer_of(view, command, NOW)
    assert json.loads(answer.out) == json.loads(SLURM[slurms].out)
    assert answer.code == (1 if command.startswith("scontrol") else SLURM[slurms].code)


@pytest.mark.parametrize("command", ["squeue", "sinfo", "sacct -j 2", "scontrol show partition"])
def test_yaml_is_the_same_document(command: str, view: Snapshot) -> None:
    document = _document(view, f"{command} --json")
    loaded = yaml.load(answer_of(view, f"{command} --json --yaml", NOW).out, yaml.CSafeLoader)
    assert loaded == document
    assert _document(view, f"{command} --yaml --json") == document


def _without_empty(data: Any) -> Any:
    """Put nothing in place of empty texts, as Slurm does in YAML."""
    if isinstance(data, dict):
        return {key: _without_empty(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_empty(one) for one in data]
    return None if data == "" else data


@pytest.mark.parametrize(("command", "known"), [("squeue", OF_JOBS), ("sinfo", OF_NODES)])
def test_yaml_is_slurms(command: str, known: dict[str, str], view: Snapshot) -> None:
    mine = yaml.safe_load(answer_of(view, f"{command} --yaml", NOW).out)
    slurms = yaml.safe_load(SLURM[f"{command} --yaml"].out)
    _compare(_without_empty(mine), slurms, known)


# ---- what is shown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "ids"),
    [
        ("squeue -u bob", [10]),
        ("squeue -j 3,6_1", [3, 8]),
        ("squeue -t PD -u alice", [1, 4, 5, 6, 15, 16, 18, 19]),
        ("squeue -t all -n gone,ok", [12, 14]),
        ("squeue -n gone,ok", [12, 14]),
        ("squeue -p short -o %i -h", [3]),
        ("sacct -j 6_1", [8]),
        ("sacct -u bob", [10]),
        ("sacct -S 2026-11-22 -E now -s TO", [13]),
        ("scontrol show job 6_2", [9]),
        ("scontrol show job 6_4", [6]),
    ],
)
def test_filters_of_jobs(command: str, ids: list[int], view: Snapshot) -> None:
    assert [one["job_id"] for one in _document(view, f"{command} --json")["jobs"]] == ids


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("sinfo -p short", ["n01", "n02"]),
        ("SINFO_PARTITION=short sinfo", ["n01", "n02"]),
        ("sinfo -n n0[2-3],b1", ["b1", "n02", "n03"]),
        ("sinfo -t mixed,unknown", ["b1", "b2", "n01"]),
        ("sinfo -r -p high", ["n01", "n02", "n03", "n04"]),
        ("scontrol show node n0[3-4]", ["n03", "n04"]),
    ],
)
def test_filters_of_nodes(command: str, names: list[str], view: Snapshot) -> None:
    assert [one["name"] for one in _document(view, f"{command} --json")["nodes"]] == names


def test_steps_are_left_out_or_chosen(view: Snapshot) -> None:
    def steps(command: str) -> list[Any]:
        (job,) = _document(view, f"{command} --json")["jobs"]
        return [one["step"]["id"] for one in job["steps"]]

    assert steps("sacct -j 2") == ["batch", 0, 1]
    assert steps("sacct -j 2 -X") == []
    assert steps("sacct -j 2.1") == [1]


_ONLY = "scontrol: error: --{} is only for show jobs, nodes, partitions, reservations\n"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("squeue --json=x", SLURM["squeue --json=x"].err),
        ("squeue --json -j 999", "slurm_load_jobs error: Invalid job id specified\n"),
        ("scontrol --yaml show config", _ONLY.format("yaml")),
        ("scontrol --json ping", _ONLY.format("json")),
    ],
)
def test_refused(command: str, problem: str, view: Snapshot) -> None:
    assert answer_of(view, command, NOW)[1:] == (problem, 1)


def test_another_cluster_has_no_jobs(view: Snapshot) -> None:
    assert _document(view, "sacct -M other --json")["jobs"] == []
    assert answer_of(view, "squeue -M other --json", NOW).code == 1


def test_texts_do_not_wait_for_what_documents_need() -> None:
    script = (
        "import sys; from rota.listings import run, sacct, scontrol, sinfo, squeue\n"
        "print([one for one in sys.modules if one.startswith(('yaml', 'rota.listings.openapi'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
