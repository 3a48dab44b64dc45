"""Trees in a few lines, and the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest

from rota.accounting import AssociationTree
from rota.core import Engine
from rota.model import SHARES_PARENT, Association
from rota.testing import Harness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rota.model import ClusterConfig

#: Name to (shares, usage) of a user, or to (shares, children) of an account; shares ``None`` is ``parent``.
Children: TypeAlias = "Mapping[str, tuple[int | None, float | Children]]"


class Scenario:
    """A tree with the usage of its users; an account's is the sum of its children's."""

    def __init__(self, children: Children) -> None:
        self._usage: dict[int, float] = {}
        associations = [Association(id=1, account="root")]
        self._add(children, associations, associations[0])
        self.tree = AssociationTree("golden", associations)
        self.usage: NDArray[np.float64] = np.zeros(len(self.tree))
        for id_, used in self._usage.items():
            self.usage[self.tree.path(self.tree.row(next(a for a in associations if a.id == id_)))] += used

    def _add(self, children: Children, associations: list[Association], above: Association) -> None:
        for name, (shares, below) in children.items():
            user = not isinstance(below, Mapping)
            one = Association(
                id=len(associations) + 1,
                account=above.account if user else name,
                user=name if user else "",
                parent_id=above.id,
                shares_raw=SHARES_PARENT if shares is None else shares,
            )
            associations.append(one)
            if isinstance(below, Mapping):
                self._add(below, associations, one)
            else:
                self._usage[one.id] = below

    @property
    def total(self) -> float:
        """The root's usage."""
        return float(self.usage[0])

    @property
    def users(self) -> list[str]:
        """Names of the users."""
        return [one.user for one in self.tree.associations if one.user]

    def by_name(self, values: NDArray[np.float64]) -> dict[str, float]:
        """Give values by user or account."""
        return {one.user or one.account: values[self.tree.row(one)].item() for one in self.tree.associations}


#: The page's figure 3, with G as Slurm's test24.1 adds it.
FIGURE_3: Children = {
    "A": (40, {"B": (30, {"User1": (1, 20.0)}), "C": (10, {"User2": (1, 25.0), "User3": (1, 0.0)})}),
    "D": (60, {"E": (25, {"User4": (1, 25.0)}), "F": (35, {"User5": (1, 0.0)})}),
}
G: Children = {"G": (0, {"User6": (1, 30.0)})}
#: Slurm's test_130_2 adds an account with associations that have no shares of their own.
H: Children = {
    "H": (
        50,
        {
            "UHRA1": (None, 20.0),
            "UHRA2": (40, 20.0),
            "UHRA3": (50, 25.0),
            "HTA": (None, {"Std1": (None, 10.0), "Std2": (30, 10.0), "Std3": (50, 25.0)}),
        },
    )
}
#: Slurm's test24.4.
TEST_24_4: Children = {
    "u1": (10, 0.0),
    "u2": (10, 10.0),
    "aA": (40, {"aAA": (30, {"uAA1": (1, 20.0)}), "aAB": (10, {"uAB1": (1, 25.0), "uAB2": (1, 0.0)})}),
    "aB": (60, {"aBA": (25, {"uBA1": (1, 25.0)}), "aBB": (35, {"uBB1": (1, 0.0)})}),
    "aC": (0, {"uC1": (0, 30.0)}),
    "aD": (
        50,
        {
            "uD1": (None, 20.0),
            "uD2": (40, 20.0),
            "uD3": (50, 25.0),
            "aDA": (None, {"uDA1": (None, 10.0), "uDA2": (30, 10.0), "uDA3": (50, 25.0)}),
        },
    ),
    "aE": (10, {"aE1": (10, 0.0), "aE2": (10, 0.0)}),
    "aF": (20, {"uF1": (10, 0.0), "uF2": (20, 0.0)}),
    "aG": (8, {"uG1": (10, 10.0), "aGA": (10, {"uGA1": (20, 4.0), "uGA2": (20, 6.0)})}),
}


@pytest.fixture
def page() -> Scenario:
    return Scenario({**FIGURE_3, **G})


@pytest.fixture
def page_without_g() -> Scenario:
    return Scenario(FIGURE_3)


@pytest.fixture
def page_with_h() -> Scenario:
    return Scenario({**FIGURE_3, **G, **H})


@pytest.fixture
def test_24_4() -> Scenario:
    return Scenario(TEST_24_4)


@contextmanager
def machine(
    config: ClusterConfig,
    make_tree: Callable[[], AssociationTree],
    *,
    usage: Mapping[str, object] | None = None,
    utc_offset: Callable[[int], int] | None = None,
    now: int = 0,
) -> Iterator[Harness]:
    """Make a cluster with accounts and multifactor priorities; within, a restart reads the accounts anew.

    Args:
        config: The cluster.
        make_tree: Reads the accounts.
        usage: What had been used before, as `rota.accounting.Usage.save` gives it.
        utc_offset: Local time minus UTC.
        now: When it begins.
    """

    def engine(*args: Any, **others: Any) -> Engine:
        made = Engine(*args, **(others | {"associations": make_tree(), "utc_offset": utc_offset}))
        made.cluster.accounts.saved = None if usage is None else dict(usage)
        return made

    with (
        patch("rota.runtime.boot.Engine", engine),
        Harness(config, priority="priority/multifactor", now=now) as rota,
    ):
        yield rota
        assert not rota.engine.faults
