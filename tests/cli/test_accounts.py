"""Accounts on the command line: ``--associations``, ``--save-usage``, ``--usage``, and bad keys of slurm.conf.

Two users on two nodes of four processors: ann of chem, who has three quarters of the shares, and bob of phys.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota

CONF = """\
ClusterName=lab
SchedulerType=sched/builtin
PriorityType=priority/multifactor
PriorityDecayHalfLife=0-1
PriorityWeightAge=1000
PriorityWeightFairshare=10000
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=n[1-2] Default=YES
"""
#: After job 1 of ann both nodes are free for bob's and ann's.
EVENTS = """\
-dt 0 -e submit_batch_job | -sim-walltime 600 --uid=ann -A chem -n 8 -t 20 -J one job
-dt 60 -e submit_batch_job | -sim-walltime 600 --uid=bob -A phys -n 4 -t 15 -J two job
-dt 120 -e submit_batch_job | -sim-walltime 600 --uid=ann -A chem -n 4 -t 15 -J three job
"""
DUMP = """\
Cluster - 'lab':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'chem':Description='chem':Organization='lab':Fairshare=29
Account - 'phys':Description='phys':Organization='lab':Fairshare=10
Parent - 'chem'
User - 'ann':DefaultAccount='chem':Fairshare=1
Parent - 'phys'
User - 'bob':DefaultAccount='phys':Fairshare=1
"""
SCRIPT = """\
# the same
add cluster name=lab
add account name=chem fairshare=29
add account name=phys fairshare=10
add user name=ann account=chem
add user name=bob account=phys
"""
SHARES = "sshare -a -P -o Account,User,RawShares,NormShares,RawUsage,FairShare"
#: Shares 29 and 10 of 40, root's user has the other. Job 1 has used 8 CPUs for 300 s: 2,400 CPU seconds, faded by
#: (1 - 0.693 / 3600)**300 = 0.94388; none used is best of three users, all used worst.
SHOWN = """\
Account|User|RawShares|NormShares|RawUsage|FairShare
root|||0.000000|2265|
 root|root|1|0.025000|0|1.000000
 chem||29|0.725000|2265|
  chem|ann|1|1.000000|2265|0.333333
 phys||10|0.250000|0|
  phys|bob|1|1.000000|0|1.000000
"""


class Lab(Protocol):
    """Runs ``rota replay`` on the lab's log and machine; arguments with a dot in them are files of the lab."""

    def __call__(self, *arguments: str) -> Outcome: ...


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"slurm.conf": CONF, "log.events": EVENTS, "lab.dump": DUMP, "lab.script": SCRIPT}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def lab(rota: Rota, files: Path) -> Lab:
    def run(*arguments: str) -> Outcome:
        named = [str(files / word) if re.fullmatch(r"\w+\.[a-z]+", word) else word for word in arguments]
        return rota("replay", files / "log.events", "--config", files / "slurm.conf", *named)

    return run


# ---- --associations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lab.dump", "lab.script"])
def test_a_dump_or_a_script(lab: Lab, name: str) -> None:
    outcome = lab("--associations", name, "--until", "300", "--show", SHARES)
    assert (outcome.status, outcome.err, outcome.out) == (0, "", SHOWN)


def test_two_files_make_one_tree(lab: Lab, files: Path) -> None:
    (files / "more.script").write_text("modify account phys set fairshare=170\nadd user name=cid account=phys\n")
    outcome = lab("--associations", "lab.dump", "--associations", "more.script", "--until", "0", "--show", SHARES)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines()[3:] == [
        " chem||29|0.145000|0|",
        "  chem|ann|1|1.000000|0|1.000000",
        " phys||170|0.850000|0|",
        "  phys|bob|1|0.500000|0|1.000000",
        "  phys|cid|1|0.500000|0|1.000000",
    ]


def test_qos_of_a_second_file(lab: Lab, files: Path) -> None:
    text = (files / "lab.dump").read_text().replace("QOS='normal'", "QOS='normal,high'")
    (files / "lab.dump").write_text(text)
    outcome = lab("--associations", "lab.dump", "--until", "0")
    assert outcome.status == 0
    assert outcome.err.startswith(f"rota: warning: {files}/lab.dump: QOS high have no priority here")
    (files / "qos.txt").write_text("Name|Priority\nnormal|0\nhigh|100\n")
    assert lab("--associations", "lab.dump", "--associations", "qos.txt", "--until", "0").err == ""


def test_users_in_no_tree_are_announced_and_get_one_share(lab: Lab, files: Path) -> None:
    (files / "ann.dump").write_text("".join(line for line in DUMP.splitlines(True) if "bob" not in line))
    outcome = lab("--associations", "ann.dump", "--until", "300", "--show", SHARES)
    assert outcome.status == 0
    assert outcome.err == (
        "rota: warning: user bob of account phys are in no association: each is added with one share\n"
    )
    assert outcome.out == SHOWN


