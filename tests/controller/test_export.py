"""``--export`` and ``--get-user-env``: which variables reach scripts and tasks, as recorded from Slurm 22.05.8.

Slurm was asked as a user whose login shell is bash, by each form of ``sbatch``, ``srun`` and ``salloc``.
"""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENV = "/usr/bin/env"
_SHOWN = ("HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PATH", "MINE", "OTHER", "FOO")
_USER = pwd.getpwuid(os.getuid())
_OURS = {"HOME": "/home/mine", "USER": "me", "LOGNAME": "me", "SHELL": "/bin/mine", "MINE": "1", "OTHER": "2"}
_LOGIN = {"HOME": _USER.pw_dir, "USER": _USER.pw_name, "LOGNAME": _USER.pw_name, "SHELL": _USER.pw_shell}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("export"), virtual_nodes(1)) as found:
        yield found


def _shown(cluster: LiveCluster, text: str) -> dict[str, str]:
    """Give the variables of the user. The path is ``login`` if it is not that of the client, and has the commands."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    found = {name: value for name, value in pairs if name in _SHOWN}
    if found.get("PATH") == cluster.environment["PATH"]:
        found["PATH"] = "ours"
    elif "PATH" in found:
        assert found["PATH"].startswith(f"{cluster.state / 'bin'}:")
        found["PATH"] = "login"
    if "MAIL" in found:
        found["MAIL"] = "login"
    return found


_OF_CLIENT = {**_OURS, "PATH": "ours"}
_OF_LOGIN = {**_LOGIN, "PATH": "login", "MAIL": "login"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", _OF_CLIENT),
        ("--export=ALL", _OF_CLIENT),
        ("--export=all", _OF_CLIENT),
        ("--export=NONE", _OF_LOGIN),
        ("--export=none", _OF_LOGIN),
        ("--export=NIL", _OF_LOGIN),
        ("--export=ALL,FOO=1", {**_OF_CLIENT, "MAIL": "login", "FOO": "1"}),
        ("--export=FOO=1,ALL", {**_OF_CLIENT, "MAIL": "login", "FOO": "1"}),
        ("--export=MINE", {**_OF_LOGIN, "MINE": "1"}),
        ("--export=FOO=1", {**_OF_LOGIN, "FOO": "1"}),
        ("--export=FOO=1,MINE", {**_OF_LOGIN, "FOO": "1", "MINE": "1"}),
        ("--export=NONE,FOO=1", {**_OF_LOGIN, "FOO": "1"}),
        ("--export=FOO=1,NONE", {**_OF_LOGIN, "FOO": "1"}),
        ("--export=PATH,FOO=1", {**_OF_LOGIN, "PATH": "ours", "FOO": "1"}),
        ("--export=HOME=/srv", {**_OF_LOGIN, "HOME": "/srv"}),
        ("--export=NOSUCH", _OF_LOGIN),
        ("--export=NONE --get-user-env", _OF_LOGIN),
        ("--get-user-env", {**_OF_CLIENT, "MAIL": "login"}),
        ("--export=ALL --get-user-env", {**_OF_CLIENT, "MAIL": "login"}),
        ("--export=FOO=1 --get-user-env", {**_OF_LOGIN, "FOO": "1"}),
        ("--export=ALL,FOO=1 --get-user-env", {**_OF_CLIENT, "MAIL": "login", "FOO": "1"}),
    ],
)
def test_of_scripts(cluster: LiveCluster, options: str, expected: dict[str, str]) -> None:
    words = ["sbatch", "--wait", "-o", "out", *options.split(), "--wrap", _ENV]
    cluster.run(*words, environment=_OURS)
    assert _shown(cluster, (cluster.directory / "out").read_text()) == expected


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        ("ALL", _OF_CLIENT),
        ("NONE", {}),
        ("NIL", {}),
        ("ALL,FOO=1", {**_OF_CLIENT, "FOO": "1"}),
        ("FOO=1,ALL", {**_OF_CLIENT, "FOO": "1"}),
        ("MINE", {"MINE": "1"}),
        ("FOO=1", {"FOO": "1"}),
        ("FOO=1,MINE", {"FOO": "1", "MINE": "1"}),
        ("NONE,FOO=1", {}),
        ("FOO=1,NONE", {"FOO": "1"}),
        ("PATH,FOO=1", {"PATH": "ours", "FOO": "1"}),
        ("HOME=/srv", {"HOME": "/srv"}),
        ("NOSUCH", {}),
    ],
)
@pytest.mark.parametrize("command", ["srun", "salloc -Q -n1 srun", "sbatch"])
def test_of_tasks(cluster: LiveCluster, command: str, export: str, expected: dict[str, str]) -> None:
    """As in Slurm a task has nothing but what is named, and the variables of its job."""
    step = ["srun", f"--export={export}", _ENV]
    if command == "sbatch":
        wrapped = ["sbatch", "--wait", "-o", "out", "--export=ALL", "--wrap", " ".join(step)]
        cluster.run(*wrapped, environment=_OURS)
        text = (cluster.directory / "out").read_text()
    else:
        text = cluster.run(*command.split()[:-1], *step, environment=_OURS).stdout
    assert _shown(cluster, text) == expected
    assert "SLURM_PROCID=0" in text.split()


def test_steps_of_a_script_have_what_it_was_given(cluster: LiveCluster) -> None:
    script = f"srun {_ENV}; echo --; srun --export=ALL {_ENV}; echo --; srun hostname"
    words = ["sbatch", "--wait", "-o", "out", "--export=FOO=1", "--wrap", script]
    assert cluster.run(*words, environment=_OURS, check=False).returncode == 2
    own, every, failed = (cluster.directory / "out").read_text().split("--\n")
    assert _shown(cluster, own) == {"FOO": "1"}
    assert _shown(cluster, every) == {**_OF_LOGIN, "FOO": "1"}
    assert "execve(): hostname: No such file or directory" in failed  # there is no path
