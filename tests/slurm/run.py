"""Many random scenarios, with several Slurms at once; what differs is counted by kind of machine, and made smaller."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter, deque
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from .draw import ACCOUNTS, BASE, KINDS, draw
from .play import Outcome, Recorder, compare
from .real import RealSlurm, SetUpError
from .recorded import Result, result
from .shrink import shrink, signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing import Queue

    from .draw import Drawn

#: Scenarios of one seed.
MANY = 100_000


class Found(NamedTuple):
    """A sort of difference: what is said of it, and a scenario in which it shows."""

    said: str
    text: str


class Run:
    """A run of the comparison.

    Args:
        seed: The same number draws the same scenarios.
        kind: The one kind of machine; empty: all.
        tries: How often a difference is tried to be made smaller.
        keep: Folder in which each scenario is kept with Slurm's answers, and from which it is not played again;
            ``None``: none is kept.
    """

    def __init__(self, seed: int = 1, kind: str = "", tries: int = 30, keep: Path | None = None) -> None:
        self._seed = seed
        self._kind = kind
        self._tries = tries
        self._keep = keep
        self.results: list[Result] = []
        self.found: list[Found] = []

    def all(self, seconds: float, at_once: int, log: IO[str], *, many: int = MANY) -> None:
        """Draw scenarios for some seconds; of each new sort of difference make one smaller.

        Args:
            seconds: After so many no other scenario is begun.
            at_once: The number of Slurms.
            log: Gets a line for each scenario, and what is found.
            many: No more than the first so many scenarios of the seed.
        """
        end = time.time() + seconds
        context = multiprocessing.get_context("fork")
        answers: Queue[Result | Found | None] = context.Queue()
        known = context.Manager().dict()
        workers = [
            context.Process(target=self._work, args=(range(number, many, at_once), end, known, answers))
            for number in range(at_once)
        ]
        for worker in workers:
            worker.start()
        left = at_once
        while left:
            answer = answers.get()
            if answer is None:
                left -= 1
            else:
                self._take(answer, log)
        for worker in workers:
            worker.join()

    def shrink(self, scenarios: Iterable[Drawn], log: IO[str]) -> None:
        """Play these, and make each that differs smaller."""
        left = deque(scenarios)
        while left:
            with _new_slurm() as slurm:
                is_usable = True
                while left and is_usable:
                    for answer in self._played(slurm, left.popleft(), {}):
                        self._take(answer, log)
                        is_usable = not (isinstance(answer, Result) and answer.failed)

    def _take(self, answer: Result | Found, log: IO[str]) -> None:
        if isinstance(answer, Result):
            self.results.append(answer)
            log.write(f"{answer}\n")
        else:
            self.found.append(answer)
            log.write(f"{answer.said}\n{answer.text}")
        log.flush()

    def _work(
        self, numbers: range, end: float, known: dict[tuple[str, ...], int], answers: Queue[Result | Found | None]
    ) -> None:
        """Play scenarios with a Slurm of its own; after one that failed, with a new one."""
        left = deque(numbers)
        try:
            while left and time.time() <= end:
                with _new_slurm() as slurm:
                    self._play_on(slurm, left, end, known, answers)
        finally:
            answers.put(None)

    def _play_on(
        self,
        slurm: RealSlurm,
        left: deque[int],
        end: float,
        known: dict[tuple[str, ...], int],
        answers: Queue[Result | Found | None],
    ) -> None:
        """Play scenarios until one fails, or it is time to end."""
        while left and time.time() <= end:
            drawn = draw(self._seed * MANY + left.popleft(), self._kind)
            if self._keep is not None and self._file(drawn).exists():
                continue
            for answer in self._played(slurm, drawn, known):
                answers.put(answer)
                if isinstance(answer, Result) and answer.failed:
                    return

    def _file(self, drawn: Drawn) -> Path:
        """Say where it is kept."""
        assert self._keep is not None
        return self._keep / f"{drawn.kind}-{drawn.seed}.txt"

    def _played(self, slurm: RealSlurm, drawn: Drawn, known: dict[tuple[str, ...], int]) -> Iterator[Result | Found]:
        """Play a scenario; make it smaller if it differs as none before."""
        try:
            outcome = play(slurm, drawn)
        except SetUpError as error:
            yield Result(drawn.kind, drawn.seed, 0, Counter(), 0, failed=str(error))
            return
        first = outcome.first
        sort = () if first is None else signature(first)
        yield result(drawn.kind, drawn.seed, outcome)
        if self._keep is not None:
            self._file(drawn).write_text(outcome.text, encoding="utf-8")
        if first is None or sort in known:
            return
        known[sort] = drawn.seed
        first, text = shrink(drawn, outcome, partial(play, slurm), self._tries)
        yield Found(f"# {' '.join(sort)}\n#   Slurm: {first.slurm}\n#   rota:  {first.rota}", text)


@contextmanager
def _new_slurm() -> Iterator[RealSlurm]:
    """Start a Slurm in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="rota-slurm-") as name:
        Path(name).chmod(0o755)
        with RealSlurm(Path(name)) as slurm:
            yield slurm


def play(slurm: RealSlurm, drawn: Drawn) -> Outcome:
    """Carry a scenario out with both.

    Raises:
        SetUpError: Slurm does not take the machine, did not do what was waited for, or gives no answer.
    """
    own = {line.partition("=")[0] for line in drawn.conf}
    base = [line for line in BASE if line.partition("=")[0] not in own]
    slurm.begin([*base, *drawn.conf], [*ACCOUNTS, *drawn.accounts])
    recorder = Recorder(slurm)
    text = recorder.play(drawn)
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome = compare(text, Path(folder))
        except ValueError as error:
            raise SetUpError(f"an answer cannot be read: {error}") from error
    outcome.carried = recorder.carried
    return outcome


def table(results: Iterable[Result]) -> str:
    """Format the counts by kind of machine, and by what differs."""
    kinds: dict[str, list[Result]] = {kind: [] for kind in KINDS}
    for one in results:
        kinds.setdefault(one.kind, []).append(one)
    kinds["all"] = [one for each in list(kinds.values()) for one in each]
    lines = ["machine       scenarios  equal  records  equal     %  what differs"]
    for kind, each in kinds.items():
        done = [one for one in each if not one.failed]
        if not done:
            continue
        records, unequal = sum(one.records for one in done), sum(one.unequal for one in done)
        fields = sum((one.differing for one in done), Counter[str]())
        what = " ".join(f"{name} {count}" for name, count in fields.most_common())
        share = 100 * (records - unequal) / max(records, 1)
        throughout = sum(not one.unequal for one in done)
        lines.append(f"{kind:13} {len(done):9} {throughout:6} {records:8} {records - unequal:6} {share:5.1f}  {what}")
    failed = Counter(one.failed for one in kinds["all"] if one.failed)
    return "\n".join([*lines, *(f"not compared: {count} ({why})" for why, count in failed.items())]) + "\n"
