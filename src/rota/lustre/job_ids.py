r"""Job ids: as Lustre writes them, as bytes, and as text. No bytes are lost on the way, in either direction.

=========== =========================== =================================================================
form        example                     what it is
=========== =========================== =================================================================
*raw*       ``"\xC6\x92iFkbMhFM:0"``    what stands after ``job_id:``, with quotes and escapes
*id*        ``b"\xc6\x92iFkbMhFM:0"``   the bytes of the process' environment, at most 31
*text*      ``ƒiFkbMhFM:0``             what people, schedulers and databases are told
=========== =========================== =================================================================

Since 2.15.2 Lustre writes every byte but letters, digits and ``@ . - _`` as ``\xHH``, from 2.16 also ``:`` and ``/`` as
they are, and puts quotes around an id that needs them. Before that it wrote the bytes, those that cannot be printed as
``?`` from 2.8.

Text is UTF-8. Bytes that are none stay ``\xHH`` in it, so that text is always good Unicode, and a backslash that would
be read as the start of such an escape is itself escaped. A text may hold line feeds and other control characters: ask
`printable` for what a terminal can take.
"""

from __future__ import annotations

import re

#: Bytes that 2.16 writes as they are.
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@.-_:/")
_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})")


def decode(raw: bytes) -> str:
    """Tell the text of an id as Lustre writes it."""
    if raw.isascii() and b"\\" not in raw and raw[:1] != b'"':  # as most are
        return raw.decode("ascii")
    return to_text(unescape(raw))


def unescape(raw: bytes) -> bytes:
    """Take quotes and escapes off, of any release."""
    if len(raw) >= 2 and raw[:1] == raw[-1:] == b'"':
        raw = raw[1:-1]
    if b"\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), raw)


def escape(job_id: bytes) -> bytes:
    """Write an id as Lustre 2.16 does."""
    written = b"".join(b"%c" % byte if byte in _PLAIN else b"\\x%02X" % byte for byte in job_id)
    quoted = b"\\" in written or b":" in written or written.startswith(b"@")
    return b'"%b"' % written if quoted else written


def to_text(job_id: bytes) -> str:
    """Tell the text of an id's bytes."""
    if b"\\" in job_id:
        job_id = _ESCAPE.sub(rb"\\x5Cx\1", job_id)
    return job_id.decode("utf-8", "backslashreplace")


def to_bytes(text: str) -> bytes:
    """Undo `to_text`.

    Raises:
        UnicodeEncodeError: The text holds half of a surrogate pair: it never came from `to_text`.
    """
    return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode())
