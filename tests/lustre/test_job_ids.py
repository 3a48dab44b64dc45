"""Ids: no byte is lost between what Lustre writes, the bytes, and the text."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from rota.lustre.job_ids import decode, escape, to_bytes, to_text, unescape
from rota.model.printable import printable

# Bytes that have a meaning somewhere are drawn often.
IDS = st.binary(max_size=31) | st.lists(st.sampled_from(list(b'\\x5Cc3a"\xc3\xa9\n: @'))).map(bytes)


@given(IDS)
def test_any_bytes_survive_escape_and_unescape(job_id: bytes) -> None:
    assert unescape(escape(job_id)) == job_id


@given(IDS)
def test_any_bytes_survive_as_text_that_is_good_unicode(job_id: bytes) -> None:
    text = to_text(job_id)
    assert text.encode().decode() == text
    assert to_bytes(text) == job_id


@given(IDS)
def test_what_is_printable_is_one_line_that_a_terminal_takes(job_id: bytes) -> None:
    assert printable(to_text(job_id)).isprintable()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"4103947", "4103947"),
        (b"cp.1000", "cp.1000"),
        # An id that YAML would take for another number, for a time, a truth, or nothing.
        (b"0755", "0755"),
        (b"12:30:45", "12:30:45"),
        (b"yes", "yes"),
        (b"", ""),
        (b'""', ""),
        # 2.15.2 and later.
        (rb'"123\x5B4\x5D.srv"', "123[4].srv"),
        (rb'"\xC6\x92iFkbMhFM"', "ƒiFkbMhFM"),
        (rb'"a\x0Ab"', "a\nb"),
        (rb'"\x5Cx41"', r"\x5Cx41"),  # a backslash, which would else read as an escape
        # 2.16 leaves colons and slashes.
        (b'"bladejb:689.prometheus-node"', "bladejb:689.prometheus-node"),
        # Bytes that are no UTF-8, written as they are (before 2.8) or escaped.
        (b"caf\xe9", r"caf\xe9"),
        (rb'"caf\xE9"', r"caf\xe9"),
        # One quote is part of the id.
        (b'"cut', '"cut'),
    ],
)
def test_ids_of_each_release_as_text(raw: bytes, text: str) -> None:
    assert decode(raw) == text


def test_escaped_as_2_16_does() -> None:
    # `"bladejb:689.prometheus-node"` is what a 2.16.1 wrote: GSI-HPC/lustre_exporter, issue 46.
    assert escape(b"bladejb:689.prometheus-node") == b'"bladejb:689.prometheus-node"'
    assert escape(b"cp.1000") == b"cp.1000"
    assert escape(b"123[4].srv") == rb'"123\x5B4\x5D.srv"'
    assert escape(b"@lost") == b'"@lost"'
