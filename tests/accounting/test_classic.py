"""Classic and depth-oblivious fair-share, with the figures that Slurm publishes.

Figure 3 of the page *Classic Fairshare Algorithm* and the expected values of Slurm's test24.1, which adds the account
G, and test_130_2, which adds H with associations that have no shares of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.accounting import classic, depth_oblivious, linear

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.accounting import FairShares

    from .conftest import Scenario

#: S, U, UE and F to six places.
TEST24_1 = {
    "User1": "0.300000 0.200000 0.387500 0.408479",
    "User2": "0.050000 0.250000 0.275000 0.022097",
    "User3": "0.050000 0.000000 0.150000 0.125000",
    "User4": "0.250000 0.250000 0.250000 0.500000",
    "User5": "0.350000 0.000000 0.145833 0.749154",
    "User6": "0.000000 0.300000 0.300000 0.000000",
}
TEST_130_2 = {
    "User1": "0.200000 0.095238 0.184524 0.527550",
    "User2": "0.033333 0.119048 0.130952 0.065672",
    "User3": "0.033333 0.000000 0.071429 0.226431",
    "User4": "0.166667 0.119048 0.119048 0.609507",
    "User5": "0.233333 0.000000 0.069444 0.813594",
    "User6": "0.000000 0.142857 0.142857 0.000000",
}
#: F of the users of H.
TEST_130_2_H = {
    "UHRA1": "0.336475",
    "UHRA2": "0.176777",
    "UHRA3": "0.185749",
    "Std1": "0.336475",
    "Std2": "0.211966",
    "Std3": "0.185749",
}


def _table(scenario: Scenario, shares: FairShares) -> dict[str, str]:
    columns = (shares.shares_norm, shares.usage_norm, shares.usage_efctv, shares.factor)
    named = [scenario.by_name(column) for column in columns]
    return {name: " ".join(f"{column[name]:.6f}" for column in named) for name in named[0]}


def _named(scenario: Scenario, values: NDArray[np.float64]) -> dict[str, str]:
    return {name: f"{value:.6f}" for name, value in scenario.by_name(values).items()}


def test_every_digit_of_test24_1(page: Scenario) -> None:
    assert page.total == 100
    table = _table(page, classic(page.tree.columns, page.usage, damping=1.0))
    assert {name: table[name] for name in TEST24_1} == TEST24_1


def test_every_digit_of_test_130_2(page_with_h: Scenario) -> None:
    assert page_with_h.total == 210
    shares = classic(page_with_h.tree.columns, page_with_h.usage, damping=1.0)
    table, factor = _table(page_with_h, shares), _named(page_with_h, shares.factor)
    assert {name: table[name] for name in TEST_130_2} == TEST_130_2
    assert {name: factor[name] for name in TEST_130_2_H} == TEST_130_2_H


def test_associations_without_shares_have_those_and_the_usage_of_their_account(page_with_h: Scenario) -> None:
    """H has 50 of 150 shares at its level and 110 of 210 of the usage; HTA stands for nothing itself."""
    shares = classic(page_with_h.tree.columns, page_with_h.usage, damping=1.0)
    for values, expected in ((shares.shares_norm, 50 / 150), (shares.usage_efctv, 110 / 210)):
        named = page_with_h.by_name(values)
        assert [named[name] for name in ("H", "HTA", "UHRA1", "Std1")] == [pytest.approx(expected)] * 4


def test_damping_divides_the_exponent(page: Scenario) -> None:
    """User4 has used exactly its share, UE/S = 1: so F = 2^(−1/damping)."""
    shares = classic(page.tree.columns, page.usage, damping=4.0)
    assert page.by_name(shares.factor)["User4"] == pytest.approx(2**-0.25)
    assert page.by_name(shares.factor)["User6"] == 0.0  # no shares


def test_accounts_go_by_the_usage_at_the_beginning_of_the_period_and_users_by_that_at_its_end(page: Scenario) -> None:
    """Nothing had been used before: so B is at 0, and User1 between that and its own .2 (it is B's only user)."""
    shares = classic(page.tree.columns, page.usage, damping=1.0, before=np.zeros(len(page.tree)))
    named = page.by_name(shares.usage_efctv)
    assert (named["A"], named["B"]) == (0.0, 0.0)
    assert [named["User1"], named["User2"]] == pytest.approx([0.0, 0.125])


def test_before_anything_is_used_everybody_with_shares_has_1(page: Scenario) -> None:
    named = page.by_name(classic(page.tree.columns, np.zeros(len(page.tree)), damping=1.0).factor)
    assert [named[name] for name in TEST24_1] == [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]


def test_depth_oblivious_of_the_page(page_without_g: Scenario) -> None:
    """Steady state of the page's tree, root 70, from Slurm's formulas by hand."""
    assert page_without_g.total == 70
    shares = depth_oblivious(page_without_g.tree.columns, page_without_g.usage, damping=1.0)
    effective, factor = _named(page_without_g, shares.usage_efctv), _named(page_without_g, shares.factor)
    assert [effective[name] for name in "BCEF"] == ["0.445542", "0.357143", "0.166658", "0.000000"]
    assert (factor["User1"], factor["User4"]) == ("0.357214", "0.629976")


def test_depth_oblivious_gives_associations_without_shares_those_of_their_account(page_with_h: Scenario) -> None:
    shares = depth_oblivious(page_with_h.tree.columns, page_with_h.usage, damping=1.0)
    for values in (shares.shares_norm, shares.usage_efctv, shares.factor):
        named = page_with_h.by_name(values)
        assert named["H"] == named["HTA"] == named["UHRA1"] == named["Std1"]
    assert page_with_h.by_name(shares.factor)["User6"] == 0.0


def test_slurm_2_0_takes_the_difference_instead_of_the_ratio(page: Scenario) -> None:
    """F = (S − UE + 1)/2 with test24.1's S and UE: the cluster could have done 100, and that is what was used."""
    shares = linear(page.tree.columns, page.usage, cluster_usage=100.0)
    table = _table(page, shares)
    for name, row in TEST24_1.items():
        s, u, ue, _ = row.split()
        assert table[name].split()[:3] == [s, u, ue]
        assert page.by_name(shares.factor)[name] == pytest.approx((float(s) - float(ue) + 1) / 2, abs=1e-6)


def test_usage_is_never_more_than_all_of_the_cluster(page: Scenario) -> None:
    shares = linear(page.tree.columns, page.usage, cluster_usage=10.0)
    assert page.by_name(shares.usage_norm)["User1"] == 1.0
    nothing = linear(page.tree.columns, page.usage, cluster_usage=0.0)
    assert page.by_name(nothing.usage_norm)["User1"] == 0.0
