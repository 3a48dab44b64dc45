"""Reading what sacctmgr writes and takes, and writing it back; data/README.md says where the files come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.model import SHARES_PARENT, InputError
from rota.sacctmgr import read_associations, write_dump

DATA = Path(__file__).parent / "data"
TRACES = Path(__file__).parents[3] / "shared" / "traces" / "slurm"


def body(path: Path) -> str:
    """Give a dump without its comments."""
    return "".join(f"{line}\n" for line in path.read_text().splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("name", ["odd.dump", "rig.dump", "ubhpc.dump"])
def test_a_dump_is_written_back_as_slurm_wrote_it(name: str) -> None:
    assert write_dump(read_associations([DATA / name]).tree) == body(DATA / name)


@pytest.mark.skipif(not TRACES.is_dir(), reason="the traces are not beside this checkout")
def test_a_script_makes_the_tree_that_it_makes_in_slurm() -> None:
    tree = read_associations([TRACES / "ubccr_medium_sacctmgr.script"], "ubhpc").tree
    assert write_dump(tree) == body(DATA / "ubhpc.dump")
    # As `sacctmgr show qos` has it in qos.txt, where urgent and prio are left from other clusters.
    assert {name: qos.priority for name, qos in tree.qos.items()} == {
        "general-compute": 0,
        "supporters": 200,
        "priority": 200,
        "priority-supporters": 400,
        "debug": 0,
    }


def test_what_a_dump_says() -> None:
    loaded = read_associations([DATA / "odd.dump"])
    tree = loaded.tree
    lab, bob, carol = tree.find("", "lab"), tree.find("bob", "sub", "high"), tree.find("carol")
    assert lab is not None
    assert bob is not None
    assert carol is not None
    assert lab.limits == {"GrpTRES": "cpu=100,mem=2000M", "GrpWall": "100", "MaxJobs": "5", "MaxSubmitJobs": "9"}
    assert tree.accounts["lab"].description == "a lab, with: 'odd' name"
    assert (bob.partition, bob.shares_raw) == ("high", 4)
    assert (carol.account, carol.default_qos, tree.users["carol"].coordinator) == ("sub", "normal", ("sub",))
    alice = tree.find("alice", "sub")
    assert alice is not None
    assert (alice.shares_raw, alice.qos) == (SHARES_PARENT, ("-prio",))
    assert tree.find("bob", "", "debug") is not tree.find("bob", "lab")
    assert "QOS prio, urgent have no priority here" in loaded.warnings[0]
    assert loaded.tree.qos.keys() >= {"prio", "urgent"}


def test_qos_come_from_a_list_beside_the_dump() -> None:
    loaded = read_associations([DATA / "odd.dump", DATA / "qos.txt"])
    assert loaded.warnings == ()
    prio = loaded.tree.qos["prio"]
    assert (prio.priority, prio.usage_factor, prio.decays) == (50, 2.5, False)


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "acct.script"
    path.write_text(f"add cluster name=c\n{text}")
    return path


def test_a_dump_of_later_versions_begins_with_its_qos() -> None:
    """As `sacctmgr show qos` and `show assoc` of Slurm 26.05.5 said then."""
    loaded = read_associations([DATA / "qos-26.05.dump"], "rig")
    assert loaded.warnings == ()
    urgent = loaded.tree.qos["urgent"]
    assert (urgent.description, urgent.priority, urgent.usage_factor, urgent.grace_time) == ("fast ones", 100, 2.0, 60)
    assert (urgent.flags, urgent.preempt, urgent.limits["GrpTRES"]) == (("DenyOnLimit",), ("normal",), "cpu=100")
    assert urgent.limits["MaxWallDurationPerJob"] == "1440"
    shares = {(one.user, one.partition): one.shares_raw for one in loaded.tree.associations if one.account == "phys"}
    assert shares == {("", ""): 60, ("alice", ""): 10, ("alice", "debug"): 1, ("bob", ""): 5}


def test_a_dump_of_a_cluster_with_a_classification(tmp_path: Path) -> None:
    """Slurm dumps it where it was set."""
    path = tmp_path / "cluster.cfg"
    path.write_text("Cluster - 'rig':Classification='capability*':Fairshare=1:QOS='normal'\n")
    assert read_associations([path]).tree.cluster == "rig"


def test_commands_of_a_script(tmp_path: Path) -> None:
    text = """\
        sacctmgr -i add account Physics,chem fair=10 org='Uni "X"'   # a comment
        create acc name=sub parent=physics
        add user name=ann,bo account=physics,chem fairshare=parent
        modify user where name=ann account=chem set fairshare=7 qos+=night
        modify account sub set qos=a,b
        modify account sub set qos-=a
        add coordinator account=sub names=bo
        add qos night priority=5
        delete user bo account=chem
        show assoc tree
    """
    tree = read_associations([script(tmp_path, text)]).tree
    assert {(one.account, one.user): one.shares_raw for one, _ in tree.hierarchy()} == {
        ("root", ""): 1,
        ("root", "root"): 1,
        ("chem", ""): 10,
        ("chem", "ann"): 7,
        ("physics", ""): 10,
        ("physics", "ann"): SHARES_PARENT,
        ("physics", "bo"): SHARES_PARENT,
        ("sub", ""): 1,
    }
    ann, sub = tree.find("ann", "chem"), tree.find("", "sub")
    assert ann is not None
    assert sub is not None
    assert (ann.qos, sub.qos) == (("+night",), ("b",))
    assert tree.users["ann"].default_account == "physics"
    assert tree.users["bo"].coordinator == ("sub",)
    assert tree.accounts["physics"].organization == 'Uni "X"'


BAD_DUMPS = {
    "cycle": (
        "Cluster - 'c'\nParent - 'root'\nAccount - 'a'\nParent - 'a'\nAccount - 'b'\nParent - 'b'\nAccount - 'a'\n",
        "7: Account: account 'a' is there already, not under 'b' (and that is under this one: no circles)",
    ),
    "user under a missing parent": (
        "Cluster - 'c'\nParent - 'gone'\nUser - 'u'\n",
        "2: Parent: there is no account 'gone' so far: add it first",
    ),
    "negative shares": (
        "Cluster - 'c'\nParent - 'root'\nAccount - 'a':Fairshare=-3\n",
        "3: Fairshare: '-3' is not a number of shares: a whole number of at least 0, or parent",
    ),
    "too many shares": (
        "Cluster - 'c'\nParent - 'root'\nAccount - 'a':Fairshare=2147483648\n",
        "3: Fairshare: '2147483648' is not a number of shares: a whole number of at least 0, or parent",
    ),
    "unknown key": ("Cluster - 'c':Fairshere=1\n", "1: Fairshere: no key of sacctmgr"),
    "open quote": (
        "Cluster - 'c'\nParent - 'root'\nAccount - 'a':Description='x\n",
        '3: Account: "\'x" is not :Key=value; are the quotes closed?',
    ),
    "account twice": (
        "Cluster - 'c'\nParent - 'root'\nAccount - 'a'\nAccount - 'a'\n",
        "4: Account: account 'a' is there twice",
    ),
    "no cluster": ("Parent - 'root'\n", "1: Parent: a line such as Cluster - 'name' must come first"),
    "other line": (
        "Cluster - 'c'\nWhat - 'x'\n",
        "2: \"What - 'x'\" is none of QOS, Cluster, Parent, Account, User - 'name':Key=value…",
    ),
    "two clusters": (
        "Cluster - 'c'\nCluster - 'd'\n",
        "2: cluster 'd' after cluster 'c': give each cluster a file of its own",
    ),
}
BAD_SCRIPTS = {
    "cycle": (
        "add account a\nadd account b parent=a\nmodify account a set parent=b",
        "4: Parent: account 'b' is under 'a': they cannot be under each other in a circle",
    ),
    "user without account": ("add user u", "2: Account: a user needs an account: write account=…"),
    "user under a missing account": (
        "add user u account=x",
        "2: Account: there is no account 'x' so far: add it first",
    ),
    "negative shares": (
        "add account a fairshare=-2",
        "2: Fairshare: '-2' is not a number of shares: a whole number of at least 0, or parent",
    ),
    "unknown command": (
        "ad account a\nfrob account b",
        "3: 'frob' is no command: there are add, create, modify, update, delete, remove, list, show, exit, quit",
    ),
    "unknown key": ("add account a colour=red", "2: colour: no key of account"),
    "open quote": ("add account a desc='x", "2: No closing quotation: close the quotes"),
    "unknown QOS": ("modify qos night set priority=1", "2: there is no QOS 'night': add it first"),
    "QOS priority": ("add qos n priority=high", "2: Priority: 'high' is not a whole number from 0 to 4294967295"),
    "no such user": ("modify user where name=u set fairshare=2", "2: there is no such user: u"),
}


@pytest.mark.parametrize(("text", "expected"), BAD_DUMPS.values(), ids=BAD_DUMPS)
def test_a_bad_dump_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "c.dump"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_associations([path])
    assert str(caught.value) == f"{path}:{expected}"


@pytest.mark.parametrize(("text", "expected"), BAD_SCRIPTS.values(), ids=BAD_SCRIPTS)
def test_a_bad_script_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = script(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_associations([path])
    assert str(caught.value) == f"{path}:{expected}"


def test_files_that_are_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("# nothing\n")
    for path, problem in ((empty, "is empty"), (tmp_path / "gone", "cannot be read")):
        with pytest.raises(InputError, match=problem):
            read_associations([path])
    with pytest.raises(InputError, match=r"is of cluster 'rig', and slurm.conf is of 'other'"):
        read_associations([DATA / "rig.dump"], "other")


def test_what_people_write_for_sacctmgr_load(tmp_path: Path) -> None:
    """It reads comments, lines that go on, changes of lists and root, none of which sacctmgr dump of 22.05 writes."""
    written = tmp_path / "site.dump"
    written.write_text(
        "# ours\n"
        "QOS - 'long':Priority=5 # for patient people\n"
        "QOS - 'short'\n"
        "Cluster - 'mt':Fairshare=1:QOS='normal' # the cluster\n"
        "Parent - root\n"
        "Account - root:Fairshare=7\n"
        "Account - cs:MaxJobs=5:Description='Room #1': \\\n"
        "  Fairshare=3:GrpTRES= # of the institute\n"
        "Parent - 'cs'\n"
        "User - 'bob':QOS+=long:DefaultAccount=cs\n"
        "User - 'eve':QOS-=normal:QOS+='long,short'\n"
    )
    tree = read_associations([written]).tree
    assert tree.qos["long"].priority == 5
    assert tree.root.shares_raw == 7
    account, bob, eve = tree.find("", "cs"), tree.find("bob"), tree.find("eve")
    assert account is not None
    assert bob is not None
    assert eve is not None
    assert (account.shares_raw, tree.accounts["cs"].description) == (3, "Room #1")
    assert account.limits == {"MaxJobs": "5"}
    assert (bob.qos, eve.qos) == (("+long",), ("-normal", "+long", "+short"))


def test_a_line_that_goes_on_is_blamed_by_its_first_number(tmp_path: Path) -> None:
    written = tmp_path / "site.dump"
    written.write_text("Cluster - 'mt'\nParent - 'root'\nAccount - 'cs': \\\n  Colour=red\n")
    with pytest.raises(InputError, match=r"site\.dump:3: Colour: no key of sacctmgr"):
        read_associations([written])
