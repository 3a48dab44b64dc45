"""What differs between two clusters: fields of records, lines of tables, and lines of what other commands print."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from .answers import Key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Stands for what is not there.
ABSENT = "-"


class Difference(NamedTuple):
    """A value that differs."""

    key: Key
    slurms: str
    rotas: str

    def __str__(self) -> str:
        """Show it as Slurm's value and rota's."""
        where = " ".join(part for part in self.key if part)
        return f"{where}: {self.slurms!r} is {self.rotas!r} here"


def differences(recorded: Mapping[Key, str], found: Mapping[Key, str]) -> Iterator[Difference]:
    """Compare what Slurm told with what rota tells.

    A record that only one of them has counts once. rota may say more about what it refuses.
    """
    records = [{key[:3] for key in each} for each in (recorded, found)]
    for key in dict.fromkeys((*recorded, *found)):
        slurms, rotas = recorded.get(key), found.get(key)
        if slurms == rotas:
            continue
        if key[:3] not in records[0] or key[:3] not in records[1]:
            if key.field in _FIRST:
                yield Difference(
                    Key(*key[:3], "record"), *("there" if one is not None else ABSENT for one in (slurms, rotas))
                )
        elif key.field == "text":
            yield from _lines(key, slurms or "", rotas or "")
        else:
            yield Difference(key, ABSENT if slurms is None else slurms, ABSENT if rotas is None else rotas)


#: A field that every record has, by which records that are missing are counted.
_FIRST = frozenset(
    {
        *("JobId", "JobID", "i", "Requeue", "StepId", "NodeName", "PartitionName", "ReservationName", "text"),
        *("job_id", "step.id", "node_list", "tres"),
    }
)


def _lines(key: Key, slurms: str, rotas: str) -> Iterator[Difference]:
    """Compare texts line by line, in any order."""
    only_slurm, only_rota = slurms.split("\n"), rotas.split("\n")
    for line in [line for line in only_slurm if line in only_rota]:
        if line in only_rota:
            only_slurm.remove(line)
            only_rota.remove(line)
    if key.command.startswith("refused"):
        only_rota = only_rota[: len(only_slurm)]
    for one, other in zip_longest(only_slurm, only_rota, fillvalue=ABSENT):
        yield Difference(key, one, other)
