"""Conversion of records to JSON data and back, with checks against the type annotations of their fields.

Records are dataclasses and named tuples with fields that are whole numbers, truth values, text, enumerations, other
records, or tuples, sets and mappings of these. Fields at their defaults are left out. Whole numbers that are too large
for some readers of JSON, such as node bitmaps, are written as text, ``0x…``. Named tuples that follow one another and
differ in their first field only, such as a machine's nodes, are one record, where this field lists its values.

Over 400 lines: a class for each kind of type, which know one another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import partial
from operator import is_
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from rota.model import RotaError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

#: Largest whole number that every reader of JSON represents exactly.
LARGEST_EXACT = 2**53
T = TypeVar("T")


class PlainError(RotaError):
    """A value has the wrong type; the text says which value, and where it is."""


class Shape(ABC):
    """Checks and converts values of one type."""

    #: Types of JSON data that are their own values. Most data is, and is not handed to `decode` by records, tuples and
    #: mappings: a listing reads tens of thousands of records.
    same: frozenset[type] = frozenset()

    #: Types of values that are JSON data as they are. Whole numbers are not: they may be too large.
    ready: frozenset[type] = frozenset()
    #: Whether all data is its own value.
    inert = False

    @abstractmethod
    def problem(self, value: object) -> str:
        """Say what is wrong with a value, beginning with its place: ``.job_id: …``; empty if it is valid."""

    @abstractmethod
    def encode(self, value: Any) -> Any:
        """Convert a valid value to JSON data."""

    @abstractmethod
    def decode(self, data: Any) -> Any:
        """Convert JSON data back, without complete checks: `problem` has to be called with the result.

        Raises:
            PlainError: the data has another structure.
        """


class _Simple(Shape):
    """Whole numbers, truth values, text and ``None``."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.same = frozenset({kind})
        self.ready = self.same - {int}
        self.inert = kind is not int

    def problem(self, value: object) -> str:
        fits = type(value) is self._kind or (self._kind is float and type(value) is int)
        return "" if fits else f": {_show(value)} is no {_NAMES[self._kind]}"

    def encode(self, value: Any) -> Any:
        return hex(value) if self._kind is int and abs(value) > LARGEST_EXACT else value

    def decode(self, data: Any) -> Any:
        if self._kind is int and isinstance(data, str):
            try:
                return int(data, 16)
            except ValueError:
                return data
        return data


_NAMES = {int: "whole number", bool: "truth value", str: "text", float: "number", NoneType: "nothing"}


class _Anything(Shape):
    """Any JSON data."""

    inert = True

    def problem(self, value: object) -> str:
        if isinstance(value, Mapping):
            wrong = (_Simple(str).problem(key) or self.problem(one) for key, one in value.items())
            return next(filter(None, wrong), "")
        if isinstance(value, list | tuple):
            return next(filter(None, map(self.problem, value)), "")
        if type(value) is int and not -(2**63) <= value < 2**63:
            return f": {_show(value)} is too large"
        return "" if type(value) in _NAMES else f": {_show(value)} is no plain data"

    def encode(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self.encode(one) for key, one in value.items()}
        return [self.encode(one) for one in value] if isinstance(value, list | tuple) else value

    def decode(self, data: Any) -> Any:
        return data


class _Choice(Shape):
    """Members of an enumeration, by their values."""

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind

    def problem(self, value: object) -> str:
        return "" if type(value) is self._kind else f": {_show(value)} is no {self._kind.__name__}"

    def encode(self, value: Any) -> Any:
        return value.value

    def decode(self, data: Any) -> Any:
        try:
            return self._kind(data)
        except ValueError:
            raise PlainError(f": {_show(data)} is no {self._kind.__name__}") from None


class _Either(Shape):
    """A union of types, which can be distinguished in Python."""

    def __init__(self, kinds: list[Shape]) -> None:
        self._kinds = kinds
        self.inert = True
        for kind in kinds:
            self.same |= kind.same
            self.inert &= kind.inert
        self.ready = self.same - {int}

    def problem(self, value: object) -> str:
        problems = [kind.problem(value) for kind in self._kinds]
        return "" if "" in problems else problems[0]

    def encode(self, value: Any) -> Any:
        return next(kind for kind in self._kinds if not kind.problem(value)).encode(value)

    def decode(self, data: Any) -> Any:
        for kind in self._kinds:
            value = kind.decode(data)
            if not kind.problem(value):
                return value
        return data


