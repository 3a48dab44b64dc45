"""The directories of running jobs: whose they are, and which are used again."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from executor.stuck import StuckFileSystem

from rota.controller.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_directory_of_a_batch_script_is_used_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    first = spool.write_script(1, "one", os.getuid(), os.getgid()).parent
    inode = first.stat().st_ino
    spool.remove(1)
    assert not first.exists()
    script = spool.write_script(2, "two", os.getuid(), os.getgid())
    assert script == tmp_path / "spool" / "job00002" / "slurm_script"
    assert script.parent.stat().st_ino == inode
    assert script.read_text() == "two"
    assert (_mode(script), _mode(script.parent)) == (0o700, 0o711)


def test_the_directory_of_an_allocation_is_not(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    directory = spool.make_allocation(1, os.getuid(), os.getgid())
    (directory / "slurm_script").touch()  # it is its user's, who can make it look like that of a script
    spool.remove(1)
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_nothing_is_asked_of_what_a_user_has_mounted(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    directory = spool.make_allocation(1, 1, 1)
    try:
        system = StuckFileSystem(directory)
    except OSError as error:
        pytest.skip(str(error))
    with system:
        system.stick()
        assert spool.make_allocation(1, 1, 1) == directory
        spool.remove(1)
        assert list((tmp_path / "spool").iterdir()) == []


def test_what_an_earlier_controller_left_is_used(tmp_path: Path) -> None:
    before = Spool(tmp_path / "spool")
    before.write_script(1, "one", os.getuid(), os.getgid())
    before.remove(1)
    before.write_script(2, "two", os.getuid(), os.getgid())
    before.remove(2)
    spool = Spool(tmp_path / "spool")
    directory = spool.make_allocation(3, os.getuid(), os.getgid())
    assert _mode(directory) == 0o700
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["job00003"]


def test_a_directory_that_somebody_has_removed_is_made_anew(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.write_script(1, "one", os.getuid(), os.getgid())
    spool.remove(1)
    for path in (tmp_path / "spool").iterdir():
        path.rmdir()
    assert spool.write_script(2, "two", os.getuid(), os.getgid()).read_text() == "two"


def test_a_script_that_is_written_again_is_there_all_the_time(tmp_path: Path) -> None:
    """It may be about to be executed, for a controller that was killed."""
    script = Spool(tmp_path / "spool").write_script(1, "#!/bin/true\n", os.getuid(), os.getgid())
    writer = Thread(target=lambda: [_write_again(tmp_path) for _ in range(2000)])
    writer.start()
    while writer.is_alive():
        assert script.read_text() == "#!/bin/true\n"
    writer.join()
    (script.parent / "slurm_script.new").touch()  # by a controller that was killed meanwhile
    assert _write_again(tmp_path).read_text() == "#!/bin/true\n"
    Spool(tmp_path / "spool").remove(1)
    assert list((tmp_path / "spool").iterdir()) == []


def _write_again(folder: Path) -> Path:
    return Spool(folder / "spool").write_script(1, "#!/bin/true\n", os.getuid(), os.getgid())
