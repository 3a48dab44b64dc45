"""Sentences for people about a number of things."""

from __future__ import annotations


def counted(count: int, one: str, more: str) -> str:
    """Choose the sentence for a number: of a single thing, or of none or several.

    Args:
        count: The number.
        one: The sentence about one.
        more: That about another number, with ``{}`` where the number stands.
    """
    return one if count == 1 else more.replace("{}", f"{count:,}", 1)
