"""The clients' small JSON says and reads what Python's own package does, and no client imports the package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.client.commands import PACKAGES
from rota.client.small_json import dumps, loads

# Numbers that are none are not JSON.
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
)
#: Bytes of a path that are no UTF-8, as `os.fsdecode` gives them.
_SURROGATE = {"cwd": "\udc80\udcff", "env": {"\udcfe": "\x00\n\"\\'é€😀"}}


@given(_VALUES)
def test_it_is_the_json_of_the_package(value: object) -> None:
    assert json.loads(dumps(value)) == value
    assert loads(json.dumps(value).encode()) == value


def test_texts_that_hold_any_bytes() -> None:
    assert loads(dumps(_SURROGATE)) == loads(json.dumps(_SURROGATE).encode()) == _SURROGATE


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1} x', b"{'a': 1}", b"nul", b"\xff", b'"\n"'])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        loads(data)


@pytest.mark.parametrize("module", ["thin", "step", "allocation"])
def test_a_client_starts_without_what_takes_long_to_import(module: str) -> None:
    code = f"import sys; sys.path.insert(0, {PACKAGES!r}); import rota.client.{module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-IS", "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"collections", "enum", "json", "re", "typing"} & set(loaded.split())
