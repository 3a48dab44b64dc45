"""Answers that end in the middle: what is whole is used, the rest asked again or told, and nothing is mislabelled.

Each recorded answer is cut at any byte, once as a command that is killed leaves it, and once as one that ends as if all
were well. What is then said of a job is what the whole answer says of it, or less; and what identifies it, its user,
account, name and state, is as in the whole answer or not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rota.interfaces import Answer, Command, LookupFailedError
from rota.plugins.jobmeta import flux_job_id, job_id, loadl_step_id, lsb_jobid, pbs_jobid, slurm_job_id

from .conftest import DATA
from .test_commands import _sacct

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

TABLE = "7|0|bob|users|proj|normal|RUN|4|/home/bob|a|b\n8|0|eve|users|p|normal|DONE|1|/home/eve|train\n"
FLUX = (DATA / "flux-jobs--json-running.json").read_text()
#: A plugin, what is asked, and the answer of each of its commands.
ANSWERS: dict[str, tuple[ModuleType, tuple[str, ...], dict[str, str]]] = {
    "sacct": (slurm_job_id, ("1", "2"), {"sacct": _sacct("1") + "\n" + _sacct("2") + "\n"}),
    "qstat -xml": (job_id, ("4147342", "4437956"), {"qstat": (DATA / "sge-qstat-xml-j.xml").read_text()}),
    "grep": (job_id, ("10", "22947", "4437956"), {"grep": (DATA / "xdmod-uge-accounting.log").read_text()}),
    "grep (jsonl)": (job_id, ("10", "22947"), {"grep": (DATA / "ocs-9-accounting.jsonl").read_text()}),
    "bjobs -json": (lsb_jobid, ("487641", "491867"), {"bjobs": (DATA / "lsf-bjobs-json-6jobs.json").read_text()}),
    "bjobs": (lsb_jobid, ("7", "8"), {"bjobs": TABLE}),
    "bacct": (lsb_jobid, ("101", "1234568"), {"bacct": (DATA / "lsf-bacct-l.txt").read_text()}),
    "qstat -F json": (
        pbs_jobid, ("0.725ccdf1a5fb",), {"qstat": (DATA / "openpbs-22.05-qstat-xf-Fjson.json").read_text()},
    ),
    "qstat -f": (
        pbs_jobid, ("69301.mycluster", "74164.mycluster"),
        {"qstat": (DATA / "pbspro-text_qstat_f_to_test.txt").read_text().rstrip("\n") + "\n\n"},
    ),
    "llq -l": (loadl_step_id, ("meso-d.16250.0",), {"llq": (DATA / "loadleveler-llq-l.txt").read_text()}),
    "llq": (
        loadl_step_id, ("cma20n01.2804594.0", "cma19n04.2806185.0"),
        {"llq": (DATA / "loadleveler-llq.txt").read_text()},
    ),
    "flux": (flux_job_id, ("fiFkbMhFM",), {"flux": FLUX}),
}  # fmt: skip
IDENTITY = ("user", "account", "group", "name", "partition", "state", "cwd")


def ask(
    plugin: ModuleType, ids: Iterable[str], answers: dict[str, str], status: int = 0
) -> tuple[dict[str, Any], bool]:
    """Ask a plugin, whose commands give these answers; tell what it said, and whether it said that it failed."""
    found: dict[str, Any] = {}
    asking = plugin.fetch(list(ids))
    reply = None
    while True:
        try:
            given = asking.send(reply)
        except StopIteration:
            return found, False
        except LookupFailedError:
            return found, True
        reply = None
        if isinstance(given, Command):
            reply = Answer(answers.get(given.argv[0], ""), "", status)
        else:
            found[plugin.normalize(str(given["id"])) if hasattr(plugin, "normalize") else str(given["id"])] = given


@pytest.mark.parametrize("name", ANSWERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_a_torn_answer(name: str, draw: st.DataObject) -> None:
    plugin, ids, answers = ANSWERS[name]
    whole, _ = ask(plugin, ids, answers)
    assert whole
    [(command, text)] = answers.items()
    torn = text[: draw.draw(st.integers(0, len(text)))]
    status = draw.draw(st.sampled_from([0, 124]))
    if status:
        torn = torn[: torn.rfind("\n") + 1]  # as `rota.jobmeta.run` does
    found, _ = ask(plugin, ids, {command: torn}, status)
    for one, said in found.items():
        for field in IDENTITY:
            assert said.get(field) in {None, whole[one].get(field)}, (field, torn[-100:])
        assert not said.get("ended") or said == whole[one], torn[-200:]
