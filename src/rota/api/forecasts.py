"""Forecasts, which take seconds of computing: made by `rota forecast` in a process of its own, one at a time."""

from __future__ import annotations

import asyncio
import sys
from time import monotonic

from rota.api.controller import AwayError

#: Seconds for which an answer is given again; and those that may pass beside the computing.
_FRESH, _PATIENCE = 10.0, 60.0


class Forecasts:
    """The forecasts of the cluster whose state directory is the working directory."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._made = b""
        self._until = 0.0

    async def make(self, seconds: float) -> bytes:
        """Give a forecast for all jobs that wait, as JSON.

        Args:
            seconds: How long it may be computed.

        Raises:
            AwayError: there is none.
        """
        async with self._turn:
            if monotonic() > self._until:
                self._made = await _computed(seconds)
                self._until = monotonic() + _FRESH
            return self._made


async def _computed(seconds: float) -> bytes:
    words = ("-m", "rota", "forecast", "--json", "--state", ".", "--seconds", str(seconds))
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=pipe, stderr=pipe)
    except (OSError, RuntimeError) as error:  # there is no room for a process
        raise AwayError(f"the forecast cannot be made now: {error}") from None
    try:
        async with asyncio.timeout(_PATIENCE + seconds):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise AwayError("the forecast takes too long") from None
    if process.returncode:
        raise AwayError(err.decode(errors="replace").strip())
    return out
