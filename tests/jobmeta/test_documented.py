"""The plugin in the documentation works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rota.jobmeta import Lookups

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Fakes

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "jobmeta.md"


def test_it(fake: Fakes, write_plugin: Callable[[str, str], Path], plugins: Path) -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    write_plugin("ticket_id", source)
    fake("tickets", "T7,alice,a b,open\nT8,bob,c,closed\n", status=3)
    with Lookups([plugins], variable="TICKET_ID") as lookups:
        answers = lookups.lookup(["T7", "T8", "T9", "--help", "cp.0"])
    assert [(job["user"], job["name"], job.get("ended")) for job in answers.jobs.values()] == [
        ("alice", "a b", False), ("bob", "c", True), ("root", "cp", None)
    ]  # fmt: skip
    assert (answers.unknown, answers.refused) == (["T9"], ["--help"])
    assert fake.calls("tickets") == [["--csv", "T7", "T8", "T9"]]


def test_it_names_every_built_in_plugin() -> None:
    built_in = {path.stem for path in (PAGE.parents[2] / "src/rota/plugins/jobmeta").glob("[a-z]*.py")}
    assert built_in == set(re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", PAGE.read_text(), re.MULTILINE))
