"""Whatever is asked, and whatever users have written: there is an answer, and a record stays on its line."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.commands.getopt import UsageError
from rota.commands.scancel import parse_scancel
from rota.commands.scontrol import parse_scontrol
from rota.listings import Answer, run
from rota.model.lines import ReservationLine

from .rig import Snapshot, rig

VIEW = replace(rig(), now=1_795_365_600)
COMMANDS = ("squeue", "sinfo", "scontrol", "sacct", "sprio", "sshare", "sdiag", "sstat")
_WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *(
                "-h",
                "-l",
                "-o",
                "-O",
                "-j",
                "-t",
                "-S",
                "-u",
                "-N",
                "-s",
                "-P",
                "-X",
                "-n",
                "-E",
                "-T",
                "-r",
                "-R",
                "-e",
            ),
            *(
                "show",
                "job",
                "node",
                "partition",
                "update",
                "jobid=1",
                "hold",
                "hostnames",
                "steps",
                "create",
                "delete",
            ),
            *(
                "--start",
                "--format=%all",
                "--Format=all",
                "--units=G",
                "--delimiter=x",
                "--sort=-P,i",
                "--json",
                "--yaml",
                "all",
                "7_[1-3]",
            ),
            *("%i%%j%.5", "jobid:.5x", "n[1-3", "now-1day", "2026-11-22T25:00", "1.batch", "7_1", "-", "--", "--="),
        ]
    ),
)
_ENVIRON = st.dictionaries(
    st.sampled_from(["SLURM_TIME_FORMAT", "SQUEUE_FORMAT", "SQUEUE_SORT", "SINFO_FORMAT", "SACCT_FORMAT"]),
    st.text(max_size=10),
    max_size=2,
)


@given(st.sampled_from(COMMANDS), st.lists(_WORDS, max_size=5), _ENVIRON)
@settings(deadline=None)
def test_every_command_line_has_an_answer(command: str, words: list[str], environ: dict[str, str]) -> None:
    answer = run([command, *words], environ, VIEW)
    assert isinstance(answer, Answer)
    assert answer.code in {0, 1}


@given(st.lists(_WORDS, max_size=5))
@settings(deadline=None)
def test_changes_are_parsed_or_refused(words: list[str]) -> None:
    for parse in (
        lambda: parse_scancel(words, {}, "root"),
        lambda: parse_scontrol(words, 1_795_365_600, lambda _: 0),
    ):
        with suppress(UsageError):
            parse()


def _with_text(text: str) -> Snapshot:
    job = VIEW.job_lines[0]
    request = job.request._replace(constraint=text, licenses=text, required_nodes=text)
    job = job._replace(name=text, request=request)
    details = replace(
        VIEW.job_details[job.job_id],
        comment=text,
        command=text,
        work_dir=text,
        std_out=text,
        wckey=text,
        submit_line=text,
    )
    record = replace(VIEW.records[0], job=job, details=details)
    node = replace(VIEW.node_lines[0], reason=text, features=(text,))
    reservation = ReservationLine(
        name=text,
        state="ACTIVE",
        start_time=VIEW.now,
        end_time=VIEW.now + 60,
        nodes=(node.name,),
        features=text,
        users=("root",),
        accounts=(),
        flags=(),
    )
    return replace(
        VIEW,
        job_lines=[job],
        job_details={job.job_id: details},
        records=[record],
        node_lines=[node],
        reservation_lines=[reservation],
    )


@given(st.text(max_size=20))
@settings(deadline=None)
def test_a_record_stays_on_its_line(text: str) -> None:
    view = _with_text(text)
    for command, lines in (
        (["squeue", "-h", "-o", "%all"], 1),
        (["squeue", "-h", "-O", "name,comment,command,stdout,stderr,workdir"], 1),
        (["sacct", "-P", "-n", "-X", "-a", "-S", "2026-11-01", "-o", "all"], 1),
        (["scontrol", "-o", "show", "job", "1"], 1),
        (["sinfo", "-h", "-N", "-p", "debug", "-o", "%N %E %f %b"], 1),
        (["scontrol", "-o", "show", "node", VIEW.node_lines[0].name], 1),
        (["scontrol", "-o", "show", "reservations"], 1),
        (["sinfo", "-h", "-T"], 1),
    ):
        answer = run(command, {}, view)
        assert len(answer.out.splitlines()) == lines, command
        assert not answer.code


@given(st.text(st.characters(exclude_categories=()), max_size=20))
@settings(deadline=None)
def test_a_document_holds_what_was_written(text: str) -> None:
    view = _with_text(text)
    node, written = view.node_lines[0].name, re.sub("[\ud800-\udfff]", "\ufffd", text)  # halves of characters are none
    for command, key in (
        (["squeue"], "comment"),
        (["sinfo", "-n", node], "reason"),
        (["sacct", "-a", "-S", "2026-11-01"], "working_directory"),
        (["scontrol", "show", "job"], "name"),
        (["scontrol", "show", "node", node], "reason"),
    ):
        out = run([*command, "--json"], {}, view).out
        out.encode()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out), "nothing that controls a terminal"
        document = json.loads(out)
        assert [one[key] for one in document[list(document)[-1]]] == [written]
        loaded = yaml.load(run([*command, "--yaml"], {}, view).out, yaml.CSafeLoader)
        assert loaded == document


@pytest.mark.parametrize("command", COMMANDS)
def test_release_is_slurms_form(command: str) -> None:
    for option in ("--version", "-V"):
        assert run([command, option], {}, VIEW).out == "slurm 22.05.8\n"
    assert run([f"/usr/bin/{command}", "-V"], {}, VIEW).code == 0


def test_other_commands_are_refused() -> None:
    assert run(["strigger"], {}, VIEW).code == 1
    assert run([], {}, VIEW).code == 1


def test_what_rota_does_not_do_is_refused_by_name() -> None:
    no_controller = "sdiag: error: only what a running controller counts can be reset\n"
    assert run(["sdiag", "-r"], {}, VIEW) == Answer(err=no_controller, code=1)
    assert run(["sdiag", "--json"], {}, VIEW).err == "sdiag: error: --json is not supported by rota\n"
    assert run(["scontrol", "show", "topology"], {}, VIEW).code == 0
    assert "slurmd is not supported" in run(["scontrol", "show", "slurmd"], {}, VIEW).err


@pytest.mark.parametrize(
    "command",
    [
        ["squeue", "-o", "%9999999j" * 100],
        ["squeue", "-o", "%j" * 10_000],
        ["squeue", "-O", "name:999999," * 400],
        ["squeue", "-S", "i," * 20_000],
        ["squeue", "-w", "n[0-999999]"],
        ["squeue", "-j", "7_[" + "0-3999999," * 300 + "1]"],
        ["sinfo", "-S", "P," * 20_000],
        ["sinfo", "-n", "n[0-99][0-99][0-99]"],
        ["sacct", "-o", "jobid," * 10_000],
        ["sacct", "-o", "jobid%999999999"],
        ["scontrol", "show", "hostnames", "n[0-999999]"],
        ["scontrol", "show", "hostnames", "," * 100_000],
        ["scontrol", "show", "hostnames", ",".join(["n[1-30000]"] * 26)],
        ["squeue", "-j", "1," * 50_000],
        ["squeue", "-j", "[," * 50_000],
        ["scontrol", "update", "nodename=n[0-999999]", "state=resume"],
        ["scontrol", "hold", "7_[" + "0-3999999," * 300 + "1]"],
    ],
    ids=lambda command: " ".join(command)[:40],
)
def test_nothing_keeps_the_controller_busy(command: list[str]) -> None:
    began = time.process_time()
    answer = run(command, {}, VIEW)
    assert time.process_time() - began < 2
    assert len(answer.out) < 1_000_000


def test_hosts_that_are_named_again_are_shown_again() -> None:
    """As ``scontrol show hostnames`` of Slurm 22.05.8 does."""
    assert run(["scontrol", "show", "hostnames", "n[1,1-2],n1"], {}, VIEW).out.split() == ["n1", "n1", "n2", "n1"]
