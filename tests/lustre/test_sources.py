"""Sources: real processes, a fake lctl and ssh on PATH, files of every form. One that fails harms no other."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rota.lustre.output import SourceError, output
from rota.lustre.sources import CommandSource, parse_source, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

DUMP = "obdfilter.fs-OST0000.job_stats=\njob_stats:\n- job_id: a\n  sync: { samples: 5, unit: reqs }\n"
RAW = b"job_stats:\n- job_id: a\n  sync: { samples: 5, unit: reqs }\n"
#: What lctl says on a server without MDTs, besides failing.
NO_MDT = "error: get_param: param_path 'mdt/*/job_stats': No such file or directory"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a shell script on PATH, before all others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return write


def read(source: str, seconds: float = 60.0) -> list[tuple[str, str]]:
    """The target and id of each entry."""
    return [
        (entry.target, entry.job_id)
        for stream in parse_source(source).streams(seconds)
        for entry in stream.entries()[0]
    ]


def test_lctl_is_asked_for_osts_and_mdts(program: Callable[[str, str], None], tmp_path: Path) -> None:
    program("lctl", f"printf '%s\\n' \"$@\" > {tmp_path}/arguments; printf '%s' '{DUMP}'")
    assert read("lctl") == [("fs-OST0000", "a")]
    assert (tmp_path / "arguments").read_text().split() == ["get_param", "obdfilter.*.job_stats", "mdt.*.job_stats"]


def test_a_server_without_mdts_has_not_failed(program: Callable[[str, str], None]) -> None:
    program("lctl", f"""printf '%s' '{DUMP}'; echo "{NO_MDT}" >&2; exit 2""")
    assert read("lctl") == [("fs-OST0000", "a")]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (f'echo "{NO_MDT}" >&2; exit 2', "exit status 2: error: get_param"),  # nor OSTs
        ("echo 'job_stats:'; echo 'Permission denied' >&2; exit 1", "exit status 1: Permission denied"),
        ("exit 3", "exit status 3: nothing on standard error"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_a_command_that_fails_is_told_with_what_it_said(
    program: Callable[[str, str], None], script: str, problem: str
) -> None:
    program("lctl", script)
    with pytest.raises(SourceError, match=rf"lctl: .*{problem}"):
        read("lctl")


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(SourceError, match="nowhere: cannot run /nonexistent: No such file"):
        list(output("nowhere", ["/nonexistent"], 1.0))


def test_what_was_printed_before_a_command_hangs_is_read_and_then_it_is_ended_with_its_children(
    program: Callable[[str, str], None], tmp_path: Path
) -> None:
    program("lctl", f"printf '%s' '{DUMP}- job_id: b\n'; sleep 600 & echo $! > {tmp_path}/child; wait")

    def jobs_within(seconds: float) -> int:
        [stream] = parse_source("lctl").streams(seconds)
        entries, findings = stream.entries()
        with pytest.raises(SourceError, match=f"lctl: did not end within {seconds} s"):
            list(entries)
        return findings.jobs

    # On a busy machine it takes longer until something is printed.
    assert 1 in map(jobs_within, (0.5, 2, 8, 32))
    child = int((tmp_path / "child").read_text())
    given_up = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < given_up
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    """Whether there is such a process, other than a dead one whose new parent has not noticed."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_a_command_is_ended_when_nobody_reads_on() -> None:
    pieces = output("ours", ["sh", "-c", "echo $$; sleep 600"], 60)
    pid = int(next(pieces))
    pieces.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_complaints_without_end_neither_block_nor_fill_memory(program: Callable[[str, str], None]) -> None:
    program("lctl", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1")
    with pytest.raises(SourceError) as caught:
        read("lctl")
    assert len(str(caught.value)) < 5000


def test_ssh_asks_nothing_checks_the_host_and_no_shell_of_ours_is_between(
    program: Callable[[str, str], None], tmp_path: Path
) -> None:
    program("ssh", f"printf '%s\\n' \"$@\" > {tmp_path}/arguments; printf '%s' '{DUMP}'")
    assert read("ssh://root@oss1:2222") == [("fs-OST0000", "a")]
    words = (tmp_path / "arguments").read_text().splitlines()
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes"} <= set(words)
    assert words[-3:] == ["--", "oss1", "lctl get_param 'obdfilter.*.job_stats' 'mdt.*.job_stats'"]
    assert words[words.index("-l") + 1] == "root"
    assert words[words.index("-p") + 1] == "2222"


def test_the_real_ssh_takes_these_words() -> None:
    if shutil.which("ssh") is None:
        pytest.skip("there is no ssh (Debian: openssh-client)")
    source = parse_source("ssh://monitor@oss1:2222")
    assert isinstance(source, CommandSource)
    ssh, *words = source.argv
    said = subprocess.run([ssh, "-G", *words], check=True, capture_output=True, text=True).stdout.splitlines()
    expected = {"hostname oss1", "user monitor", "port 2222", "batchmode yes", "stricthostkeychecking true"}
    assert expected <= set(said)


@pytest.mark.parametrize(
    "text",
    ["ssh://", "ssh://-oProxyCommand=x", "ssh://-l@host", "ssh://host/path", "ssh://a b", "ssh://h;reboot", "ssh:h"],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="write ssh://HOST"):
        parse_source(text)


def test_files_are_unpacked_whatever_their_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(RAW))
    with pa.CompressedOutputStream(str(tmp_path / "b"), "zstd") as stream:
        stream.write(RAW)
    (tmp_path / "c").write_bytes(RAW)
    assert [read(str(tmp_path / name)) for name in "abc"] == [[(name, "a")] for name in "abc"]


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
def test_a_packed_file_that_is_cut_fails(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(RAW * 1000)
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SourceError, match="cut"):
        read(str(tmp_path / "cut"))


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(str(tmp_path / "empty")) == []


