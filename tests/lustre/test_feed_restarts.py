"""A restart: counting goes on from what was remembered, whoever reads first and whatever the clocks say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.lustre.deltas import Deltas
from rota.lustre.store import Writer, tiers_of

from .test_feed import BEGIN, Server

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("back", [0, 305, 1000])
def test_counting_goes_on_after_a_restart(tmp_path: Path, back: int) -> None:
    """The clock may have been set back meanwhile."""
    store, path = tmp_path / "store", tmp_path / "oss1"
    before = Server(path, Deltas())
    before.holds(5, active=-5, start=-100)
    writer = Writer(store, tiers_of(10))
    for at, samples in ((0, 5), (10, 6)):
        before.holds(samples, active=at, start=-100)
        before.feed.read(BEGIN + at, lambda some, changes: writer.write(some, BEGIN, changes))
    before.counts(20)  # it is killed before this is written
    writer.close()
    writer = Writer(store, tiers_of(10))
    deltas = Deltas()
    deltas.restore(writer.remembered(), BEGIN + 300 - back)
    after = Server(path, deltas)
    after.holds(9, active=250, start=-100)
    assert after.counts(310 - back) == 3
    after.holds(4, job=8, active=316 - back, start=315 - back)
    assert after.counts(320 - back) == 4
    writer.close()


def test_a_copy_that_is_behind_after_a_restart_forgets_nothing(tmp_path: Path) -> None:
    """While the other source, which has read more, cannot be read."""
    live, writer = Server(tmp_path / "oss1", Deltas()), Writer(tmp_path / "store", tiers_of(10))
    for at, job in ((0, 7), (10, 8)):
        live.holds(5, job=job, active=at - 1)
        live.feed.read(BEGIN + at, lambda some, changes, at=at: writer.write(some, BEGIN + at, changes))  # type: ignore[misc]
    deltas = Deltas()
    deltas.restore(writer.remembered(), BEGIN + 15)
    writer.close()
    live, copy = Server(live.path, deltas), Server(tmp_path / "copy", deltas)
    copy.holds(5, job=7, active=-1)
    assert [copy.counts(at) for at in (20, 30, 40, 50)] == [0] * 4
    live.holds(6, job=8, active=59)
    assert live.counts(60) == 1


def test_a_server_whose_clock_is_set_back_before_a_restart_is_read_on(tmp_path: Path) -> None:
    """After a minute it is known that no other source has the target, than which this one may be behind."""
    server = Server(tmp_path / "oss1", Deltas())
    writer = Writer(tmp_path / "store", tiers_of(10))
    server.holds(5, active=3600, start=-10)
    server.feed.read(BEGIN + 3601, lambda some, changes: writer.write(some, BEGIN + 3601, changes))
    server = Server(server.path, Deltas())
    server.deltas.restore(writer.remembered(), BEGIN + 3610)
    writer.close()
    for at, samples in ((3610, 5), (3640, 7), (3680, 8)):
        server.holds(samples, active=at - 3600, start=-10)
        assert server.counts(at) == (3 if at == 3680 else 0)


def test_what_is_forgotten_is_not_there_after_a_restart(tmp_path: Path) -> None:
    writer, server = Writer(tmp_path / "store", tiers_of(10)), Server(tmp_path / "oss1", Deltas())
    for step in range(5):
        server.holds(5, job=7 if step == 0 else 8)
        server.feed.read(BEGIN + 10 * step, lambda some, changes: writer.write(some, BEGIN, changes))
    assert [key.job_id for key in writer.remembered().jobs] == ["8"]
    writer.close()


@pytest.mark.parametrize("after", [(40, 5, 70), (40,), (6, 40)])
def test_targets_without_a_name_whose_number_changes_while_nobody_reads(tmp_path: Path, after: tuple[int, ...]) -> None:
    """Over a restart: another target than before is at each place, and nobody knows which. The same number goes on."""
    path, text = tmp_path / "dump", "job_stats:\n- job_id: 1\n  sync: {{ samples: {}, unit: reqs }}\n"
    path.write_text(text.format(5) + text.format(30))
    with_store = Server(path, Deltas())
    writer = Writer(tmp_path / "store", tiers_of(10))
    with_store.feed.read(BEGIN, lambda some, changes: writer.write(some, BEGIN, changes))
    deltas = Deltas()
    deltas.restore(writer.remembered(), BEGIN + 20)
    writer.close()
    server = Server(path, deltas)
    path.write_text("".join(map(text.format, after)))
    assert server.read(30)[0] == ([1, 10] if len(after) == 2 else [])
    path.write_text("".join(text.format(number + 1) for number in after))
    assert server.read(40)[0] == [1] * len(after)


@pytest.mark.parametrize("boot", [0, BEGIN])
def test_a_copy_that_shows_after_a_restart_what_was_replaced_counts_nothing(tmp_path: Path, boot: int) -> None:
    """It is read first: with times since a boot, as in 2.15.0, and with those of two clocks."""
    store, path = tmp_path / "store", tmp_path / "oss1"
    server, writer = Server(path, Deltas()), Writer(store, tiers_of(10))
    for at, samples, start in ((0, 5, -100), (10, 8, -100), (20, 3, -120), (30, 4, -120)):
        server.holds(samples, active=start + 90 + at + 900 - boot, start=start + 900 - boot)
        server.feed.read(BEGIN + at, lambda some, changes, at=at: writer.write(some, BEGIN + at, changes))  # type: ignore[misc]
    deltas = Deltas()
    deltas.restore(writer.remembered(), BEGIN + 35)
    writer.close()
    server, copy = Server(path, deltas), Server(tmp_path / "copy", deltas)
    copy.holds(7, active=900 - boot, start=800 - boot)
    assert copy.counts(40) == 0
    copy.holds(9, active=905 - boot, start=800 - boot)  # what nobody had read before
    assert copy.counts(50) == 1
    server.holds(6, active=920 - boot, start=780 - boot)
    assert server.counts(51) == 2
