"""Records that plugins get as they are: nothing writes to them by accident, and the engine does on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def write(record: object, **values: object) -> None:
    """Write attributes of a record that is read-only. Only who owns the record does this."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def read_only(instead: str) -> Callable[[type[T]], type[T]]:
    """Make a class of frozen records say who writes them.

    Args:
        instead: What to do in place of writing.
    """

    def close(kind: type[T]) -> type[T]:
        def refuse(self: Any, name: str, _value: object = None) -> NoReturn:
            raise AttributeError(f"{kind.__name__} {self.name}: {name!r} is read-only: {instead}", name=name, obj=self)

        kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[method-assign] # in place of what dataclass has made
        return kind

    return close


class ReadOnlyDict(dict[str, T]):
    """A dictionary that is not written to; unlike a mapping proxy it can be pickled."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is read-only: make a `dict` of it to change a copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled, and copied, by way of a plain dictionary."""
        return type(self), (dict(self),)
