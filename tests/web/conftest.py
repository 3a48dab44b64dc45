from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from web.browser import started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from web.browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("browser")) as found:
        yield found
