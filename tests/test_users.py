from __future__ import annotations

import os
import pwd

import pytest

from rota.users import find_user, group_name, groups_of, user_name


def test_a_user_is_found_by_name_and_by_number() -> None:
    root = pwd.getpwuid(0)
    assert find_user("root") == find_user("0") == find_user(0) == root
    assert groups_of(0, 0) == tuple(os.getgrouplist("root", 0))


@pytest.mark.parametrize("who", ["", "nosuch", "²", "٣", "root\0", "\ud800", "-1", str(2**70), 2**31 - 5])
def test_nobody(who: str | int) -> None:
    assert find_user(who) is None


def test_who_has_no_name_is_named_by_number() -> None:
    unknown = 2**31 - 5
    assert user_name(unknown) == group_name(unknown) == str(unknown)
    assert groups_of(unknown, 7) == (7,)
