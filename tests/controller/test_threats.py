"""What local users may try on a machine where root runs a cluster: files, processes, sockets, and what is shown.

Who may ask for what is in `test_rights`; docs/threat-model.md says what each test stands for.

Over 400 lines: one machine and its users for all of them.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping

_NOBODY, _OTHER = 65534, 1
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by others")
_CONF = """
ClusterName=threats
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n1 CPUs=64 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
KillWait=3
Prolog={folder}/prolog
Epilog={folder}/epilog
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of root's with prolog and epilog, in a folder where all can write."""
    folder = tmp_path_factory.mktemp("threats")
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    for name in ("prolog", "epilog"):
        (folder / name).write_text(
            f"#!/bin/bash\nenv -0 > {folder}/{name}.$SLURM_JOB_ID; id -u >> {folder}/{name}.uids\n"
        )
        (folder / name).chmod(0o755)
    with LiveCluster(folder, _CONF.format(folder=folder)) as found:
        if _try(found, "sbatch", "--version").returncode:
            pytest.skip("another user cannot run this Python")
        yield found


def _try(
    cluster: LiveCluster, *words: str, uid: int = _NOBODY, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run a command as another user."""
    become = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--")
    return cluster.run(*become, *words, check=False, environment={"HOME": "/tmp", **environment})  # noqa: S108


def _run(cluster: LiveCluster, script: str, *words: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a job of nobody's to its end; give its id."""
    done = _try(cluster, "sbatch", "--parsable", "--wait", *words, "--wrap", script, environment=environment)
    assert done.stdout, done.stderr
    return done.stdout.strip()


@contextmanager
def _as_user(uid: int = _NOBODY) -> Iterator[None]:
    """Give a context in which this process is another user's, to the kernel."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


# ---- files ------------------------------------------------------------------------------------------------------


def _link(target: Path, path: Path) -> None:
    path.symlink_to(target)


def _hard_link(target: Path, path: Path) -> None:
    path.hardlink_to(target)


@pytest.mark.parametrize("option", ["--output", "--error"])
@pytest.mark.parametrize("make", [_link, _hard_link])
def test_output_does_not_reach_what_the_user_cannot_write(
    cluster: LiveCluster, option: str, make: Callable[[Path, Path], None]
) -> None:
    target = cluster.directory / f"roots{option}{make.__name__}"
    target.write_text("untouched")
    target.chmod(0o644)
    path = cluster.directory / f"way{option}{make.__name__}"
    make(target, path)
    _run(cluster, "echo overwritten; echo overwritten >&2", f"{option}={path}")
    assert (target.read_text(), target.stat().st_uid) == ("untouched", 0)


def test_output_follows_a_link_only_with_the_users_rights_while_it_changes(cluster: LiveCluster) -> None:
    # A link that points now to the user's own file, now to root's: whatever is opened is opened as the user.
    target, path = cluster.directory / "raced", cluster.directory / "race"
    target.write_text("untouched")
    target.chmod(0o600)
    flip = f"while [ ! -e {path}.over ]; do ln -sfn {target} {path}; ln -sfn {path}.mine {path}; done"
    _try(cluster, "bash", "-c", f"({flip}) > /dev/null 2>&1 &")
    ids = [_run(cluster, "echo overwritten", "-o", str(path)) for _ in range(20)]
    (cluster.directory / "race.over").touch()
    assert target.read_text() == "untouched"
    assert {cluster.ended()[int(job_id)]["state"] for job_id in ids} == {"COMPLETED", "FAILED"}  # both were met


def test_input_and_scripts_are_read_with_the_users_rights(cluster: LiveCluster) -> None:
    secret = cluster.directory / "secret"
    secret.write_text("#!/bin/sh\necho secret\n")
    secret.chmod(0o600)
    (cluster.directory / "to-secret").symlink_to(secret)
    assert "Unable to open file" in _try(cluster, "sbatch", "to-secret").stderr
    _run(cluster, "cat > /tmp/read-by-nobody", f"--input={secret}", "-o", "read.out")
    assert "secret\n" not in (cluster.directory / "read.out").read_text()
    assert "secret" not in _try(cluster, "sacctmgr", "-i", "load", str(secret)).stdout


def test_files_are_written_by_the_client_and_not_by_root(cluster: LiveCluster) -> None:
    target = cluster.directory / "dumped"
    target.write_text("untouched")
    target.chmod(0o644)
    _try(cluster, "sacctmgr", "dump", "threats", f"file={target}")
    assert target.read_text() == "untouched"


@pytest.mark.parametrize("folder", ["/root", "{state}", "{state}/spool", "/nonexistent"])
def test_working_directories_are_entered_as_the_user(cluster: LiveCluster, folder: str) -> None:
    path = folder.format(state=cluster.state)
    name = "where" + path.replace("/", "_")
    _run(cluster, "touch was-here; pwd", "-D", path, "-o", str(cluster.directory / name))
    assert not (Path(path) / "was-here").exists()


def test_devices_and_fifos_as_output_do_not_stop_the_cluster(cluster: LiveCluster) -> None:
    os.mkfifo(cluster.directory / "fifo", 0o666)
    (cluster.directory / "fifo").chmod(0o666)
    held = _try(cluster, "sbatch", "--parsable", "-o", "fifo", "--wrap", "true").stdout.strip()
    _run(cluster, "echo x", "-o", "/dev/full")
    assert cluster.run("squeue", "-h", "-j", held, "-o", "%T").stdout.strip() in {"RUNNING", "PENDING"}
    _try(cluster, "scancel", held)
    cluster.idle()


def test_a_state_directory_of_another_user_is_refused(cluster: LiveCluster) -> None:
    trap = cluster.directory / "trap"
    _try(cluster, "mkdir", "-p", str(trap))
    done = cluster.rota("up", "--state", str(trap), check=False)
    assert done.returncode
    assert "another user's" in done.stderr
    assert list(trap.iterdir()) == []


def test_nothing_of_another_users_cluster_is_executed(cluster: LiveCluster) -> None:
    # `rota status` of a directory that a user has prepared, asked by root.
    trap = cluster.directory / "prepared"
    program = "#!/bin/sh\ntouch ../executed\n"
    _try(
        cluster, "bash", "-c", f"mkdir -p {trap}/bin; printf '{program}' > {trap}/bin/rota-call; chmod +x {trap}/bin/*"
    )
    assert cluster.rota("status", "--state", str(trap), check=False).returncode
    assert not (cluster.directory / "executed").exists()


@pytest.mark.parametrize("frame", ["r", "w", "m", "q"])
def test_a_controller_of_another_user_is_only_quoted(cluster: LiveCluster, frame: str) -> None:
    # It says: send me this file; write this file; become this program; send me a line.
    folder = cluster.directory / f"false-{frame}"
    _try(cluster, "mkdir", str(folder))
    data = {"r": "/etc/shadow", "w": f"{cluster.directory}/written\0by root", "m": "allocation\0{}", "q": ""}[frame]
    server = (
        "import socket\n"
        "server = socket.socket(socket.AF_UNIX)\n"
        f"server.bind('{frame}.sock')\n"
        f"import os; os.rename('{frame}.sock', '{folder}/rota.sock'); server.listen()\n"
        "one, _ = server.accept()\n"
        f"data = {data.encode()!r}\n"
        f"one.sendall({frame.encode()!r} + len(data).to_bytes(4, 'big') + data)\n"
        f"got = one.recv(1 << 20)\nwhile part := one.recv(1 << 20): got += part\n"
        f"open('{folder}/got', 'wb').write(got)\n"
    )
    command = f'(cd {cluster.directory}; exec python3 -c "$SERVER") > /dev/null 2>&1 &'
    _try(cluster, "bash", "-c", command, environment={"SERVER": server})
    cluster.wait((folder / "rota.sock").exists)
    done = cluster.run("squeue", check=False, environment={"ROTA_STATE": str(folder)})
    assert "a controller of another user" in done.stderr
    cluster.wait((folder / "got").exists)
    assert b"root:" not in (folder / "got").read_bytes().split(b"\0")[0]
    assert not (cluster.directory / "written").exists()


def test_what_is_kept_is_nobody_elses(cluster: LiveCluster) -> None:
    _run(cluster, "true", "-o", "/dev/null")
    assert stat.S_IMODE(cluster.state.stat().st_mode) == 0o711
    assert _try(cluster, "ls", str(cluster.state)).returncode != 0
    open_to_others = {
        path.relative_to(cluster.state).as_posix()
        for path in cluster.state.rglob("*")
        if path.stat().st_mode & 0o077 and not path.is_relative_to(cluster.state / "bin")
    }
    assert open_to_others <= {"bin", "login.bash", "rota.sock", "spool"} | {
        path.relative_to(cluster.state).as_posix() for path in (cluster.state / "spool").iterdir()
    }
    assert all(
        path.stat().st_mode & 0o022 == 0 and path.stat().st_uid == 0
        for path in (cluster.state / "login.bash", *(cluster.state / "bin").iterdir())
    )


def test_a_script_is_read_by_its_user_only(cluster: LiveCluster) -> None:
    job_id = _try(cluster, "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 60 # secret").stdout.strip()
    script = cluster.state / "spool" / f"job{int(job_id):05}" / "slurm_script"
    cluster.wait(script.exists)
    assert "secret" in _try(cluster, "cat", str(script)).stdout
    assert _try(cluster, "cat", str(script), uid=_OTHER).returncode != 0
    assert _try(cluster, "ls", str(script.parent.parent)).returncode != 0
    for words in (
        ["mv", str(script.parent), str(cluster.directory)],
        ["ln", "-s", "/etc/shadow", f"{script.parent}/x"],
    ):
        assert _try(cluster, *words).returncode != 0
    _try(cluster, "scancel", job_id)
    cluster.idle()


# ---- processes --------------------------------------------------------------------------------------------------


def test_a_job_has_nothing_of_the_supervisors(cluster: LiveCluster) -> None:
    script = (
        "id -G; ls -l /proc/self/fd | grep -v /proc/ | grep -c state; grep -E '^Cap(Prm|Eff)' /proc/self/status;"
        " echo; tr '\\0' '\\n' < /proc/$PPID/environ | head -1"
    )
    _run(cluster, script, "-o", "own.out")
    lines = (cluster.directory / "own.out").read_text().splitlines()
    assert lines[:4] == [str(_NOBODY), "0", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"]
    assert "ROTA_RUN" not in lines[-1]


@pytest.mark.parametrize("what", ["supervisor_pid", "pid"])
def test_the_daemons_cannot_be_signalled_traced_or_read(cluster: LiveCluster, what: str) -> None:
    pid = cluster.status()[what]
    script = f"kill -9 {pid}; cat /proc/{pid}/environ /proc/{pid}/mem; ls /proc/{pid}/fd; echo over"
    _run(cluster, script, "-o", f"attack-{what}")
    said = (cluster.directory / f"attack-{what}").read_text()
    assert said.lower().count("not permitted") + said.lower().count("denied") >= 3
    assert cluster.status()[what] == pid


@pytest.mark.parametrize("name", ["lock", "supervisor.lock", "supervisor.log", "rota.db", "controller.log"])
def test_files_of_the_daemons_are_roots(cluster: LiveCluster, name: str) -> None:
    assert (cluster.state / name).exists()
    with _as_user(), pytest.raises(PermissionError):
        (cluster.state / name).open()


def test_the_supervisors_socket_is_roots(cluster: LiveCluster) -> None:
    with _as_user(), chdir(cluster.state), socket.socket(socket.AF_UNIX) as connection, pytest.raises(PermissionError):
        connection.connect("supervisor.sock")


def test_prolog_and_epilog_get_nothing_of_the_users(cluster: LiveCluster) -> None:
    evil = {
        "BASH_ENV": "evil.sh",
        "BASH_FUNC_id%%": "() { touch evil; }",
        "IFS": "/",
        "LD_LIBRARY_PATH": "evil",
        "PATH": f"{cluster.environment['PATH']}:evil",
        "PYTHONPATH": "evil",
        "SLURM_EVIL": "a\nb",
    }
    exported = "--export=ALL,LD_PRELOAD=evil.so,SLURM_JOB_GPUS=0,SLURM_JOB_UID=0,CUDA_VISIBLE_DEVICES=7"
    words = (exported, "-J", "x\nLD_PRELOAD=evil.so", "-o", "/dev/null")
    job_id = _run(cluster, "true", *words, environment=evil)
    refused = {*evil, "LD_PRELOAD", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"} - {"PATH"}
    for name in ("prolog", "epilog"):
        cluster.wait((cluster.directory / f"{name}.{job_id}").exists)
        lines = (cluster.directory / f"{name}.{job_id}").read_text().split("\0")
        got = dict(line.partition("=")[::2] for line in lines if line)
        assert not refused & got.keys()
        assert "evil" not in got["PATH"]
        assert got["SLURM_JOB_UID"] == str(_NOBODY)
        assert set((cluster.directory / f"{name}.uids").read_text().split()) == {"0"}


def test_a_daemon_that_leaves_its_job_is_ended(cluster: LiveCluster) -> None:
    escape = "setsid setsid sh -c 'echo $$ > daemon; exec sleep 1000' < /dev/null > /dev/null 2>&1 &"
    _run(cluster, f"{escape} until [ -s daemon ]; do sleep 0.05; done", "-o", "/dev/null")
    pid = (cluster.directory / "daemon").read_text().strip()
    cluster.wait(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())


def test_limits_cannot_be_raised(cluster: LiveCluster) -> None:
    become = ("prlimit", "--nofile=100:100", "--", "setpriv", f"--reuid={_NOBODY}", "--clear-groups", "--")
    script = "ulimit -Hn; ulimit -n 200 || echo refused"
    cluster.run(*become, "sbatch", "--wait", "-o", "limits.out", "--wrap", script)
    assert (cluster.directory / "limits.out").read_text().split()[0] == "100"
    assert "refused" in (cluster.directory / "limits.out").read_text()


# ---- what is shown ----------------------------------------------------------------------------------------------

_HOSTILE = "=cmd|'/c x'!A1\x1b]0;title\x07\x1b[2J<script>alert(1)</script>\nJobId=1 \u202e|,\"\u2028"


@pytest.mark.parametrize(
    "words",
    [
        ["squeue", "-o", "%i|%j|%k|%Z|%o"],
        ["squeue", "-O", "jobid:9,name:90,comment:90,workdir:90,command:90"],
        ["scontrol", "-o", "show", "job", "{job}"],
        ["sacct", "-P", "-X", "-j", "{job}", "-o", "JobID,JobName,Comment,WorkDir,SubmitLine"],
        ["sprio", "-l"],
        ["rota-call", "explain", "{job}"],
        ["rota-call", "status"],
    ],
)
def test_what_users_write_stays_on_its_line_and_controls_no_terminal(cluster: LiveCluster, words: list[str]) -> None:
    folder = cluster.directory / _HOSTILE.replace("/", "_")
    folder.mkdir(exist_ok=True)
    job_id = cluster.submit("-H", "-J", _HOSTILE, "--comment", _HOSTILE, "-D", str(folder), "--wrap", "true")
    said = cluster.run(*(word.format(job=job_id) for word in words)).stdout
    assert not [character for character in said if ord(character) < 32 and character != "\n"]
    assert not {"\u2028", "\u202e"} & set(said)
    assert not [line for line in said.splitlines() if line.startswith("JobId=1 ")]
    cluster.run("scancel", str(job_id))


def test_documents_are_documents(cluster: LiveCluster) -> None:
    job_id = cluster.submit("-H", "-J", _HOSTILE, "--wrap", "true")
    (job,) = json.loads(cluster.run("squeue", "--json", "-j", str(job_id)).stdout)["jobs"]
    assert job["name"] == _HOSTILE
    cluster.run("scancel", str(job_id))


def test_nobody_writes_lines_into_the_log(cluster: LiveCluster) -> None:
    before = len((cluster.state / "controller.log").read_text().splitlines())
    for words in (["squeue", "\n2026-01-01 00:00:00,000 down"], ["x\n2026-01-01 down\x1b[2J"], ["rota-call", "\nx"]):
        _send(cluster, _message(*words))
    added = (cluster.state / "controller.log").read_text().splitlines()[before:]
    assert not [line for line in added if line.startswith("2026-01-01") or "\x1b" in line]


# ---- too much ---------------------------------------------------------------------------------------------------


def _message(*words: str) -> bytes:
    texts = ["1", "22", "/", str(len(words)), *words]
    data = "".join(f"{text}\0" for text in texts).encode()
    return struct.pack(">I", len(data)) + data


def _connect(cluster: LiveCluster, uid: int = _NOBODY) -> socket.socket:
    """Connect as another user."""
    connection = socket.socket(socket.AF_UNIX)
    with _as_user(uid), chdir(cluster.state):
        connection.connect("rota.sock")
    return connection


def _send(cluster: LiveCluster, data: bytes) -> None:
    with _connect(cluster) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


@pytest.mark.parametrize("begin", [b"", b"\0\0\0", b"\0\x7f\0\0" + b"x" * 1000])
def test_many_connections_that_say_nothing_keep_nobody_waiting(cluster: LiveCluster, begin: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(_connect(cluster)).sendall(begin)
        assert cluster.run("squeue", "-h").returncode == 0
        assert _try(cluster, "squeue", "-h", uid=_OTHER).returncode == 0


def test_a_user_has_a_quarter_of_the_connections(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    for parent in tmp_path.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    cluster = LiveCluster(tmp_path)
    cluster.run("bash", "-c", 'ulimit -n 200; exec "$0" -m rota up', sys.executable)
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(_connect(cluster))
        assert "too many commands" in _try(cluster, "squeue").stderr
        assert cluster.run("squeue", "-h").returncode == 0
        assert _try(cluster, "squeue", "-h", uid=_OTHER).returncode == 0
    cluster.rota("down")


@pytest.mark.slow
def test_answers_that_are_not_read_keep_nobody_waiting(cluster: LiveCluster) -> None:
    big = "x" * 1000
    for _ in range(100):
        cluster.submit("-H", "-J", big, "--comment", big, "--wrap", "true")
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(_connect(cluster))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(_message("squeue", "--json"))
        assert len(json.loads(cluster.run("squeue", "--json").stdout)["jobs"]) >= 100
        assert "COMMENT" in cluster.run("sacct", "-o", "comment").stdout.upper()
    cluster.run("scancel", "-u", "root")


def test_a_message_that_is_too_large_is_not_read(cluster: LiveCluster) -> None:
    with _connect(cluster) as connection:
        connection.sendall(struct.pack(">I", 1 << 30))
        assert connection.recv(1) == b""
    assert cluster.run("squeue", "-h").returncode == 0


def test_what_takes_long_is_not_begun_for_those_who_may_not_do_it(cluster: LiveCluster) -> None:
    (cluster.directory / "tree.cfg").write_text("Cluster - 'threats'\n")
    done = _try(cluster, "sacctmgr", "-i", "load", "tree.cfg")
    assert (done.returncode, done.stdout) == (1, "")
    assert "sufficient privileges to load files" in done.stderr  # as in Slurm 22.05.8
    names = ",".join(map(str, range(20_000)))
    done = _try(cluster, "sacctmgr", "-i", "add", "user", names, "account=root")
    assert (done.returncode, done.stdout) == (1, "")
    assert "doesn't have privilege" in done.stderr


def test_a_script_that_is_too_large_is_refused_after_it_was_sent(cluster: LiveCluster) -> None:
    (cluster.directory / "huge").write_bytes(b"#!/bin/sh\n" + b"#" * (5 << 20))
    done = cluster.run("sbatch", "huge", check=False)
    assert (done.returncode, "max_script_size" in done.stderr) == (1, True)


# ---- who did it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("snapshot", [False, True], ids=["journal", "snapshot"])
def test_who_has_cancelled_a_job_is_known_over_a_kill(cluster: LiveCluster, snapshot: bool) -> None:
    """It was root; the controller that took the command is killed before the job has ended."""
    script = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    done = _try(cluster, "sbatch", "--parsable", "-o", f"{cluster.directory}/%j.up", "--wrap", script)
    job = done.stdout.strip()
    cluster.wait(lambda: "up" in _text_of(cluster.directory / f"{job}.up"))
    cluster.run("scancel", job)
    if snapshot:
        cluster.rota("down")
    else:
        cluster.kill()
    cluster.up()
    shown = ("sacct", "-X", "-n", "-P", "-o", "state", "-j", job)
    cluster.wait(lambda: cluster.run(*shown).stdout.strip() == "CANCELLED by 0")


def _text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""
