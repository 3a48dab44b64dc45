"""Lookups through commands on PATH that print what was recorded, or behave badly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.interfaces import SEPARATOR
from rota.jobmeta import Lookups

from .conftest import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Fakes


def _row(*fields: str) -> str:
    """Make a row as sacct and squeue print it: each field ends with the delimiter."""
    return "".join(field + SEPARATOR for field in fields)


def _sacct(job_id: str, user: str = "alice", name: str = "job", state: str = "RUNNING") -> str:
    """Make a row with the columns that the plugin asks for, in their order."""
    owner = (user, "1001", "users", "phys", "debug", "normal")
    times = ("1795401324", "1795401330", "Unknown")
    return _row(job_id, *owner, state, *times, "2", "n[1-2]", "8", "test", name, "/home")


class TestSlurm:
    def test_one_call_for_all(self, fake: Fakes) -> None:
        fake("sacct", _sacct("1") + "\n" + _sacct("2", "bob", "other", "CANCELLED by 0") + "\n")
        with Lookups() as lookups:
            answers = lookups.lookup(["1", "2"], "slurm_job_id")
        assert answers.jobs["1"] == {
            "id": "1", "plugin": "slurm_job_id", "user": "alice", "uid": 1001, "group": "users", "account": "phys",
            "partition": "debug", "qos": "normal", "state": "RUNNING", "ended": False, "submit": 1795401324,
            "start": 1795401330, "nodes": 2, "nodelist": "n[1-2]", "cpus": 8,
            "cluster": "test", "name": "job", "cwd": "/home",
        }  # fmt: skip
        assert answers.jobs["2"]["state"] == "CANCELLED"
        assert answers.jobs["2"]["ended"] is True
        (call,) = fake.calls("sacct")
        assert call[call.index("-j") + 1] == "1,2"

    @pytest.mark.parametrize("name", ["a\nb", "a|b", "\x1f", "x\n2|root", _row("x") + "\n" + _sacct("2", "root")])
    def test_no_name_makes_a_job_look_like_another(self, fake: Fakes, name: str) -> None:
        """Slurm keeps newlines and any delimiter in names, and sacct prints them as they are."""
        fake("sacct", _sacct("1", name=name.replace(SEPARATOR, "\x1f")) + "\n" + _sacct("3", "bob") + "\n")
        with Lookups() as lookups:
            answers = lookups.lookup(["1", "2", "3"], "slurm_job_id")
        assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {"1": "alice", "3": "bob"}

    def test_squeue_for_those_that_sacct_does_not_know(self, fake: Fakes) -> None:
        fake("sacct", _sacct("1"))
        times = ("1795401324", "N/A", "N/A")
        queue = ("root", "0", "root", "acct", "main", "normal", "PENDING", *times, "1", "", "1", "q", "/")
        fake("squeue", _row("2", *queue) + "\n" + _row("77", *queue) + "\n")
        with Lookups() as lookups:
            answers = lookups.lookup(["1", "2", "3"], "slurm_job_id")
        assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {"1": "alice", "2": "root"}
        assert answers.jobs["2"]["state"] == "PENDING"
        assert answers.unknown == ["3"]

    def test_a_cluster_without_accounting(self, fake: Fakes) -> None:
        """What Slurm 22.05's sacct says there, and its exit status."""
        fake("sacct", stderr="Slurm accounting storage is disabled\n", status=1)
        fake("squeue", _row("2", "bob", *["x"] * 14))
        with Lookups() as lookups:
            answers = lookups.lookup(["2", "3"], "slurm_job_id")
        assert answers.jobs["2"]["user"] == "bob"
        assert (answers.unknown, answers.faults) == (["3"], [])

    def test_a_database_that_is_down(self, fake: Fakes) -> None:
        fake("sacct", stderr="sacct: error: Problem talking to the database: Connection refused\n", status=1)
        fake("squeue", _row("2", "bob", *["x"] * 14))
        with Lookups() as lookups:
            answers = lookups.lookup(["2", "3"], "slurm_job_id")
        assert answers.jobs["2"]["user"] == "bob"
        assert answers.failed == ["3"]
        assert "Connection refused" in answers.faults[0]

    def test_where_there_is_no_slurm(self, fake: Fakes) -> None:
        with Lookups() as lookups:
            answers = lookups.lookup(["1"], "slurm_job_id")
        assert answers.failed == ["1"]
        assert "sacct: there is no such command in PATH" in answers.faults[0]

    def test_half_of_an_answer(self, fake: Fakes) -> None:
        """The scheduler hangs in the middle of a name: whole lines are used, and what it broke off is not."""
        fake(
            "sacct",
            body=f"printf '%s\\n' '{_sacct('1')}' | sed s/{SEPARATOR}/$secret/g; printf '2'$secret'ali'; sleep 60",
        )
        fake("squeue")
        with Lookups(timeout=1) as lookups:
            answers = lookups.lookup(["1", "2"], "slurm_job_id")
        assert answers.jobs["1"]["user"] == "alice"
        assert answers.failed == ["2"]
        assert answers.faults == ["plugin jobmeta/slurm_job_id: sacct took longer than 1 s and was killed"]


