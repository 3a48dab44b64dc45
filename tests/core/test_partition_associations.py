"""Users who are in an account for one partition only get no second association, which would halve their shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.sacctmgr import read_associations
from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from pathlib import Path

DUMP = """\
Cluster - 'c':Fairshare=1
Parent - 'root'
Account - 'lab':Fairshare=1
Parent - 'lab'
User - 'ann':Partition='main':DefaultAccount='lab':Fairshare=1
"""


def test_nobody_is_added_who_is_there_for_one_partition(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text(DUMP)
    tree = read_associations([tmp_path / "dump"]).tree
    with Harness(cluster(cpus=4), associations=tree, priority="priority/multifactor") as rota:
        assert rota.engine.add_users([("ann", "lab"), ("ann", "")]) == []
        assert rota.engine.add_users([("bob", "lab"), ("ann", "root")]) == [("bob", "lab"), ("ann", "root")]
