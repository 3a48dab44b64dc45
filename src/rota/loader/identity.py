"""The identity symbols of a plugin, read from its source without running it.

Identity symbols have to be assigned literals at the top level of the file, with or without annotation. ``2 * 1000 +
35`` is accepted, since the documents write versions this way. If an entry point names an object (``my_pkg.sjf:Sjf``),
they may also be attributes of its class, which take precedence: the class itself or, for ``plugin = Sjf()``, the class
that is called. The last of several assignments counts. Anything else, such as a name that is imported or assigned under
an ``if``, cannot be known without running the file and counts as missing.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rota.interfaces import OPTIONAL_IDENTITY, REQUIRED_IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Value = str | int | None

TYPE_PATTERN = re.compile(r"[a-z][a-z0-9_]*/[a-z0-9_]+")
MAX_VERSION = 2**32 - 1
#: Type of every identity symbol.
IDENTITY = REQUIRED_IDENTITY | OPTIONAL_IDENTITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity symbols of a plugin, of the right types and in range; ``None``: not given."""

    plugin_type: str
    plugin_name: str
    #: API major × 1000 + minor revision. The API determines whether it is required.
    plugin_version: int | None = None
    plugin_legacy: int | None = None
    plugin_release: str | None = None

    @property
    def minor_revision(self) -> int:
        """The minor revision, 0 to 999: the author's own number."""
        return (self.plugin_version or 0) % 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfo:
    """What is known of a plugin from its source."""

    identity: Identity | None = None
    problems: tuple[str, ...] = ()
    #: First line of the docstring.
    summary: str = ""
    #: Names bound at the top level, and in the class of the object.
    defines: frozenset[str] = frozenset()


@lru_cache(maxsize=128)
def read_source(code: bytes, attr: str = "", assumed: str = "") -> SourceInfo:
    """Read the identity symbols in Python source: once for all engines of a process, as it takes longer than to load.

    Args:
        code: The source, in the encoding that it declares.
        attr: Name of the object that is the plugin; empty: the module.
        assumed: The plugin type and name if the source gives none; empty: it has to.

    Returns:
        The identity, or every problem with it.
    """
    try:
        tree = _parse(code)
        bodies = [tree.body, _class_body(tree.body, attr)]
        values, problems = _read(bodies, assumed)
    except SyntaxError as exc:
        return SourceInfo(problems=(f"syntax error in line {exc.lineno}: {exc.msg}",))
    except (ValueError, RecursionError, MemoryError) as exc:
        return SourceInfo(problems=(f"not Python source: {exc}",))
    return SourceInfo(
        identity=None if problems else Identity(**values),  # type: ignore[arg-type]
        problems=tuple(problems),
        summary=(ast.get_docstring(tree) or "").partition("\n")[0],
        defines=frozenset(name for body in bodies for name in _names(body)),
    )


def type_problem(value: str) -> str | None:
    """Say what is wrong with a plugin type; ``None`` if it is valid."""
    if TYPE_PATTERN.fullmatch(value):
        return None
    return f'{value!r} is not a plugin type: expected "major/minor" in lower case, such as "sched/easy"'


def _parse(code: bytes) -> ast.Module:
    with warnings.catch_warnings():
        # Warnings about escape sequences are given when the plugin is loaded.
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _class_body(body: Sequence[ast.stmt], attr: str) -> Sequence[ast.stmt]:
    """Give the body of the class of the object ``attr``; empty if it cannot be determined."""
    if not attr:
        return []
    value = _assignments(body).get(attr)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        attr = value.func.id
    classes = [stmt for stmt in body if isinstance(stmt, ast.ClassDef) and stmt.name == attr]
    return classes[-1].body if classes else []


def _assignments(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for stmt in body:
        if isinstance(stmt, ast.Assign):
            found |= {target.id: stmt.value for target in stmt.targets if isinstance(target, ast.Name)}
        elif isinstance(stmt, ast.AnnAssign) and stmt.value and isinstance(stmt.target, ast.Name):
            found[stmt.target.id] = stmt.value
    return found


def _read(bodies: Sequence[Sequence[ast.stmt]], assumed: str) -> tuple[dict[str, Value], list[str]]:
    assigned: dict[str, ast.expr] = {}
    for body in bodies:
        assigned |= _assignments(body)
    values: dict[str, Value] = {}
    problems: list[str] = []
    for name in IDENTITY:
        if name in assigned:
            try:
                values[name] = _checked(name, _literal(assigned[name]))
            except ValueError as exc:
                problems.append(f"{name} in line {assigned[name].lineno} {exc}")
        elif name in {"plugin_type", "plugin_name"} and assumed:
            values[name] = assumed
        elif name in REQUIRED_IDENTITY and name != "plugin_version":  # `negotiate` knows whether that is required
            problems.append(f"{name} is missing: expected a literal assigned to it at the top level")
    return values, problems


def _literal(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _number(left) + _number(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left) * _number(right)
    raise ValueError("is not a literal, and rota does not run a plugin to read_source at it")


def _number(node: ast.expr) -> int:
    value = _literal(node)
    if type(value) is int:
        return value
    raise ValueError("is not a literal number")


def _checked(name: str, value: object) -> Value:
    expected = IDENTITY[name]
    if type(value) is not expected:  # not isinstance(): a bool is no version
        raise ValueError(f"is {type(value).__name__} {value!r}: expected {expected.__name__}")
    problem = None
    if isinstance(value, int):
        problem = None if 0 <= value <= MAX_VERSION else f"is {value}: expected an unsigned 32-bit number"
    elif name == "plugin_type":
        problem = type_problem(str(value))
        problem = problem and f"is wrong: {problem}"
    elif not str(value).strip() or not str(value).isprintable():
        problem = f"is {value!r}: expected one line of text"
    if problem:
        raise ValueError(problem)
    return value  # type: ignore[return-value]


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    yield from _assignments(body)
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield stmt.name
        elif isinstance(stmt, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in stmt.names)