#: The one that looks like a 3 is an Arabic digit.
HOSTILE = (
    "-j", "--help", "1\n2", "1;reboot", "$(reboot)", "1 2", "1,2", "../1", "\u0663", "0x1", "", "1" * 40, "1\x00", "%n"
)  # fmt: skip


@pytest.mark.parametrize("plugin", ["slurm_job_id", "job_id", "lsb_jobid", "pbs_jobid", "loadl_step_id", "flux_job_id"])
def test_hostile_ids_reach_no_command(fake: Fakes, plugin: str) -> None:
    commands = ("sacct", "squeue", "qstat", "qacct", "bjobs", "bacct", "llq", "llsummary", "flux")
    for name in commands:
        fake(name)
    with Lookups() as lookups:
        answers = lookups.lookup(HOSTILE, plugin)
    assert sorted(answers.refused) == sorted(HOSTILE)
    assert not any(fake.calls(name) for name in commands)


class TestPbs:
    JSON = (DATA / "openpbs-22.05-qstat-xf-Fjson.json").read_text()
    TEXT = (DATA / "pbspro-text_qstat_f_to_test.txt").read_text()

    def test_json(self, fake: Fakes) -> None:
        fake("qstat", self.JSON)
        with Lookups() as lookups:
            answers = lookups.lookup(["0.725ccdf1a5fb"], "pbs_jobid")
        assert answers.jobs["0.725ccdf1a5fb"]["user"] == "pbsuser"
        assert fake.calls("qstat") == [["-x", "-f", "-F", "json", "0.725ccdf1a5fb"]]

    def test_text_for_those_that_json_leaves_out(self, fake: Fakes) -> None:
        """OpenPBS issue 2672: of several jobs, JSON tells only the first."""
        fake("qstat.json", self.JSON)
        fake("qstat.text", self.TEXT)
        fake("qstat", body='case "$*" in *json*) exec qstat.json "$@";; *) exec qstat.text "$@";; esac')
        with Lookups() as lookups:
            answers = lookups.lookup(["0.725ccdf1a5fb", "69301.mycluster", "74164.mycluster", "5.x"], "pbs_jobid")
        users = {job_id: job["user"] for job_id, job in answers.jobs.items()}
        assert users == {"0.725ccdf1a5fb": "pbsuser", "69301.mycluster": "user02", "74164.mycluster": "user3"}
        assert answers.unknown == ["5.x"]
        assert fake.calls("qstat.text") == [["-x", "-f", "5.x", "69301.mycluster", "74164.mycluster"]]

    @pytest.mark.parametrize(
        "fault",
        [
            ('"testname"', "007"),  # issues 1255 and 2603: names that look like numbers
            ('"testname"', ".123"),
            ('"testname"', r'"a\qb"'),  # issues 2049 and 2541: bad escapes
            ('"Jobs": {', '"Jobs": [{'),
        ],
    )
    def test_text_where_json_is_none(self, fake: Fakes, fault: tuple[str, str]) -> None:
        fake("qstat.json", self.JSON.replace(*fault))
        fake("qstat.text", self.TEXT)
        fake("qstat", body='case "$*" in *json*) exec qstat.json "$@";; *) exec qstat.text "$@";; esac')
        with Lookups() as lookups:
            assert lookups.lookup(["69301.mycluster"], "pbs_jobid").jobs["69301.mycluster"]["name"] == "Cu-dbp"

    def test_torque(self, fake: Fakes) -> None:
        """Torque knows no -F, and takes -x for XML. The form of its answer is from its manual."""
        xml = (
            "<Data><Job><Job_Id>12.srv</Job_Id><Job_Name>x &lt;y&gt;</Job_Name><Job_Owner>carol@login</Job_Owner>"
            "<job_state>C</job_state><queue>batch</queue><euser>carol</euser><egroup>users</egroup>"
            "<Resource_List><nodect>2</nodect></Resource_List></Job></Data>"
        )
        fake("qstat.xml", xml)
        fake("qstat", body='case "$*" in *json*) echo usage >&2; exit 2;; *) exec qstat.xml "$@";; esac')
        with Lookups() as lookups:
            answers = lookups.lookup(["12.srv", "13.srv"], "pbs_jobid")
        assert answers.jobs["12.srv"] == {
            "id": "12.srv", "plugin": "pbs_jobid", "user": "carol", "group": "users", "name": "x <y>", "nodes": 2,
            "partition": "batch", "state": "C", "ended": True,
        }  # fmt: skip
        assert (answers.unknown, answers.faults) == (["13.srv"], [])

    def test_servers_that_are_cut_missing_or_others(self, fake: Fakes) -> None:
        text = "".join(
            f"Job Id: {job_id}\n    Job_Owner = {user}@h\n\n"
            for job_id, user in [
                ("1.pbs-server-with-a-long-name.example.org", "a"),
                ("2.one.example.org", "b"), ("2.two.example.org", "c"), ("3.one", "d"), ("4[7].one", "e"),
            ]
        )  # fmt: skip
        fake("qstat", text)
        cut = "1.pbs-server-with-a-long-name.e"
        assert len(cut) == 31
        with Lookups() as lookups:
            answers = lookups.lookup([cut, "2.two", "2", "3", "3.other", "4[7].one", "4[8].one"], "pbs_jobid")
        users = {job_id: job["user"] for job_id, job in answers.jobs.items()}
        assert users == {cut: "a", "2.two": "c", "3": "d", "4[7].one": "e"}
        assert "contradicts itself about '2'" in answers.faults[0]
        assert "1" in fake.calls("qstat")[0]

    def test_a_job_that_pretends_to_be_another(self, fake: Fakes) -> None:
        """A user may put newlines into a variable of the environment."""
        forged = "Job Id: 1.s\n    Job_Owner = eve@h\n    Variable_List = A=\n\nJob Id: 2.s\n    Job_Owner = root@h\n"
        fake("qstat", forged + "\nJob Id: 2.s\n    Job_Owner = bob@h\n\n")
        with Lookups() as lookups:
            answers = lookups.lookup(["1.s", "2.s"], "pbs_jobid")
        assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {"1.s": "eve"}
        assert answers.failed == ["2.s"]


