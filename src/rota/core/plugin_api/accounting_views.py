"""Associations, accounts, users and QOS as plugins get them: views that are read, and not written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, overload

from rota.model import Account, Association, Qos, User
from rota.model.read_only import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rota.accounting import AssociationTree


class _View:
    """What a record says now."""

    __slots__ = ("_record",)

    _record: object

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._refuse(name)

    def __delattr__(self, name: str) -> NoReturn:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        kind = type(self).__name__
        raise AttributeError(f"{kind}.{name} is read-only: accounting is changed by sacctmgr", name=name, obj=self)

    def __repr__(self) -> str:
        return repr(self._record)


def _view_of(kind: type[Any]) -> type[_View]:
    body: dict[str, Any] = {one.name: property(attrgetter(f"_record.{one.name}")) for one in fields(kind)}
    if "limits" in body:
        body["limits"] = property(lambda self: MappingProxyType(self._record.limits))
    own = {name: value for name, value in vars(kind).items() if isinstance(value, FunctionType | property)}
    body |= {name: value for name, value in own.items() if not name.startswith("_")}
    return type(kind.__name__, (_View,), {"__slots__": ()} | body)


_KINDS = {kind: _view_of(kind) for kind in (Account, Association, Qos, User)}
_SET = _View.__dict__["_record"].__set__


class AccountingViews(dict[int, Any]):
    """The views of records, one for each, by the record's identity."""

    def of(self, record: Any) -> Any:
        """Give the view of a record, which the view keeps."""
        view = self.get(id(record))
        if view is None:
            view = self[id(record)] = object.__new__(_KINDS[type(record)])
            _SET(view, record)
        return view

    def keep_only(self, records: Iterable[Any]) -> None:
        """Drop the views of all other records."""
        kept = set(map(id, records))
        for key in [key for key in self if key not in kept]:
            del self[key]


class _Several(Sequence[Any]):
    """The views of all associations, by row."""

    __slots__ = ("_records", "_views")

    def __init__(self, records: Sequence[Association], views: AccountingViews) -> None:
        self._records = records
        self._views = views

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        found = self._records[index]
        return [self._views.of(one) for one in found] if isinstance(found, list) else self._views.of(found)


class PluginTree:
    """The tree of associations as plugins get it; see `rota.accounting.AssociationTree`."""

    __slots__ = ("_qos", "_seen", "_tree", "_views", "path", "row", "target_share")

    _tree: AssociationTree
    _views: AccountingViews
    #: The QOS by name, and what is made of them: schedulers ask often.
    _qos: tuple[Mapping[str, Any], Mapping[str, Any]]
    #: Those for whose tree there are views.
    _seen: Mapping[str, Any]

    def __init__(self, tree: AssociationTree, views: AccountingViews) -> None:
        # `row` and `path` are its own functions: the priority plugin asks for these of each job.
        write(self, _tree=tree, _views=views, _qos=({}, {}), _seen=tree.qos)
        write(self, row=tree.row, path=tree.path, target_share=tree.target_share)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to write.

        Raises:
            AttributeError: always.
        """
        raise AttributeError("associations are read-only: they are changed by sacctmgr", name=name, obj=self)

    columns = property(attrgetter("_tree.columns"))
    cluster = property(attrgetter("_tree.cluster"))
    has_default_qos = property(attrgetter("_tree.has_default_qos"))

    def __len__(self) -> int:
        """Count the associations."""
        return len(self._tree)

    def __contains__(self, association: Association) -> bool:
        """Whether an association is in the tree."""
        return association in self._tree

    @property
    def associations(self) -> Sequence[Any]:
        """All associations, by row."""
        return _Several(self._tree.associations, self._views)

    @property
    def root(self) -> Any:
        """The account at the top."""
        return self._views.of(self._tree.root)

    @property
    def accounts(self) -> Mapping[str, Any]:
        """The accounts by name."""
        return self._all(self._tree.accounts)

    @property
    def users(self) -> Mapping[str, Any]:
        """The users by name."""
        return self._all(self._tree.users)

    @property
    def qos(self) -> Mapping[str, Any]:
        """The QOS by name."""
        if self._qos[0] is not self._tree.qos or len(self._qos[0]) != len(self._qos[1]):
            write(self, _qos=(self._tree.qos, self._all(self._tree.qos)))
        return self._qos[1]

    def _all(self, records: Mapping[str, Any]) -> Mapping[str, Any]:
        tree = self._tree
        if self._seen is not tree.qos:  # sacctmgr has changed something: the records are others
            write(self, _seen=tree.qos)
            parts = (tree.accounts.values(), tree.users.values(), tree.qos.values())
            self._views.keep_only(chain(tree.associations, *parts))
        return MappingProxyType({name: self._views.of(one) for name, one in records.items()})

    def hierarchy(self) -> Iterator[tuple[Any, int]]:
        """Iterate over the associations in the order of listings, each with its depth (0 for the root)."""
        return ((self._views.of(one), depth) for one, depth in self._tree.hierarchy())

    def find(self, user: str, account: str = "", partition: str = "") -> Any:
        """Find the association of a job; ``None``: there is none."""
        found = self._tree.find(user, account, partition)
        return None if found is None else self._views.of(found)

    def qos_names(self, association: Association) -> tuple[str, ...]:
        """Name the QOS that an association may use."""
        return self._tree.qos_names(association)