class _Several(Shape):
    """Tuples and sets with items of one type."""

    def __init__(self, kind: type, item: Shape) -> None:
        self._kind = kind
        self._item = item

    def problem(self, value: object) -> str:
        if not isinstance(value, self._kind):
            return f": {_show(value)} is no {self._kind.__name__}"
        return next(filter(None, map(self._item.problem, value)), "")  # type: ignore[call-overload] # it is one

    def encode(self, value: Any) -> Any:
        item, ready = self._item, self._item.ready
        listed = [one if type(one) in ready else item.encode(one) for one in value]
        return sorted(listed) if self._kind is frozenset else listed

    def decode(self, data: Any) -> Any:
        if not isinstance(data, list):
            raise PlainError(f": {_show(data)} is no list")
        item = self._item
        return self._kind(data if item.same.issuperset(map(type, data)) else map(item.decode, data))


class _Alike(_Several):
    """Tuples of named tuples whose first field is text, a name.

    A machine has tens of thousands of nodes and few kinds of them: the fields that a run of them shares are checked and
    converted once. What is shared is the same object, as `decode` and readers of slurm.conf make it.
    """

    def __init__(self, kind: type, item: Record) -> None:
        super().__init__(kind, item)
        self._record = item
        self._name = next(iter(item.fields))

    def problem(self, value: object) -> str:
        if not isinstance(value, tuple):
            return super().problem(value)
        kind: Any = self._record.kind
        shared: tuple[object, ...] = ()
        for one in value:
            if type(one) is kind and type(one[0]) is str and _is_same(one[1:], shared):
                continue
            if problem := self._record.problem(one):
                return problem
            shared = one[1:]
        return ""

    def encode(self, value: Any) -> Any:
        found: list[tuple[list[str], dict[str, Any]]] = []
        shared: tuple[object, ...] = ()
        for one in value:
            if not found or not _is_same(one[1:], shared):
                shared, own = one[1:], self._record.encode(one)
                del own[self._name]
                if not found or own != found[-1][1]:  # equal ones are written alike, whichever objects they are
                    found.append(([], own))
            found[-1][0].append(one[0])
        return [{self._name: names if len(names) > 1 else names[0], **own} for names, own in found]

    def decode(self, data: Any) -> Any:
        if not isinstance(data, list):
            return super().decode(data)
        found: list[Any] = []
        for one in data:
            names = one.get(self._name) if isinstance(one, dict) else None
            if isinstance(names, list):
                shared = self._record.decode({**one, self._name: ""})[1:]
                found += [tuple.__new__(self._record.kind, (name, *shared)) for name in names]
            else:
                found.append(self._record.decode(one))
        return tuple(found)


