"""What a schedule depends on: the jobs, the machine, and what decides; so that two runs can be told apart.

A result keeps a digest of each field of its jobs, the machine in numbers, and every setting. Where two runs differ in
anything but settings and plugins, the difference between their figures is not that of policies.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rota.results.stored import reading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Format of the inputs in ``summary.json``; to be changed when older files can no longer be read.
INPUTS_FORMAT = "rota-inputs-1"
_DIGEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a schedule depends on."""

    #: Digest of each field of the jobs, by its name, such as ``run time``. A field that no job gives is not there.
    jobs: Mapping[str, str]
    #: The machine: what is counted, such as ``processors``, as text; and digests of what is too long to be shown.
    machine: Mapping[str, str]
    #: Digests of what happened to the machine and to users' shares: ``node failures``, ``earlier usage``.
    conditions: Mapping[str, str]
    #: Settings, as text: keys of slurm.conf, options in their values, attributes of partitions, and what the command
    #: line adds to them.
    settings: Mapping[str, str]

    def beside_policy(self) -> str:
        """Give a digest of all but the settings: where two runs have the same, they differ in their policies alone."""
        told = json.dumps([[*sorted(part.items())] for part in (self.jobs, self.machine, self.conditions)])
        return sha256(told.encode()).hexdigest()[:_DIGEST]

    def as_dict(self) -> dict[str, Any]:
        """Convert it to JSON data."""
        return {"format": INPUTS_FORMAT, **{name: dict(part) for name, part in asdict(self).items()}}


def read_inputs(stored: dict[str, Any], path: Path) -> Inputs:
    """Make it from the data of `Inputs.as_dict`.

    Args:
        stored: The data.
        path: Path of the file, for error messages.

    Raises:
        InputError: the data is not such inputs.
    """
    with reading("inputs", stored, INPUTS_FORMAT, path):
        return Inputs(**{part: {str(name): str(text) for name, text in stored[part].items()} for part in _PARTS})


_PARTS = ("jobs", "machine", "conditions", "settings")


def differing(parts: list[Mapping[str, str]]) -> list[str]:
    """Name the keys that have not the same text in all of some mappings, in the order in which they come."""
    names = dict.fromkeys(name for part in parts for name in part)
    return [name for name in names if len({part.get(name) for part in parts}) > 1]
