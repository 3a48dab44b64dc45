"""A recorded cluster: whatever command was recorded, the answer here is the same, byte for byte. See data/README.md."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.listings.answer import Answer

from .rig import Snapshot, answer_of, recorded, rig

COMMANDS = recorded("rig-4-nodes.txt")
SACCT = recorded("sacct.txt")
#: Commands that are meant to be answered in another way, and how: docs/differences.md.
DIFFERENT = {
    "squeue -j '7_[1-3]' -h -o %i": "a range of tasks lists them",
    "squeue -j 1 -j 6 -h -o %i": "-j may be repeated",
    "squeue -s 1 -j 1": "-j and -s may both have a list as the next word",
    "squeue -s 1.batch -h": "a batch step can be chosen",
    "SLURM_BITSTR_LEN=3 squeue -h -o '%i %K' -j 7": "task ids are cut at a comma",
    "scontrol show hostnames 'n[1-'": "an open bracket is an error",
    "scontrol show reservation": "the partition of a reservation is not kept",
    "scontrol -o show reservation": "the partition of a reservation is not kept",
    "scontrol show steps": "steps of job arrays are listed too",
    "scontrol -o show steps": "steps of job arrays are listed too",
    "scontrol show step 1.batch": "a batch step can be chosen",
}
#: Columns that differ: of nodes that were never up, Slurm says that root has set the reason; and see `SACCT_OTHERS`.
USER_OF_REASON = {"sinfo -o '%a", "sinfo -N -o '%a", "sinfo -O allocmem"}
SACCT_DIFFERENT = {
    "sacct -j 2 -P -o ALL": "see test_all_fields_of_sacct",
    "sacct -P -o ALL": "see test_all_fields_of_sacct",
    "sacct -j 1 -s PD": "steps are listed with their job",
    "sacct -j 3 -P -o jobid,state,exitcode,derivedexitcode,elapsed,totalcpu,usercpu,systemcpu": "microseconds",
    "sacct --parsable2 --noheader --format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem -j 2,3": (
        "microseconds"
    ),
    "sacct -S 2030-01-01 -X -o jobid": "it was recorded at the turn of a second",
}


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return rig()


def _same(command: str, mine: str, slurms: str) -> None:
    """Compare texts; in tables, rows whose sort keys are equal come in an order that Slurm leaves open."""
    if (
        command.split(maxsplit=1)[0] in {"squeue", "sinfo"}
        or "SQUEUE" in command
        or "SLURM_TIME" in command
        or "SINFO" in command
    ):
        assert sorted(mine.splitlines()) == sorted(slurms.splitlines())
        assert mine.splitlines()[:1] == slurms.splitlines()[:1] or "-h" in command
    elif command in {"scontrol show job", "scontrol show job 7", "scontrol -d show job"}:
        assert sorted(mine.split("\n\n")) == sorted(slurms.split("\n\n"))
    else:
        assert mine == slurms


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in DIFFERENT])
def test_answer_is_slurms(command: str, view: Snapshot) -> None:
    expected = COMMANDS[command]
    answer = answer_of(view, command, expected.now)
    assert (answer.err, answer.code) == (expected.err, expected.code)
    out, slurms = answer.out, expected.out
    if any(command.startswith(one) for one in USER_OF_REASON):
        slurms = slurms.replace("|root|root(0)|N/A|", "|Unknown|Unknown|N/A|")
        slurms = slurms.replace(f"{'Unknown':20}{'root':20}{'root(0)':20}", f"{'Unknown':20}" * 3)
        slurms = slurms.replace(f"{'(null)':20}gpu:0     ", f"{'(null)':20}{'(null)':10}")
    # The number of tasks of a job that never started.
    slurms = slurms.replace("4294967294", f"{'1':10}").replace("NumTasks=N/A", "NumTasks=1")
    _same(command, out, slurms)


@pytest.mark.parametrize("command", DIFFERENT)
def test_what_differs_still_differs(command: str, view: Snapshot) -> None:
    expected = COMMANDS[command]
    assert answer_of(view, command, expected.now) != expected[2:] + expected[1:2]


@pytest.mark.parametrize("command", [one for one in SACCT if one not in SACCT_DIFFERENT])
def test_answer_of_sacct_is_slurms(command: str, view: Snapshot) -> None:
    expected = SACCT[command]
    answer = answer_of(view, command, expected.now)
    assert (answer.out, answer.err, answer.code) == (expected.out, expected.err, expected.code)


@pytest.mark.parametrize(
    ("given", "bad"),
    {
        "nope": "nope",
        "NoPe": "NoPe",
        " nope": " nope",
        "'nope'": "nope",
        "normal,urgent,nope,nix": "nope",
        "1": "1",
    }.items(),
)
def test_sacct_refuses_a_qos_that_there_is_not(given: str, bad: str, view: Snapshot) -> None:
    """As Slurm 22.05.8 said it, whose QOS were ``normal`` and ``urgent``."""
    told = f"sacct: error: You gave a bad qos '{bad}'. Valid QOS's are normal,urgent\n"
    told += "sacct: fatal: problem processing qos list\n"
    for more in ("", "-n", "--json", "-l", "-j 5", "-u root"):
        answer = answer_of(view, f'sacct -q "{given}" {more}', view.now)
        assert (answer.out, answer.err, answer.code) == ("", told, 1)


def test_sacct_says_first_what_else_is_wrong(view: Snapshot) -> None:
    for words, told in {
        "-j x": "fatal: Bad job/step specified: x",
        "-s bad": "fatal: unrecognized job state value 'bad'",
        "-u nobodyhere": "error: Invalid user id: nobodyhere",
    }.items():
        assert answer_of(view, f"sacct -q nope {words}", view.now).err == f"sacct: {told}\n"


@pytest.mark.parametrize("given", ["NORMAL", "+normal", "normal,,urgent"])
def test_sacct_of_a_qos(given: str, view: Snapshot) -> None:
    """In these words, too, Slurm 22.05.8 listed the jobs of the QOS."""
    found = answer_of(view, f"sacct -j 1,2 -X -n -q {given}", view.now)
    assert (found.out != "", found) == (True, answer_of(view, "sacct -j 1,2 -X -n -q normal", view.now))


#: Fields of `sacct` that differ: what rota does not keep or measure, sums of microseconds, and
#: - Comment, which Slurm stores only if slurm.conf says so;
#: - NNodes of a pending job whose smallest number of nodes was raised later;
#: - Reason, which holds in Slurm what was stored when the job was last considered.
SACCT_OTHERS = {
    *("DBIndex", "QOSRAW", "SubmitLine", "AveCPUFreq", "Comment", "NNodes", "Reason"),
    *("TotalCPU", "UserCPU", "SystemCPU", "ConsumedEnergy", "ConsumedEnergyRaw"),
    *("AvePages", "AveVMSize", "MaxPages", "MaxPagesNode", "MaxPagesTask", "MaxVMSize"),
    *("MaxVMSizeNode", "MaxVMSizeTask"),
    *(f"TRESUsage{way}{kind}" for way in ("In", "Out") for kind in ("Ave", "Max", "Min", "Tot")),
    *(f"TRESUsage{way}{kind}{what}" for way in ("In", "Out") for kind in ("Max", "Min") for what in ("Node", "Task")),
}


def test_all_fields_of_sacct(view: Snapshot) -> None:
    expected = SACCT["sacct -P -o ALL"]
    header, *mine = (line.split("|") for line in answer_of(view, "sacct -P -o ALL", expected.now).out.splitlines())
    names, *slurms = (line.split("|") for line in expected.out.splitlines())
    assert header == names
    for row, other in zip(mine, slurms, strict=True):
        shown, wanted = dict(zip(names, row, strict=True)), dict(zip(names, other, strict=True))
        for name in set(names) - SACCT_OTHERS:
            assert (wanted["JobID"], name, shown[name]) == (wanted["JobID"], name, wanted[name])


#: Of a cluster with jobs and without, as a Slurm 22.05.8 said it with job 61 in place of 1.
_NO_STEPS = {
    "99999": ("slurm_get_job_steps error: Invalid job id specified", "Job step 99999. not found"),
    "99999_3.2": ("slurm_get_job_steps error: Invalid job id specified", None),
    "99999.extern": ("slurm_get_job_steps error: Invalid job id specified", None),
    "1.7": ("Job step 1.7 not found", None),
    "1.": ("Job step 1.0 not found", None),
    "1.x": ("Job step 1.0 not found", None),
    "2": ("Job step 2. not found", None),
    "7_9": ("Job step 7_9. not found", None),
    "all": ("Job step 0.Invalid not found", "Job step 0.Invalid not found"),
}


@pytest.mark.parametrize("name", _NO_STEPS)
def test_steps_that_there_are_not(name: str, view: Snapshot) -> None:
    for shown, expected in zip((view, replace(view, job_lines=[])), _NO_STEPS[name], strict=True):
        if expected is not None:
            answer = answer_of(shown, f"scontrol show step {name}", view.now)
            told = ("", f"{expected}\n") if expected.startswith("slurm") else (f"{expected}\n", "")
            assert (answer.out, answer.err, answer.code) == (*told, 1)
            assert answer_of(shown, f"scontrol -Q show step {name}", view.now) == Answer(code=1)