def test_all_users_in_no_tree(lab: Lab, files: Path) -> None:
    (files / "none.script").write_text("add cluster name=lab\n")
    (files / "log.events").write_text(EVENTS.replace("--uid=bob -A phys", "--uid=bob"))
    outcome = lab("--associations", "none.script", "--until", "0", "--show", SHARES, "--check")
    assert outcome.status == 0
    assert outcome.err == (
        "rota: warning: user ann of account chem and 1 others are in no association: each is added with one share\n"
    )
    # Two accounts of one share each beside root's user; bob named no account.
    assert outcome.out.splitlines()[3:] == [
        " chem||1|0.333333|0|",
        "  chem|ann|1|1.000000|0|1.000000",
        " default||1|0.333333|0|",
        "  default|bob|1|1.000000|0|1.000000",
    ]


def test_without_associations_nobody_is_announced(lab: Lab) -> None:
    outcome = lab("--until", "0", "--show", SHARES)
    assert (outcome.status, outcome.err) == (0, "")
    assert "chem|ann|1|1.000000|" in outcome.out


@pytest.mark.parametrize(
    ("options", "first"), [(["--associations", "lab.dump"], "3"), (["--priority", "priority/basic"], "2")]
)
def test_shares_decide_who_is_first(lab: Lab, files: Path, options: list[str], first: str) -> None:
    # All jobs need the whole machine. Ann's second waits longer than bob's, but all that was used she has used.
    anns, bobs, more = EVENTS.replace("-n 4", "-n 8").splitlines(keepends=True)
    (files / "log.events").write_text(anns + more + bobs.replace("-dt 60", "-dt 130"))
    outcome = lab(*options, "--until", "600", "--show", "squeue -h -t R -o %i")
    assert (outcome.status, outcome.err, outcome.out) == (0, "", f"{first}\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DUMP.replace("lab", "other"), "{path}: Cluster: is of cluster 'other', and slurm.conf is of 'lab'"),
        ("", "{path}: is empty: write it with sacctmgr dump CLUSTER file=…"),
        (DUMP.replace("Fairshare=29", "Fairshare=many"), "{path}:4: Fairshare: 'many' is not a number of shares: "),
        (DUMP.replace("Fairshare=29", "Fareshare=29"), "{path}:4: Fareshare: no key of sacctmgr"),
        ("add account name=chem\n", "{path}: no cluster: a line such as Cluster - 'name', or add cluster name=…"),
        ("Dear all,\n", "{path}:1: 'Dear' is no command: there are add, "),
    ],
)
def test_bad_associations(lab: Lab, files: Path, text: str, problem: str) -> None:
    path = files / "bad.dump"
    path.write_text(text)
    assert lab("--associations", "bad.dump").problem.startswith(problem.format(path=path))


def test_no_such_file(lab: Lab, files: Path) -> None:
    assert lab("--associations", "no.dump").problem == f"{files}/no.dump: cannot be read: No such file or directory"


# ---- --save-usage and --usage -----------------------------------------------------------------------------------


def raw(text: str) -> dict[str, float]:
    """Give raw usage of `sshare` as JSON, by user or account."""
    (shares,) = json.loads(text).values()
    return {one["user"] or one["account"]: one["usage_raw"] for one in shares}


TREE = ["--associations", "lab.dump"]
SSHARE = ["--show", "sshare -a", "--json"]


def test_usage_goes_on_where_it_ended(lab: Lab) -> None:
    first = lab(*TREE, "--until", "600", "--save-usage", "usage.json", *SSHARE)
    # The log begins at the same Unix time again: no time has passed that the usage could have faded in.
    again = lab(*TREE, "--usage", "usage.json", "--until", "0", *SSHARE)
    assert raw(first.out)["ann"] > 0
    assert raw(again.out) == raw(first.out)


