"""JSON with the interpreter's own reader of it, as the package `json` takes longer to import than a task to start.

It imports regular expressions, and these enumerations.
"""

from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Rules:
    """What `json.JSONDecoder` lets the reader know."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


_read = make_scanner(_Rules)  # type: ignore[arg-type] # it takes anything that has these attributes


def loads(data: bytes) -> "Any":
    """Read what `json.dumps` has written.

    Raises:
        ValueError: it is not JSON.
    """
    text = data.decode()
    try:
        value, end = _read(text, 0)
    except StopIteration:
        value, end = None, -1
    if end != len(text):
        raise ValueError(f"no JSON: {text[:40]!r}")
    return value


def dumps(value: "Any") -> bytes:
    """Write texts, numbers, truth values and ``None``, and lists and dictionaries of these."""
    return _text(value).encode()


def _text(value: "Any") -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{_text(name)}:{_text(one)}" for name, one in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
