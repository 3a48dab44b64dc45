"""The five metrics are the same in every generation, and no request is counted twice."""

from __future__ import annotations

import time

import pytest

from rota.lustre.clock import SteadyClock
from rota.lustre.counters import Increase
from rota.lustre.job_stats import JobStatsParser
from rota.lustre.metrics import UNREAD, Metrics, metrics, operation


def of_sample(data: bytes) -> Metrics:
    """The metrics of all that was ever done in a text."""
    parser = JobStatsParser()
    whole = [0] * 5
    for entry in [*parser.feed(data), *parser.close()]:
        increases = {
            operation(name, counter.unit): Increase(counter.samples, counter.total or 0)
            for name, counter in entry.counters.items()
        }
        whole = [before + more for before, more in zip(whole, metrics(increases), strict=True)]
    return Metrics(*whole)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Added up by hand.
        ("iml-lustre-2.3-ost.job_stats", Metrics(671088640, 220986046 + 671088640, 662, 3060 + 640, 3478 + 1)),
        ("telegraf-lustre2-2.12-ost.job_stats", Metrics(4096 + 1024, 26214400 + 51200, 2, 50, 2)),
        ("telegraf-issue15185-2.14-ost-head.lctl", Metrics(8039751680, 3152019456, 937568, 189, 0)),
        ("datadog-2.16-ost.lctl", Metrics(0, 69957, 0, 6, 4 + 4 + 5)),
        ("datadog-2.16-mdt.job_stats", Metrics(0, 0, 0, 0, 4 + 3 + 4 + 2 + 7 + 1 + 1)),
    ],
)
def test_metrics_of_published_texts(samples: dict[str, bytes], name: str, expected: Metrics) -> None:
    assert of_sample(samples[name]) == expected


def test_what_was_not_read_is_no_operation_on_metadata() -> None:
    assert metrics({UNREAD: Increase(7, 0), "open": Increase(2, 30)}) == Metrics(metadata_iops=2)


def test_the_clock_of_the_reader_does_not_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.time()
    clock = SteadyClock()
    assert begun - 1 <= clock() <= time.time() + 1
    before = clock()
    monkeypatch.setattr(time, "time", lambda: begun - 3600)
    assert before <= clock() < begun + 3600
    monkeypatch.setattr(time, "time", lambda: begun + 3600)
    assert clock() >= begun + 3600
