"""What users have asked the controller, for ``sdiag``: by Slurm's messages and by user, with the time that it took.

Each command counts as the message that Slurm's own sends first of all, as recorded from 22.05.8. Those that Slurm sends
to slurmdbd are not counted.
"""

from __future__ import annotations

from collections import defaultdict
from time import perf_counter
from typing import TYPE_CHECKING, Generic, TypeVar

from rota.model.lines import CallCount

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Sequence
    from typing import Any

T = TypeVar("T")

_COMMANDS = {
    "salloc": ("REQUEST_RESOURCE_ALLOCATION", 4001),
    "sbatch": ("REQUEST_SUBMIT_BATCH_JOB", 4003),
    "scancel": ("REQUEST_KILL_JOB", 5032),
    "sdiag": ("REQUEST_STATS_INFO", 2035),
    "sinfo": ("REQUEST_PARTITION_INFO", 2009),
    "sprio": ("REQUEST_PRIORITY_FACTORS", 2026),
    "squeue": ("REQUEST_JOB_INFO", 2003),
    "srun": ("REQUEST_RESOURCE_ALLOCATION", 4001),
    "sshare": ("REQUEST_SHARE_INFO", 2022),
    "sstat": ("REQUEST_JOB_STEP_INFO", 2005),
}
#: By the beginning of the command of ``scontrol`` and, where that matters, of its next word.
_SCONTROL = {
    ("create", "part"): ("REQUEST_CREATE_PARTITION", 3003),
    ("create", "res"): ("REQUEST_CREATE_RESERVATION", 3006),
    ("delete", "part"): ("REQUEST_DELETE_PARTITION", 3004),
    ("delete", "res"): ("REQUEST_DELETE_RESERVATION", 3008),
    ("hold", ""): ("REQUEST_UPDATE_JOB", 3001),
    ("ping", ""): ("REQUEST_PING", 1008),
    ("reconf", ""): ("REQUEST_RECONFIGURE", 1003),
    ("release", ""): ("REQUEST_UPDATE_JOB", 3001),
    ("requeue", ""): ("REQUEST_JOB_REQUEUE", 5023),
    ("resume", ""): ("REQUEST_SUSPEND", 5014),
    ("show", "conf"): ("REQUEST_BUILD_INFO", 2001),
    ("show", "job"): ("REQUEST_JOB_INFO", 2003),
    ("show", "lic"): ("REQUEST_LICENSE_INFO", 1021),
    ("show", "node"): ("REQUEST_NODE_INFO", 2007),
    ("show", "part"): ("REQUEST_PARTITION_INFO", 2009),
    ("show", "res"): ("REQUEST_RESERVATION_INFO", 2024),
    ("show", "step"): ("REQUEST_JOB_STEP_INFO", 2005),
    ("show", "topo"): ("REQUEST_TOPO_INFO", 2028),
    ("suspend", ""): ("REQUEST_SUSPEND", 5014),
    ("uhold", ""): ("REQUEST_UPDATE_JOB", 3001),
    ("update", "node"): ("REQUEST_UPDATE_NODE", 3002),
    ("update", "part"): ("REQUEST_UPDATE_PARTITION", 3005),
    ("update", "res"): ("REQUEST_UPDATE_RESERVATION", 3009),
    ("update", ""): ("REQUEST_UPDATE_JOB", 3001),
    ("write", "batch"): ("REQUEST_BATCH_SCRIPT", 2051),
}


def message_of_call(words: Sequence[str]) -> tuple[str, int] | None:
    """Give name and number of the message that a command line stands for; ``None``: there is none."""
    name, *rest = words
    if name != "scontrol":
        return _COMMANDS.get(name)
    first, second, *_ = *(word.lower() for word in rest if not word.startswith("-")), "", ""
    found = (
        message
        for (command, about), message in _SCONTROL.items()
        if len(first) > 2 and (first.startswith(command) or command.startswith(first)) and second.startswith(about)
    )
    return next(found, None)


class Calls:
    """Counts calls."""

    def __init__(self) -> None:
        #: Number and seconds, by message and by user id.
        self._messages: defaultdict[tuple[str, int], list[float]] = defaultdict(lambda: [0, 0.0])
        self._users: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0])

    def add(self, words: Sequence[str], uid: int, seconds: float) -> None:
        """Count a call."""
        message = message_of_call(words)
        if message is None:
            return
        for one in (self._messages[message], self._users[uid]):
            one[0] += 1
            one[1] += seconds

    def messages(self) -> tuple[CallCount, ...]:
        """Give the counts by message."""
        return tuple(
            CallCount(name=name, number=number, count=int(count), microseconds=int(seconds * 1e6))
            for (name, number), (count, seconds) in self._messages.items()
        )

    def users(self) -> tuple[CallCount, ...]:
        """Give the counts by user; the number is the user id, and there is no name."""
        return tuple(
            CallCount(name="", number=uid, count=int(count), microseconds=int(seconds * 1e6))
            for uid, (count, seconds) in self._users.items()
        )


class Timed(Generic[T]):
    """Awaits a coroutine, and measures how long it was at work, without the time for which it waited.

    Args:
        coroutine: The coroutine.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        #: Seconds so far.
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        """Await it."""
        step, given = self._coroutine.send, None
        while True:
            began = perf_counter()
            try:
                waited_for = step(given)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return] # what the coroutine returns
            finally:
                self.seconds += perf_counter() - began
            step = self._coroutine.send
            try:
                given = yield waited_for
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's
                step, given = self._coroutine.throw, error
