"""The whole chain, in real processes: dumps that grow, the collector, its store, HTTP, and what reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from rota.cli.jobstats_serve import feeds_of
from rota.cli.main import main
from rota.lustre.deltas import Deltas

from .conftest import free_port
from .lustre import Dumps, Lustre, serving
from .services import done

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _wait_for(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def _source(lustre: Lustre, name: str) -> dict[str, Any]:
    (found,) = [one for one in lustre.client.get("/lustre/v1/status")["sources"] if one["name"] == name]
    return dict(found)


def _written(lustre: Lustre, by: str) -> dict[str, int]:
    found = lustre.client.get(f"/lustre/v1/top?by={by}&last=86400&metrics=write_bytes")
    return {row["label"]: row["totals"]["write_bytes"] for row in found["rows"]}


def _iostat(*words: str) -> subprocess.CompletedProcess[str]:
    return done("iostat", *words)


def test_from_dumps_to_owners_and_over_a_restart(tmp_path: Path) -> None:
    dumps, port = Dumps(tmp_path / "dumps"), free_port()
    source = f"dir:{dumps.folder}"
    for target in ("fs-OST0000", "fs-OST0001"):
        dumps.add(target, "cp.0", 100, 1 << 40)  # done before anybody looked, so it does not count
    with serving(tmp_path / "store", tmp_path / "log", port, "--source", source) as lustre:
        _wait_for(lambda: _source(lustre, source)["readings"])
        dumps.add("fs-OST0000", "cp.0", 5, 5_000_000)
        dumps.add("fs-OST0001", "cp.0", 1, 1_000_000)
        dumps.add("fs-OST0001", "dd.4294967290", 1, 700)  # a user that nobody has
        _wait_for(lambda: _written(lustre, "user") == {"root": 6_000_000, "4294967290": 700})
        assert _written(lustre, "target") == {"fs-OST0000": 5_000_000, "fs-OST0001": 1_000_700}
        assert lustre.client.get("/lustre/v1/jobs/cp.0")["fields"]["name"] == "cp"
        done = _iostat("--store", str(lustre.store), "--json", "--by", "name", "--last", "3600")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["top"]["rows"]
        assert [(row["label"], row["totals"]["write_iops"]) for row in rows] == [("cp", 6), ("dd", 1)]
    assert not (tmp_path / "store" / "http.sock").exists()
    dumps.add("fs-OST0000", "cp.0", 3, 3_000_000)  # meanwhile
    dumps.add("fs-OST0001", "tar.0", 2, 2_000_000)
    with serving(tmp_path / "store", tmp_path / "log", port, "--source", source) as lustre:
        _wait_for(lambda: _written(lustre, "job") == {"cp.0": 9_000_000, "tar.0": 2_000_000, "dd.4294967290": 700})
        dumps.add("fs-OST0000", "cp.0", 1, 1)
        _wait_for(lambda: _written(lustre, "job")["cp.0"] == 9_000_001)


def test_what_nobody_read_is_named_wherever_it_is_told(tmp_path: Path) -> None:
    """An entry that is made anew: what it counted after its last reading is lost."""
    dumps = Dumps(tmp_path / "dumps")
    source = f"dir:{dumps.folder}"
    dumps.add("fs-OST0000", "cp.0", 5, 5000)
    with serving(tmp_path / "store", tmp_path / "log", free_port(), "--source", source) as lustre:
        _wait_for(lambda: _source(lustre, source)["readings"])
        dumps.counters.clear()
        dumps.add("fs-OST0000", "cp.0", 1, 70)
        _wait_for(lambda: _written(lustre, "job") == {"cp.0": 70})
        (row,) = lustre.client.get("/lustre/v1/top?last=3600")["rows"]
        assert (row["totals"]["unread.samples"], row["totals"]["metadata_iops"]) == (1, 0)
        assert lustre.client.get("/lustre/v1/jobs/cp.0")["operations"]["unread"] == {"samples": 1, "total": 0}
        assert _source(lustre, source)["unread"] == 1
        assert f'rota_lustre_source_unread_total{{source="{source}"}} 1.0' in lustre.client.ask("GET", "/metrics").text
        shown = _iostat("--store", str(lustre.store), "--once", "--last", "3600").stdout
        assert "1 times not known" in shown.partition("\n")[0]


@pytest.mark.slow
def test_bad_sources_beside_a_good_one(tmp_path: Path) -> None:
    dumps = Dumps(tmp_path / "dumps")
    os.mkfifo(tmp_path / "hangs")
    (tmp_path / "bad").write_bytes(b"job_stats:\n- job_id: 1\n  write_bytes: { samples: many }\n\xff\xfe nonsense\n")
    sources = [f"dir:{dumps.folder}", str(tmp_path / "missing"), str(tmp_path / "hangs"), str(tmp_path / "bad")]
    options = [word for source in sources for word in ("--source", source)]
    dumps.add("fs-OST0000", "cp.0", 0, 1)
    with serving(tmp_path / "store", tmp_path / "log", free_port(), *options) as lustre:
        _wait_for(lambda: _source(lustre, sources[0])["readings"])
        dumps.add("fs-OST0000", "cp.0", 1, 10)
        _wait_for(lambda: _written(lustre, "job") == {"cp.0": 10})
        assert "No such file" in _source(lustre, sources[1])["error"]
        hanging = _source(lustre, sources[2])
        assert hanging["readings"] == 0
        assert hanging["busy_since"] is not None
        _wait_for(lambda: _source(lustre, sources[3])["bad_lines"] >= 2)
        why = f"{sources[3]}: line 3 (bad): a counter without samples or unit: '  write_bytes: {{ samples: many }}'"
        assert _source(lustre, sources[3])["bad_line"] == why
        assert lustre.log.read_text().count(why) == 1
        metrics = lustre.client.ask("GET", "/metrics").text
        assert f'rota_lustre_source_up{{source="{sources[0]}"}} 1.0' in metrics
        assert f'rota_lustre_source_up{{source="{sources[1]}"}} 0.0' in metrics
        assert f'rota_lustre_source_up{{source="{sources[2]}"}} 0.0' in metrics
        shown = _iostat("--store", str(lustre.store), "--once").stdout
        assert f"\n! {tmp_path}"[:20] in shown


@pytest.mark.slow
def test_straight_from_a_source(tmp_path: Path) -> None:
    dumps = Dumps(tmp_path / "dumps")
    dumps.add("fs-OST0000", "cp.0", 1, 1)
    words = ["iostat", "--source", f"dir:{dumps.folder}", "--interval", "1", "--json", "--by", "user"]
    with subprocess.Popen([sys.executable, "-m", "rota", *words], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:  # it writes until somebody has looked twice
            dumps.add("fs-OST0000", "cp.0", 1, 1 << 20)
            time.sleep(0.05)
        assert process.stdout is not None
        found = json.load(process.stdout)
    assert process.returncode == 0
    assert [row["label"] for row in found["top"]["rows"]] == ["root"]
    assert found["top"]["all"]["totals"]["write_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("iostat --once --store {}", "no service answers there"),
        ("iostat --once --source {}/none --interval 1", "No such file"),
        ("iostat --once --source {} --interval 7", "does not divide a minute"),
        ("iostat --once --source -", "standard input can be read once only"),
        ("iostat --once --url https://x", "--url: is not http://HOST:PORT"),
        ("jobstats serve --store {}/store --source x --source x", "a source is named twice"),
        ("jobstats serve --store {}/store --source ssh://", "write ssh://HOST"),
        ("jobstats serve --store {}/store --keep 10s", "--keep"),
        ("jobstats serve --store {}/store --interval 9", "--interval"),
    ],
)
def test_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, problem: str) -> None:
    assert main(words.format(tmp_path).split()) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def test_sources_are_the_same_wherever_the_service_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works in the directory of its store."""
    monkeypatch.chdir(tmp_path)
    names = [feed.name for feed in feeds_of(("dir:dumps", "file", "/a/b", "lctl", "ssh://oss1"), 1, Deltas())]
    assert names == [f"dir:{tmp_path}/dumps", f"{tmp_path}/file", "/a/b", "lctl", "ssh://oss1"]


@pytest.mark.slow
def test_for_everybody_or_for_a_group(tmp_path: Path) -> None:
    source = ("--source", f"dir:{tmp_path}")
    with serving(tmp_path / "store", tmp_path / "log", free_port(), *source, "--public", "--group", "root") as lustre:
        assert lustre.on_tcp().ask("GET", "/lustre/v1/targets").status == 200
        assert not (lustre.store / "token").exists()
        assert (lustre.store / "http.sock").stat().st_mode & 0o777 == 0o660
        assert lustre.store.stat().st_mode & 0o777 == 0o710
        assert (lustre.store / "activity.sqlite").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "problem"),
    [(["--http", "0.0.0.0:1"], "is not on loopback"), (["--group", "no-such-group"], "--group: ")],
)
def test_where_it_cannot_be_served(tmp_path: Path, words: list[str], problem: str) -> None:
    refused = done("jobstats", "serve", "--store", str(tmp_path / "store"), *words)
    assert refused.returncode == 2, refused.stderr
    assert problem in refused.stderr
    assert refused.stderr.count("\n") == 1
