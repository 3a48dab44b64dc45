"""Request classes: jobs of one class need the same resources, and the same nodes are selected for them."""

from __future__ import annotations


class RequestClass:
    """An evaluated request. Each kind of pool has its own subclass."""

    __slots__ = ()
