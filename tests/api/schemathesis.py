"""Runs the program `schemathesis`, which asks what an OpenAPI document describes, and checks the answers against it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROGRAM = Path(__file__).parents[2] / ".venv" / "clients" / "schemathesis" / "bin" / "schemathesis"

needs_schemathesis = pytest.mark.skipif(not _PROGRAM.exists(), reason="`make clients` installs schemathesis")


def find_nothing(
    folder: Path, openapi: Mapping[str, Any], port: int, token: str, *, paths: str, checks: str, examples: int = 6
) -> None:
    """Ask about some paths, and fail if there is something wrong with an answer.

    Args:
        folder: Where it may write.
        openapi: The document.
        port: Where is served.
        token: Who asks.
        paths: Regular expression for the paths.
        checks: What is checked.
        examples: How many requests for each operation.
    """
    document = folder / "openapi.json"
    document.write_text(json.dumps(openapi))
    words = ["run", str(document), "--url", f"http://127.0.0.1:{port}", "-H", f"Authorization: Bearer {token}"]
    words += ["--include-path-regex", paths, "--checks", checks, "--max-examples", str(examples), "--seed", "1"]
    done = subprocess.run(
        [str(_PROGRAM), *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
