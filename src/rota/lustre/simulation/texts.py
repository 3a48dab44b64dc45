"""Entries as each generation of Lustre writes them.

Source: the texts in the tests, which those releases have written; what none of them shows, 2.17 above all, is taken
from Lustre's source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rota.lustre.job_ids import escape
from rota.lustre.metrics import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.lustre.counters import Counter, JobStats

#: A longer id is cut.
LONGEST_ID = 31


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_OST_2_3 = ("read", "write", "setattr", "punch", "sync")
_OST_2_6 = (READ, WRITE, *_names("getattr setattr punch sync destroy create statfs get_info set_info quotactl"))
_OST_2_14 = (READ, WRITE, "read", "write", *_OST_2_6[2:], "prealloc")
_MDT_2_3 = _names(
    "open close mknod link unlink mkdir rmdir rename getattr setattr getxattr setxattr statfs sync samedir_rename "
    "crossdir_rename"
)
_MDT_2_12 = (*_MDT_2_3, READ, WRITE, "punch")
_MDT_2_14 = (*_MDT_2_3, "read", "write", READ, WRITE, "punch", "migrate")
_MDT_2_16 = (*_MDT_2_3[:-1], "parallel_rename_file", "parallel_rename_dir", *_MDT_2_14[15:], "fallocate")


@dataclass(frozen=True)
class Generation:
    """What tells the texts of some releases from others."""

    ost: tuple[str, ...]
    mdt: tuple[str, ...]
    #: All operations are timed, and squares are summed up.
    is_timed: bool = False
    has_times: bool = False
    #: 2.15.0 and 2.15.1: headers without indent, and seconds since the server's boot.
    is_uptime: bool = False
    is_quoted: bool = False
    has_histogram: bool = False
    #: Large squares as ``1.234e+20``.
    is_rounded: bool = False

    def text(self, target: str, entries: Iterable[JobStats], boot: float) -> bytes:
        """Write a target's parameter as ``lctl get_param`` does.

        Args:
            target: Its name; one with ``-MDT`` in it is an MDT.
            entries: Its jobs; counters that they lack are zero.
            boot: When the server was booted, on the clock of the entries.
        """
        kind, operations = ("mdt", self.mdt) if "-MDT" in target else ("obdfilter", self.ost)
        header = f"{kind}.{target}.job_stats=".encode()
        zeros = {name: self._counter(name, None) for name in operations}
        parts = [self._entry(entry, operations, zeros, boot) for entry in entries]
        return b"%bjob_stats:\n%b" % (header + b"\n" if parts else header, b"".join(parts))

    def _entry(self, entry: JobStats, operations: tuple[str, ...], zeros: Mapping[str, bytes], boot: float) -> bytes:
        lines = [b"- job_id:          " + self._id(entry.raw_id), *self._times(entry, boot)]
        done = entry.counters
        for name in operations:
            counter = done.get(self._meant(name))
            lines.append(zeros[name] if counter is None else self._counter(name, counter))
        return b"\n".join(lines) + b"\n"

    def _meant(self, name: str) -> str:
        return name if self.is_timed or name not in {"read", "write"} else f"{name}_bytes"

    def _id(self, job_id: bytes) -> bytes:
        if self.is_quoted:
            return escape(job_id[:LONGEST_ID])
        return re.sub(rb"[^ -~]", b"?", job_id[:LONGEST_ID])

    def _times(self, entry: JobStats, boot: float) -> list[bytes]:
        snapshot, start = entry.snapshot_time or 0.0, entry.start_time or 0.0
        if not self.has_times:
            return [b"  snapshot_time:   %d" % snapshot]
        since = boot if self.is_uptime else 0.0
        times = {"snapshot_time": snapshot - since, "start_time": start - since, "elapsed_time": snapshot - start}
        form = "{:16}: {:.9f} secs.nsecs" if self.is_uptime else "  {:16} {:.9f} secs.nsecs"
        return [form.format(name if self.is_uptime else f"{name}:", value).encode() for name, value in times.items()]

    def _counter(self, name: str, counter: Counter | None) -> bytes:
        is_bytes = self._meant(name) in {READ, WRITE}
        unit = "bytes" if is_bytes else "usecs" if self.is_timed else " reqs"
        samples, minimum, maximum, total, squares = (counter[0], *counter[2:6]) if counter else (0, 0, 0, 0, 0)
        text = f"  {name + ':':16} {{ samples: {samples:11}, unit: {unit}"
        if self.is_timed:
            shown = f"{squares:18}" if not self.is_rounded or (squares or 0) < 10**18 else f"{squares:18.3e}"
            text += f", min: {minimum:8}, max: {maximum:8}, sum: {total:16}, sumsq: {shown}"
        elif is_bytes:
            text += f", min:{minimum:8}, max:{maximum:8}, sum:{total:16}"
        if is_bytes and self.has_histogram:
            sizes = counter.histogram.decode().strip() if counter and counter.histogram else ""
            text += f", hist: {{ {sizes} }}"
        return (text + " }").encode()


_2_3 = Generation(_OST_2_3, _MDT_2_3)
_2_7 = replace(_2_3, ost=_OST_2_6)
_2_12 = replace(_2_7, mdt=_MDT_2_12)
_2_14 = Generation(_OST_2_14, _MDT_2_14, is_timed=True)
_2_15 = replace(_2_14, has_times=True, is_quoted=True)
_2_16 = replace(_2_15, mdt=_MDT_2_16, has_histogram=True)

#: By release, from which on they are written like this.
GENERATIONS = {
    "2.3": _2_3,
    "2.7": _2_7,
    "2.12": _2_12,
    "2.14": _2_14,
    "2.15.0": replace(_2_15, is_uptime=True, is_quoted=False),
    "2.15": _2_15,
    "2.16": _2_16,
    "2.17": replace(_2_16, mdt=(*_MDT_2_16, "rename_trylocks"), is_rounded=True),
}
