"""Fair Tree, with the figures of Slurm's test24.4, of its pages, and a walk written out as the page tells it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import AssociationTree, classic, fair_tree
from rota.model import SHARES_PARENT, Association

from .conftest import Scenario

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .conftest import Children

BOTH_WAYS = pytest.mark.parametrize("merge", [True, False], ids=["documented", "real"])
#: LF and fair-share of test24.4, 21 users and 14 accounts: "–" is not shown, accounts have no fair-share.
TEST24_4 = """
root    –        –
u1      inf      1.000000
u2      1.153846 0.666667
aA      1.025641 –
aAA     1.687500 –
uAA1    1.000000 0.619048
aAB     0.450000 –
uAB1    0.500000 0.523810
uAB2    inf      0.571429
aB      2.769231 –
aBA     0.416667 –
uBA1    1.000000 0.714286
aBB     inf      –
uBB1    inf      0.761905
aC      0.000000 –
uC1     0.000000 0.047619
aD      0.524476 –
uD1     –        0.476190
uD2     1.294118 0.238095
uD3     1.294118 0.333333
aDA     –        –
uDA1    –        0.476190
uDA2    1.941176 0.380952
uDA3    1.294118 0.333333
aE      inf      –
aE1     inf      1.000000
aE2     inf      1.000000
aF      inf      –
uF1     inf      1.000000
uF2     inf      1.000000
aG      0.461538 –
uG1     1.000000 0.190476
aGA     1.000000 –
uGA1    1.250000 0.190476
uGA2    0.833333 0.095238
"""
#: Two accounts with equal level fair-share: the page puts their users in one line, slurmctld does not.
X_AND_Y: Children = {"X": (10, {"x1": (1, 4.0), "x2": (1, 16.0)}), "Y": (10, {"y1": (1, 2.0), "y2": (1, 18.0)})}


@BOTH_WAYS
def test_every_row_of_test24_4(test_24_4: Scenario, merge: bool) -> None:
    assert test_24_4.total == 240
    shares = fair_tree(test_24_4.tree.columns, test_24_4.usage, merge=merge)
    assert shares.level_fs is not None
    level, factor = test_24_4.by_name(shares.level_fs), test_24_4.by_name(shares.factor)
    rows = [line.split() for line in TEST24_4.strip().splitlines()]
    assert sorted(name for name, _, _ in rows) == sorted(level)
    users = {one.user for one in test_24_4.tree.associations}
    for name, lf, fs in rows:
        assert lf == "–" or f"{level[name]:.6f}" == lf, name
        assert f"{factor[name]:.6f}" == ("0.000000" if fs == "–" else fs), name
        assert (name in users) == (fs != "–")


@BOTH_WAYS
def test_the_page_of_classic_fair_share_as_fair_tree_has_it(page_without_g: Scenario, merge: bool) -> None:
    shares = fair_tree(page_without_g.tree.columns, page_without_g.usage, merge=merge)
    assert shares.level_fs is not None
    level, factor = page_without_g.by_name(shares.level_fs), page_without_g.by_name(shares.factor)
    assert [f"{level[name]:.6f}" for name in "ADBCEF"] == [
        "0.622222",
        "1.680000",
        "1.687500",
        "0.450000",
        "0.416667",
        "inf",
    ]
    assert [factor[f"User{i}"] for i in (5, 4, 1, 3, 2)] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        (True, {"x1": 0.75, "x2": 0.5, "y1": 1.0, "y2": 0.25}),
        (False, {"x1": 1.0, "x2": 0.75, "y1": 0.75, "y2": 0.25}),
    ],
    ids=["documented", "real"],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_accounts_with_equal_level_fair_share(merge: bool, expected: dict[str, float], backwards: bool) -> None:
    """Worked out by hand from the page, and from what slurmctld does. The order of the input makes no difference."""
    children = {name: X_AND_Y[name] for name in "YX"} if backwards else X_AND_Y
    scenario = Scenario(children)
    factor = scenario.by_name(fair_tree(scenario.tree.columns, scenario.usage, merge=merge).factor)
    assert {name: factor[name] for name in expected} == expected


@BOTH_WAYS
def test_a_user_goes_before_an_account_with_equal_level_fair_share(merge: bool) -> None:
    """z and a have an LF of 1: z is first, and a's best user, which follows on that tie, has the same factor."""
    scenario = Scenario({"z": (10, 20.0), "a": (10, {"a1": (1, 5.0), "a2": (1, 15.0)})})
    factor = scenario.by_name(fair_tree(scenario.tree.columns, scenario.usage, merge=merge).factor)
    assert [factor[name] for name in ("z", "a1", "a2")] == [1.0, 1.0, 1 / 3]


