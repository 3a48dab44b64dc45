"""``sacctmgr`` of a live cluster: what Slurm 22.05.8 answered to the same commands, and what they do.

See data/README.md.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from slurm.release import as_upstream

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_DATA = Path(__file__).parent / "data"
_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 Gres=gpu:2
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=short Nodes=n[1-2] MaxTime=10
"""
#: Commands that are meant to be answered in another way, and how: docs/differences.md.
DIFFERENT = {
    "sacctmgr -P list assoc where qos=high format=account,user": "the QOS that an association may use count",
    "@games sacctmgr -i modify user bin set defaultaccount=chem": "what changes nothing is allowed",
    "@games sacctmgr -i modify user games set adminlevel=admin": "one message for all that is not allowed",
    "@bin sacctmgr -i modify user games set adminlevel=admin": "one message for all that is not allowed",
    "sacctmgr -i modify user bin set maxjobs=": "it is refused",
    "sacctmgr -i modify user bin set qos-=urgent": "the default QOS is not looked at",
    "sacctmgr -i add user sys account=phys qos=nosuch": "it is said once",
    "sacctmgr -i load file=nosuch.cfg": "file= may be written",
    "sacctmgr -i modify user name= set maxjobs=3": "nothing is chosen, and not everything",
    "sacctmgr -i delete user name=": "nothing is chosen",
    "sacctmgr -i delete user ''": "nothing is chosen",
    "sacctmgr -i delete user cluster=rig": "a cluster alone is no condition",
    "sacctmgr -i delete account name=": "nothing is chosen",
    "sacctmgr -i delete account ''": "nothing is chosen",
    "sacctmgr -i delete account organization=": "the default account of users is kept",
    "sacctmgr -i delete account cluster=": "a cluster alone is no condition",
    "sacctmgr -i delete account cluster=rig": "a cluster alone is no condition",
    "sacctmgr -nP show assoc format=account,user": "the default account of users was kept",
    "<n sacctmgr -nP show user account=phys format=user": "it is answered",
    "<n sacctmgr -nP show user defaultqos=urgent format=user": "nothing is asked",
    "<n sacctmgr -nP show account where parent=root format=account": "nothing is asked",
    "<n sacctmgr -nP show account where user=bin format=account": "nothing is asked",
}


class Answer(NamedTuple):
    """What a command printed."""

    code: int
    #: Lines of standard output, then those of standard error after ``! ``.
    lines: list[str]


def _recorded(name: str) -> dict[str, Answer]:
    """Read the recorded commands of a file; those that are given again are numbered."""
    found: dict[str, Answer] = {}
    for block in ("\n" + as_upstream((_DATA / name).read_text())).split("\n$ ")[1:]:
        command, code, *lines = block.removesuffix("\n").split("\n")
        again = sum(one.rstrip("#") == command for one in found)
        found[command + "#" * again] = Answer(int(code.removeprefix("# exit ")), lines)
    return found


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [*done.stdout.splitlines(), *(f"! {line}" for line in done.stderr.splitlines())]


