"""What a plugin is, is read from its source and nothing is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.loader.identity import Identity, read_source

GOOD = b"plugin_type = 'sched/sjf'\nplugin_name = 'shortest first'\nplugin_version = 100\n"


def test_literals_at_the_top_level_are_the_identity() -> None:
    seen = read_source(
        b'"""About it.\n\nMore."""\n' + GOOD + b"plugin_legacy = 0\nplugin_release = '0.1.0'\ndef init(): ...\n"
    )
    assert seen.identity == Identity(
        plugin_type="sched/sjf",
        plugin_name="shortest first",
        plugin_version=100,
        plugin_legacy=0,
        plugin_release="0.1.0",
    )
    assert seen.summary == "About it."
    assert {"init", "plugin_type"} <= seen.defines
    assert not seen.problems


@pytest.mark.parametrize(
    "text",
    [
        "plugin_version: int = 2035",
        "plugin_version: Final[int] = 2 * 1000 + 35",
        "plugin_version = other = 2035",
        "plugin_version = 1\nplugin_version = 2035",
        "plugin_version = 0x7F3",
        "plugin_version = 2036 + -1",
    ],
)
def test_ways_to_write_a_version(text: str) -> None:
    seen = read_source(GOOD + text.encode())
    assert seen.identity
    assert seen.identity.plugin_version == 2035
    assert seen.identity.minor_revision == 35


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plugin_version = True", "plugin_version in line 4 is bool True: expected int"),
        ("plugin_version = 100.0", "plugin_version in line 4 is float 100.0: expected int"),
        ("plugin_version = '100'", "plugin_version in line 4 is str '100': expected int"),
        ("plugin_version = -1", "is -1: expected an unsigned 32-bit number"),
        ("plugin_version = 2**32", "is not a literal"),
        ("plugin_version = 4294967296", "is 4294967296: expected an unsigned 32-bit number"),
        ("plugin_version = version()", "is not a literal, and rota does not run a plugin to read_source at it"),
        ("plugin_version = 1000 * 'x'", "is not a literal number"),
        ("plugin_legacy = None", "plugin_legacy in line 4 is NoneType None: expected int"),
        ("plugin_release = 1", "plugin_release in line 4 is int 1: expected str"),
        ("plugin_name = ''", "plugin_name in line 4 is '': expected one line of text"),
        ("plugin_name = 'a\\x1b[31mb'", "expected one line of text"),
        ("plugin_name = b'x'", "is bytes b'x': expected str"),
        ("plugin_name = f'{x}'", "plugin_name in line 4 is not a literal"),
        ("plugin_type = 'sched'", "'sched' is not a plugin type"),
        ("plugin_type = 'Sched/sjf'", "is not a plugin type"),
        ("plugin_type = 'sched/sjf\\n'", "is not a plugin type"),
        ("plugin_type = 'sched/../x'", "is not a plugin type"),
    ],
)
def test_wrong_values_are_named(text: str, problem: str) -> None:
    seen = read_source(GOOD + text.encode())
    assert seen.identity is None
    assert len(seen.problems) == 1
    assert problem in seen.problems[0]


def test_all_problems_are_found_at_once() -> None:
    seen = read_source(b"plugin_version = None\nif True:\n    plugin_type = 'sched/sjf'\n")
    assert [problem.split()[0] for problem in seen.problems] == ["plugin_type", "plugin_name", "plugin_version"]


def test_a_missing_version_is_left_to_the_api() -> None:
    seen = read_source(b"plugin_type = 'sched/sjf'\nplugin_name = 'x'\n")
    assert seen.identity
    assert seen.identity.plugin_version is None


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (b"x = 1\ndef f(:\n", "syntax error in line 2"),
        (b"x = 1\0", "null bytes"),
        (b"\xff\xfe", "syntax error"),
        (b"# coding: no-such-coding\n", "no-such-coding"),
        (b"x = " + b"(" * 500 + b")" * 500, "line 1"),
        (b"plugin_version = " + b"-" * 100_000 + b"1", ""),
    ],
)
def test_what_is_not_python_is_a_problem_and_no_crash(code: bytes, problem: str) -> None:
    seen = read_source(code)
    assert seen.identity is None
    assert problem in seen.problems[0]


@given(st.binary() | st.text().map(str.encode))
def test_looking_never_raises(code: bytes) -> None:
    read_source(code)


def test_a_dubious_escape_does_not_warn_whoever_looks() -> None:
    assert read_source(GOOD + b"x = '\\d'").identity


class TestObject:
    """Identity of an object in a module."""

    CLASS = (
        b"class Sjf:\n    plugin_type = 'sched/sjf'\n    plugin_name: str = 'of the class'\n    def init(self): ...\n"
    )

    @pytest.mark.parametrize(("extra", "attr"), [(b"", "Sjf"), (b"plugin = Sjf()\n", "plugin")])
    def test_attributes_of_the_class(self, extra: bytes, attr: str) -> None:
        seen = read_source(self.CLASS + extra, attr)
        assert seen.identity
        assert seen.identity.plugin_name == "of the class"
        assert "init" in seen.defines

    def test_they_come_before_those_of_the_module_which_fill_the_gaps(self) -> None:
        seen = read_source(self.CLASS + b"plugin_name = 'of the module'\nplugin_version = 7\n", "Sjf")
        assert seen.identity
        assert (seen.identity.plugin_name, seen.identity.plugin_version) == ("of the class", 7)

    def test_without_an_object_a_class_is_not_looked_into(self) -> None:
        assert read_source(self.CLASS).identity is None

    def test_an_unknown_object_has_the_identity_of_the_module(self) -> None:
        assert read_source(GOOD, "made_later").identity
