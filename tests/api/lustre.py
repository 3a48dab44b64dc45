"""A service that tells who loads a file system, with a store that was filled before, or with dumps that grow."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rota.lustre.counters import Activity, Changes, Increase, Seen
from rota.lustre.store import Writer, tiers_of

from .client import Client
from .services import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: A midnight (UTC), and how long there was something to write after it, seconds.
DAY, LONG = 1_700_006_400, 1200
#: All steps are kept, as the day is long gone.
EVER = "1s=ever,1m=ever,5m=ever,1h=ever"
TARGETS = ("scratch-OST0000", "scratch-OST0001", "scratch-MDT0000")
#: The jobs of the store that was filled, and what is known of them: of the last two nothing.
JOBS: dict[str, dict[str, object]] = {
    "4103947": {"user": "ann", "account": "physics", "name": "train", "uid": 1000},
    "4103948": {"user": "ann", "account": "physics", "name": "post"},
    "cp.1001": {"user": "bob", "name": "cp"},
    'job/with:odd %41 "signs"\n': {},
    "9": {},
}


class Lustre(NamedTuple):
    """A service that runs."""

    store: Path
    #: On the Unix socket.
    client: Client
    port: int
    log: Path

    def on_tcp(self, headers: Mapping[str, str] | None = None) -> Client:
        return Client(self.port, headers)


def fill(store: Path) -> list[Activity]:
    """Fill a store with what all jobs did for twenty minutes, every ten seconds; different by job, target and time."""
    writer, found = Writer(store, tiers_of(1, EVER)), []
    writer.write([], DAY + 1, Changes({target: Seen(DAY, DAY, DAY) for target in TARGETS}, {}))
    for end in range(DAY + 10, DAY + LONG + 1, 10):
        some = []
        for number, job in enumerate(JOBS, 1):
            amount = number * (end - DAY)
            reads = {"read_bytes": Increase(number, amount), "read": Increase(number, 7 * number)}
            some += [
                Activity(TARGETS[number % 2], job, end - 10, end, reads),
                Activity(TARGETS[2], job, end - 10, end, {"open": Increase(number, 50 * number)}),
            ]
        writer.write(some, end + 1)
        found += some
    writer.label({job: fields for job, fields in JOBS.items() if fields})
    writer.close()
    return found


@contextmanager
def serving(store: Path, log: Path, port: int, *options: str) -> Iterator[Lustre]:
    """Serve with `rota jobstats serve`, reading every second, until the end, which has to be a clean one."""
    words = ["rota", "jobstats", "serve", "--store", str(store), "--interval", "1", "--http", f"127.0.0.1:{port}"]
    with log.open("a") as file, running(*words, *options, errors=file) as line:
        assert line.startswith("HTTP at "), log.read_text()
        client = Client(store / "http.sock")
        while not client.get("/lustre/v1/status")["writing"]["times"]:
            time.sleep(0.05)
        yield Lustre(store, client, port, log)
    assert "Traceback" not in log.read_text()


class Dumps:
    """A directory of dumps that grow.

    Args:
        folder: The directory, which is made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        #: By target and job: samples and bytes written.
        self.counters: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, target: str, job: str, samples: int, total: int) -> None:
        """Let a job write."""
        before = self.counters.get((target, job), (0, 0))
        self.counters[target, job] = (before[0] + samples, before[1] + total)
        self.write(target)

    def write(self, target: str) -> None:
        """Write the dump of a target, as 2.12 does."""
        text = "job_stats:\n"
        for (on, job), (samples, total) in self.counters.items():
            if on == target:
                text += f"- job_id:          {job}\n  snapshot_time:   1700006400\n"
                text += f"  write_bytes:     {{ samples: {samples:11}, unit: bytes, min:       1, max: 1048576,"
                text += f" sum: {total:15} }}\n"
        (self.folder / ".new").write_text(text)
        (self.folder / ".new").replace(self.folder / f"{target}.job_stats")
