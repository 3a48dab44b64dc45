"""Classes of requests: jobs of one class ask the same of the machine, and are placed alike."""

from __future__ import annotations


class RequestClass:
    """What a pool has worked out of a request; which kind of it is the pool's."""

    __slots__ = ()
