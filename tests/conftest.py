"""What all tests share: workloads, files, and how much is left to chance.

`make test` draws few examples and seeds, the same ones each time. `make test-slow` draws many: of the seeds all there
are, and other examples each time.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
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
settings.register_profile("fast", _PATIENT, max_examples=15, derandomize=True)
settings.register_profile("slow", _PATIENT, max_examples=150, print_blob=True)
settings.load_profile("fast")

# Where tests run in the background their programs would ignore Ctrl-C, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `python3` is this interpreter, as where the environment is activated, and no program that looks for one first.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

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
