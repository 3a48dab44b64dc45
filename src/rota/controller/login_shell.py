"""Batch scripts that begin as login shells of bash, ``#!/bin/bash -l``, as Cylc and FireWorks write them.

The profile of the system sets ``PATH`` anew: such a script would not find the cluster's commands, or those of a Slurm
that is installed besides. bash reads the file that ``BASH_ENV`` names after the profile; the cluster's puts them back,
in front, if the profile has not, and whatever else ``BASH_ENV`` named is read then. Profiles stay as they are. It holds
for each bash of the job, as such scripts may begin once more as a login shell, like Cylc's.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LOGIN = re.compile(r"#!\s*\S*(?:/env\s+(?:-S\s*)?\S*)?\bbash\s+(?:-\w*l\w*|.*--login\b)", re.ASCII)
#: The same of other shells, which read no file after the profile.
_OTHER = re.compile(_LOGIN.pattern.replace("bash", "((?:da|a|k|mk|z|c|tc|fi)?sh)"), re.ASCII)
#: In the environments of jobs that are given what a login gives, and the cluster's commands in any case.
_LOGIN_WANTED = "SLURM_GET_USER_ENV"
#: Keeps what the user has for ``BASH_ENV``.
_BEFORE = "ROTA_BASH_ENV"
_TEXT = """\
# Read by each bash after the profile, in jobs whose script begins as a login shell: the profile sets PATH anew.
case ":$PATH:" in
*:{commands}:*) ;;
*) PATH={commands}:$PATH ;;
esac
if [ -n "${{{before}-}}" ]; then
  . "${before}"
fi
"""


def doubt(script: str, environment: Mapping[str, str], state: Path) -> str:
    """Say that a script may not find the commands of a cluster although its submission did; empty: it finds them.

    Args:
        script: The batch script.
        environment: That of its submission.
        state: The directory of the cluster.
    """
    found = _OTHER.match(script.partition("\n")[0])
    if found is None or str(state / "bin") not in environment.get("PATH", "").split(":"):
        return ""
    return (
        f"the script is a login shell of {found[1]}: where its profile sets PATH anew, it does not find this cluster's"
        " commands. With #!/bin/bash -l it does"
    )


class LoginShells:
    """Puts the commands of a cluster back on the path of scripts that are login shells.

    Args:
        state: The directory of the cluster, which has the commands in ``bin``.
    """

    def __init__(self, state: Path) -> None:
        self._commands = str(state / "bin")
        self._file = state / "login.bash"

    def install(self) -> None:
        """Write the file that bash reads."""
        new = self._file.with_suffix(".new")
        new.write_text(_TEXT.format(commands=shlex.quote(self._commands), before=_BEFORE))
        new.chmod(0o644)
        new.replace(self._file)

    def environment(self, script: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Give the environment of a script: another one, if it is a login shell and would have the commands."""
        has_commands = _LOGIN_WANTED in environment or self._commands in environment.get("PATH", "").split(":")
        if not has_commands or not _LOGIN.match(script.partition("\n")[0]):
            return environment
        before = {_BEFORE: environment["BASH_ENV"]} if environment.get("BASH_ENV") else {}
        return {**environment, **before, "BASH_ENV": str(self._file)}
