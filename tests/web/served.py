"""A service whose one source is made up: ``served.py FOLDER TOKEN WORDS``.

``WORDS`` is JSON: ``rates`` of bytes written in a second by job and target, ``names`` with the fields of jobs,
``error`` for a source that fails, ``fault`` for lookups that do.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rota.api.lustre.serve import serve_lustre
from rota.lustre.collector import Reading
from rota.lustre.counters import Activity, Changes, Increase
from rota.lustre.service import Service
from rota.lustre.store import Writer, tiers_of
from rota.model import RotaError
from rota.web.lustre import lustre_pages

if TYPE_CHECKING:
    from rota.lustre.deltas import Counted

#: Seconds of a step, and of what the store has when it starts.
STEP, PAST = 10, 300


class Feed:
    """The source."""

    name = "made-up"

    def __init__(self, rates: dict[str, dict[str, int]], error: str) -> None:
        self._rates = rates
        self._error = error
        self._was_read = False

    def activities(self, end: float) -> list[Activity]:
        """Give what all jobs did in a step."""
        return [
            Activity(target, job, end - STEP, end, {"write_bytes": Increase(STEP, rate * STEP)})
            for job, targets in self._rates.items()
            for target, rate in targets.items()
        ]

    def read(self, at: float, counted: Counted) -> Reading:
        """Read it."""
        if self._error:
            raise RotaError(self._error)
        # The first reading of counters tells of nothing: here the store has what was before.
        found, self._was_read = self.activities(at) if self._was_read else [], True
        counted(found, Changes({}, {}))
        return Reading(len(found), len(found))


class Names:
    """What is known of jobs."""

    def __init__(self, names: dict[str, dict[str, Any]], fault: str) -> None:
        self._names = names
        self._fault = fault

    def known(self, _: object, /) -> Any:
        return SimpleNamespace(jobs=self._names)

    def fields(self) -> tuple[str, ...]:
        return tuple(sorted({field for one in self._names.values() for field in one}))

    def status(self) -> dict[str, Any]:
        return {"plugins": {"made_up": {"asked": 1, "failed": 1, "fault": self._fault}}}


def main() -> None:
    """Serve."""
    folder, token, words = Path(sys.argv[1]).absolute(), sys.argv[2], json.loads(sys.argv[3])
    (folder / "token").write_text(token)
    feed, tiers = Feed(words["rates"], words.get("error", "")), tiers_of(STEP)
    writer, now = Writer(folder, tiers), time.time() // STEP * STEP
    for back in range(PAST, -1, -STEP):
        writer.write(feed.activities(now - back), int(now - back) + 1)
    writer.label(words.get("names", {}))
    writer.close()
    service = Service(
        folder,
        tiers,
        [feed],
        Names(words.get("names", {}), words.get("fault", "")),
        clock=time.time,
        report=sys.stderr.write,
    )
    serve_lustre(
        service,
        folder,
        "127.0.0.1:0",
        group="",
        public=not token,
        ready=lambda addresses: print(addresses[-1], flush=True),  # noqa: T201 - the test reads it
        pages=lustre_pages(),
    )


if __name__ == "__main__":
    main()
