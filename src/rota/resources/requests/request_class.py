"""Request classes: jobs of one class need the same and are placed alike."""

from __future__ import annotations


class RequestClass:
    """An evaluated request. Each kind of pool has its own subclass."""

    __slots__ = ()