def test_a_directory_gives_its_files_in_order_and_one_that_cannot_be_read_harms_no_other(tmp_path: Path) -> None:
    (tmp_path / "fs-OST0001.job_stats").write_bytes(RAW)
    (tmp_path / "fs-OST0000").mkdir()
    (tmp_path / "fs-OST0000" / "job_stats").write_bytes(RAW)
    (tmp_path / ".hidden.tmp").write_bytes(RAW)
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(RAW)[:20])
    (tmp_path / "gone").symlink_to("nowhere")
    found = []
    failed = []
    for stream in parse_source(f"dir:{tmp_path}").streams(1.0):
        try:
            found += [(entry.target, entry.job_id) for entry in stream.entries()[0]]
        except SourceError:
            failed.append(stream.target)
    assert found == [("fs-OST0000", "a"), ("fs-OST0001", "a")]
    assert failed == ["cut"]


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    for text in (f"dir:{tmp_path}/none", f"{tmp_path}/none"):
        with pytest.raises(SourceError, match="No such file"):
            read(text)
    with pytest.raises(SourceError, match="Is a directory"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/proc/fs/lustre/obdfilter/fs-OST0000/job_stats", "fs-OST0000"),
        ("obdfilter.fs-OST0000.job_stats", "fs-OST0000"),
        ("mdt.fs-MDT0000.job_stats.gz", "fs-MDT0000"),
        ("fs-OST0000", "fs-OST0000"),
        ("all.lctl.zst", "all"),
    ],
)
def test_a_target_is_named_by_its_file(path: str, target: str) -> None:
    assert target_of(Path(path)) == target


@pytest.mark.parametrize("hangs", ["exec sleep 600", "sleep 600 & wait"])
def test_a_command_dies_with_the_process_that_has_started_it(
    program: Callable[[str, str], None], tmp_path: Path, hangs: str
) -> None:
    """Also when that is killed, and with all that the command has started."""
    program("lctl", f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; {hangs}")
    reader = subprocess.Popen([sys.executable, "-m", "rota", "jobstats", "parse", "lctl"], stdout=subprocess.DEVNULL)
    session = int(_wait_for((tmp_path / "pid").read_text, FileNotFoundError))
    assert _alive(session)
    reader.kill()
    reader.wait()
    _wait_for(lambda: None if _alive(session) else True, FileNotFoundError)


def test_a_program_that_has_ended_is_not_watched(tmp_path: Path) -> None:
    """Its number may be that of another one by then."""
    told = tmp_path / "told"
    script = f"""
import os, signal
from rota import programs
programs._WATCH = "while read -r line; do echo $line >> {told}; done"
with programs.start(["true"]) as program:
    program.wait()
print(program.pid)
"""
    pid = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    assert told.read_text().splitlines() == [f"+ {pid}", f"- {pid}"]


def _wait_for(ask: Callable[[], str | bool | None], *errors: type[Exception]) -> str | bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if found := ask():
                return found
        except errors:
            pass
        time.sleep(0.01)
    raise AssertionError("it takes too long")


def _alive(session: int) -> bool:
    """Whether a session has a process that runs."""
    found = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], check=False, capture_output=True, text=True)
    return any(not state.startswith("Z") for state in found.stdout.split())
