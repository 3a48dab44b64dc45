"""Who makes the runs: processes of this machine (joblib), or the workers of a Dask cluster.

A process that dies takes its run with it, not the sweep: the run is made once more, alone, and if its process dies
again, that is its row. A Dask cluster does the same by itself.
"""

from __future__ import annotations

from concurrent.futures import BrokenExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from rota.model import InputError
from rota.sweep.runs import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rota.sweep.runs import Run

_DIED = "the process that made it has died"


class Workers(Protocol):
    """Makes runs, and gives the key of each with its row as soon as that is there, in any order."""

    def rows(self, runs: Mapping[str, Run], make: Callable[[Run], Row]) -> Iterator[tuple[str, Row]]:
        """Make runs."""


def check_installed(*modules: str) -> None:
    """Check that packages are there.

    Raises:
        InputError: one is not.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise InputError(f"sweeps need {' and '.join(missing)}: pip install 'rota[sweep]'")


class Processes:
    """Processes of this machine.

    Args:
        count: How many; 1: the runs are made in this one.
    """

    def __init__(self, count: int) -> None:
        check_installed("joblib")
        self._count = count

    def rows(self, runs: Mapping[str, Run], make: Callable[[Run], Row]) -> Iterator[tuple[str, Row]]:
        """Make runs."""
        left = dict(runs)
        while left:
            handed: list[str] = []
            try:
                for key, row in _made(left, make, handed, self._count):
                    del left[key]
                    yield key, row
            except BrokenExecutor:
                # One of those that were handed out and have not come back.
                for key in [one for one in handed if one in left]:
                    yield key, _alone(key, left.pop(key), make)


def _made(
    runs: Mapping[str, Run], make: Callable[[Run], Row], handed: list[str], count: int
) -> Iterator[tuple[str, Row]]:
    from joblib import Parallel, delayed

    def tasks() -> Iterator[Any]:
        for key, run in list(runs.items()):
            handed.append(key)
            yield delayed(_keyed)(key, run, make)

    # No more are handed out than are made, so that it is known of which ones a process may have died.
    parallel = Parallel(n_jobs=count, return_as="generator_unordered", batch_size=1, pre_dispatch=count)
    yield from parallel(tasks())


def _alone(key: str, run: Run, make: Callable[[Run], Row]) -> Row:
    """Make a run while no other one is made, in another process: a count of 1 would be this one."""
    try:
        return next(row for _, row in _made({key: run}, make, [], 2))
    except BrokenExecutor:
        return Row(run.point, run.part, error=_DIED)


class Dask:
    """The workers of a Dask cluster, on which rota and the files are as here.

    Args:
        address: Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises:
        InputError: it does not answer.
    """

    def __init__(self, address: str) -> None:
        check_installed("distributed")
        self._address = address
        with self._client():  # whether it answers is told before anything is read
            pass

    def rows(self, runs: Mapping[str, Run], make: Callable[[Run], Row]) -> Iterator[tuple[str, Row]]:
        """Make runs."""
        from distributed import as_completed

        with self._client() as client:
            key_of = {client.submit(make, run, pure=False): key for key, run in runs.items()}
            for future in as_completed(list(key_of), loop=client.loop):  # type: ignore[no-untyped-call]
                key = key_of.pop(future)
                error = future.exception()
                if error is None:
                    yield key, future.result()
                else:
                    yield key, Row(runs[key].point, runs[key].part, error=f"{_DIED}: {error}")

    def _client(self) -> Any:
        from distributed import Client

        try:
            return Client(self._address, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError(f"{self._address} does not answer: {error}", field="--dask") from None


def _keyed(key: str, run: Run, make: Callable[[Run], Row]) -> tuple[str, Row]:
    return key, make(run)
