"""Submissions by sbatch: what is taken from the command line, the environment and the script."""

from __future__ import annotations

import signal

import pytest

from rota.commands.option_error import OptionError
from rota.commands.refusals import refusal
from rota.commands.submission import Client, ScriptError, Submitted, read_command_line, read_submission

_NOW = 1_800_000_000


def _submit(*words: str, script: str = "#!/bin/sh\ntrue\n", **environment: str) -> Submitted:
    client = Client("ann", 1000, 100, "host", "/home/ann", environment, 0o027, {"NOFILE": (10, 20)})
    line = read_command_line(words, _NOW, lambda _: 0)
    return read_submission(line, script, client, _NOW, lambda _: 0)


def test_what_is_handed_in() -> None:
    found = _submit("-J", "name", "-o", "out/%j", "-D", "work", "--comment=two words", "job.sh", "-n", "4", HOME="/x")
    assert (found.spec.name, found.spec.user, found.spec.user_id, found.spec.num_tasks) == ("name", "ann", 1000, 0)
    one, details = found.submission, found.submission.details
    assert one.arguments == ("-n", "4")  # options after the script are the script's
    assert (one.umask, one.rlimits) == (0o027, {"NOFILE": (10, 20)})
    assert details.command == "/home/ann/job.sh -n 4"
    assert (details.work_dir, details.std_out) == ("/home/ann/work", "/home/ann/work/out/%j")
    assert details.std_err == details.std_out
    assert (details.comment, details.submit_host) == ("two words", "host")
    assert details.submit_line == "sbatch -J name -o out/%j -D work --comment=two words job.sh -n 4"


def test_names_of_jobs_without_one() -> None:
    assert _submit("dir/job.sh").spec.name == "job.sh"
    assert _submit().spec.name == "sbatch"
    assert _submit("--wrap", "true").spec.name == "wrap"


def test_output_of_arrays() -> None:
    assert _submit("x").submission.details.std_out == "/home/ann/slurm-%j.out"
    assert _submit("-a", "1-3", "x").submission.details.std_out == "/home/ann/slurm-%A_%a.out"


def test_directives_end_at_the_first_command() -> None:
    script = "#!/bin/sh\n# a comment\n#SBATCH -c 2 --mem=100  # and why\n\n#SBATCH\t-J 'a b'\ntrue\n#SBATCH -c 9\n"
    spec = _submit("x", script=script).spec
    assert (spec.cpus_per_task, spec.mem_per_node, spec.name) == (2, 100, "a b")


@pytest.mark.parametrize(
    ("line", "name", "tasks"),
    [
        ("-J x \\\n#SBATCH -n2", "x", 2),
        ("-J x\\\n#SBATCH -n2", "x", 2),
        ("-J x \\\n-n2", "x", 0),
        ("\\-J x", "x", 0),
        ("-J x\\ny -n2", "xny", 2),
        ("-J x\\\\y -n2", "x\\y", 2),
        ('-J "a\\"b" -n2', 'a"b', 2),
        ("-J 'a\\b' -n2", "ab", 2),
        ("-J x#y -n2", "x", 0),
        ('-J "x # y" #z', "x # y", 0),
        ('--job-name="x"y', "xy", 0),
    ],
)
def test_backslashes_in_directives(line: str, name: str, tasks: int) -> None:
    """As ``squeue`` of 22.05.8 showed these jobs."""
    spec = _submit("x", script=f"#!/bin/sh\n#SBATCH {line}\necho hi\n").spec
    assert (spec.name, spec.num_tasks) == (name, tasks)


@pytest.mark.parametrize(
    ("line", "rest"),
    [('-J "open', ' "open'), ('-n2 -Jab"open x', ' -Jab"open x'), ('--job-name="a b', '--job-name="a b')],
)
def test_quotes_that_are_not_closed(line: str, rest: str) -> None:
    with pytest.raises(OptionError) as raised:
        _submit("x", script=f"#!/bin/sh\n#SBATCH {line}\n")
    assert str(raised.value.worded) == f'fatal: x: line 2: Unmatched `"` in [{rest}]'


def test_a_script_does_not_keep_sbatch_from_printing() -> None:
    submitted = _submit("x", script="#!/bin/sh\n#SBATCH -Q --parsable\n")
    assert "quiet" not in submitted.texts
    assert "parsable" in submitted.texts


def test_what_counts_more() -> None:
    script = "#!/bin/sh\n#SBATCH -p script --mem=100 --requeue\n"
    assert _submit("x", script=script).spec.partition == "script"
    assert _submit("x", script=script, SBATCH_PARTITION="env").spec.partition == "env"
    assert _submit("x", script="#!/bin/sh\n#SBATCH --reservation=r\n", SBATCH_RESERVATION="").spec.reservation == ""
    spec = _submit("-p", "line", "--mem-per-cpu=7", "--no-requeue", "x", script=script, SBATCH_PARTITION="env").spec
    assert (spec.partition, spec.mem_per_node, spec.mem_per_cpu, spec.requeue) == ("line", 0, 7, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USR1", (signal.SIGUSR1, 60, False)),
        ("B:USR2@30", (signal.SIGUSR2, 30, True)),
        ("SIGTERM@5", (signal.SIGTERM, 5, False)),
        ("RB:10@0", (10, 0, True)),
    ],
)
def test_signals_before_the_time_limit(text: str, expected: tuple[int, int, bool]) -> None:
    one = _submit(f"--signal={text}", "x").submission
    assert (one.warning_signal, one.warning_seconds, one.warning_batch_only) == expected


@pytest.mark.parametrize("text", ["", "NOSUCH", "B:", "X:USR1", "USR1@x", "USR1@65536", "0"])
def test_wrong_signals(text: str) -> None:
    with pytest.raises(OptionError, match="is not"):
        _submit(f"--signal={text}", "x")


