"""The examples of docs/http.md are run, and answer as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from rota.testing.live import LiveCluster

from .conftest import free_port

_PAGE = Path(__file__).parents[2] / "docs" / "http.md"
#: What is another thing each time, in what is shown: dates, times, ids of tokens, names, numbers; and what is left out.
_VARIES = re.compile(r"\d{4}-\d\d-\d\dT[\d:]{8}|\d{10}|\b[0-9a-f]{8}\b|\blaptop\b|\bann\b|\b\d\.0\b|…")


class Example(NamedTuple):
    command: str
    shown: list[str]


def _examples() -> list[Example]:
    """Give the commands of the page, whose further lines begin with ``>``, and what is shown below each."""
    found: list[Example] = []
    for block in re.findall(
        r"^```(?:console|text)\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Example(line[2:], []))
            elif line.startswith("> "):
                found[-1] = Example(f"{found[-1].command}\n{line[2:]}", [])
            else:
                found[-1].shown.append(line)
    return found


def _pattern(lines: list[str]) -> str:
    return ".*?".join(map(re.escape, _VARIES.split("\n".join(lines))))


def test_the_examples(tmp_path: Path) -> None:
    port = str(free_port())
    cluster = LiveCluster(tmp_path)
    path = {"PATH": f"{Path(sys.executable).parent}:{cluster.environment['PATH']}"}
    token = ""
    try:
        for example in _examples():
            command = example.command.replace("8080", port).replace("be5c5c1e", token or "be5c5c1e")
            if command == "rota up --http":
                command += f" --http-tcp 127.0.0.1:{port}"
            if "/v1/events" in command:
                got = _first_lines(cluster, command, 3)
            else:
                got = cluster.run("bash", "-c", command, environment=path).stdout.splitlines()
            if "--list" in command:
                token = got[0][:8]
            shown = example.shown[: len(got)]
            assert re.fullmatch(_pattern(shown), "\n".join(got)), (command, got)
            assert got or not example.shown
    finally:
        cluster.rota("down", "--jobs", "cancel")


def _first_lines(cluster: LiveCluster, command: str, count: int) -> list[str]:
    """Give the first lines of a command that does not end."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE, text=True, env=cluster.environment
    ) as process:
        assert process.stdout is not None
        found = [process.stdout.readline().rstrip("\n") for _ in range(count)]
        process.kill()
    return found