def test_shares_are_those_of_the_level_and_usage_that_of_the_account(test_24_4: Scenario) -> None:
    """aD: 50 of 208 shares. Its level has uD2, uD3, and in place of aDA uDA2 and uDA3: 170 shares, usage 110."""
    shares = fair_tree(test_24_4.tree.columns, test_24_4.usage)
    s, u, ue = (test_24_4.by_name(one) for one in (shares.shares_norm, shares.usage_norm, shares.usage_efctv))
    assert s["uDA2"] == 30 / 170
    assert s["uD1"] == s["aDA"] == s["aD"] == 50 / 208
    assert (u["uDA2"], ue["uDA2"]) == (10 / 240, 10 / 110)
    assert ue["root"] == 1.0


def test_without_users_there_is_nothing_to_rank() -> None:
    scenario = Scenario({"a": (1, {}), "b": (1, {})})
    assert not fair_tree(scenario.tree.columns, scenario.usage).factor.any()


# ---- random trees -----------------------------------------------------------------------------------------------


class _Walk:
    """Fair Tree as a recursive walk, one association after another."""

    def __init__(self, scenario: Scenario, *, merge: bool) -> None:
        self._merge = merge
        self._usage = {one.id: scenario.usage[row].item() for row, one in enumerate(scenario.tree.associations)}
        self._below: dict[int, list[Association]] = {}
        for one, _ in scenario.tree.hierarchy():
            self._below.setdefault(one.parent_id, []).append(one)
        self._users = sum(bool(one.user) for one in scenario.tree.associations)
        self._left = self._rank = self._users
        self.factor: dict[str, float] = {}
        self._visit(self._level([scenario.tree.root]), tied=False)

    def _siblings(self, account: Association) -> list[Association]:
        found = []
        for one in self._below.get(account.id, []):
            passed = not one.user and one.shares_raw == SHARES_PARENT
            found += self._siblings(one) if passed else [one]
        return found

    def _level(self, accounts: list[Association]) -> list[tuple[Association, float]]:
        """Give the children of an account, or of tied ones together, best first."""
        found = []
        for account in accounts:
            siblings = self._siblings(account)
            total = sum(one.shares_raw for one in siblings if one.shares_raw != SHARES_PARENT)
            found += [(one, self._level_fs(one, total, self._usage[account.id])) for one in siblings]
        return sorted(found, key=lambda item: (-item[1], not item[0].user))

    def _level_fs(self, one: Association, total: int, above: float) -> float:
        if one.shares_raw == SHARES_PARENT:
            return inf
        if one.shares_raw == 0:
            return 0.0
        part = self._usage[one.id] / above if above else 0.0
        return one.shares_raw / total / part if part else inf

    def _visit(self, level: list[tuple[Association, float]], *, tied: bool) -> None:
        place = 0
        while place < len(level):
            one, value = level[place]
            same = level[place - 1][1] == value if place else tied
            group = [one]
            place += 1
            if one.user:
                self._rank = self._rank if same else self._left
                self._left -= 1
                self.factor[one.user] = self._rank / self._users
                continue
            while self._merge and place < len(level) and level[place][1] == value:
                group.append(level[place][0])
                place += 1
            self._visit(self._level(group), tied=same)


