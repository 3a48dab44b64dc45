"""The input of ``squeue``, ``sprio`` and ``sshare``, taken from the engine's view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings import View

if TYPE_CHECKING:
    from rota.core import ClusterView


def view_of(cluster: ClusterView) -> View:
    """Take the listings' input from a view, as of now.

    Raises:
        InputError: the priority configuration in slurm.conf cannot be used.
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
