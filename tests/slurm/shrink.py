"""Makes a scenario in which rota differs from Slurm smaller: the least submissions, options and configuration."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from core.scenarios import GRES_LINE

from .real import SetUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .draw import Drawn
    from .play import Difference, Outcome

    #: Carries a scenario out with both.
    Play = Callable[[Drawn], Outcome]

#: Lines of slurm.conf without which there is no machine.
_NEEDED = ("NodeName=", "PartitionName=main")
#: Lines of which single words can be left out, and the words that stay.
_OF_WORDS = ("NodeName=", "PartitionName=")
_SHAPE = ("Nodes=", "CPUs=", "Sockets=", "CoresPerSocket=", "ThreadsPerCore=", "RealMemory=")
#: An option of sbatch with its value.
_OPTION = re.compile(r" (?:--[\w-]+(?:=\S+)?|-[A-Za-z](?: [^-]\S*|[^ ]*))")


def signature(difference: Difference) -> tuple[str, ...]:
    """Say what sort of difference it is, in few words."""
    fields = sorted(difference.fields & {"state", "reason", "nodes", "cpus", "refusal", "crash"})
    text = difference.slurm if difference.slurm.startswith("error") else difference.rota
    words = re.sub(r"\S*\d\S*", "#", text)[:60] if {"refusal", "crash"} & set(fields) else ""
    reasons: tuple[str, ...] = ()
    if "state" in fields or "reason" in fields:
        reasons = tuple(" ".join(one.split()[1:3]) for one in (difference.slurm, difference.rota))
    return (*fields, words, *reasons)


def shrink(drawn: Drawn, outcome: Outcome, play: Play, tries: int) -> tuple[Difference, str]:
    """Take lines and options away as long as the first difference is of the same sort.

    Args:
        drawn: A scenario that differs.
        outcome: What came of it.
        play: How it is played again.
        tries: How often at most.

    Returns:
        The difference, and the scenario with Slurm's answers.
    """
    first = outcome.first
    assert first is not None
    text, sort = outcome.text, signature(first)
    drawn = _until_first(drawn, outcome)
    place, is_smaller = 0, False
    while tries:
        candidate = next(islice(_smaller(drawn), place, None), None)
        if candidate is None and is_smaller:
            place, is_smaller = 0, False
            continue
        if candidate is None:
            break
        tries -= 1
        place += 1
        with suppress(SetUpError):
            found = play(candidate)
            if found.first is not None and signature(found.first) == sort:
                # What could not be left out before is not tried again until everything else has been.
                drawn, place, is_smaller = candidate, place - 1, True
                first, text = found.first, found.text
    return first, text


def _until_first(drawn: Drawn, outcome: Outcome) -> Drawn:
    """Leave out what follows the first difference, and listings."""
    assert outcome.first is not None
    head = outcome.first.line.partition(":")[0]
    number = int(head) if head.isdigit() else len(outcome.carried)
    steps = [step for step in outcome.carried[:number] if not step[1].startswith(("squeue", "sprio", "sshare"))]
    looks = [place for place, step in enumerate(steps) if step[1] == "look"]
    steps = [step for place, step in enumerate(steps) if place not in looks[:-1]]
    return replace(drawn, steps=tuple(steps))


def _smaller(drawn: Drawn) -> Iterator[Drawn]:
    """Give scenarios that lack something, large parts first."""
    places = [
        place for place, (label, line) in enumerate(drawn.steps) if label or not line.startswith(("wait", "look"))
    ]
    size = len(places) // 2
    while size:
        for first in range(0, len(places), size):
            gone = set(places[first : first + size])
            yield _without(drawn, gone)
        size //= 2
    for place, line in enumerate(drawn.conf):
        rest = (*drawn.conf[:place], *drawn.conf[place + 1 :])
        if not line.startswith(_NEEDED):
            yield replace(drawn, conf=rest)
        if line.startswith(_OF_WORDS) and line.split()[0] != "PartitionName=main" and not GRES_LINE.search(line):
            for word in line.split()[1:]:
                if not word.startswith(_SHAPE):
                    yield replace(drawn, conf=(*drawn.conf[:place], line.replace(f" {word}", "", 1), *rest[place:]))
    for place in range(len(drawn.accounts)):
        yield replace(drawn, accounts=(*drawn.accounts[:place], *drawn.accounts[place + 1 :]))
    for place, (label, line) in enumerate(drawn.steps):
        if label:
            for option in _OPTION.findall(line):
                steps = [*drawn.steps]
                steps[place] = (label, line.replace(option, "", 1))
                yield replace(drawn, steps=tuple(steps))
    for place, (_, line) in enumerate(drawn.steps):
        if line.startswith("wait"):
            yield _without(drawn, {place})


def _without(drawn: Drawn, places: set[int]) -> Drawn:
    """Leave steps out, and what speaks of their jobs."""
    gone = {label for place, (label, _) in enumerate(drawn.steps) if place in places and label}
    steps = [step for place, step in enumerate(drawn.steps) if place not in places]
    steps = [step for step in steps if not gone.intersection(re.findall(r"\bj\d+\b", step[1]))]
    return replace(drawn, steps=tuple(steps))
