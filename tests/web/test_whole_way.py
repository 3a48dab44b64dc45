"""From a job of a live cluster to its owner on the page: queue, job_stats, deltas, store, lookup, HTTP, browser.

The job is real, and so is all that is asked about it; what it does to a Lustre is simulated.
"""

from __future__ import annotations

import getpass
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes
from web.browser import CLICK, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from web.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@contextmanager
def rota(cluster: LiveCluster, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "rota", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=cluster.environment) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_who_loads_it_is_who_submitted(browser: Browser, tmp_path: Path) -> None:
    lustre, store = str(tmp_path / "lustre"), str(tmp_path / "store")
    serving = ("--source", f"dir:{lustre}", "--store", store, "--interval", "2", "--variable", "SLURM_JOB_ID")
    with LiveCluster(tmp_path, virtual_nodes(2)) as cluster, ExitStack() as stack:
        job = cluster.submit("-N2", "-J", "simulation", "--wrap", "sleep 600")
        stack.enter_context(rota(cluster, "lustre-sim", lustre, "--live", "--speed", "60", "--interval", "1"))
        service = stack.enter_context(rota(cluster, "jobstats", "serve", *serving, "--http", "127.0.0.1:0", "--public"))
        assert service.stdout is not None
        page = browser.open(f"{service.stdout.readline().split()[-1]}/?last=60")
        owner = getpass.getuser()
        page.wait(f"({ROWS}).some((row) => row.Job === '{job}' && row.User === '{owner}' && row.Name === 'simulation')")
        page.run(CLICK % f'"{job}"')
        page.wait("!document.getElementById('job').hidden")
        fields = dict(line.split("\t") for line in page.text("#job-fields").splitlines())
        assert fields["user"] == owner
        assert (fields["state"], fields["nodes"], fields["nodelist"]) == ("RUNNING", "2", "n[1-2]")
        assert "write_bytes" in page.text("#job-operations")
        assert page.problems == []
