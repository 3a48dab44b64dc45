"""Fair Tree of a real Slurm's raw usage: what `sshare` then printed, computed here from that usage and the tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rota.accounting import fair_tree
from rota.listings import render
from rota.model import PriorityWeights
from rota.sacctmgr import read_associations

from .conftest import DATA, lines_of, priority_conf, recording
from .rig import Snapshot


def test_fair_tree_is_slurms() -> None:
    ((command, printed),) = recording("usage-fair-tree.txt").items()
    tree = read_associations([Path(DATA / "rig.dump")], "rig").tree
    hierarchy = list(tree.hierarchy())
    raw = [float(line.split("|")[2]) for line in printed.splitlines()]
    usage = np.zeros(len(tree))
    usage[[tree.row(one) for one, _ in hierarchy]] = raw
    shares = fair_tree(tree.columns, usage)
    assert shares.level_fs is not None
    for (one, _), used in zip(hierarchy, raw, strict=True):
        row = tree.row(one)
        one.usage_raw, one.usage_norm = used, float(shares.usage_norm[row])
        one.usage_efctv, one.fs_factor = float(shares.usage_efctv[row]), float(shares.factor[row])
        if one.parent_id and tree.columns.has_shares[row]:
            one.level_fs = float(shares.level_fs[row])
    view = Snapshot(conf=priority_conf(PriorityWeights()), association_lines=lines_of(hierarchy))
    assert render(command, view) == printed
