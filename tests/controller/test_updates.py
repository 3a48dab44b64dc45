"""``scontrol update`` of what users hand in with jobs, of nodes, and of reservations.

Messages and rules are those of Slurm 22.05: job_mgr.c, node_mgr.c, reservation.c and slurm_errno.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("updates"), virtual_nodes()) as found:
        yield found


def _update(cluster: LiveCluster, *words: object) -> subprocess.CompletedProcess[str]:
    return cluster.run("scontrol", "update", *map(str, words), check=False)


def _shown(cluster: LiveCluster, kind: str, name: object, key: str) -> str:
    """Give the value of a key that ``scontrol show`` shows; empty: it does not show it."""
    text = cluster.run("scontrol", "-o", "show", kind, str(name)).stdout
    found = re.search(rf"(?<!\w){key}=(.*?)(?= +\w[\w:/]*=| *$)", text, re.MULTILINE)
    return "" if found is None else found[1]


# ---- jobs -------------------------------------------------------------------------------------------------------


def test_a_key_and_its_value_may_be_two_words(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "--wrap", "true")
    for words in (
        ("job", job_id, "name=a"),
        ("JobId", job_id, "comment=b"),
        ("nice=7", "job", job_id, "admincomment", "c"),
    ):
        assert _update(cluster, *words).returncode == 0
    found = [_shown(cluster, "job", job_id, key) for key in ("JobName", "Comment", "Nice", "AdminComment")]
    assert found == ["a", "b", "7", "c"]
    said = [_update(cluster, *words).stderr for words in (("job", job_id), ("job",), ("job", "x", "name=b"))]
    assert [text.splitlines()[0] for text in said] == [
        *("No changes specified", "Invalid input: job", "Invalid job id specified for job x"),
    ]
    cluster.run("scancel", str(job_id))


def test_the_least_time_limit_stays_below_the_other(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "-t", "50", "--wrap", "true")
    refused = f"Invalid time-min specification (exceeds job's time or other limits) for job {job_id}"
    assert _update(cluster, f"JobId={job_id}", "TimeMin=99").stderr.splitlines()[0] == refused
    assert _update(cluster, f"JobId={job_id}", "TimeMin=5").returncode == 0
    assert _update(cluster, f"JobId={job_id}", "TimeLimit=3").stderr.splitlines()[0] == refused
    assert _update(cluster, f"JobId={job_id}", "TimeMin=70", "TimeLimit=80").returncode == 0
    cluster.run("scancel", str(job_id))


def test_comments_and_mail_of_a_job(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "--comment", "first", "--wrap", "true")
    words = ("Comment=a b", "AdminComment=mind the step", "MailUser=ann", "MailType=END")
    assert _update(cluster, f"JobId={job_id}", *words).returncode == 0
    found = [_shown(cluster, "job", job_id, key) for key in ("Comment", "AdminComment", "MailUser", "MailType")]
    assert found == ["a b", "mind the step", "ann", "END"]
    cluster.kill()
    cluster.up()  # they are on disk
    assert cluster.run("squeue", "-h", "-j", str(job_id), "-O", "comment,admin_comment:16").stdout.split() == [
        *("a", "b", "mind", "the", "step"),
    ]
    _update(cluster, f"JobId={job_id}", "comment=")
    assert _shown(cluster, "job", job_id, "Comment") == ""
    refused = _update(cluster, f"JobId={job_id}", "MailUser=-oops", "comment=x")
    assert (refused.returncode, "-oops" in refused.stderr) == (1, True)
    assert _shown(cluster, "job", job_id, "MailUser") == "ann"
    cluster.run("scancel", str(job_id))
    cluster.wait(lambda: job_id in cluster.ended())
    columns = ("-o", "AdminComment%20,Comment", "-P", "-n", "-X")
    assert cluster.run("sacct", "-j", str(job_id), *columns).stdout == "mind the step|\n"


def test_names_of_running_jobs_change_and_wckeys_do_not(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-J", "first", "-o", "/dev/null", "--wrap", "sleep 600")
    single = cluster.submit("-J", "first", "-d", "singleton", "-o", "/dev/null", "--wrap", "sleep 600")
    assert _shown(cluster, "job", single, "JobState") == "PENDING"
    assert _update(cluster, f"JobId={job_id}", "JobName=second", "Comment=it runs").returncode == 0
    assert _shown(cluster, "job", job_id, "JobName") == "second"
    assert _shown(cluster, "job", job_id, "Comment") == "it runs"
    cluster.wait(lambda: _shown(cluster, "job", single, "JobState") == "RUNNING")
    for change in ("wckey=other", "stdout=elsewhere"):
        refused = _update(cluster, f"JobId={job_id}", change)
        assert refused.stderr == f"Job is no longer pending execution for job {job_id}\n"
        assert refused.returncode == 1
    cluster.run("scancel", str(job_id), str(single))
    cluster.wait(lambda: cluster.ended()[job_id]["name"] == "second" if job_id in cluster.ended() else False)


def test_files_and_the_wckey_of_a_pending_job(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "--wrap", "echo it ran")
    assert _update(cluster, f"JobId={job_id}", "StdOut=changed-%j", "WCKey=key").returncode == 0
    assert cluster.run("squeue", "-h", "-j", str(job_id), "-o", "%w").stdout == "key\n"
    cluster.run("scontrol", "release", str(job_id))
    cluster.wait(lambda: job_id in cluster.ended())
    assert (cluster.directory / f"changed-{job_id}").read_text() == "it ran\n"


def test_requeue_and_nice_of_a_running_job(cluster: LiveCluster) -> None:
    """As in Slurm 22.05.8; a job that may not be requeued any more is not when its node is lost."""
    job_id = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 600")
    cluster.wait(lambda: _shown(cluster, "job", job_id, "JobState") == "RUNNING")
    assert _update(cluster, f"JobId={job_id}", "Requeue=0", "Nice=7", "TimeMin=1").returncode == 0
    assert [_shown(cluster, "job", job_id, key) for key in ("Requeue", "Nice", "TimeMin")] == ["0", "7", "N/A"]
    _update(cluster, "NodeName=n1", "State=DOWN", "Reason=test")
    cluster.wait(lambda: job_id in cluster.ended())
    assert cluster.ended()[job_id]["state"] == "NODE_FAIL"
    _update(cluster, "NodeName=n1", "State=RESUME")


def test_where_the_output_of_a_job_goes_may_change(cluster: LiveCluster) -> None:
    """What it says on standard error goes there too, as in Slurm 22.05.8."""
    (cluster.directory / "inner").mkdir()
    job_id = cluster.submit("-H", "-o", "first", "--wrap", "pwd; echo oops >&2")
    assert _update(cluster, f"JobId={job_id}", "StdOut=second", "WorkDir=inner").returncode == 0
    assert _update(cluster, f"JobId={job_id}", "WorkDir=").returncode == 1
    cluster.run("scontrol", "release", str(job_id))
    cluster.wait(lambda: job_id in cluster.ended())
    assert (cluster.directory / "second").read_text() == f"{cluster.directory / 'inner'}\noops\n"
    assert not (cluster.directory / "first").exists()


# ---- nodes ------------------------------------------------------------------------------------------------------


def test_all_nodes_are_named_so(cluster: LiveCluster) -> None:
    """As in Slurm 22.05.8, whose keys may be abbreviated."""
    for name in ("ALL", "all"):
        assert _update(cluster, f"nod={name}", f"co=of {name}").returncode == 0
        assert [_shown(cluster, "node", f"n{number}", "Comment") for number in range(1, 5)] == [f"of {name}"] * 4
    _update(cluster, "NodeName=ALL", "Comment=")


def test_a_node_that_is_up_cannot_resume(cluster: LiveCluster) -> None:
    """As in Slurm 22.05.8: others do, and what else is asked of it is done."""
    _update(cluster, "NodeName=n2", "State=DRAIN", "Reason=test")
    done = _update(cluster, "NodeName=n[1-3]", "State=RESUME", "Reason=x", "Comment=z")
    assert (done.returncode, done.stderr) == (1, "slurm_update error: Invalid node state specified\n")
    assert [_shown(cluster, "node", name, "State") for name in ("n1", "n2", "n3")] == ["IDLE"] * 3
    assert [_shown(cluster, "node", name, "Comment") for name in ("n1", "n2", "n3")] == ["z"] * 3
    assert _shown(cluster, "node", "n1", "Reason") == ""
    assert _update(cluster, "NodeName=n1", "State=UNDRAIN").returncode == 0
    _update(cluster, "NodeName=ALL", "Comment=")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "node n1 state=drain",
            "scontrol: error: Invalid input: node  Request aborted\nslurm_update error: No error\n",
        ),
        (
            "nodename=n1 extra=a extra",
            "scontrol: error: Invalid input: extra  Request aborted\nslurm_update error: No error\n",
        ),
        ("nodename=n1 c=x", "Update of this parameter is not supported: c=x\nRequest aborted\n"),
        ("nodename=n1 av=x", "Update of this parameter is not supported: av=x\nRequest aborted\n"),
        ("nodename=n1 jobid=7 comment=x", "Update of this parameter is not supported: nodename=n1\nRequest aborted\n"),
        (
            "state=resume nodename=n1 partitionname=main",
            "Update of this parameter is not supported: partitionname=main\nRequest aborted\n",
        ),
    ],
)
def test_words_that_are_no_update_of_a_node(cluster: LiveCluster, words: str, said: str) -> None:
    """As Slurm 22.05.8 says it."""
    done = _update(cluster, *words.split())
    assert (done.returncode, done.stderr) == (1, said)


def test_features_and_weights_of_nodes(cluster: LiveCluster) -> None:
    words = ("Features=fast,big", "Weight=7", "Comment=bought in May", "Extra=rack 2")
    assert _update(cluster, "NodeName=n[2-3]", *words).returncode == 0
    keys = ("AvailableFeatures", "ActiveFeatures", "Weight", "Comment", "Extra", "State")
    values = ["fast,big", "fast,big", "7", "bought in May", "rack 2", "IDLE"]
    assert [_shown(cluster, "node", "n3", key) for key in keys] == values
    plain = cluster.submit("-N2", "-o", "/dev/null", "--wrap", "sleep 600")  # takes the nodes of lower weight
    job_id = cluster.submit("-N2", "-C", "big&fast", "-o", "/dev/null", "--wrap", "sleep 600")
    cluster.wait(lambda: _shown(cluster, "job", job_id, "JobState") == "RUNNING")
    assert [_shown(cluster, "job", one, "NodeList") for one in (job_id, plain)] == ["n[2-3]", "n[1,4]"]
    cluster.run("scancel", str(job_id), str(plain))
    cluster.idle()
    cluster.rota("down")
    cluster.up()
    assert [_shown(cluster, "node", "n3", key) for key in keys] == values
    cluster.run("scontrol", "reconfigure")
    assert [_shown(cluster, "node", "n3", key) for key in keys[:4]] == ["(null)", "(null)", "1", "bought in May"]
    refused = cluster.run("sbatch", "-C", "big", "--wrap", "true", check=False)
    assert "Invalid feature specification" in refused.stderr
    assert "slurm_update error: Invalid node name specified\n" in _update(cluster, "NodeName=n9", "Weight=2").stderr


def test_a_node_that_is_expected_to_fail(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 600")
    cluster.wait(lambda: _shown(cluster, "job", job_id, "JobState") == "RUNNING")
    assert _update(cluster, "NodeName=n[1-2]", "State=FAIL", "Reason=it smells").returncode == 0
    shown = cluster.run("sinfo", "-h", "-N", "-n", "n1,n2", "-o", "%N %t %T").stdout
    assert shown == "n1 fail fail\nn2 failg failing\n"
    assert _shown(cluster, "node", "n1", "State") == "IDLE+FAIL"
    assert cluster.run("sinfo", "-h", "-R", "-o", "%E %N").stdout == "it smells n[1-2]\n"
    cluster.run("scancel", str(job_id))
    cluster.idle()
    _update(cluster, "NodeName=n1", "State=UNDRAIN")  # it is not drained
    assert cluster.run("sinfo", "-h", "-n", "n1,n2", "-o", "%N %t").stdout == "n[1-2] fail\n"
    waits = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    assert _shown(cluster, "job", waits, "JobState") == "PENDING"
    cluster.run("scancel", str(waits))
    _update(cluster, "NodeName=n[1-2]", "State=RESUME")
    assert cluster.run("sinfo", "-h", "-o", "%N %t").stdout == "n[1-4] idle\n"


# ---- reservations -----------------------------------------------------------------------------------------------


def test_reservations(cluster: LiveCluster) -> None:
    words = ("ReservationName=late", "StartTime=now+1hour", "Duration=60", "NodeCnt=2", "Users=root")
    cluster.run("scontrol", "create", "reservation", *words)
    changes = ("Users+=daemon", "Duration+=30", "Flags=FLEX", "NodeCnt=3")
    assert _update(cluster, "Reservation=late", *changes).stdout == "Reservation updated.\n"
    keys = ("Users", "Duration", "Flags", "Nodes", "NodeCnt")
    assert [_shown(cluster, "reservation", "late", key) for key in keys] == [
        *("root,daemon", "01:30:00", "FLEX", "n[1-3]", "3"),
    ]
    end = _shown(cluster, "reservation", "late", "EndTime")
    _update(cluster, "ReservationName=late", "StartTime=now+2hours", "Users-=root", "Flags-=FLEX", "Nodes-=n2")
    assert [_shown(cluster, "reservation", "late", key) for key in keys] == [
        *("daemon", "01:30:00", "SPEC_NODES", "n[1,3]", "2"),
    ]
    assert _shown(cluster, "reservation", "late", "EndTime") > end  # the duration stays

    over = ("ReservationName=now", "StartTime=now", "Duration=600", "Nodes=n1", "Users=root", "Flags=OVERLAP")
    cluster.run("scontrol", "create", "reservation", *over)
    for change, why in (
        (("Reservation=now", "StartTime=now+1"), "Reservation already started"),
        (("Reservation=now", "Flags-=OVERLAP"), "Requested reservation overlaps with another reservation"),
        (("Reservation=late", "Users="), "Reservation request lacks users, groups or accounts"),
        (("Reservation=late", "Nodes=n7"), "Invalid node name specified"),
        (("Reservation=nosuch", "Duration=5"), "Requested reservation is invalid"),
    ):
        refused = _update(cluster, *change)
        assert refused.stderr.startswith(f"Error updating the reservation: {why}\n")
        assert refused.returncode == 1
    assert _shown(cluster, "reservation", "now", "Flags") == "OVERLAP,SPEC_NODES"
    for name in ("now", "late"):
        cluster.run("scontrol", "delete", f"ReservationName={name}")