def _is_same(some: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two tuples have the same objects; equal ones are not enough: ``1 == True``."""
    return len(some) == len(other) and all(map(is_, some, other))


class _Pair(Shape):
    """Tuples of fixed length."""

    def __init__(self, items: list[Shape]) -> None:
        self._items = items

    def problem(self, value: object) -> str:
        if not isinstance(value, tuple) or len(value) != len(self._items):
            return f": {_show(value)} is no tuple of {len(self._items)}"
        return next(filter(None, (item.problem(one) for item, one in zip(self._items, value, strict=True))), "")

    def encode(self, value: Any) -> Any:
        return [item.encode(one) for item, one in zip(self._items, value, strict=True)]

    def decode(self, data: Any) -> Any:
        if not isinstance(data, list) or len(data) != len(self._items):
            raise PlainError(f": {_show(data)} is no list of {len(self._items)}")
        return tuple(item.decode(one) for item, one in zip(self._items, data, strict=True))


class _Named(Shape):
    """Mappings with text as keys."""

    def __init__(self, item: Shape) -> None:
        self._item = item

    def problem(self, value: object) -> str:
        if not isinstance(value, Mapping):
            return f": {_show(value)} is no mapping"
        for key, one in value.items():
            if not isinstance(key, str):
                return f": {_show(key)} is no text"
            if problem := self._item.problem(one):
                return f".{key}{problem}"
        return ""

    def encode(self, value: Any) -> Any:
        item, ready = self._item, self._item.ready
        return {key: one if type(one) in ready else item.encode(one) for key, one in value.items()}

    def decode(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise PlainError(f": {_show(data)} is no object")
        item = self._item
        if item.same.issuperset(map(type, data.values())):
            return data
        return {key: item.decode(one) for key, one in data.items()}


class Record(Shape):
    """Dataclasses and named tuples.

    Args:
        kind: The class.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind
        hints = get_type_hints(kind)
        self._defaults = _defaults(kind)
        #: Shapes of the fields by name, of a dataclass only those that are arguments of its constructor.
        self.fields: dict[str, Shape] = {name: shape_of(hints[name]) for name in self._defaults}
        #: Whether it is a named tuple that begins with a text, which is always given.
        first, default = next(iter(self._defaults.items()), ("", None))
        self.has_name = issubclass(kind, tuple) and default is MISSING and hints[first] is str
        self._needed = frozenset(name for name, default in self._defaults.items() if default is MISSING)
        #: What `decode` fills, where a field has its place there, with its shape if its data may not be its value, and
        #: what makes the record: of a tuple the list of its items, else the arguments by name.
        self._blank: Any = {}
        self._places: dict[str, tuple[Any, Shape | None]] = {}
        self._make: Callable[[Any], Any] = lambda found: kind(**found)
        if issubclass(kind, tuple):
            self._blank = [*self._defaults.values()]
            self._make = partial(tuple.__new__, kind)
        #: Of each field its name, its default and the type of this, what is encoded as it is, and how all else is.
        self._encoders: list[tuple[str, Any, type, frozenset[type], Callable[[Any], Any]]] = []
        for number, (name, shape) in enumerate(self.fields.items()):
            place = number if issubclass(kind, tuple) else name
            self._places[name] = place, None if shape.inert else shape
            default = self._defaults[name]
            self._encoders.append((name, default, type(default), shape.ready, shape.encode))

    def problem(self, value: object) -> str:
        """See `Shape`."""
        if type(value) is not self.kind:
            return f": {_show(value)} is no {self.kind.__name__}"
        for name, shape in self.fields.items():
            if problem := shape.problem(getattr(value, name)):
                return f".{name}{problem}"
        return ""

    def encode(self, value: Any) -> Any:
        """See `Shape`."""
        found = {}
        for name, default, kind, ready, encode in self._encoders:
            one = getattr(value, name)
            if one is not default and (type(one) is not kind or one != default):  # True is not 1
                found[name] = one if type(one) in ready else encode(one)
        return found

    def decode(self, data: Any) -> Any:
        """See `Shape`."""
        if not isinstance(data, dict):
            raise PlainError(f": {_show(data)} is no object")
        if not self._needed <= data.keys() <= self._defaults.keys():
            raise PlainError(self._misfit(data.keys()))
        places, found = self._places, self._blank.copy()
        for name, one in data.items():
            place, shape = places[name]
            if shape is None or type(one) in shape.same:
                found[place] = one
                continue
            try:
                found[place] = shape.decode(one)
            except PlainError as error:
                raise PlainError(f".{name}{error}") from None
        return self._make(found)

    def _misfit(self, names: Collection[str]) -> str:
        """Say which field there is not, or is missing."""
        unknown = [name for name in names if name not in self.fields]
        if unknown:
            return f": {self.kind.__name__} has no {min(unknown)}"
        missing = next(name for name in self.fields if name in self._needed and name not in names)
        return f".{missing} is missing"


def _defaults(kind: type) -> dict[str, Any]:
    """Give the default of each field, ``MISSING`` for none."""
    if is_dataclass(kind):
        found: dict[str, Any] = {}
        for one in fields(kind):
            if one.init:
                made = MISSING if one.default_factory is MISSING else one.default_factory()
                found[one.name] = one.default if one.default is not MISSING else made
        return found
    known: dict[str, Any] = getattr(kind, "_field_defaults", {})
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return dict.fromkeys(names, MISSING) | known


def _show(value: object) -> str:
    if type(value) is int:
        text = repr(value) if abs(value) <= LARGEST_EXACT else hex(value)
    else:
        text = repr(value) if type(value) in _NAMES else f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}…"


def shape_of(kind: Any) -> Shape:
    """Give the shape of a type annotation.

    Raises:
        TypeError: the type is not supported.
    """
    known = _SHAPES.get(kind)
    if known is None:
        known = _SHAPES[kind] = _make(kind)
    return known


#: Shapes by type annotation.
_SHAPES: dict[Any, Shape] = {}


def _make(kind: Any) -> Shape:
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return _Either([shape_of(one) for one in args])
    if origin is tuple:
        if args[-1] is not Ellipsis:
            return _Pair([shape_of(one) for one in args])
        item = shape_of(args[0])
        return _Alike(tuple, item) if isinstance(item, Record) and item.has_name else _Several(tuple, item)
    if origin is frozenset:
        return _Several(frozenset, shape_of(args[0]))
    if origin in {dict, Mapping}:
        return _Named(shape_of(args[1]))
    if kind in _NAMES:
        return _Simple(kind)
    if kind in {Any, object}:
        return _Anything()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _Choice(kind)
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields")):
        return Record(kind)
    raise TypeError(f"there is no plain data of type {kind}")
