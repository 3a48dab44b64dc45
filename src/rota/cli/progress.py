"""Progress of long work, on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(what: str, *, show: bool) -> Iterator[Callable[[int, int], object] | None]:
    """Show a progress bar on standard error.

    Args:
        what: What is counted: ``jobs submitted``.
        show: Whether it is shown.

    Yields:
        A function that is told how many of how many are done; ``None``: nothing is shown.
    """
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
