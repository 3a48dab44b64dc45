"""``--set-qos`` and ``--set-assoc``: changes of QOS and associations, as ``sacctmgr modify`` makes them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rota.config.options import did_you_mean
from rota.sacctmgr.builder import Place, TreeBuilder
from rota.sacctmgr.script import run_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.accounting import AssociationTree

#: What selects associations.
_WHO = ("account", "user", "partition")


def with_qos(tree: AssociationTree, settings: Iterable[tuple[str, str]]) -> AssociationTree:
    """Change QOS.

    Args:
        tree: The tree, which is not modified.
        settings: Names of QOS, separated by commas, and what is set of them: ``GrpTRES=cpu=500 MaxWall=1-0``.

    Raises:
        InputError: there is no such QOS, or it cannot be so.
    """
    builder = TreeBuilder.of(tree)
    for names, text in settings:
        place = Place(Path(f"--set-qos {names} {text}"), None)
        for name in names.split(","):
            if name.lower() not in builder.qos:
                known = ", ".join(builder.qos)
                raise place.error(f"there is no QOS {name}{did_you_mean(name, builder.qos)}; there are {known}")
        run_command(builder, ["modify", "qos", names, "set", *_words(text, place)], place)
    return builder.tree()


def with_associations(tree: AssociationTree, settings: Iterable[tuple[str, str]]) -> AssociationTree:
    """Change associations.

    Args:
        tree: The tree, which is not modified.
        settings: Whose: ``account=physics`` or ``user=ann,account=physics,partition=gpu``; and what is set of them:
            ``Fairshare=20 GrpJobs=10``.

    Raises:
        InputError: there is no such association, or it cannot be so.
    """
    builder = TreeBuilder.of(tree)
    for who, text in settings:
        place = Place(Path(f"--set-assoc {who} {text}"), None)
        chosen = _who(who, builder, place)
        entity = "user" if "user" in chosen else "account"
        where = [f"{name}={value}" for name, value in chosen.items() if name != entity]
        words = ["modify", entity, chosen[entity], "where", *where, "set", *_words(text, place)]
        run_command(builder, words, place)
    return builder.tree()


def _who(text: str, builder: TreeBuilder, place: Place) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for word in text.split(","):
        name, equals, value = (part.strip().lower() for part in word.partition("="))
        if name not in _WHO or not equals or not value:
            raise place.error(f"{word} is none of {', '.join(f'{one}=NAME' for one in _WHO)}")
        chosen[name] = value
    known: dict[str, Sequence[str]] = {"account": [*builder.accounts], "user": [*builder.users]}
    if not known.keys() & chosen.keys():
        raise place.error("whose? write account=NAME or user=NAME")
    for name, names in known.items():
        if name in chosen and chosen[name] not in names:
            raise place.error(f"there is no {name} {chosen[name]}{did_you_mean(chosen[name], names)}")
    return chosen


def _words(text: str, place: Place) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise place.error(f"{error}: close the quotes") from None
    for word in words:
        if "=" not in word:
            raise place.error(f"{word} is not KEY=VALUE")
    if not words:
        raise place.error("sets nothing: write KEY=VALUE")
    return words
