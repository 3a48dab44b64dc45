"""One moment of a replay as records: what ``squeue``, ``sprio`` and ``sshare`` show of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings import View

if TYPE_CHECKING:
    from rota.core import ClusterView


def view_of(cluster: ClusterView) -> View:
    """Look at a cluster as it is now.

    Raises:
        InputError: what slurm.conf says of priorities cannot be used.
    """
    conf = cluster.priority_conf
    return View(
        now=cluster.now,
        utc_offset=cluster.utc_offset,
        jobs=cluster.jobs(),
        factors=cluster.factors(),
        weights=conf.weights,
        associations=tuple((one.association, one.depth) for one in cluster.associations()),
        tres=cluster.tres,
        fair_tree=conf.fair_tree,
    )
