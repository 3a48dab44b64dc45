"""Every recorded answer gives the right metadata.

The expected values were read off the recorded files by eye, and the seconds of dates that have a zone worked out with
date(1); no program of ours has made them. Fields that a file does not have, and times whose zone it does not say, are
not there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rota.interfaces import LookupFailedError

from .conftest import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.jobmeta.plugin import Plugin

#: Id, user, group, name, queue, submission, start, end, nodes, and what not all lines have.
LOGGED_BY_PBS: list[tuple[str, str, str, str, str, int, int, int, int, dict[str, Any]]] = [
    ("6.edge.ccr.buffalo.edu", "jonesm", "ccrstaff", "impi-hybrid", "ccr", 1261424924, 1261425023, 1261427220,
     4, {"cpus": 32}),
    ("6", "jonesm", "ccrstaff", "impi-hybrid", "ccr", 1261424924, 1261425023, 1261427220, 4, {"cpus": 32}),
    ("6464684.anonhost", "anonuser", "anongroup", "anonjob", "default", 1415579756, 1415589841, 1415599191, 1,
     {"account": "anonaccount", "cpus": 4}),
    ("2994.pbs", "anonuser", "anongroup", "anonjob", "workq", 1453756297, 1453766281, 1453766437, 5,
     {"cpus": 65}),
    ("2995.pbs", "anonuser", "anongroup", "anonjob", "anonq", 1453756297, 1453766281, 1453766437, 2,
     {"cpus": 12}),
    ("7904", "ybsbu", "caste", "test-gpu-job-1", "gpu", 1485451423, 1485451424, 1485459831, 1,
     {"account": "caste", "cpus": 28}),
    ("10711", "ybsbu", "caste", "test-gpu-job-2", "black", 1587912647, 1588046353, 1588146353, 1,
     {"account": "caste"}),
    ("10712", "ybsbu", "caste", "test-gpu-job-3", "black", 1587912657, 1588046363, 1588146363, 1,
     {"account": "caste", "cpus": 28}),
    ("3073070.[hostname_1]", "[user_1]", "[user_1]", "OOD-[hostname]_Jupyter_GPU", "gpu", 1607291960,
     1607291966, 1607328038, 1, {"account": "[project1]", "cpus": 48}),
]  # fmt: skip
#: By plugin and file: metadata by id.
EXPECTED: dict[tuple[str, str], dict[str, dict[str, Any]]] = {
    ("slurm_job_id", "slurm-sacct--json.json"): {
        "267854": {
            "user": "user", "group": "group", "account": "users", "name": "r230620", "partition": "compute",
            "qos": "normal", "state": "COMPLETED", "ended": True, "submit": 1687222030, "start": 1687234198,
            "end": 1687234436, "nodes": 1, "nodelist": "compute013", "cpus": 2, "cwd": "/path/to/file",
            "cluster": "slurm-cluster",
        },
    },
    # Two records of one job, which was queued again: the newer one, by its submission.
    ("slurm_job_id", "slurm-sacct--json-requeued.json"): {
        "268210": {
            "user": "user", "group": "group", "account": "users", "name": "r230621_112805513_pid_4_alignAndPairSlim",
            "partition": "devel", "qos": "normal", "state": "TIMEOUT", "ended": True, "submit": 1687339691,
            "start": 1687355570, "end": 1687356482, "nodes": 1, "cpus": 8, "cwd": "/path/to/file",
            "nodelist": "compute015", "cluster": "slurm-cluster",
        },
    },
    # The first job has plain numbers, the second the objects of newer releases. Neither has ended: no end.
    ("slurm_job_id", "slurm-squeue--json-21.08.json"): {
        "26515966": {
            "user": "bkd", "uid": 1977600017, "account": "account1", "name": "job_name", "partition": "hw-l",
            "qos": "normal", "state": "RUNNING", "ended": False, "submit": 1684114900, "start": 1684114921, "nodes": 1,
            "nodelist": "cs75", "cpus": 1, "cwd": "/somedir/on/nfs", "cluster": "rivos",
        },
        "58948420": {
            "user": "bkd", "uid": 1234, "group": "rvs", "account": "account1", "name": "some job name",
            "partition": "hw-m", "qos": "normal", "state": "PENDING", "ended": False, "submit": 1729715848, "nodes": 1,
            "cpus": 1, "cwd": "/path/to/some/dir", "cluster": "rivos",
        },
    },
    # The last two objects are no JSON, and a comment is between them.
    ("slurm_job_id", "slurm-squeue-format-jsonlines.txt"): {
        "26515966": {"account": "account1", "partition": "hw-h", "state": "RUNNING", "ended": False},
        "50580016": {"account": "account1", "partition": "hw-l", "state": "RUNNING", "ended": False},
        "51447051": {"account": "account1", "partition": "hw-h", "state": "PENDING", "ended": False},
        "51447052": {"account": "account1", "partition": "hw-h", "state": "PENDING", "ended": False},
        "51447053": {"account": "account1", "partition": "hw-h", "state": "PENDING", "ended": False},
        "18804": {"account": "account1", "partition": "magma", "state": "PENDING", "ended": False},
    },
    ("slurm_job_id", "slurm-scontrol-show-job.txt"): {
        "267858": {
            "user": "user", "uid": 192456, "group": "group", "account": "group", "name": "r230620",
            "partition": "compute", "qos": "normal", "state": "RUNNING", "ended": False, "nodes": 1, "cpus": 76,
            "nodelist": "compute038", "cwd": "/home/user",
        },
    },
    ("pbs_jobid", "openpbs-22.05-qstat-xf-Fjson.json"): {
        "0.725ccdf1a5fb": {
            "user": "pbsuser", "group": "pbsuser", "name": "testname", "partition": "workq", "state": "F",
            "ended": True, "nodes": 1, "cpus": 1, "cwd": "/home/pbsuser",
        },
    },
    ("pbs_jobid", "pbspro-text_qstat_f_to_test.txt"): {
        "68350.mycluster": {
            "user": "usernum1", "name": "cell-Qnormal", "partition": "Q_express", "state": "Q", "ended": False,
            "nodes": 15, "cpus": 240, "cwd": "/home/usernum1/scratch/cptest/scaletest/PTOscaletest",
        },
        "68351.mycluster": {
            "user": "usernum1", "name": "cell-Qnormal", "partition": "Q_express", "state": "Q", "ended": False,
            "nodes": 15, "cpus": 240, "cwd": "/home/usernum1/scratch/cptest/scaletest/PTOscaletest",
        },
        "69301.mycluster": {
            "user": "user02", "account": "lsu", "name": "Cu-dbp", "partition": "P_lsu", "state": "R", "ended": False,
            "nodes": 4, "cpus": 64, "cwd": "/scratch/user02/QMMM-CuPhens/dbp/NOSE/RUN7",
        },
        "69302.mycluster": {
            "user": "user02", "account": "lsu", "name": "Cu-dbp", "partition": "P_lsu", "state": "H", "ended": False,
            "nodes": 4, "cpus": 64, "cwd": "/scratch/user02/QMMM-CuPhens/dbp/NOSE/RUN8",
        },
        "74164.mycluster": {
            "user": "user3", "name": "u-100-l-96.job", "partition": "Q_normal", "state": "R", "ended": False,
            "nodes": 2, "cpus": 32, "cwd": "/scratch/user3/ubiquitin/100gL/starting-from-left/production",
        },
        "74165.mycluster": {
            "user": "user3", "name": "u-100-l-97.job", "partition": "Q_normal", "state": "H", "ended": False,
            "nodes": 2, "cpus": 32, "cwd": "/scratch/user3/ubiquitin/100gL/starting-from-left/production",
        },
    },
    # Of Torque: the ids have no server. Lists of files go on in column 0.
    ("pbs_jobid", "pbspro-text_qstat_f_to_test_with_unexpected_newlines.txt"): {
        number: {
            "user": user, "group": group, "account": account, "name": name, "partition": queue, "state": state,
            "ended": state == "C", "nodes": nodes, "cpus": 24 * nodes,
        }
        for number, user, group, account, name, queue, state, nodes in [
            ("549159", "user_549159", "users", "account_549159", "somejob", "ShortQ", "H", 4),
            ("555716", "somebody", "users", "dias01", "ini_J2", "ProdQ", "R", 4),
            ("556491", "user_556491", "users", "some432472", "somejob010", "LongQ", "R", 1),
            ("546437", "user_546437", "group_546437", "account_546437", "job_546437", "ShortQ", "C", 4),
            ("547637", "user_546437", "group_546437", "account_546437", "job_546437", "ShortQ", "Q", 1),
            ("547683", "user_547683", "group_547683", "account_547683", "job_547683", "ShortQ", "Q", 1),
            ("549004", "user_549004", "group_549004", "account_549004", "job_549004", "ProdQ", "Q", 1),
            ("549005", "user_549004", "group_549004", "account_549004", "job_549004", "ProdQ", "Q", 1),
            ("549008", "user_549008", "group_549008", "account_549008", "job_549008", "ProdQ", "Q", 1),
            ("543984", "user_543984", "group_543984", "account_543984", "job_543984", "ProdQ", "C", 32),
        ]
    },
    ("pbs_jobid", "xdmod-pbs-accounting.log"): {
        job_id: {
            "user": user, "group": group, "name": name, "partition": queue, "state": "F", "ended": True,
            "submit": submit, "start": start, "end": end, "nodes": nodes, **more,
        }
        for job_id, user, group, name, queue, submit, start, end, nodes, more in LOGGED_BY_PBS
    },
    ("job_id", "sge-qstat-xml-j.xml"): {
        "4147342": {
            "user": "shuoli", "uid": 13287, "group": "xjzhou", "account": "xjzhou_prj",
            "name": "cfSNV_0merged_split_pileup_241.FLASH.recal_10.pbs", "ended": False, "submit": 1541444183,
            "start": 1541444223, "cwd": "/u/project/xjzhou/shuoli/Zo_WES_plasma_SC1810033_10312018/code/0",
        },
    },
    # Milliseconds.
    ("job_id", "uge-8.6-qstat-xml-j.xml"): {
        "748172": {
            "user": "johrstrom", "uid": 99577, "group": "hpcc", "account": "communitycluster",
            "name": "jupyter_interactive", "partition": "ondemand", "ended": False, "submit": 1592928409.331,
            "start": 1592928425.042, "cpus": 11,
            "cwd": "/home/johrstrom/ondemand/data/sys/dashboard/batch_connect/sys/jupyter/output/"
                   "a4a46499-77d9-4334-bef2-71dd0a0857f6",
        },
    },
    # No well-formed XML: an element without a name.
    ("job_id", "sge-qstat-xml-j-missing.xml"): {},
    ("job_id", "sge-qstat-xml-r.xml"): {
        "88": {"user": "vagrant", "account": "project_a", "name": "job_15", "state": "r", "ended": False, "cpus": 1},
        "1045": {"user": "vagrant", "account": "project_b", "name": "job_RQ", "state": "qw", "ended": False, "cpus": 1},
        "1046": {"user": "vagrant", "name": "job_RR", "state": "qw", "ended": False, "cpus": 1},
        "44": {"user": "vagrant", "name": "c_d", "state": "hqw", "ended": False, "cpus": 1},
    },
    ("job_id", "sge-qstat-ext-urg-xml.xml"): {
        "1212299": {
            "user": "dorigm7s", "account": "ams.p", "name": "Heusler", "partition": "serial.q", "state": "r",
            "ended": False, "cpus": 1,
        },
        "1212263": {
            "user": "dorigm7s", "account": "ams.p", "name": "Heusler", "state": "qw", "ended": False, "cpus": 8
        },
        "1212322": {
            "user": "dorigm7s", "account": "ams.p", "name": "Heusler", "state": "hqw", "ended": False, "cpus": 1
        },
    },
    ("job_id", "xdmod-sge-accounting.log"): {
        "22947": {
            "user": "jdoe", "group": "jdoe", "account": "sge", "name": "mpi-mem-test", "partition": "myqueue",
            "ended": True, "submit": 1310761621, "start": 1311095354, "end": 1311095414, "cpus": 1,
        },
    },
    # Milliseconds.
    ("job_id", "xdmod-uge-accounting.log"): {
        "22947": {
            "user": "jdoe", "group": "jdoe", "account": "sge", "name": "mpi-mem-test", "partition": "myqueue",
            "ended": True, "submit": 1310761621, "start": 1311095354, "end": 1311095414, "cpus": 1,
        },
        "4437956": {
            "user": "gpuowner", "group": "gpugroup", "account": "sge", "name": "gpujob", "partition": "gpu_queue",
            "ended": True, "submit": 1652111621.288, "start": 1652111622.875, "end": 1652124460.193, "cpus": 16,
        },
    },
    # Microseconds.
    ("job_id", "ocs-9-accounting.jsonl"): {
        "10": {
            "user": "root", "group": "root", "account": "sge", "name": "echo", "partition": "all.q", "ended": True,
            "submit": 1730532912.874519, "start": 1730532913.429415, "end": 1730532913.979016, "cpus": 1,
        },
    },
    ("job_id", "ocs-9-qacct-j.txt"): {
        "8": {
            "user": "root", "group": "root", "account": "sge", "name": "sleep", "partition": "all.q", "ended": True,
            "cpus": 1,
        },
    },
    ("lsb_jobid", "lsf-bjobs-json-1job.json"): {
        "22005": {
            "user": "otptest", "account": "default", "name": "ls -l", "partition": "short-dmg", "state": "DONE",
            "ended": True, "cpus": 1, "cwd": "/some/test",
        },
    },
    ("lsb_jobid", "lsf-bjobs-json-6jobs.json"): {
        **{number: {"name": "RoddyTest_testScript", "state": "EXIT", "ended": True}
           for number in ("487641", "487642", "488155")},
        **{number: {"name": "RoddyTest_testScript", "state": "DONE", "ended": True} for number in ("491861", "491864")},
        "491867": {"name": "RoddyTest_testScriptMultiInMixedParameters", "state": "DONE", "ended": True},
    },
    ("lsb_jobid", "lsf-bjobs-json-gpu-year.json"): {
        "321": {
            "user": "ubuntu", "group": "ubuntugrp", "account": "default", "name": "bash", "partition": "interactive",
            "state": "RUN", "ended": False, "cpus": 32,
        },
    },
    ("lsb_jobid", "xdmod-lsf-accounting.log"): {
        "404717": {
            "user": "anonuser", "account": "anonproject", "name": "abcde0040", "partition": "regular", "state": "DONE",
            "ended": True, "submit": 1389642318, "start": 1389642771, "end": 1389683139, "cpus": 128,
            "cwd": "/scratch/anonuser/abcde/abcde0040",
        },
    },
    ("lsb_jobid", "lsf-bacct-l.txt"): {
        "3329613": {
            "user": "rmurri", "account": "default", "partition": "pub.1h", "state": "DONE", "ended": True,
        },
        "101": {
            "user": "sanders", "account": "default", "name": "test155", "partition": "normal", "state": "EXIT",
            "ended": True,
        },
        "1234568": {
            "user": "abc123", "account": "project123", "name": "email-test", "partition": "normal", "state": "DONE",
            "ended": True,
        },
    },
    ("loadl_step_id", "loadleveler-llq-l.txt"): {
        "meso-d.16250.0": {
            "user": "diet", "group": "cri", "name": "meso-d.16250", "partition": "parall", "state": "Running",
            "ended": False, "cwd": "/users/cri/diet/YC",
        },
    },
    ("loadl_step_id", "loadleveler-llq.txt"): {
        "cma20n01.2804594.0": {"user": "nwp_vfy", "state": "R", "partition": "serial", "ended": False},
        "cma19n04.2806185.0": {"user": "nwp_hb", "state": "R", "partition": "normal", "ended": False},
        "cma20n04.2807946.0": {"user": "nwp_pd", "state": "R", "partition": "serial_op", "ended": False},
        "cma20n02.2806635.0": {"user": "bcccsmqu", "state": "I", "partition": "normal", "ended": False},
        "cma20n04.2797666.0": {"user": "pos_xp", "state": "H", "partition": "minijob", "ended": False},
    },
    ("flux_job_id", "flux-jobs--json-running.json"): {
        "fiFkbMhFM": {
            "user": "fluxuser", "uid": 1002, "name": "sleep", "state": "RUN", "ended": False,
            "submit": 1791485339.3489497, "start": 1791485339.3808882, "nodes": 1, "cpus": 10, "cwd": "/home/fluxuser",
        },
    },
}  # fmt: skip
#: Tables without headings: the field of each of their columns, which only those know who asked for them.
TABLES = {
    "slurm-TEXT_SQUEUE_TO_TEST.txt": (
        "slurm_job_id", "^^^",
        ("id", "state", "", "", "user", "nodes", "cpus", "", "partition", "", "", "start", "name", "submit"),
    ),
    "xdmod-slurm-sacct-parsable2.log": (
        "slurm_job_id", "|",
        ("", "id", "cluster", "partition", "qos", "account", "group", "", "user", "uid", "submit", "", "start", "end",
         "", "", "state", "nodes", "cpus", "", "", "", "", "", "", "name"),
    ),
    "lsf-bjobs-delimited.txt": (
        "lsb_jobid", "|",
        ("id", "state", "", "", "user", "cpus", "", "", "partition", "", "", "", "", "name"),
    ),
}  # fmt: skip


def test_every_recorded_answer_is_among_these() -> None:
    recorded = {path.name for path in DATA.iterdir() if path.suffix != ".md" and not path.name.startswith("real-")}
    assert recorded == {file for _, file in EXPECTED} | set(TABLES)


@pytest.mark.parametrize(("name", "file"), EXPECTED)
def test_recorded(load: Callable[[str], Plugin], name: str, file: str) -> None:
    assert load(name).parse((DATA / file).read_text()) == EXPECTED[name, file]


def _table(load: Callable[[str], Plugin], file: str) -> list[dict[str, Any]]:
    name, delimiter, fields = TABLES[file]
    return list(load(name).container.rows((DATA / file).read_text().rstrip("\n") + "\n", fields, delimiter))


def test_a_table_of_squeue(load: Callable[[str], Plugin]) -> None:
    jobs = _table(load, "slurm-TEXT_SQUEUE_TO_TEST.txt")
    assert [(job["id"], job["user"], job["name"], job["cpus"]) for job in jobs] == [
        ("862540", "user1", "longsqw_L24_q_10_0", 640),
        ("863100", "user2", "eq_solve_e4.slm", 1024),
        ("863546", "user3", "S2-H2O", 64),
        ("863313", "user4", "test", 1),
        ("862538", "user5", "longsqw_L24_q_11_0", 640),
        ("861352", "user6", "Pressure_PBEsol_0", 128),
        ("863553", "user5", "bash", 32),
        ("863554", "user5", "bash", 32),
    ]


def test_a_table_of_sacct(load: Callable[[str], Plugin]) -> None:
    jobs = _table(load, "xdmod-slurm-sacct-parsable2.log")
    assert [(job["id"], job["user"], job["uid"], job["account"], job["name"], job["state"]) for job in jobs] == [
        ("4103947", "unknown", 192837, "anon", "1AbC-2-3", "TIMEOUT"),
        ("4107166", "hanx", 102216, "dspumpkins", "100-Floors-of-Frights", "CANCELLED"),
        ("4107219", "anonuser", 10101010, "anonacct", "anonjobname", "COMPLETED"),
        ("5692623", "xms", 987654321, "ccr", "allocation", "COMPLETED"),
    ]


def test_a_table_of_bjobs(load: Callable[[str], Plugin]) -> None:
    jobs = _table(load, "lsf-bjobs-delimited.txt")
    assert [(job["id"], job["user"], job["partition"], job["name"], job["ended"]) for job in jobs] == [
        ("764213236", "inewton", "test", "aiida-1033269", True),
        ("764220165", "inewton", "8nm", "aiida-1033444", False),
        ("764220167", "fchopin", "test", "aiida-1033449", False),
        ("764254593", "inewton", "test", "test", False),
        ("764255172", "inewton", "test", "test", False),
        ("764245175", "dbowie", "test", "test", False),
        ("764399747", "inewton", "test", "test", True),
    ]


@pytest.mark.parametrize(("name", "file"), EXPECTED)
def test_a_recorded_answer_that_is_cut_anywhere(load: Callable[[str], Plugin], name: str, file: str) -> None:
    """Half an answer gives the same for the jobs that are whole, says that it cannot be read, or lacks fields."""
    plugin, text, whole = load(name), (DATA / file).read_text(), EXPECTED[name, file]
    for length in range(0, len(text), max(1, len(text) // 20)):
        try:
            found = plugin.parse(text[:length].rpartition("\n")[0])
        except LookupFailedError:
            continue
        for job_id, fields in found.items():
            users = {"user", "group", "account", "name"} & fields.keys()
            assert {field: fields[field] for field in users} == {field: whole[job_id][field] for field in users}


def test_the_file_of_lsf_has_an_escaped_script(load: Callable[[str], Plugin]) -> None:
    """A text with quotes in it is one word."""
    line = (DATA / "xdmod-lsf-accounting.log").read_text().splitlines()[0]
    forged = line.replace("poe   ", 'x"" ""root"" ""', 1)
    assert load("lsb_jobid").parse(forged) == load("lsb_jobid").parse(line)


def test_names_that_json_would_change(load: Callable[[str], Plugin]) -> None:
    """OpenPBS writes names that look like numbers without quotes: they stay as they are written."""
    said = {"Jobs": {"1.s": {"Job_Name": "@", "Job_Owner": "u@h"}}}
    text = json.dumps(said)
    for number in ("123", "1e5", "0.10"):
        found = load("pbs_jobid").parse(text.replace('"@"', number))
        assert found["1.s"]["name"] == number
