"""No plugin, whatever it does, puts a label on a wrong job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from rota.jobmeta.pairing import LONGEST_TEXT, Item, clean, pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.interfaces import Metadata

IDS = st.lists(st.text("0123456789.[]ab", min_size=1, max_size=4), min_size=1, max_size=8, unique=True)


def _same(job_id: str) -> str:
    return job_id


def _truth(job_id: str) -> dict[str, Any]:
    """What is right about a job, and about no other."""
    return {"user": f"the user of {job_id}"}


class Bad:
    """A plugin that omits, repeats, reorders, adds and raises as drawn; what it says of an id is true of that id."""

    def __init__(self, data: st.DataObject, form: str) -> None:
        self.data = data
        self.form = form

    def fetch(self, ids: Sequence[str]) -> Any:
        said = self.data.draw(st.lists(st.sampled_from([*ids, "999999"]), max_size=12))
        if self.form == "mapping":
            return {job_id: _truth(job_id) for job_id in said}
        return self._answers(said)

    def _answers(self, said: list[str]) -> Iterator[dict[str, Any]]:
        broken = self.data.draw(st.integers(0, 20))
        for number, job_id in enumerate(said):
            if number == broken:
                raise RuntimeError("broken")
            yield {"id": job_id, **_truth(job_id)}


def _answers(result: Any) -> tuple[list[Any], bool]:
    if isinstance(result, dict):
        return [Item(name, fields) for name, fields in result.items()], True
    answers = []
    try:
        for answer in result:
            answers.append(answer)  # noqa: PERF402 - those before it raises
    except RuntimeError:
        return answers, False
    return answers, True


@given(ids=IDS, form=st.sampled_from(["rows", "mapping"]), data=st.data())
def test_a_bad_plugin_that_says_whose_answer_it_is(ids: list[str], form: str, data: st.DataObject) -> None:
    answers, whole = _answers(Bad(data, form).fetch(ids))
    found = pair(ids, answers, _same, whole=whole).found
    assert all(fields == _truth(job_id) for job_id, fields in found.items())
    said = {answer.name if isinstance(answer, Item) else answer["id"] for answer in answers}
    assert found.keys() == said & set(ids)


@given(ids=IDS, number=st.integers(0, 12), whole=st.booleans())
def test_answers_by_position_count_only_if_there_are_exactly_as_many(ids: list[str], number: int, whole: bool) -> None:
    """A plugin of the original API that leaves jobs out would shift all that follow."""
    answers = [_truth(job_id) for job_id in (ids * 12)[-number:]] if number else []
    paired = pair(ids, answers, _same, whole=whole)
    if whole and number == len(ids):
        assert paired.found == {job_id: _truth(job_id) for job_id in ids}
    else:
        assert paired.found == {}
    assert bool(paired.faults) == (whole and number not in {0, len(ids)})


@given(ids=IDS, data=st.data())
def test_contradictions_are_not_used(ids: list[str], data: st.DataObject) -> None:
    twice = data.draw(st.sampled_from(ids))
    answers = data.draw(
        st.permutations([{"id": job_id, **_truth(job_id)} for job_id in ids] + [{"id": twice, "user": "x"}])
    )
    paired = pair(ids, answers, _same, whole=True)
    assert paired.found == {job_id: _truth(job_id) for job_id in ids if job_id != twice}
    assert paired.faults == [f"it contradicts itself about {twice!r}: no answer about it is used"]


def test_none_and_an_empty_dict_keep_a_place_for_an_unknown_job() -> None:
    found = pair(["1", "2", "3"], [None, {"user": "b"}, {}], _same, whole=True).found
    assert found == {"2": {"user": "b"}}


def test_answers_that_are_no_dicts() -> None:
    for wrong in ("ab", ["ab", "cd"], [1, 2], [("user", "a"), ("user", "b")]):
        paired = pair(["1", "2"], list(wrong), _same, whole=True)
        assert paired.found == {}
        assert "where a dict was expected" in paired.faults[0]


def test_ids_are_compared_as_the_scheduler_writes_them() -> None:
    found = pair(["7"], [{"id": "7.server", "user": "a"}], lambda text: text.partition(".")[0], whole=True).found
    assert found == {"7": {"user": "a"}}


def test_ids_may_be_numbers() -> None:
    assert pair(["7"], [{"id": 7, "user": "a"}], _same, whole=True).found == {"7": {"user": "a"}}
    assert pair(["7"], [Item(7, {"user": "a"})], _same, whole=True).found == {"7": {"user": "a"}}


def test_metadata_is_plain_and_of_one_line() -> None:
    metadata: Metadata = clean(
        {"id": "1", "name": "a\nb\x1b[31mc", "none": None, "list": [1], "nan": float("nan"), 3: 4, "long": "x" * 10**6}
    )
    assert metadata == {
        "name": "a?b?[31mc", "list": "[1]", "nan": "nan", "3": 4, "long": "x" * LONGEST_TEXT
    }  # fmt: skip


def test_a_dict_without_id_among_those_that_have_one() -> None:
    paired = pair(["1", "2"], [{"id": "1", "user": "a"}, {"user": "b"}, None], _same, whole=True)
    assert paired.found == {"1": {"user": "a"}}
    assert paired.faults == ["it gave {'user': 'b'} where a dict with `id` was expected"]
