"""Long work of requests leaves others their turn, however many do it."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise
from time import sleep, thread_time

from rota.controller import slices


def test_others_have_their_turn() -> None:
    """Ten requests with half a second of work each: what else there is to do waits for little work."""

    async def long() -> None:
        async for _ in slices.in_slices(range(250)):
            began = thread_time()
            while thread_time() < began + 0.002:
                pass

    async def test() -> float:
        work = [asyncio.create_task(long()) for _ in range(10)]
        await asyncio.sleep(0)  # all begin with a slice
        longest = 0.0
        while not all(one.done() for one in work):
            began = thread_time()
            await asyncio.sleep(0)
            longest = max(longest, thread_time() - began)
        return longest

    assert asyncio.run(test()) < 0.1


def test_some_of_many_are_asked_together() -> None:
    asked: list[int] = []
    turns: list[int] = []

    async def ask(number: int) -> int:
        asked.append(number)
        await asyncio.sleep(0)
        return number

    async def watch() -> None:
        while True:
            turns.append(len(asked))
            await asyncio.sleep(0)

    async def test() -> list[int]:
        watching = asyncio.create_task(watch())
        found = [one async for one in slices.together(map(ask, range(100)))]
        watching.cancel()
        return found

    assert asyncio.run(test()) == asked == list(range(100))
    assert max(after - before for before, after in pairwise(turns)) == 16


def test_what_is_due_is_done_in_its_order_a_slice_at_a_time() -> None:
    done: list[int] = []
    turns: list[int] = []

    def work(number: int) -> None:
        done.append(number)
        until = thread_time() + 0.002
        while thread_time() < until:
            pass
        if number == 10:
            raise ValueError("the others are done all the same")

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        due = slices.InTurn()
        due.add(partial(work, number) for number in range(100))
        due.add([partial(work, 100)])
        while len(done) < 101:
            turns.append(len(done))
            await asyncio.sleep(0)

    asyncio.run(test())
    assert done == [*range(101)]
    assert max(after - before for before, after in pairwise(turns)) <= 10


def test_what_is_due_can_be_finished_at_once() -> None:
    done: list[int] = []

    told: list[Exception] = []

    def work(number: int) -> None:
        done.append(number)
        sleep(0.001)
        if number == 40:
            raise ValueError("the others are done all the same")

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        due = slices.InTurn()
        due.add(partial(work, number) for number in range(50))
        assert len(done) < 50
        due.finish()
        assert done == [*range(50)]
        assert len(told) == 1

    asyncio.run(test())
