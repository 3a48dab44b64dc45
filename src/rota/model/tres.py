"""Trackable resources (TRES): what jobs use and are billed for.

Counts of TRES are tuples in the cluster's order: Slurm's eight, then those of ``AccountingStorageTRES``. Memory is in
MiB.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The TRES that every cluster has, in Slurm's order.
STATIC_TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
CPU, MEM, ENERGY, NODE, BILLING = range(5)
_WEIGHT = re.compile(r"(?P<number>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)(?P<unit>[KMGTP]?)", re.ASCII)
#: Units of memory in weights, in MiB.
_MIB = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
#: Most that a weight of TRES or a factor of usage may be: products of two of them and a count stay finite.
MAX_FACTOR = 1e50
#: Prefixes of TRES that are not resources of a node.
_GLOBAL = ("license/", "bb/")


def cluster_tres(added: str) -> tuple[str, ...]:
    """Name a cluster's TRES in order: Slurm's own, then those of ``AccountingStorageTRES``."""
    names = (name.strip().lower() for name in added.split(","))
    return tuple(dict.fromkeys((*STATIC_TRES, *(name for name in names if name))))


def parse_tres_weights(text: str, names: Sequence[str]) -> dict[str, float]:
    """Parse ``CPU=1.0,Mem=0.25G,GRES/gpu=2``. A unit after the weight of memory is what the weight is for: G for a GiB.

    Args:
        text: The value of ``TRESBillingWeights`` or ``PriorityWeightTRES``.
        names: Names of the cluster's TRES.

    Returns:
        Weights by TRES name, in the order of ``names``; that of memory for each MiB.

    Raises:
        ValueError: the text has another form, or names a TRES that the cluster does not have.
    """
    weights = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = item.partition("=")
        match = _WEIGHT.fullmatch(value.strip())
        if not equals or match is None:
            raise ValueError(f"{item!r} is not TRES=weight")
        tres = name.strip().lower()
        if tres not in names:
            raise ValueError(f"{name!r} is no TRES of this cluster (it has {', '.join(names)}): AccountingStorageTRES")
        if match["unit"] and tres != "mem":
            raise ValueError(f"{item!r}: only memory has units")
        weights[tres] = float(match["number"]) / _MIB[match["unit"]]
        if weights[tres] > MAX_FACTOR:
            raise ValueError(f"{item!r}: a weight is at most {MAX_FACTOR:g}")
    return {name: weights[name] for name in names if name in weights}


def billable(counts: Sequence[float], names: Sequence[str], weights: Mapping[str, float], largest: str = "") -> float:
    """Compute billable TRES: Σ weight · count; without weights, the number of CPUs.

    Args:
        counts: Counts of TRES, in the order of ``names``.
        names: Names of the cluster's TRES.
        weights: ``TRESBillingWeights`` by TRES name.
        largest: ``MAX_TRES``: of the TRES of nodes only the largest product counts. ``MAX_TRES_GRES``: the largest of
            CPU, memory and nodes counts, and all GRES are added.
    """
    if not weights:
        return counts[CPU]
    total, held = 0.0, 0.0
    for name, count in zip(names, counts, strict=True):
        if name not in weights:
            continue
        product = weights[name] * count
        added = name.startswith(_GLOBAL) or (largest == "MAX_TRES_GRES" and name.startswith("gres/"))
        if not largest or added:
            total += product
        else:
            held = max(held, product)
    return total + held


def gres_counts(text: str) -> dict[str, int]:
    """Count GRES of a request or a node by kind: ``gpu:a100:2`` is two of ``gpu`` and two of ``gpu:a100``.

    Raises:
        ValueError: the text is not ``name[:type][:count]``, separated by commas.
    """
    counts: dict[str, int] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, *rest = item.partition("(")[0].split(":")
        count = read_count(rest.pop()) if rest and rest[-1][:1].isdigit() else 1
        if not name or len(rest) > 1:
            raise ValueError(f"{item!r} is not name[:type][:count]")
        for key in (name, *(f"{name}:{kind}" for kind in rest)):
            counts[key] = counts.get(key, 0) + count
    return counts


def kinds_of_gres(text: str) -> dict[str, int]:
    """Count GRES of a request by what it names: ``gpu:a100:2`` is two of ``gpu:a100``.

    Raises:
        ValueError: as `gres_counts`.
    """
    counts: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        kind, count = max(gres_counts(item).items(), key=lambda one: len(one[0]))
        counts[kind] = counts.get(kind, 0) + count
    return counts


def by_type(gres: Mapping[str, int]) -> dict[str, int]:
    """Sort GRES by kind, and leave out the sums of what is also counted by type."""
    typed = {name.partition(":")[0] for name in gres if ":" in name}
    return {name: count for name, count in sorted(gres.items()) if name not in typed}


def gres_text(counts: Mapping[str, int]) -> str:
    """Write how many there are of each kind: ``gpu:a100:2,widget:1``."""
    return ",".join(f"{kind}:{number}" for kind, number in counts.items() if number)


def read_count(text: str) -> int:
    """Read a number of GRES, ``4`` or ``2K``.

    Raises:
        ValueError: the text is no such number.
    """
    match = re.fullmatch(r"(\d+)([kKmMgG]?)", text)
    if match is None:
        raise ValueError(f"{text!r} is no count")
    return int(match[1]) << 10 * " kmg".index(match[2].lower() or " ")
