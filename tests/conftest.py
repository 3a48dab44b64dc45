"""What all tests share: workloads, files, and how much is left to chance.

`make test` draws few examples and seeds, the same ones each time. `make test-slow` draws many: of the seeds all there
are, and other examples each time.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from web.browser import Browser

# Whoever needs other numbers multiplies these: `settings(max_examples=5 * settings().max_examples)`.
_PATIENT = settings(
    deadline=None,  # a shared machine is slow at times
    # Drawing a whole script takes long and much; and no test minds that examples share a folder.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fast", _PATIENT, max_examples=10, derandomize=True)
settings.register_profile("slow", _PATIENT, max_examples=50, print_blob=True)
settings.load_profile("fast")

# Where tests run in the background, or with nohup, their programs would ignore these, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# `python3` is this interpreter, as where the environment is activated, and no program that looks for one first.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `rota.cli.main` has it

_PROJECT = Path(__file__).resolve().parents[1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked ``seeds(few, all)`` and asks for ``seeds`` with few of them, and slowly with all."""
    if (mark := metafunc.definition.get_closest_marker("seeds")) is not None:
        few, every = mark.args
        cases = [pytest.param(range(few), id="few"), pytest.param(range(every), id="all", marks=pytest.mark.slow)]
        metafunc.parametrize("seeds", cases)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector pass over what lives until the end anyway, and work less often.

    It would take a tenth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 10, 10)


#: Files that one process runs, as their tests share what takes seconds to start: by how their names begin.
_TOGETHER = {
    "tests/api/": "a cluster over HTTP",
    "tests/store/": "PostgreSQL",
    **dict.fromkeys(
        ("tests/web/", "tests/results/test_browser", "tests/results/test_looks", "tests/sweep/test_page"), "Chromium"
    ),
}
#: Those whose tests wait for programs, while others compute: they come first, and what only computes, in small units,
#: is left for the end, so that all processes have something to do until then.
_WAITING = (
    *("tests/api", "tests/clients", "tests/recovery", "tests/slurm", "tests/test_calls", "tests/test_ci", "tests/web"),
    *("tests/controller", "tests/executor", "tests/lustre", "tests/store"),
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files into the order in which processes take them: see the Makefile."""
    if hasattr(config, "workerinput"):
        counts = Counter(map(_unit, (item.nodeid for item in items)))
        items.sort(key=lambda item: (not item.nodeid.startswith(_WAITING), -counts[_unit(item.nodeid)]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand out units instead of files."""
    from xdist.scheduler import LoadFileScheduling

    class Units(LoadFileScheduling):  # type: ignore[misc] # xdist is not typed
        def _split_scope(self, nodeid: str) -> str:
            return _unit(nodeid)

    return Units(config, log)


def _unit(nodeid: str) -> str:
    """Say what a test is run together with: its file, or several."""
    shared = next((name for start, name in _TOGETHER.items() if nodeid.startswith(start)), "")
    return shared or nodeid.partition("::")[0]


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of large public workloads, which are not part of the project: ``ROTA_TRACES`` names another one."""
    folder = Path(os.environ.get("ROTA_TRACES") or _PROJECT.parent / "shared" / "traces")
    if not folder.is_dir():
        pytest.skip(f"the workloads are not there: {folder} (name their folder in ROTA_TRACES)")
    return folder


@pytest.fixture(scope="session")
def golden(traces: Path) -> Path:
    """The folder of published schedules to reproduce."""
    folder = traces / "golden"
    if not folder.is_dir():
        pytest.skip(f"the golden schedules are not there: {folder}")
    return folder


@pytest.fixture
def log_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file under the test's own folder."""

    def write(content: str | bytes, name: str = "log.swf") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="session")
def _started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from web.browser import started

    with started(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def browser(_started_browser: Browser) -> Iterator[Browser]:
    """A browser without pages: one for all tests, as it takes longer to start than to show what most of them do."""
    yield _started_browser
    _started_browser.close_pages()
