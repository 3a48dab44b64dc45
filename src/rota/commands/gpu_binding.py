"""How the tasks of a step on one node share its GPUs: ``--gpu-bind``, as slurmstepd of Slurm 22.05 takes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import FAILURE, WordedError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The digits of the lists that two words have.
_LISTS = {"map_gpu": r"\d*", "mask_gpu": r"(?:0x)?[\da-f]*"}
#: Entries of a list count up to here, repeated ones each: no node has so many tasks.
_MOST = 4096


class GpuBinding(NamedTuple):
    """A binding: its word, and the numbers that come after it."""

    #: ``closest``, ``single``, ``per_task``, ``map_gpu``, ``mask_gpu``; any other: tasks are not told of GPUs.
    word: str
    numbers: tuple[int, ...]

    def of_task(self, gpus: Sequence[int], local: int) -> tuple[int, ...] | None:
        """Give the GPUs of a task; ``None``: it is not told which there are.

        Args:
            gpus: Ids of the step's GPUs on the node of the task.
            local: Number of the task among those of the node.
        """
        numbers = self.numbers
        if self.word == "closest":  # GPUs are not known to be far from any of a step's cores
            return tuple(gpus)
        if self.word == "single":
            return (gpus[local // max(numbers[0], 1) % len(gpus)],)
        if not any(numbers) or self.word not in {"per_task", *_LISTS}:
            return None
        if self.word == "per_task":
            found = tuple(gpus[local * numbers[0] : (local + 1) * numbers[0]])
        else:
            chosen = numbers[local % len(numbers)]
            found = tuple(gpu for gpu in gpus if (gpu == chosen if self.word == "map_gpu" else chosen >> gpu & 1))
        return found or (gpus[0],)


def check_gpu_binding(text: str) -> str:
    """Check ``--gpu-bind``; only numbers of lists can be wrong, and words that are not known bind nothing."""
    word, listed = _words(text)
    for number in listed if word in _LISTS else ():
        plain = number.partition("*")[0]
        found = re.match(_LISTS[word], plain, re.IGNORECASE | re.ASCII)
        if found is not None and found.end() < len(plain):
            wrong = f"Failed to validate {plain}, offending character is {plain[found.end()]}"
            raise WordedError(wrong, f"Invalid --gpu-bind argument: gpu:{text}", status=FAILURE)
    return text


def read_gpu_binding(text: str) -> GpuBinding:
    """Read ``[verbose,]WORD[:LIST]``; a number that is none is 1, as with Slurm."""
    word, listed = _words(text)
    numbers = list[int]()
    for item in listed[:_MOST]:
        plain, _, times = item.partition("*")
        try:
            number = int(plain, 16 if word == "mask_gpu" else 10)
        except ValueError:
            number = 1
        repeated = min(int(times[:9]), _MOST - len(numbers)) if times.isdecimal() else 1
        numbers += [number] * repeated
    return GpuBinding(word, tuple(numbers) or (1,))


def _words(text: str) -> tuple[str, list[str]]:
    word, _, listed = re.sub(r"^(?:v|verbose|q|quiet),", "", text.lower()).partition(":")
    return word, listed.split(",")
