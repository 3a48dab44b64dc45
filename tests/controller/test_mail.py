"""Mail about jobs: the letters that Slurm 22.05.8 sent (recorded/mail.txt), and that none is lost or more than text."""

from __future__ import annotations

import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes
from rota.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDED = Path(__file__).parent / "recorded"
_SECTIONS = [one.partition("\n")[::2] for one in (_RECORDED / "mail.txt").read_text().split("##### ")[1:]]
_FUNCTION = re.findall(r"^until='(.*)'$", (_RECORDED / "mail.sh").read_text(), re.MULTILINE)[0]


def _program(directory: Path, script: str) -> Path:
    """Make a mail program that appends ``SUBJECT -> ADDRESS`` to the file ``letters``, after a script."""
    program = directory / "mail"
    program.write_text(f'#!/bin/sh\n{script}\nprintf "%s -> %s\\n" "$2" "$3" >>{directory}/letters\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (directory / "letters").touch()
    return program


def _plain(letters: str) -> list[str]:
    """Leave out what differs from run to run: job ids and times; and sort."""
    letters = re.sub(r"\d\d:\d\d:\d\d", "TIME", re.sub(r"Job_id=\d+", "Job_id=ID", letters))
    return sorted(re.sub(r" \(\d+\) ", " (ID) ", letters).splitlines())


def _unsent(cluster: LiveCluster) -> int:
    with closing(sqlite3.connect(cluster.state / "rota.db")) as database:
        return int(database.execute("SELECT count(*) FROM letters").fetchone()[0])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    directory = tmp_path_factory.mktemp("mail")
    conf = f"{virtual_nodes(2)}MailProg={_program(directory, '')}\n"
    with LiveCluster(directory, conf) as found:
        yield found


@pytest.mark.parametrize(("command", "recorded"), _SECTIONS, ids=[command for command, _ in _SECTIONS])
def test_letters_are_slurms(cluster: LiveCluster, command: str, recorded: str) -> None:
    letters = cluster.directory / "letters"
    letters.write_text("")
    cluster.run("bash", "-c", f"{_FUNCTION}\n{command}", check=False)
    cluster.idle()
    cluster.wait(lambda: not _unsent(cluster))
    me = user_name(letters.stat().st_uid)
    assert _plain(letters.read_text()) == _plain(re.sub("> alice$", f"> {me}", recorded, flags=re.MULTILINE))


@pytest.mark.parametrize("user", ["-fx", "a b", "|rm", "/etc/file", "a\nBcc: b", "a,,b", ",a", "a;b"])
def test_an_address_is_nothing_else(cluster: LiveCluster, user: str) -> None:
    # Slurm hands all of these to MailProg.
    done = cluster.run("sbatch", "--mail-type=ALL", f"--mail-user={user}", "--wrap", "true", check=False)
    assert done.returncode == 255
    assert done.stderr.startswith("sbatch: error: Invalid --mail-user specification\n")


def test_the_environment_says_what_happened(tmp_path: Path) -> None:
    program = _program(tmp_path, f"env | sort >{tmp_path}/$SLURM_JOB_MAIL_TYPE; cat >>{tmp_path}/body")
    with LiveCluster(tmp_path, f"{virtual_nodes(2)}MailProg={program}\nMailDomain=example.org\n") as cluster:
        cluster.run("sbatch", "--wait", "--mail-type=ALL", "-J", "two\nlines: \x1b[1m", "--wrap", "exit 3", check=False)
        cluster.wait(lambda: not _unsent(cluster))
        letters = (tmp_path / "letters").read_text().splitlines()
        failed = dict(line.split("=", 1) for line in (tmp_path / "Failed").read_text().splitlines())
    me = user_name(tmp_path.stat().st_uid)
    assert [line.rpartition(" -> ")[2] for line in letters] == [f"{me}@example.org"] * 2
    assert all(" Name=two lines:  [1m " in line for line in letters)
    assert (tmp_path / "body").read_text() == ""
    # Those that Slurm sets, for a job that exits with 3.
    expected = {
        "SLURM_CLUSTER_NAME": "test",
        "SLURM_JOB_ID": "1",
        "SLURM_JOB_NAME": "two lines:  [1m",
        "SLURM_JOB_STATE": "FAILED",
        "SLURM_JOB_EXIT_CODE": "768",
        "SLURM_JOB_EXIT_CODE2": "3:0",
        "SLURM_JOB_EXIT_CODE_MAX": "3",
        "SLURM_JOB_NODELIST": "n1",
        "SLURM_JOB_USER": me,
    }
    assert failed.items() >= expected.items()
    assert "ROTA_STATE" not in failed  # nor anything else of the controller


def test_a_letter_outlives_the_controller(tmp_path: Path) -> None:
    program = _program(tmp_path, f"until [ -e {tmp_path}/go ]; do sleep 0.1; done")
    with LiveCluster(tmp_path, f"{virtual_nodes(2)}MailProg={program}\n") as cluster:
        for _ in range(6):  # more than are sent at a time
            cluster.run("sbatch", "--wait", "--mail-type=END", "-o", "/dev/null", "--wrap", "true")
        assert _unsent(cluster) == 6
        cluster.kill()
        (tmp_path / "go").touch()
        cluster.up()
        cluster.wait(lambda: not _unsent(cluster))
        told = (tmp_path / "letters").read_text().splitlines()
    assert {re.findall(r"Job_id=(\d+)", line)[0] for line in told} == {"1", "2", "3", "4", "5", "6"}
    assert len(told) <= 6 + 4  # those that were being sent are sent again


def test_without_a_program_there_is_a_warning_and_no_failure(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, f"{virtual_nodes(2)}MailProg={tmp_path}/none\n") as cluster:
        said = f"MailProg {tmp_path}/none is no program that can be run: no mail is sent"
        words = ("sbatch", "--wait", "-o", "/dev/null", "--wrap", "true")
        assert cluster.run(*words).stderr == ""
        assert cluster.run(*words, "--mail-type=ALL").stderr == f"sbatch: warning: {said}\n"
        assert cluster.run("srun", "--mail-type=ALL", "true").stderr == f"srun: warning: {said}\n"
        cluster.wait(lambda: not _unsent(cluster))
        assert cluster.status()["mail"] == said
        assert said in cluster.rota("status").stdout
        assert (cluster.state / "controller.log").read_text().count(said) == 1


def test_mail_types_are_listed_as_slurm_does(cluster: LiveCluster) -> None:
    # Recorded: --mail-type=ALL,TIME_LIMIT,TIME_LIMIT_50 of a user alice.
    job_id = str(cluster.submit("-H", "--mail-type=ALL,TIME_LIMIT,TIME_LIMIT_50", "--wrap", "true"))
    shown = cluster.run("scontrol", "show", "job", job_id).stdout
    types = "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT,TIME_LIMIT_50,TIME_LIMIT"
    me = user_name(cluster.directory.stat().st_uid)
    assert f"   MailUser={me} MailType={types}\n" in shown
    cluster.run("scancel", job_id)
    cluster.wait(lambda: not _unsent(cluster))


@pytest.mark.slow
def test_parts_of_the_time_limit_are_told(cluster: LiveCluster) -> None:
    (cluster.directory / "letters").write_text("")
    types = "TIME_LIMIT,TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90,FAIL,END"
    cluster.submit(f"--mail-type={types}", "-t1", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait(lambda: not cluster.status()["jobs"], patience=120)
    cluster.wait(lambda: not _unsent(cluster))
    # As recorded of Slurm, which looks every 30 seconds.
    said = [
        "Failed, Run time TIME, TIMEOUT, ExitCode 0",
        "Reached 50% of time limit, Run time TIME",
        "Reached 80% of time limit, Run time TIME",
        "Reached 90% of time limit, Run time TIME",
        "Reached time limit, Run time TIME",
    ]
    me = user_name(cluster.directory.stat().st_uid)
    found = _plain((cluster.directory / "letters").read_text())
    assert found == [f"Slurm Job_id=ID Name=wrap {one} -> {me}" for one in said]