@pytest.mark.parametrize("pause", [0, 300, 3600])
def test_a_log_cut_in_two(rota: Rota, files: Path, pause: int) -> None:
    # Both jobs are over at 900, the end of a period, so that nothing runs there. No accounts are given: users of no
    # tree keep their usage too. The second log is the same again, and begins ``pause`` seconds after the cut.
    def half(start: int) -> str:
        jobs = [(1, 0, 600, 8, 1), (2, 60, 250, 4, 2)]
        lines = [f"{n} {at} -1 {run} {cpus} -1 -1 {cpus} 900 -1 1 {u} {u} -1 1 1 -1 -1" for n, at, run, cpus, u in jobs]
        return "\n".join([f"; UnixStartTime: {start}", *lines, ""])

    saved, first, second = files / "usage.json", files / "first.swf", files / "second.swf"
    first.write_text(half(9000))
    second.write_text(half(9000 + 900 + pause))
    machine = ["--config", files / "slurm.conf"]
    end = rota("replay", first, *machine, "--until", "900", "--save-usage", saved, *SSHARE)
    begin = rota("replay", second, *machine, "--usage", saved, "--until", "0", *SSHARE)
    assert (end.status, begin.status, begin.err) == (0, 0, "")
    # With a half-life of an hour, ln 2 being 0.693 to Slurm.
    faded = (1 - 0.693 / 3600) ** pause
    assert raw(begin.out) == pytest.approx({name: value * faded for name, value in raw(end.out).items()}, rel=1e-12)
    assert raw(end.out)["root"] == pytest.approx(raw(end.out)["user1"] + raw(end.out)["user2"])
    assert raw(end.out)["user1"] > raw(end.out)["user2"] > 0


def test_usage_of_a_whole_replay_can_be_saved(lab: Lab, files: Path) -> None:
    assert lab(*TREE, "--save-usage", "usage.json", "--json").status == 0
    saved = json.loads((files / "usage.json").read_text())
    assert saved["cluster"] == "lab"
    assert {one["user"] for one in saved["associations"]} == {"", "root", "ann", "bob"}


def test_usage_decides_who_is_first(rota: Rota, files: Path) -> None:
    # Two jobs at once for the whole machine, ann's first: she goes first unless she has used much before.
    log, conf = files / "log.events", files / "slurm.conf"
    machine = ["--config", conf, "--associations", files / "lab.dump"]
    assert rota("replay", log, *machine, "--until", "600", "--save-usage", files / "u.json").status == 0
    line = "-dt 0 -e submit_batch_job | -sim-walltime 600 --uid={} -A {} -n 8 -t 20 job\n"
    log.write_text(line.format("ann", "chem") + line.format("bob", "phys"))
    for options, first in (([], "1"), (["--usage", files / "u.json"], "2")):
        outcome = rota("replay", log, *machine, *options, "--until", "0", "--show", "squeue -h -t R -o %i")
        assert (outcome.status, outcome.err, outcome.out) == (0, "", f"{first}\n")


