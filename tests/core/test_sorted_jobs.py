"""Sorted lists of jobs, compared with sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rota.core.job import Job
from rota.core.sorted_jobs import JobSequence, SortedJobs
from rota.model import Partition
from rota.testing import spec

if TYPE_CHECKING:
    from rota.core.job_view import PluginJob

PART = Partition(name="p", nodes=1)


def _jobs(keys: list[int]) -> dict[int, Job]:
    return {key: Job(key, spec(), 0, PART, 1) for key in keys}


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "reverse", "look"]), st.integers(0, 15)), max_size=60))
def test_sorted_jobs_are_sorted_and_what_was_handed_out_stays_as_it_was(steps: list[tuple[str, int]]) -> None:
    jobs, there, sign = _jobs(list(range(16))), set[int](), 1
    container = SortedJobs()
    views: list[tuple[JobSequence, list[PluginJob]]] = []
    for what, key in steps:
        if what == "add" and key not in there:
            container.add(jobs[key], (sign * key,))
            there.add(key)
        elif what == "remove" and key in there:
            container.remove(jobs[key])
            there.remove(key)
            assert jobs[key].sort_key == ()
        elif what == "reverse":
            old, sign = sign, -sign
            for job in container:
                job.sort_key = (sign * job.job_id,)
            up_to = {sign * number for number in there if old * number <= old * key}
            assert container.moved((old * key,)) == (max(up_to, default=old * key),)
            container.resort()
        elif what == "look":
            views.append((container.snapshot(), [job.view for job in container]))
        expected = [jobs[i] for i in (sorted(there) if sign > 0 else sorted(there, reverse=True))]
        assert list(container) == expected
        assert container.jobs == expected
        assert len(container) == len(expected)
        assert container.check()
    for view, then in views:
        assert list(view) == then
        assert view[:2] == then[:2]
        assert len(view) == len(then)
