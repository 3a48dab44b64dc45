"""What is read of published texts is what PyYAML reads where it can, and what one reads oneself where it cannot."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rota.lustre.counters import Counter, JobStats
from rota.lustre.job_stats import JobStatsParser

#: A dump of one target, after the line of its parameter, if there is one.
_DUMP = re.compile(r"^(?:\S*?([^.\s=]+)\.job_stats=\n?)?(job_stats:\n(?:[- ].*\n?)*)", re.MULTILINE)
#: No YAML: unindented headers. See the test of its own.
UNINDENTED = "telegraf-lustre2_lctl-uptime-unindented-mdt.job_stats"
_FIELDS = {"minimum": "min", "maximum": "max", "total": "sum", "sum_of_squares": "sumsq"}


def read(data: bytes, *, zeros: bool = True) -> tuple[list[JobStats], JobStatsParser]:
    parser = JobStatsParser("here", zeros=zeros)
    return [*parser.feed(data), *parser.close()], parser


def by_yaml(data: bytes) -> dict[str, list[dict[str, Any]]]:
    """The entries by target, as PyYAML reads them; all values are texts."""
    dumps = _DUMP.findall(data.decode())
    loaded = {target or "here": yaml.load(text, yaml.CBaseLoader) for target, text in dumps}  # noqa: S506 - texts only
    return {target: said["job_stats"] or [] for target, said in loaded.items()}


def as_yaml(counter: Counter) -> dict[str, Any]:
    """A counter as PyYAML reads it."""
    numbers = {key: str(value) for name, key in _FIELDS.items() if (value := getattr(counter, name)) is not None}
    sizes = {"hist": {label: str(count) for label, count in counter.sizes.items()}}
    return {
        "samples": str(counter.samples),
        "unit": counter.unit,
        **numbers,
        **(sizes if counter.histogram is not None else {}),
    }


def without_headers(entry: dict[str, Any]) -> dict[str, Any]:
    counters = {name: value for name, value in entry.items() if isinstance(value, dict)}
    for value in counters.values():
        if value.pop("max:16777216", None) is not None:  # `max:16777216` is no pair for YAML
            value["max"] = "16777216"
    return counters


def test_every_sample_says_what_pyyaml_says(samples: dict[str, bytes]) -> None:
    assert len(samples) == 21
    for name, data in samples.items():
        if name == UNINDENTED:
            continue
        expected = by_yaml(data)
        entries, parser = read(data)
        assert parser.findings.bad_lines == 0, name
        assert parser.findings.targets == dict.fromkeys(expected, True), name
        assert [entry.target for entry in entries] == [target for target in expected for _ in expected[target]], name
        for entry, said in zip(entries, (one for every in expected.values() for one in every), strict=True):
            assert entry.job_id == said["job_id"], name
            assert entry.snapshot_time == float(said["snapshot_time"].split()[0]), name
            assert entry.start_time == (float(said["start_time"].split()[0]) if "start_time" in said else None), name
            counters = {operation: as_yaml(counter) for operation, counter in entry.counters.items()}
            assert counters == without_headers(said), name


def test_headers_without_indent_are_read(samples: dict[str, bytes]) -> None:
    # Read by eye, as no YAML parser can.
    [entry], parser = read(samples[UNINDENTED], zeros=False)
    assert entry == JobStats(
        "here",
        b"rsync_env.sh.30026",
        "rsync_env.sh.30026",
        1896247.780050045,
        379440.150439687,
        {"close": Counter(5051, "usecs", 8, 1541, 236426, 19935112)},
    )
    assert parser.findings.bad_lines == 0


def test_lines_that_a_console_has_broken_are_joined(samples: dict[str, bytes]) -> None:
    # Read by eye.
    [entry], _ = read(samples["whamcloud-collector-valid2-lctl-full.txt"], zeros=False)
    assert (entry.target, entry.job_id, entry.snapshot_time) == ("testfs-MDT0000", "dd.0", 1701093009)
    assert entry.counters == {
        "open": Counter(1, "usecs", 185, 185, 185, 34225),
        "close": Counter(1, "usecs", 51, 51, 51, 2601),
        "mknod": Counter(1, "usecs", 170, 170, 170, 28900),
    }


def test_an_id_that_lustre_has_cut_is_kept_as_it_is(samples: dict[str, bytes]) -> None:
    entries, _ = read(samples["whamcloud-collector-ex8761-lctl-full.txt"])
    assert entries[0].job_id == "mount.lustre@0@co-es-pm-149.co-"
    assert len(entries[0].job_id) == 31


@pytest.mark.parametrize("zeros", [False, True])
def test_counters_of_nothing_are_left_out_unless_asked_for(samples: dict[str, bytes], zeros: bool) -> None:
    [entry], _ = read(samples["datadog-2.16-mdt.job_stats"], zeros=zeros)
    done = {"open", "close", "mknod", "unlink", "getattr", "setattr", "sync"}
    assert (set(entry.counters) == done) is not zeros
    assert len(entry.counters) == (25 if zeros else 7)


@given(st.data(), st.sampled_from([False, True]))
def test_any_split_gives_the_same_entries_and_findings(
    samples: dict[str, bytes], draw: st.DataObject, zeros: bool
) -> None:
    data = samples[draw.draw(st.sampled_from(sorted(samples)))]
    damaged = draw.draw(st.sampled_from([data, data.replace(b"}", b"", 3), data.replace(b"job_id", b"jb_id", 2)]))
    whole, one_go = read(damaged, zeros=zeros)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(damaged)), max_size=30)))
    pieces = [damaged[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(damaged)], strict=True)]
    parser = JobStatsParser("here", zeros=zeros)
    assert list(parser.read_pieces(pieces)) == whole
    assert parser.findings == one_go.findings


def test_byte_by_byte_too(samples: dict[str, bytes]) -> None:
    for data in samples.values():
        parser = JobStatsParser("here")
        assert list(parser.read_pieces(bytes([byte]) for byte in data)) == read(data, zeros=False)[0]
