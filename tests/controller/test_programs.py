"""A Prolog or Epilog that is not there is told before the first job fails for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from pathlib import Path


def test_programs_that_are_not_there_are_told(tmp_path: Path) -> None:
    prolog, epilog = tmp_path / "prolog", tmp_path / "epilog"
    epilog.write_text("#!/bin/sh\n")
    epilog.chmod(0o644)
    cluster = LiveCluster(tmp_path, f"{virtual_nodes(1)}Prolog={prolog}\nEpilog={epilog}\n")
    try:
        done = cluster.rota("up", "--config", str(cluster.conf))
        assert done.stderr.splitlines() == [
            f"rota: warning: Prolog {prolog} is no program that can be run: no job starts, and nodes are drained",
            f"rota: warning: Epilog {epilog} is no program that can be run: nodes are drained when their jobs end",
        ]
        shown = cluster.rota("status").stdout
        assert f"{prolog} is no program" in shown
        prolog.write_text("#!/bin/sh\n")
        for one in (prolog, epilog):
            one.chmod(0o755)
        shown = cluster.rota("status").stdout
        assert not any(f"{one} is no program" in shown for one in (prolog, epilog))
        cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    finally:
        cluster.rota("down", "--jobs", "cancel", check=False)
