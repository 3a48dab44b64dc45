"""The form of an answer: Slurm's text, or a document, as ``--json`` and ``--yaml`` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rota.commands.getopt import Parsed

    Form = Literal["json", "yaml"]


def form_of(parsed: Parsed) -> Form | None:
    """Give the form of the document that is asked for, the last one if both are; ``None``: a text is."""
    for key, _ in reversed(parsed.options):
        if key == "json":
            return "json"
        if key == "yaml":
            return "yaml"
    return None