class TestGridEngine:
    def test_the_queue_then_the_accounting(self, fake: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        common = tmp_path / "sge" / "cell" / "common"
        common.mkdir(parents=True)
        uge, ocs = (DATA / name for name in ("xdmod-uge-accounting.log", "ocs-9-accounting.jsonl"))
        (common / "accounting").write_text(uge.read_text())
        (common / "accounting.jsonl").write_text(ocs.read_text())
        monkeypatch.setenv("SGE_ROOT", str(tmp_path / "sge"))
        monkeypatch.setenv("SGE_CELL", "cell")
        fake("qstat", (DATA / "sge-qstat-xml-j.xml").read_text())
        with Lookups() as lookups:
            answers = lookups.lookup(["4147342", "4437956", "10", "22947", "1"], "job_id")
        users = {job_id: job["user"] for job_id, job in answers.jobs.items()}
        assert users == {"4147342": "shuoli", "4437956": "gpuowner", "10": "root", "22947": "jdoe"}
        assert answers.unknown == ["1"]
        assert fake.calls("qstat") == [["-xml", "-j", "4147342,4437956,10,22947,1"], ["-xml", "-u", "*"]]

    def test_qacct_where_the_file_cannot_be_read(
        self, fake: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SGE_ROOT", str(tmp_path))
        fake("qstat", (DATA / "sge-qstat-xml-j-missing.xml").read_text(), status=1)
        fake("qacct", (DATA / "ocs-9-qacct-j.txt").read_text())
        with Lookups() as lookups:
            answers = lookups.lookup(["8", "9"], "job_id")
        assert answers.jobs["8"]["name"] == "sleep"
        assert answers.unknown == ["9"]
        assert fake.calls("qacct") == [["-j", "8"], ["-j", "9"]]

    @pytest.mark.parametrize(
        "xml",
        [
            "<?xml version='1.0'?><detailed_job_info><djob_info><element>",
            '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
            '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x><JB_job_number>1</JB_job_number></x>',
            "<a></b>",
        ],
    )
    def test_xml_that_is_malformed_or_hostile(self, fake: Fakes, xml: str) -> None:
        fake("qstat", xml)
        with Lookups() as lookups:
            answers = lookups.lookup(["1"], "job_id")
        assert answers.failed == ["1"]
        assert "qstat printed XML that cannot be read" in answers.faults[0]

    def test_a_master_that_is_down(self, fake: Fakes) -> None:
        """What Son of Grid Engine 8.1.9 says then."""
        fake("qstat", stderr="error: commlib error: got select error (Connection refused)\n", status=1)
        with Lookups() as lookups:
            answers = lookups.lookup(["1"], "job_id")
        assert answers.failed == ["1"]
        assert "Connection refused" in answers.faults[0]


class TestLsf:
    def test_json_behind_other_lines(self, fake: Fakes) -> None:
        text = (DATA / "lsf-bjobs-json-gpu-year.json").read_text()
        fake("bjobs", "Please wait ...\n" + text, stderr="Job <5> is not found\n", status=255)
        with Lookups() as lookups:
            answers = lookups.lookup(["321", "5"], "lsb_jobid")
        assert answers.jobs["321"]["user"] == "ubuntu"
        assert (answers.unknown, answers.faults) == (["5"], [])

    def test_a_table_where_there_is_no_json(self, fake: Fakes) -> None:
        fake("bjobs.table", "7|0|bob|-|proj|normal|RUN|4|/home/bob|a|b\n8|2|eve|-|p|normal|DONE|1|-|arr[2]\n")
        fake(
            "bjobs",
            body='case "$*" in *json*) echo "-json: Illegal option" >&2; exit 255;; *) exec bjobs.table "$@";; esac',
        )
        with Lookups() as lookups:
            answers = lookups.lookup(["7", "8[2]", "8[3]"], "lsb_jobid")
        assert answers.jobs["7"]["name"] == "a|b"
        assert answers.jobs["7"]["user"] == "bob"
        assert answers.jobs["8[2]"]["ended"] is True
        assert answers.unknown == ["8[3]"]

    def test_elements_of_an_array_share_an_id(self, fake: Fakes) -> None:
        records = [
            f'{{"JOBID": "9", "JOBINDEX": "{index}", "USER": "bob", "JOB_NAME": "arr[{index}]", "STAT": "{state}"}}'
            for index, state in enumerate(["DONE", "RUN"], 1)
        ]
        fake("bjobs", f'{{"RECORDS": [{", ".join(records)}]}}')
        with Lookups() as lookups:
            job = lookups.lookup(["9"], "lsb_jobid").jobs["9"]
        assert job == {"id": "9", "plugin": "lsb_jobid", "user": "bob", "name": "arr", "ended": False}

    ACCOUNTS = (DATA / "lsf-bacct-l.txt").read_text()

    def test_the_accounting_for_what_bjobs_has_forgotten(self, fake: Fakes) -> None:
        text = (DATA / "lsf-bjobs-json-gpu-year.json").read_text()
        fake("bjobs", text, stderr="Job <101> is not found\n", status=255)
        fake("bacct", self.ACCOUNTS)
        with Lookups() as lookups:
            answers = lookups.lookup(["321", "101", "1234568", "5"], "lsb_jobid")
        users = {job_id: job["user"] for job_id, job in answers.jobs.items()}
        assert users == {"321": "ubuntu", "101": "sanders", "1234568": "abc123"}
        assert (answers.unknown, answers.faults) == (["5"], [])
        assert fake.calls("bacct") == [["-l", "-u", "all", "101", "1234568", "5"]]

    @pytest.mark.parametrize(
        "name",
        [
            "x>, User <root>, Project <p>, Status <DONE>, Queue <q>, Command <y",
            "x>, User <root",
            "a>\n---------------------------------------------\n\nJob <101>, User <root>, Project <p>, Status <DONE>,",
        ],
    )
    def test_a_name_that_pretends_to_be_another_user(self, fake: Fakes, name: str) -> None:
        fake("bjobs", '{"RECORDS": []}\n', status=255)
        fake("bacct", self.ACCOUNTS.replace("test155", name))
        with Lookups() as lookups:
            answers = lookups.lookup(["101", "1234568"], "lsb_jobid")
        assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {"1234568": "abc123"}
        assert answers.unknown == ["101"]

    def test_a_cluster_that_is_down(self, fake: Fakes) -> None:
        fake("bjobs", stderr="LSF is down. Please wait ...\n", status=255)
        with Lookups() as lookups:
            assert "LSF is down" in lookups.lookup(["1"], "lsb_jobid").faults[0]


class TestOthers:
    def test_flux(self, fake: Fakes) -> None:
        fake("flux", (DATA / "flux-jobs--json-running.json").read_text())
        with Lookups() as lookups:
            answers = lookups.lookup(["ƒiFkbMhFM", "??iFkbMhFM", "fAAAA"], "flux_job_id")
        assert {job_id: job["user"] for job_id, job in answers.jobs.items()} == {
            "ƒiFkbMhFM": "fluxuser", "??iFkbMhFM": "fluxuser"
        }  # fmt: skip
        assert answers.unknown == ["fAAAA"]
        assert fake.calls("flux") == [["jobs", "--json", "-A", "-a", "-c", "0", "fiFkbMhFM", "fAAAA"]]

    def test_flux_with_several_jobs(self, fake: Fakes) -> None:
        one = (DATA / "flux-jobs--json-running.json").read_text()
        other = one.replace("\\u0192iFkbMhFM", "ƒBBBB")
        fake("flux", f'{{"jobs": [{one}, {other}]}}')
        with Lookups() as lookups:
            assert set(lookups.lookup(["ƒiFkbMhFM", "ƒBBBB"], "flux_job_id").jobs) == {"ƒiFkbMhFM", "ƒBBBB"}

    @pytest.mark.parametrize("text", ["loadleveler-llq-l.txt", "loadleveler-llq.txt"])
    def test_loadleveler(self, fake: Fakes, text: str) -> None:
        fake("llq", (DATA / text).read_text())
        with Lookups() as lookups:
            answers = lookups.lookup(["meso-d.16250.0", "cma20n01.example.org.2804594.0"], "loadl_step_id")
        (job,) = answers.jobs.values()
        assert job["user"] == {"loadleveler-llq-l.txt": "diet", "loadleveler-llq.txt": "nwp_vfy"}[text]
        assert len(answers.unknown) == 1

    def test_loadleveler_after_the_end(self, fake: Fakes) -> None:
        """No answer of llsummary was to be had. This has the headings, the names and the order that a program reads
        which was written for it (llJobHistoryAgent.php), in the columns of the recorded llq -l."""
        fake("llq", "llq: There is currently no job status to report.\n")
        text = (
            "================== Job fr2n02.example.org.32 ==================\n"
            "             Job Id: fr2n02.example.org.32\n"
            "           Job Name: model\n"
            "              Owner: mary\n"
            "         Unix Group: staff\n"
            "    Number of Steps: 2\n"
            + "".join(
                f"------------------ Step fr2n02.example.org.32.{step} ------------------\n"
                f"        Job Step Id: fr2n02.example.org.32.{step}\n"
                "          Step Type: Serial\n"
                f"             Status: {state}\n"
                "         Start Time: Tue Jul 24 10:19:38 CDT 2007\n"
                "    Completion Date: Tue Jul 24 10:20:38 CDT 2007\n"
                "              Class: parall\n"
                for step, state in enumerate(["Completed", "Removed"])
            )
        )
        fake("llsummary", text)
        with Lookups() as lookups:
            answers = lookups.lookup(["fr2n02.32.0", "fr2n02.32.1", "fr2n02.32.2"], "loadl_step_id")
        assert answers.jobs["fr2n02.32.0"] == {
            "id": "fr2n02.32.0", "plugin": "loadl_step_id", "user": "mary", "group": "staff", "name": "model",
            "partition": "parall", "state": "Completed", "ended": True,
        }  # fmt: skip
        assert answers.jobs["fr2n02.32.1"]["state"] == "Removed"
        assert answers.unknown == ["fr2n02.32.2"]
        assert fake.calls("llsummary") == [["-l", "-j", "fr2n02.32"]]

    def test_users_who_are_in_no_database(self, fake: Fakes) -> None:
        with Lookups() as lookups:
            answers = lookups.lookup(["cp.0", "a b.4294967294", "x.y.0"], "procname_uid")
        assert answers.jobs["cp.0"] == {"id": "cp.0", "plugin": "procname_uid", "name": "cp", "user": "root", "uid": 0}
        assert answers.jobs["a b.4294967294"]["user"] == "4294967294"
        assert answers.jobs["x.y.0"]["name"] == "x.y"
