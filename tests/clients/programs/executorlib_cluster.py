"""Calls by executorlib, each in a job of its own; prints what they return, or raise."""

from executorlib import SlurmClusterExecutor


def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


def refuse(number: int) -> int:
    """Raise an error."""
    raise ValueError(number)


if __name__ == "__main__":
    need = {"cores": 1, "partition": "debug"}
    with SlurmClusterExecutor(cache_directory="cache", resource_dict=need) as executor:
        first = executor.submit(add, 1, 2)
        second = executor.submit(add, 39, other=first)
        third = executor.submit(refuse, 5)
        print(second.result(), first.result(), repr(third.exception()))
