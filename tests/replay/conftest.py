"""Logs of a few jobs, written as a scenario would be told, and the one real log that comes with rota."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.model import NodeState
from rota.replays.failures import Failure
from rota.workload import FILTERS, Workload, bundled, read_swf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

#: Processors of KTH-SP2.
KTH_PROCS = 100
#: What the tests compare with; its README says whose it is.
DATA = Path(__file__).parent / "data"
_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "plugins"


@pytest.fixture(scope="session")
def kth() -> Workload:
    """The log that comes with rota, as the published schedules filter it."""
    path = bundled("KTH-SP2")
    assert path is not None
    return FILTERS["sc15"](read_swf(path), KTH_PROCS)


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example plugins that is ours alone: rota runs no other, and a checkout may be shared."""
    folder = tmp_path_factory.mktemp("examples")
    for example in _EXAMPLES.glob("*.py"):
        copy = folder / example.name
        copy.write_bytes(example.read_bytes())
        copy.chmod(0o644)
    folder.chmod(0o755)
    return folder


def log_of(*jobs: tuple[int, int, int, int], **columns: ArrayLike) -> Workload:
    """Make a log of jobs, each ``(submit, run, processors, requested time)``, numbered from 1.

    Args:
        jobs: -1 for what the log does not know.
        columns: others of `Workload`'s columns, or other values for these.
    """
    submit, run, procs, requested = zip(*jobs, strict=True)
    told: Mapping[str, ArrayLike] = {
        "submit_time": submit,
        "run_time": run,
        "requested_procs": procs,
        "requested_time": requested,
    }
    return Workload.build("scenario.swf", {**told, **columns})


def failure(time: int, duration: int | None, state: NodeState = NodeState.DOWN, *nodes: str) -> Failure:
    return Failure(time=time, nodes=nodes or ("n01",), duration=duration, state=state)