#: What is changed in a saved file (a pattern and its replacement), and what is said after the file's name.
DAMAGED: dict[str, tuple[str, str, str]] = {
    "another cluster": (r'"lab"', '"west"', ":3: cluster: the usage is of cluster 'west', not of 'lab'"),
    "another format": (r"rota-usage-1", "x-2", ":2: format: 'x-2' is not rota-usage-1: rota did not save this usage"),
    "no format": (r' "format": .*\n', "", ": format: None is not rota-usage-1: "),
    "no time": (r' "last_ran": .*\n', "", ": usage: this is not what rota saves (KeyError('last_ran')): leave it out"),
    "no usage": (r' *"usage_raw": .*\n', "", ": usage: this is not what rota saves (KeyError('usage_raw')): "),
    "no account": (r' *"account": .*\n', "", ": usage: this is not what rota saves (KeyError('account')): "),
    "negative usage": (r'"usage_raw": [0-9.]+', '"usage_raw": -1', ": associations: usage is a number of at least 0"),
    "usage in words": (r'"usage_raw": [0-9.]+', '"usage_raw": "a"', ": associations: usage is a number of at least 0"),
    "cut short": (r"\]\n\}\n$", "", ": is no JSON, and so not what --save-usage writes"),
    "a list": (r"(?s).*", "[]", ": is not what --save-usage writes"),
    "nothing": (r"(?s).*", "", ":1: is no JSON, and so not what --save-usage writes"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_usage(lab: Lab, files: Path, name: str) -> None:
    pattern, replacement, expected = DAMAGED[name]
    path = files / "usage.json"
    assert lab(*TREE, "--until", "600", "--save-usage", "usage.json").status == 0
    text = path.read_text()
    path.write_text(re.sub(pattern, replacement, text, count=0 if replacement == "" else 1))
    assert path.read_text() != text
    problem = lab(*TREE, "--usage", "usage.json").problem
    assert re.sub(r"^:\d+", "", problem.removeprefix(str(path))).startswith(re.sub(r"^:\d+", "", expected))
    if re.match(r":\d+", expected):
        assert problem.startswith(f"{path}{expected}")


def test_no_such_usage(lab: Lab, files: Path) -> None:
    assert lab("--usage", "no.json").problem == f"{files}/no.json: cannot be read: No such file or directory"


def test_usage_that_nothing_keeps(lab: Lab, files: Path) -> None:
    assert lab("--save-usage", "usage.json", "--priority", "priority/basic").problem == (
        "--save-usage: no usage is kept: only priority plugins with fair-share do"
    )
    assert not (files / "usage.json").exists()
    assert lab("--until", "600", "--save-usage", "usage.json").status == 0
    outcome = lab("--usage", "usage.json", "--priority", "priority/basic", "--json")
    assert outcome.status == 0
    assert outcome.err == f"rota: warning: {files}/usage.json: left out: priority/basic keeps no usage\n"


def test_usage_that_cannot_be_written(lab: Lab, files: Path) -> None:
    (files / "folder.json").write_text("")
    problem = lab("--save-usage", f"{files}/folder.json/usage").err
    assert problem.startswith(f"rota: error: {files}/folder.json/usage: cannot be written: ")


# ---- keys of slurm.conf -----------------------------------------------------------------------------------------

#: A line of slurm.conf in place of another, and what is said of it after file and line.
KEYS: list[tuple[str, str]] = [
    ("PriorityDecayHalfLife=0", "PriorityDecayHalfLife: with 0 usage never fades, and without PriorityUsageResetPer"),
    ("PriorityDecayHalfLife=week", "PriorityDecayHalfLife: 'week' is not a time: "),
    ("PriorityUsageResetPeriod=HOURLY", "PriorityUsageResetPeriod: 'HOURLY' is none of NONE, NOW, DAILY, WEEKLY, "),
    ("PriorityCalcPeriod=0", "PriorityCalcPeriod: '0' is shorter than 60 s"),
    ("PriorityMaxAge=old", "PriorityMaxAge: 'old' is not a time: "),
    ("PriorityWeightAge=4294967296", "PriorityWeightAge: '4294967296' is not a whole number from 0 to 4294967295"),
    ("PriorityWeightQOS=-1", "PriorityWeightQOS: '-1' is not a whole number from 0 to 4294967295"),
    ("PriorityWeightJobSize=1.5", "PriorityWeightJobSize: '1.5' is not a whole number from 0 to 4294967295"),
    ("PriorityWeightTRES=GRES/gpu=5", "PriorityWeightTRES: 'GRES/gpu' is no TRES of this cluster (it has cpu, mem, "),
    ("PriorityWeightTRES=CPU", "PriorityWeightTRES: 'CPU' is not TRES=weight"),
    ("PriorityFlags=FAIR_TREE,FAIRER", "PriorityFlags: no flag FAIRER: there are ACCRUE_ALWAYS, CALCULATE_RUNNING, "),
    ("PriorityFavorSmall=MAYBE", "PriorityFavorSmall: 'MAYBE' is none of NO, YES"),
    ("FairShareDampeningFactor=0", "FairShareDampeningFactor: '0' is not a number of at least 1"),
]


@pytest.mark.parametrize(("line", "problem"), KEYS, ids=[line for line, _ in KEYS])
def test_a_bad_key_is_named_with_file_and_line(lab: Lab, files: Path, line: str, problem: str) -> None:
    path, key = files / "slurm.conf", line.partition("=")[0]
    kept = [other for other in CONF.splitlines() if not other.startswith(f"{key}=")]
    path.write_text("\n".join([*kept[:3], line, *kept[3:], ""]))
    assert lab("--json").problem.startswith(f"{path}:4: {problem}")


def test_a_key_that_is_set_on_the_command_line_is_blamed_on_that(lab: Lab) -> None:
    half_life = "PriorityDecayHalfLife"
    told = f"--set {half_life}=0: {half_life}: with 0 usage never fades"
    assert lab("--set", "PriorityDecayHalfLife=0").problem.startswith(told)
    reset = ["--set", "PriorityUsageResetPeriod=DAILY"]
    assert lab("--set", "PriorityDecayHalfLife=0", *reset, "--json").status == 0
    assert lab("--set", "PriorityWeightAge=4294967295", "--json").status == 0


def test_the_plugin_dir_of_another_machine_is_only_warned_of(lab: Lab, files: Path) -> None:
    (files / "slurm.conf").write_text(f"PluginDir={files}:/nowhere/lib/slurm\n{CONF}")
    outcome = lab("--json")
    assert outcome.status == 0
    assert outcome.err == (
        f"rota: warning: {files}/slurm.conf:1: PluginDir: /nowhere/lib/slurm is not a directory of this machine; "
        "left out\n"
    )
    # One that the user names is to be there.
    again = lab("--plugin-dir", "/nowhere/lib/slurm", "--json")
    assert again.status == 2
    assert again.err.endswith("rota: error: /nowhere/lib/slurm: PluginDir: No such file or directory\n")