def _answers(cluster: LiveCluster, commands: dict[str, Answer]) -> dict[str, Answer]:
    """Give the commands to a cluster, one after the other."""
    found = {}
    for command in commands:
        words, stdin = command.rstrip("#"), ""
        user: tuple[str, ...] = ()
        if words.startswith("@"):
            name, words = words[1:].split(" ", 1)
            user = ("setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "--")
        if words.startswith("<"):
            answer, words = words[1:].split(" ", 1)
            stdin = f"{answer}\n"
        done = cluster.run(*user, *shlex.split(words), check=False, stdin=stdin)
        found[command] = Answer(done.returncode, _lines(done))
    return found


RECORDED = _recorded("sacctmgr.txt")
LISTS = _recorded("sacctmgr-lists.txt")
CHANGES = _recorded("sacctmgr-changes.txt")
REMOVED = _recorded("sacctmgr-removed.txt")
BY_USERS = _recorded("sacctmgr-users.txt")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    with LiveCluster(tmp_path_factory.mktemp("sacctmgr"), _CONF) as cluster:
        return _answers(cluster, RECORDED)


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    with LiveCluster(tmp_path_factory.mktemp("sacctmgr-lists"), _CONF) as cluster:
        return _answers(cluster, LISTS)


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    with LiveCluster(tmp_path_factory.mktemp("sacctmgr-changes"), _CONF) as cluster:
        return _answers(cluster, CHANGES)


@pytest.fixture(scope="module")
def removals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    with LiveCluster(tmp_path_factory.mktemp("sacctmgr-removed"), _CONF) as cluster:
        return _answers(cluster, REMOVED)


@pytest.fixture(scope="module")
def answers_to_users(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    folder = tmp_path_factory.mktemp("sacctmgr-users")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    with LiveCluster(folder, _CONF) as cluster:
        as_games = ("setpriv", "--reuid=games", "--regid=games", "--clear-groups", "--")
        if cluster.run(*as_games, "sacctmgr", "--version", check=False).returncode:
            pytest.skip("there is no user games, or another user cannot run this Python")
        return _answers(cluster, BY_USERS)


def _same(command: str, mine: Answer, slurms: Answer) -> bool:
    """Compare answers. Of equal associations and names, Slurm's order is that in which they were made."""
    return mine.code == slurms.code and sorted(mine.lines) == sorted(slurms.lines)


@pytest.mark.parametrize("command", RECORDED)
def test_answer_is_slurms(command: str, answers: dict[str, Answer]) -> None:
    if command.rstrip("#") in DIFFERENT:
        assert not _same(command, answers[command], RECORDED[command])
    else:
        assert answers[command].code == RECORDED[command].code
        assert sorted(answers[command].lines) == sorted(RECORDED[command].lines)


@pytest.mark.parametrize("command", LISTS)
def test_list_is_slurms(command: str, lists: dict[str, Answer]) -> None:
    same = _same(command, lists[command], LISTS[command])
    assert same is (command not in DIFFERENT), (lists[command], LISTS[command])


@pytest.mark.parametrize("command", CHANGES)
def test_change_is_slurms(command: str, changes: dict[str, Answer]) -> None:
    same = _same(command, changes[command], CHANGES[command])
    assert same is (command not in DIFFERENT), (changes[command], CHANGES[command])


@pytest.mark.parametrize("command", REMOVED)
def test_what_is_taken_away_is_told_as_by_slurm(command: str, removals: dict[str, Answer]) -> None:
    assert removals[command].code == REMOVED[command].code
    assert removals[command].lines == REMOVED[command].lines


@pytest.mark.parametrize(
    ("what", "field", "heading"),
    [
        (("user", "root", "withassoc"), "maxsubmitjobsperuser", "MaxSubmitPU"),
        (("assoc", "user=root"), "MaxTRESPerUser", "MaxTRESPU"),
        (("qos", "normal"), "defaultqos", "Def QOS"),
    ],
)
def test_fields_of_other_records_are_empty(
    cluster: LiveCluster, what: tuple[str, ...], field: str, heading: str
) -> None:
    """As Slurm 22.05.8 answers; cluster_tools asks for the first."""
    first, *rest = cluster.run("sacctmgr", "-P", "list", *what, f"format={field}").stdout.splitlines()
    assert (first, set(rest) <= {""}) == (heading, True)


def test_values_may_be_in_quotes(cluster: LiveCluster) -> None:
    # So nodeocc and nodeview-slurm ask; the heading is what Slurm 22.05.8 answered.
    shown = cluster.run(
        "sacctmgr", "show", "qos", "format='name%15,maxtresperuser%35,grptres%25,maxjobsperuser'"
    ).stdout
    assert shown.splitlines()[0].split() == ["Name", "MaxTRESPU", "GrpTRES", "MaxJobsPU"]


def test_what_names_nothing_removes_nothing(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF) as cluster:
        cluster.run("sacctmgr", "-i", "add", "account", "one")
        for words in ("user name=", "account name=", "account where name=", "qos name=", "qos where description=x"):
            done = cluster.run("sacctmgr", "-i", "delete", *words.split(), check=False)
            assert (done.returncode, done.stdout) == (1, " Nothing deleted\n"), words
        for key in ("newname", "classification", "features", "rawusage"):
            done = cluster.run("sacctmgr", "-i", "modify", "user", "root", "set", f"{key}=x", check=False)
            assert "is not supported by rota" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as others")
@pytest.mark.parametrize("command", BY_USERS)
def test_answer_to_users_is_slurms(command: str, answers_to_users: dict[str, Answer]) -> None:
    if command.rstrip("#") in DIFFERENT:
        assert not _same(command, answers_to_users[command], BY_USERS[command])
    else:
        assert answers_to_users[command].code == BY_USERS[command].code
        assert sorted(answers_to_users[command].lines) == sorted(BY_USERS[command].lines)


# ---- what they do ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("accounts"), _CONF) as found:
        found.run("sacctmgr", "-i", "add", "account", "tests")
        found.run("sacctmgr", "-i", "add", "user", _me(), "account=tests", "defaultaccount=tests")
        yield found


def _me() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _reason(cluster: LiveCluster, job_id: int) -> str:
    return cluster.run("squeue", "-h", "-j", str(job_id), "-o", "%t %r").stdout.strip()


def test_who_has_no_association_may_not_submit_until_there_is_one(cluster: LiveCluster) -> None:
    refused = cluster.run("sbatch", "-A", "late", "--wrap", "true", check=False)
    assert "Invalid account" in refused.stderr
    cluster.run("sacctmgr", "-i", "add", "account", "late")
    cluster.run("sacctmgr", "-i", "add", "user", _me(), "account=late")
    cluster.submit("-A", "late", "--wait", "-o", "/dev/null", "--wrap", "true")


def test_a_limit_holds_a_pending_job_back_at_once_and_minus_one_releases_it(cluster: LiveCluster) -> None:
    cluster.run("sacctmgr", "-i", "modify", "account", "tests", "set", "maxjobs=0")
    job_id = cluster.submit("-A", "tests", "-o", "/dev/null", "--wrap", "true")
    cluster.wait(lambda: _reason(cluster, job_id) == "PD AssocMaxJobsLimit")
    cluster.run("sacctmgr", "-i", "modify", "account", "tests", "set", "maxjobs=-1")
    cluster.wait(lambda: job_id in cluster.ended())


def test_what_a_job_is_charged_to_cannot_be_removed(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "-A", "tests", "-o", "/dev/null", "--wrap", "true")
    refused = cluster.run("sacctmgr", "-i", "delete", "user", _me(), check=False)
    assert refused.returncode == 1
    assert "Job(s) active, cancel job(s) before remove" in refused.stderr
    assert f"job {job_id} " in refused.stderr
    cluster.run("scancel", str(job_id))


def test_changes_outlive_the_controller(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF) as cluster:
        cluster.run("sacctmgr", "-i", "add", "account", "kept", "fairshare=7", "grpjobs=3")
        cluster.run("sacctmgr", "-i", "add", "user", "somebody", "account=kept")
        cluster.run("sacctmgr", "-i", "add", "qos", "kept", "priority=9")
        shown = [("sacctmgr", "-P", "show", what) for what in ("assoc", "account", "user", "qos")]
        before = [cluster.run(*words).stdout for words in shown]
        assert "kept" in before[0]
        cluster.kill()
        cluster.up()
        assert [cluster.run(*words).stdout for words in shown] == before


def test_a_dump_that_is_loaded_is_the_same_tree(tmp_path: Path) -> None:
    shown = [
        ("sacctmgr", "-P", "show", "assoc", "format=account,parentname,user,share,qos,grptres,maxjobs"),
        ("sacctmgr", "-P", "show", "account", "withcoord"),
        ("sacctmgr", "-P", "show", "user", "withcoord"),
    ]
    with LiveCluster(tmp_path, _CONF) as cluster:
        for words in (
            "add account one fairshare=5 grptres=cpu=4,mem=3G description=D",
            "add account two parent=one qos=normal",
            "add user ann,ben account=two maxjobs=3 adminlevel=operator",
            "add coordinator account=one names=ann",
        ):
            cluster.run("sacctmgr", "-i", *words.split())
        before = [cluster.run(*words).stdout for words in shown]
        cluster.run("sacctmgr", "dump", "rig", "file=tree.cfg")
        cluster.run("sacctmgr", "-i", "delete", "account", "two", check=False)
        cluster.run("sacctmgr", "-i", "delete", "user", "ann,ben")
        cluster.run("sacctmgr", "-i", "delete", "account", "one")
        cluster.run("sacctmgr", "-i", "add", "account", "three")
        cluster.run("sacctmgr", "-i", "load", "tree.cfg")
        both = cluster.run(*shown[0]).stdout
        assert set(before[0].splitlines()) < set(both.splitlines())
        assert "three" in both
        cluster.run("sacctmgr", "-i", "load", "tree.cfg", "clean")
        assert [cluster.run(*words).stdout for words in shown] == before


def test_without_a_line_on_standard_input_nothing_is_changed(cluster: LiveCluster) -> None:
    done = cluster.run("sacctmgr", "add", "account", "unasked")
    assert done.stdout.endswith("(N/y): \n Changes Discarded\n")
    assert "unasked" not in cluster.run("sacctmgr", "-P", "show", "account").stdout


def test_without_enforcement_associations_are_not_needed(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF.replace("AccountingStorageEnforce=associations,limits,qos", "")) as cluster:
        assert cluster.run("sacctmgr", "-nP", "show", "assoc", "format=account,user").stdout == "root|\nroot|root\n"
        cluster.submit("-A", "whatever", "--wait", "-o", "/dev/null", "--wrap", "true")


@pytest.mark.parametrize(
    "words",
    [
        "archive dump",
        "list stats",
        "list transactions",
        "list event",
        "add federation x",
        "modify job set x=1",
        "clear stats",
    ],
)
def test_what_is_not_done_is_refused_by_name(cluster: LiveCluster, words: str) -> None:
    done = cluster.run("sacctmgr", *words.split(), check=False)
    assert done.returncode == 1
    assert "is not supported by rota" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("sacctmgr", "show", "user", "format=user%999999999"),
        ("sacctmgr", "show", "user", "format=" + ",".join(["user"] * 600)),
        ("sreport", "user", "top", "format=used%999999999"),
        ("sacctmgr", "-i", "modify", "qos", "normal", "set", "usagefactor=nan"),
        ("sacctmgr", "-i", "modify", "qos", "normal", "set", "maxwall=99999999999999999"),
        ("sacctmgr", "-i", "modify", "account", "tests", "set", "fairshare=99999999999999999999"),
        ("sacctmgr", "-i", "add", "account", "a'b:c\nd"),
        ("sacctmgr", "-i", "add", "user", "x" * 100_000, "account=nosuch"),
        ("sacctmgr", "-i", "load", "/dev/zero/x"),
        ("sreport", "cluster", "utilization", "start=1000-01-01", "-t", "x"),
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_values_that_make_no_sense_are_refused(cluster: LiveCluster, words: tuple[str, ...]) -> None:
    before = cluster.run("sacctmgr", "-P", "show", "assoc").stdout
    done = cluster.run(*words, check=False)
    assert done.returncode == 1
    assert "defect" not in done.stderr
    assert done.stderr
    assert cluster.run("sacctmgr", "-P", "show", "assoc").stdout == before


def test_reports_are_of_the_jobs_that_have_run(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _CONF.replace("AccountingStorageEnforce=associations,limits,qos", "")) as cluster:
        cluster.submit("-A", "root", "-n", "2", "--wait", "-o", "/dev/null", "--wrap", "sleep 2")
        cluster.run("scontrol", "update", "nodename=n4", "state=down", "reason=test")
        words = ("start=now-1hour", "end=now+1hour")
        shown = cluster.run("sreport", "-nP", "-t", "seconds", "user", "top", *words).stdout
        name, login, _, account, used, _ = shown.rstrip("\n").split("|")
        assert (name, login, account) == ("rig", _me(), "root")
        assert int(used) >= 4
        cells = cluster.run("sreport", "-nP", "-t", "seconds", "cluster", "utilization", *words).stdout.split("|")
        allocated, down, _, idle, planned, reported = map(int, cells[1:])
        assert allocated == int(used)
        assert allocated + down + idle + planned == reported
        cluster.wait(
            lambda: int(cluster.run("sreport", "-nP", "-t", "seconds", "cluster", "util", *words).stdout.split("|")[2])
        )