#: Few different numbers, so that there are many ties.
SHARES = st.one_of(st.integers(0, 3), st.integers(0, 3), st.none())
USER = st.tuples(SHARES, st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 6.0]))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a tree of some ten associations with usage; names are unique and come in no order."""
    names = iter(draw(st.permutations([f"{letter}{digit}" for letter in "abcd" for digit in range(10)])))

    def children(depth: int) -> Children:
        found: dict[str, tuple[int | None, float | Children]] = {}
        for _ in range(draw(st.integers(0 if depth else 1, 4))):
            name = next(names, None)
            if name is not None:
                account = depth < 3 and draw(st.booleans())
                found[name] = (draw(SHARES), children(depth + 1)) if account else draw(USER)
        return found

    return Scenario(children(0))


@given(scenario=scenarios(), merge=st.booleans())
def test_all_levels_at_once_give_what_the_walk_gives(scenario: Scenario, merge: bool) -> None:
    factor = scenario.by_name(fair_tree(scenario.tree.columns, scenario.usage, merge=merge).factor)
    assert {name: factor[name] for name in scenario.users} == _Walk(scenario, merge=merge).factor


@given(scenario=scenarios(), merge=st.booleans())
def test_a_factor_says_how_many_users_are_strictly_better(scenario: Scenario, merge: bool) -> None:
    factors = _of_users(scenario, fair_tree(scenario.tree.columns, scenario.usage, merge=merge).factor)
    assert [round(factor * len(factors)) for factor in factors] == [
        len(factors) - sum(other > factor for other in factors) for factor in factors
    ]


@given(scenario=scenarios(), merge=st.booleans())
def test_no_user_of_a_worse_served_account_is_before_one_of_a_better(scenario: Scenario, merge: bool) -> None:
    """The theorem that Fair Tree is named for: siblings' users do not mix unless the siblings are tied."""
    shares, columns = fair_tree(scenario.tree.columns, scenario.usage, merge=merge), scenario.tree.columns
    assert shares.level_fs is not None
    for level in columns.levels:
        for row, above in zip(level.rows.tolist(), level.above.tolist(), strict=True):
            others = level.rows[(level.above == above) & (shares.level_fs[level.rows] < shares.level_fs[row])]
            worse = [shares.factor[user] for other in others.tolist() for user in _below(scenario.tree, other)]
            assert all(shares.factor[user] >= max(worse, default=0.0) for user in _below(scenario.tree, row))


@given(scenario=scenarios(), times=st.integers(2, 1000), data=st.data())
def test_only_the_ratio_of_the_shares_of_a_level_matters(scenario: Scenario, times: int, data: st.DataObject) -> None:
    """Both numbers of a quotient are multiplied with a whole number: it is the same to the last bit."""
    tree = scenario.tree
    level = data.draw(st.sampled_from(tree.columns.fs_parent[1:].tolist()))
    fair = [fair_tree(tree.columns, scenario.usage, merge=merge).factor for merge in (True, False)]
    old = classic(tree.columns, scenario.usage, damping=1.0).factor
    for row, one in enumerate(tree.associations):
        if tree.columns.fs_parent[row] == level and one.shares_raw != SHARES_PARENT:
            one.shares_raw *= times
    tree.shares_changed()
    assert [fair_tree(tree.columns, scenario.usage, merge=merge).factor.tolist() for merge in (True, False)] == [
        one.tolist() for one in fair
    ]
    assert classic(tree.columns, scenario.usage, damping=1.0).factor.tolist() == old.tolist()


def _below(tree: AssociationTree, row: int) -> list[int]:
    """Give the rows of the users of an account, or the user's own; not past associations without shares."""
    return [user for user in tree.columns.user_rows.tolist() if row in tree.path(user)]


def _of_users(scenario: Scenario, values: NDArray[np.float64]) -> list[float]:
    named = scenario.by_name(values)
    return [named[name] for name in scenario.users]
