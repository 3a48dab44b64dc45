"""Values on node and partition lines. Errors name file, line and key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.model.units import FLAGS, UNLIMITED, parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.config.lines import Line, Pair
    from rota.model import InputError

#: Largest value of a count, which Slurm keeps in 16 bits.
MAX_16 = 2**16 - 1
_MAX = 2**31
#: No leading zeros: Slurm would read 010 as 8, contrary to what everybody expects.
_WHOLE = re.compile(r"(0|[1-9][0-9]*)([kK]?)")
_KIBI = 1024


class Record:
    """A node or partition line, with the defaults in force: by lower-case key, the pair and the line that has it."""

    def __init__(self, line: Line, defaults: Mapping[str, tuple[Pair, Line]]) -> None:
        self.line = line
        self._own = {pair.key.lower(): pair.value for pair in line.pairs}
        self._defaults = {key: pair.value for key, (pair, _) in defaults.items()}
        #: Values by lower-case key.
        self.values: dict[str, str] = {**self._defaults, **self._own}
        #: For messages, the keys as written, and the line of each.
        self._places = {**defaults, **{pair.key.lower(): (pair, line) for pair in line.pairs}}

    def defaults(self) -> dict[str, tuple[Pair, Line]]:
        """Give the defaults for later lines, if this is a ``DEFAULT`` line: the old ones, changed by its own values."""
        name = self.line.pairs[0].key.lower()
        return {key: place for key, place in self._places.items() if key != name}

    def text(self, *keys: str) -> str | None:
        """Give the value of the first of these keys that the line sets or, if none, that the defaults set."""
        given = (values[key] for values in (self._own, self._defaults) for key in keys if key in values)
        return next(given, None)

    def integer(self, key: str, default: int, least: int = 0, most: int = _MAX) -> int:
        """Give an integer. As in Slurm, ``10K`` is 10240, but not where it keeps 16 bits."""
        text = self.values.get(key)
        if text is None:
            return default
        match = _WHOLE.fullmatch(text)
        number = -1 if match is None else int(match[1]) * (_KIBI if match[2] else 1)
        if not least <= number <= most or (text[-1] in "kK" and most <= MAX_16):
            limits = f"of at least {least}" if most == _MAX else f"from {least} to {most}"
            raise self.error(key, f"{text!r} is not a whole number {limits}")
        return number

    def limit(self, key: str) -> int | None:
        """Give an integer; ``None`` if it is unlimited or not set."""
        text = self.values.get(key)
        return None if text is None or text.lower() in UNLIMITED else self.integer(key, 0)

    def flag(self, key: str) -> bool:
        """Give a truth value; false if it is not set."""
        text = self.values.get(key, "no")
        if text.lower() not in FLAGS:
            raise self.error(key, f"{text!r} is neither YES nor NO")
        return FLAGS[text.lower()]

    def seconds(self, key: str) -> int | None:
        """Give a time limit in seconds, rounded up to whole minutes as in Slurm; ``None``: unlimited or not set."""
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

    def error(self, key: str, problem: str) -> InputError:
        """Make an error about a key, with the line that sets it, which may be a ``DEFAULT`` line."""
        pair, line = self._places.get(key, (None, self.line))
        return line.error(problem, key if pair is None else pair.key)

    def warning(self, key: str, problem: str) -> str:
        """Make a warning about a key."""
        return str(self.error(key, problem))
