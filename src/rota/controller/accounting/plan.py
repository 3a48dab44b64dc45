"""Plans of changes: what a command prints, and the tree as it would be.

A plan is made with a `Draft`, on a `TreeBuilder` with copies of all records, so that nothing has changed until the
event is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import UsageError
from rota.commands.sacctmgr import not_supported
from rota.model import Association, InputError, Qos
from rota.model.association import QosFlag
from rota.model.limits import TIME_LIMITS, TRES_LIMITS, LimitError, Limits
from rota.sacctmgr import Place, TreeBuilder
from rota.sacctmgr.keys import ASSOCIATION, QOS, find_key
from rota.sacctmgr.values import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.accounting import AssociationTree
    from rota.commands.sacctmgr import Setting, Words

PLACE = Place(Path("sacctmgr"), 1)
_WHERE = " Use keyword 'where' to modify condition\n"
#: Keys that files may have and that make no difference there.
_NOT_SUPPORTED = frozenset({"Classification", "Comment", "DefaultWCKey"})
#: Slurm's other keys.
_NOT_KNOWN = ("RawUsage", "NewName", "Features")
#: Names of keys in messages, where they differ.
_SHOWN = {"Fairshare": "FairShare", "MaxWallDurationPerJob": "MaxWall"}


class Plan(NamedTuple):
    """A change that a user is asked to agree to."""

    #: What is printed before the question.
    out: str
    builder: TreeBuilder
    #: Beginning of the message if the change is refused.
    problem: str


class Given(NamedTuple):
    """A setting with the full name of its key."""

    key: str
    setting: Setting


@dataclass(frozen=True, slots=True)
class Draft:
    """What a plan is made from."""

    builder: TreeBuilder
    words: Words
    #: Names of the cluster's TRES.
    tres: Sequence[str]

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.builder.cluster

    @classmethod
    def of(cls, tree: AssociationTree, words: Words, tres: Sequence[str]) -> Draft:
        """Begin with a tree."""
        return cls(TreeBuilder.of(tree), words, tres)

    # ---- reading settings -------------------------------------------------------------------------------------

    def keys(
        self, settings: Iterable[Setting], known: tuple[str, ...] = ASSOCIATION, *, hint: bool = True
    ) -> list[Given]:
        """Find the keys of settings.

        Raises:
            UsageError: there is no such key.
        """
        found = []
        for one in settings:
            key = find_key(one.key, known) if one.key else None
            refused = (name for name in _NOT_KNOWN if one.key and name.lower().startswith(one.key.lower()))
            if key is None and (name := next(refused, None)) is not None:
                raise not_supported(f"{name}=")
            if key is None:
                text = f" Unknown option: {one.word}\n{_WHERE if hint else ''}"
                raise UsageError("" if known is QOS else text, text if known is QOS else "")
            if key in _NOT_SUPPORTED:
                raise not_supported(f"{key}=")
            found.append(Given(key, one))
        return found

    def conditions(self, known: dict[str, str]) -> dict[str, list[str]]:
        """Give the values of conditions by key; ``known`` has the keys and what they stand for.

        A condition without a value is one that only what has no such value meets, and names nothing.

        Raises:
            UsageError: there is no such condition.
        """
        found: dict[str, list[str]] = {}
        for one in self.words.where:
            short = one.key.lower().rstrip("s")
            key = next((full for name, full in known.items() if short and name.startswith(short)), None)
            if key is None:
                raise UsageError(f" Unknown condition: {one.word}\n Use keyword 'set' to modify value\n")
            found.setdefault(key, []).extend(one.names or [""])
        return found

    def check(self, given: Sequence[Given], *, hint: bool = True) -> Association:
        """Check settings of associations; give an association that has them.

        Raises:
            UsageError: one cannot be used.
        """
        scratch = Association(account="root")
        for key, one in given:
            if key in {"Parent", "Description", "Organization", "Account", "Names", "Partition", "Cluster", "Users"}:
                continue
            self._check_names(key, one, hint=hint)
            try:
                self.builder.set_association(scratch, key, one.value, one.change, PLACE)
                Limits.of(scratch.limits, self.tres)
            except (InputError, LimitError) as error:
                raise UsageError(_bad(key, one, error) + _unknown(key, one, hint=hint)) from None
        return scratch

    def check_qos(self, given: Sequence[Given]) -> Qos:
        """Check settings of QOS; give a QOS that has them.

        Raises:
            UsageError: one cannot be used.
        """
        scratch = Qos(name="")
        for key, one in given:
            if key == "Names":
                continue
            if key == "Preempt":
                self._check_names(key, one, hint=False)
            try:
                self.builder.set_qos(scratch, key, one.value, one.change, PLACE)
                Limits.of(scratch.limits, self.tres)
            except (InputError, LimitError) as error:
                raise _bad_of_qos(key, one, error) from None
        return scratch

    def _check_names(self, key: str, one: Setting, *, hint: bool) -> None:
        """Check that QOS exist."""
        if key not in {"QOS", "DefaultQOS", "Preempt"} or (one.value == UNSET and key != "QOS"):
            return
        bad = [name for name in one.names if name.lstrip("+-") not in self.builder.qos]
        if bad and key == "DefaultQOS":
            raise UsageError(f"You gave a bad default qos '{bad[0]}'.  Use 'list qos' to get complete list.\n")
        if bad:
            valid = ",".join(qos.name for qos in sorted(self.builder.qos.values(), key=lambda qos: qos.id))
            text = f"sacctmgr: error: You gave a bad qos '{bad[0].lstrip('+-')}'. Valid QOS's are {valid}\n"
            raise UsageError(text if key == "Preempt" else text + _unknown(key, one, hint=hint))

    def check_preemption(self) -> None:
        """Check that no QOS preempts itself, by way of others.

        Raises:
            UsageError: one does.
        """
        qos = self.builder.qos
        for name in qos:
            above: set[str] = set()
            following = [*qos[name].preempt]
            while following:
                one = following.pop()
                if one == name:
                    loop = "QOS Preemption loop detected"
                    raise UsageError(f"sacctmgr: error: {loop}\n Error with request: {loop}\n")
                if one in qos and one not in above:
                    above.add(one)
                    following += qos[one].preempt

    # ---- finding ----------------------------------------------------------------------------------------------

    def check_cluster(self, names: Iterable[str]) -> None:
        """Check that clusters are this one.

        Raises:
            UsageError: one is not.
        """
        for name in names:
            if name != self.cluster:
                raise UsageError(
                    f" This cluster '{name}' doesn't exist.\n        Contact your admin to add it to accounting.\n"
                )

    def newest_first(self) -> list[Association]:
        """Give the associations as sacctmgr lists those that it changes: under each account the newest first."""
        ones = self.builder.select((), (), ())
        below: dict[int, list[Association]] = {}
        for one in sorted(ones, key=lambda one: -one.id):
            below.setdefault(one.parent_id, []).append(one)
        ordered, stack = [], list(below.get(0, []))
        while stack:
            ordered.append(one := stack.pop())
            stack.extend(reversed(below.get(one.id, [])))
        return ordered

    def account_name(self, one: Association) -> str:
        """Name the account above an association."""
        return next((other.account for other in self.builder.select((), (), ()) if other.id == one.parent_id), "")


def _unknown(key: str, one: Setting, *, hint: bool) -> str:
    if key in TIME_LIMITS and hint:
        return ""
    return f" Unknown option: {one.word}\n{_WHERE if hint else ''}"


def _bad(key: str, one: Setting, error: Exception) -> str:
    """Say what is wrong with a value, as sacctmgr does."""
    shown = _SHOWN.get(key, key)
    if key in TIME_LIMITS:
        return f" Bad {shown} time format: {one.word}\n"
    if key in TRES_LIMITS:
        if isinstance(error, LimitError) and "=" in one.value:
            names = [pair.partition("=")[0] for pair in one.value.split(",")]
            name = next((name for name in names if f"{name!r} is no" in error.problem), names[0])
            return f"sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {name}\n"
        return f"sacctmgr: error: slurmdb_format_tres_str: no TRES id found for {one.value}\n"
    return f"sacctmgr: error: Invalid value for {shown} ({one.value})\n"


def _bad_of_qos(key: str, one: Setting, error: Exception) -> UsageError:
    if key == "Flags":
        known = ",".join(flag for flag in QosFlag if flag is not QosFlag.RELATIVE)
        return UsageError("", f" Unknown QOS flag used in:\n  '{one.value}'\n Valid QOS flags are\n  '{known}'\n")
    if key == "PreemptMode":
        return UsageError(f" Bad Preempt Mode given: {one.word}\n")
    if key in TIME_LIMITS:
        return UsageError(_bad(key, one, error))
    return UsageError(_bad(key, one, error) + " You didn't give me anything to set\n")
