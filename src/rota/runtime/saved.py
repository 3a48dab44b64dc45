"""Saving the state of an engine, and what is left to do after it was restored."""

from rota.core.snapshot import outstanding, save

__all__ = ["outstanding", "save"]
