"""How a command of a user is known again that is given a second time, since the controller was lost meanwhile.

`rota.client.thin` gives each command a key, and the kernel tells whose it is and, with the process id and the time of
its start, which process has given it: nobody else can come for its job. Together these are what the job's submission is
called (`JobSpec.payload`), so they are written down with the job, kept as long as its record, and found at once: see
`rota.controller.given_again`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.users import is_users

if TYPE_CHECKING:
    from typing import Self

    from rota.controller.wire import Call

#: What begins the names of submissions that last as long as the command, and of those that do not.
_WITH_COMMAND, _ALONE = "c", "b"
#: Characters of a key in the first of these, as a name has 40 at most.
_OF_KEY = 16


class Process(NamedTuple):
    """The process of a command."""

    pid: int
    #: When it was started, in clock ticks since the machine was; 0: it cannot be seen from here.
    ticks: int

    @classmethod
    def of(cls, call: Call) -> Self:
        """Give the process that has given a command."""
        found = _ticks(call.pid)
        return cls(call.pid, found if is_users(call.pid, call.uid) else 0)

    @property
    def is_known(self) -> bool:
        """Whether it can be seen from here."""
        return bool(self.ticks)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended. One that is only stopped has not."""
        return self.is_known and _ticks(self.pid) != self.ticks


def name_of(call: Call, job_id: int, *, ends_with_command: bool) -> str:
    """Give the name of the submission that a command makes.

    Args:
        call: The call of the command.
        job_id: The id that its job will have, after which it is called without a key.
        ends_with_command: Whether the job is the command's own, and ends with it.
    """
    if not call.key:
        return str(job_id)
    if not ends_with_command:
        return f"{_ALONE}.{call.uid:x}.{call.key}"
    process = Process.of(call)
    return f"{_WITH_COMMAND}.{process.pid:x}.{process.ticks:x}.{call.key[:_OF_KEY]}"


def process_of(name: str) -> Process | None:
    """Give the process of the command with which a job ends, by the name of its submission; ``None``: of none."""
    kind, *parts = name.split(".")
    return Process(int(parts[0], 16), int(parts[1], 16)) if kind == _WITH_COMMAND else None


def _ticks(pid: int) -> int:
    """Say when a process was started, in clock ticks since the machine was; 0: it is not there, or only a zombie."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = line[line.rindex(b")") + 2 :].split()  # the name is in parentheses, and may contain anything
    return 0 if fields[0] in {b"Z", b"X"} else int(fields[19])
