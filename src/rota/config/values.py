"""The values on node and partition lines, each error with its file, line and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model.units import UNLIMITED, parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.config.lines import Line

#: Limits below Slurm's range would be no limits but mistakes.
_MAX = 2**31


class Record:
    """One node or partition line, with the defaults that were in force."""

    def __init__(self, line: Line, defaults: Mapping[str, str]) -> None:
        self.line = line
        own = {pair.key.lower(): pair.value for pair in line.pairs}
        #: Values by lower-case key.
        self.values: dict[str, str] = {**defaults, **own}
        #: Keys as they were written, for messages.
        self._written = {pair.key.lower(): pair.key for pair in line.pairs}

    def text(self, *keys: str) -> str | None:
        """Give the value of the first of these keys that is set."""
        return next((self.values[key] for key in keys if key in self.values), None)

    def integer(self, key: str, default: int, least: int = 0) -> int:
        """Give an integer."""
        text = self.values.get(key)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or not least <= int(text) < _MAX:
            raise self.error(key, f"{text!r} is not a whole number of at least {least}")
        return int(text)

    def limit(self, key: str) -> int | None:
        """Give an integer, ``None`` when it is unlimited or not set."""
        text = self.values.get(key)
        return None if text is None or text.lower() in UNLIMITED else self.integer(key, 0)

    def seconds(self, key: str) -> int | None:
        """Give a time limit in seconds, ``None`` when it is unlimited or not set: whole minutes, as Slurm rounds up."""
        text = self.values.get(key)
        if text is None or text.lower() == "none":
            return None
        try:
            seconds = parse_time_seconds(text)
        except ValueError as error:
            raise self.error(key, str(error)) from None
        return None if seconds is None else -(-seconds // 60) * 60

    def words(self, *keys: str) -> tuple[str, ...]:
        """Give a comma-separated list."""
        return tuple(word.strip() for word in (self.text(*keys) or "").split(",") if word.strip())

    def error(self, key: str, problem: str) -> Exception:
        """Make the error about a key."""
        return self.line.error(problem, self._written.get(key, key))