def test_begin_is_a_moment() -> None:
    # 1,800,000,000 is 2027-01-15T08:00:00 UTC.
    assert _submit("-b", "now+60", "x").spec.begin_time == _NOW + 60
    assert _submit("-b", "09:30", "x").spec.begin_time == _NOW + 5400
    assert _submit("-b", "2027-01-15T10:00:00", "x").spec.begin_time == _NOW + 7200
    with pytest.raises(OptionError):
        _submit("-b", "whenever", "x")


def test_exported_variables() -> None:
    outer = {"A": "1", "B": "2", "SLURM_JOB_ID": "7", "SLURM_CONF": "/c", "HOME": "/home/ann"}
    everything = _submit("x", **outer).submission.environment
    assert (everything["A"], everything["SLURM_CONF"], "SLURM_JOB_ID" in everything) == ("1", "/c", False)
    some = _submit("--export=B,C=3", "x", **outer).submission.environment
    assert {name: some[name] for name in ("B", "C")} == {"B": "2", "C": "3"}
    assert "A" not in some
    assert _submit("--export=ALL,A=9", "x", **outer).submission.environment["A"] == "9"
    assert "" not in _submit("--export==5", "x", **outer).submission.environment  # a job with it could not start
    nothing = _submit("--export=NONE", "x", **outer).submission.environment
    assert not {"HOME", "A"} & nothing.keys()  # what a login gives is added where it runs
    assert nothing["SLURM_GET_USER_ENV"] == some["SLURM_GET_USER_ENV"] == "1"
    # As recorded from Slurm 22.05.8: quotes stay, and keep commas together.
    assert _submit("--export=A='b c,d',D=e", "x").submission.environment["A"] == "'b c,d'"


# The messages are those of Slurm 22.05.8.
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--bogus", "unrecognized option '--bogus'"),
        ("-9", "invalid option -- '9'"),
        ("--requeue=yes", "option '--requeue' doesn't allow an argument"),
        ("-tbogus", "error: Invalid --time specification"),
        ("-nbogus", 'error: Invalid numeric value "bogus" for --ntasks.'),
        ("-J", "option requires an argument -- 'J'"),
        *(
            (f"--switches={one}", f'error: Invalid numeric value "{one}" for --switches.')
            for one in ("0", "x", "-1", "1.5")
        ),
        ("--switches=@5", 'error: Invalid numeric value "" for --switches.'),
        ("--switches=", 'error: Invalid numeric value "" for --switches.'),
    ],
)
def test_options_that_cannot_be_used(word: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_command_line([word], _NOW, lambda _: 0)
    assert refusal("sbatch", caught.value).lines[0] == message


@pytest.mark.parametrize("option", ["--container=x", "--export-file=x", "--reboot"])
def test_what_is_not_done_is_refused_by_name(option: str) -> None:
    with pytest.raises(OptionError, match="is not supported by rota") as caught:
        _submit(option, "x")
    assert caught.value.option == option.partition("=")[0]


def test_a_script_beside_wrap() -> None:
    with pytest.raises(ScriptError, match="not permitted with --wrap"):
        read_command_line(["--wrap=true", "x"], _NOW, lambda _: 0)


def test_wait_for_switches() -> None:
    """As sbatch(1) of 22.05 says: the variable is the time of ``--switches``, and a time on the command line counts."""
    for words, wait in (("--switches=2", 90), ("--switches=2@5", 300), ("--switches=2@UNLIMITED", -1)):
        spec = _submit(words, "x", SBATCH_REQ_SWITCH="1@7", SBATCH_WAIT4SWITCH="1:30").spec
        assert (spec.switches, spec.switch_wait) == (2, wait)
    assert _submit("--switches=2", "x").spec.switch_wait == -1
    with pytest.raises(OptionError, match="no option"):
        _submit("--wait4switch=5", "x")


@pytest.mark.parametrize("line", ["foo", "-n1 foo", "-n1 foo -n2", "-n1 -- foo"])
def test_a_directive_has_nothing_but_options(line: str) -> None:
    # As Slurm 22.05.8 says it; its exit code is 255.
    with pytest.raises(ScriptError, match=r"^Invalid directive found in batch script: foo$") as caught:
        _submit("job.sh", script=f"#!/bin/sh\n#SBATCH {line}\ntrue\n")
    assert caught.value.status == 255


@pytest.mark.parametrize("line", ["", "-n1 # a comment", "-n1 #a comment"])
def test_a_directive_may_be_empty_or_have_a_comment(line: str) -> None:
    # Slurm 22.05.8 takes them.
    _submit("job.sh", script=f"#!/bin/sh\n#SBATCH {line}\ntrue\n")


@pytest.mark.parametrize("line", ["hetjob", "packjob", "-n1 hetjob -n2"])
def test_a_script_of_a_heterogeneous_job_is_refused(line: str) -> None:
    # Slurm 22.05.8 makes two jobs of it; TorchX writes such scripts.
    with pytest.raises(ScriptError, match=r"^heterogeneous jobs and steps are not supported by rota$"):
        _submit("job.sh", script=f"#!/bin/sh\n#SBATCH -n1\n#SBATCH {line}\n#SBATCH -n2\ntrue\n")


def test_a_command_line_of_a_heterogeneous_job_is_refused() -> None:
    for words in (["-n1", ":", "-n2", "job.sh"], ["-n1", "--wrap", "true", ":"]):
        with pytest.raises(ScriptError, match=r"^heterogeneous jobs and steps are not supported by rota$"):
            read_command_line(words, _NOW, lambda _: 0)
    assert read_command_line(["hetjob", ":"], _NOW, lambda _: 0).options.rest == ["hetjob", ":"]
