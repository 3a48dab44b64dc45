"""Reading associations from files in any of sacctmgr's formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.model import InputError
from rota.sacctmgr.builder import Place, TreeBuilder
from rota.sacctmgr.dump import is_dump_line, read_dump
from rota.sacctmgr.keys import QOS, find_key
from rota.sacctmgr.script import read_script

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rota.accounting import AssociationTree


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTree:
    """A tree of associations, and warnings about the files."""

    tree: AssociationTree
    warnings: tuple[str, ...]


def read_associations(paths: Sequence[Path], cluster_name: str | None = None) -> LoadedTree:
    """Read files, one after the other, into one tree.

    Each file is a dump (``sacctmgr dump``), a script of sacctmgr commands, or a list of QOS as printed by
    ``sacctmgr -P show qos``, since dumps do not contain QOS. The format is recognised by the first line.

    Args:
        paths: The files.
        cluster_name: Name of the cluster in slurm.conf; ``None``: any name is accepted.

    Raises:
        InputError: a file cannot be read or used; the message names file, line and key.
    """
    builder = TreeBuilder()
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8-sig", errors="replace")
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=path) from None
        first = next(
            (line.strip() for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")), ""
        )
        if not first:
            raise InputError("is empty: write it with sacctmgr dump CLUSTER file=…", path=path)
        if is_dump_line(first):
            read_dump(builder, text, path)
        elif first.startswith("Name|"):
            _read_qos(builder, text, path)
        else:
            read_script(builder, text, path)
    if not builder.cluster:
        raise InputError("no cluster: a line such as Cluster - 'name', or add cluster name=…, is needed", path=paths[0])
    if cluster_name is not None and builder.cluster != cluster_name:
        raise InputError(
            f"is of cluster {builder.cluster!r}, and slurm.conf is of {cluster_name!r}", path=paths[0], field="Cluster"
        )
    warnings = tuple(_doubts(builder, paths[0]))  # before the tree is made: it adds QOS
    return LoadedTree(tree=builder.tree(), warnings=warnings)


def _read_qos(builder: TreeBuilder, text: str, path: Path) -> None:
    header: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.rstrip("\r").split("|")
        if not line.strip():
            continue
        if not header:
            header = cells
            continue
        place = Place(path, number)
        if len(cells) != len(header):
            raise place.error(f"{len(cells)} columns, and the first line has {len(header)}")
        qos = builder.add_qos(cells[0])
        for column, value in zip(header[1:], cells[1:], strict=True):
            key = find_key(column, QOS)
            if key is not None and value:
                builder.set_qos(qos, key, value, "=", place)


def _doubts(builder: TreeBuilder, path: Path) -> list[str]:
    """Add QOS in the lists of associations, or of other QOS, that are not defined, and warn about them."""
    named = {name.lstrip("+-") for one in builder.select((), (), ()) for name in (*one.qos, one.default_qos) if name}
    named.update(name for qos in builder.qos.values() for name in qos.preempt)
    unknown = sorted(named - builder.qos.keys())
    for name in unknown:
        builder.add_qos(name)
    if not unknown:
        return []
    return [
        str(
            InputError(
                f"QOS {', '.join(unknown)} have no priority here, since no file defines them, as dumps before Slurm "
                "25.05 do not: give what sacctmgr -P show qos prints as a second --associations file",
                path=path,
            )
        )
    ]
