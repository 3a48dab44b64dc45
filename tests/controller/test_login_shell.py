"""Scripts that begin as login shells find the commands of the cluster, though the profile has set ``PATH`` anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONF = "NodeName=n1 CPUs=2\nPartitionName=debug Nodes=ALL Default=YES\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("a cluster"), _CONF) as found:
        yield found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory whose profile says that it was read, and which system's commands come first."""
    (tmp_path / ".bash_profile").write_text("PATH=/usr/bin:/bin\nPROFILE=read\n")
    return tmp_path


def _told(cluster: LiveCluster, home: Path, first: str, **environment: str) -> list[str]:
    """Give what a script finds: a command, the profile's variable, and two of the environment."""
    script = home / "script"
    script.write_text(f'{first}\necho "$(command -v srun)"\necho "$PROFILE-$BASH_ENV-$ROTA_BASH_ENV-$SEEN"\n')
    words = ("sbatch", "-W", "-o", str(home / "out"), str(script))
    cluster.run(*words, environment={"HOME": str(home), "BASH_ENV": "", **environment})
    return (home / "out").read_text().splitlines()


@pytest.mark.parametrize(
    "first", ["#!/bin/bash -l", "#!/bin/bash --login", "#! /bin/bash -el", "#!/usr/bin/env -S bash -l"]
)
def test_the_commands_come_before_those_of_the_system(cluster: LiveCluster, home: Path, first: str) -> None:
    assert _told(cluster, home, first) == [str(cluster.state / "bin" / "srun"), f"read-{cluster.state}/login.bash--"]


def test_a_script_may_begin_once_more(cluster: LiveCluster, home: Path) -> None:
    """As those of Cylc do; then the profile is read again."""
    first = '#!/bin/bash -l\nif test -z "$1"; then exec /bin/bash -l "$0" again; fi'
    assert _told(cluster, home, first)[0] == str(cluster.state / "bin" / "srun")


def test_what_the_user_has_for_bash_is_read_too(cluster: LiveCluster, home: Path) -> None:
    mine = home / "mine"
    mine.write_text("SEEN=yes\n")
    found = _told(cluster, home, "#!/bin/bash -l", BASH_ENV=str(mine))
    assert found == [str(cluster.state / "bin" / "srun"), f"read-{cluster.state}/login.bash-{mine}-yes"]


def test_a_place_that_the_profile_gives_them_is_kept(cluster: LiveCluster, home: Path) -> None:
    (home / ".bash_profile").write_text(f"PATH={home}:'{cluster.state}/bin':/usr/bin:/bin\n")
    (home / "srun").write_text("#!/bin/sh\n")
    (home / "srun").chmod(0o755)
    assert _told(cluster, home, "#!/bin/bash -l")[0] == str(home / "srun")


@pytest.mark.parametrize("export", ["NONE", "NIL", "A=1"])
def test_scripts_that_are_given_a_login_find_them_too(cluster: LiveCluster, home: Path, export: str) -> None:
    found = _told(cluster, home, "#!/bin/bash -l", SBATCH_EXPORT=export)
    assert found[0] == str(cluster.state / "bin" / "srun")


def test_other_scripts_have_the_environment_of_their_submission(cluster: LiveCluster, home: Path) -> None:
    commands = str(cluster.state / "bin" / "srun")
    assert _told(cluster, home, "#!/bin/bash") == [commands, "---"]
    assert _told(cluster, home, "#!/bin/bash -e") == [commands, "---"]


@pytest.mark.parametrize(
    ("first", "shell"),
    [
        ("#!/bin/sh -l", "sh"),
        ("#! /bin/dash -el", "dash"),
        ("#!/bin/zsh --login", "zsh"),
        ("#!/usr/bin/env -S ksh -l", "ksh"),
        ("#!/bin/bash -l", ""),
        ("#!/bin/sh -e", ""),
        ("#!/bin/sh", ""),
    ],
)
def test_login_shells_of_other_kinds_are_told(cluster: LiveCluster, first: str, shell: str) -> None:
    said = cluster.run("sbatch", "-H", stdin=f"{first}\ntrue\n").stderr
    assert ("sbatch: warning: the script is a login shell of " in said) == bool(shell)
    assert f"login shell of {shell}: " in said or not shell
    elsewhere = cluster.run("sbatch", "-H", "--export=PATH=/usr/bin:/bin", stdin=f"{first}\ntrue\n").stderr
    assert elsewhere == ""
