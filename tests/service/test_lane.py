"""The queues: batching, limits, isolation, closing."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")

from caco.service.lane import Lane, OverloadedError, TimedOutError


def make(work, **options):
    options = {"max_batch": 8, "max_waiting": 16, "timeout_s": 10.0, **options}
    lane = Lane("test", work, **options)
    lane.start()
    return lane


def echo(jobs, _abandoned):
    return list(jobs)


def test_outcomes_reach_their_own_jobs_in_batches():
    sizes = []
    lane = make(echo, max_waiting=100, on_batch=sizes.append)

    async def ask():
        return await asyncio.gather(*(lane.submit(number) for number in range(50)))

    assert asyncio.run(ask()) == list(range(50))
    assert sum(sizes) == 50
    assert max(sizes) <= 8
    assert len(sizes) < 20
    lane.close(5)


def test_an_exception_is_raised_to_its_own_job():
    def work(jobs, _abandoned):
        return [ValueError(f"job {job}") if job == 2 else job for job in jobs]

    lane = make(work)

    async def ask():
        return await asyncio.gather(*(lane.submit(n) for n in range(4)), return_exceptions=True)

    found = asyncio.run(ask())
    assert isinstance(found.pop(2), ValueError)
    assert found == [0, 1, 3]
    lane.close(5)


def test_a_batch_that_fails_is_tried_one_by_one():
    batches = []

    def work(jobs, _abandoned):
        batches.append(list(jobs))
        if 2 in jobs:
            raise RuntimeError("two")
        return list(jobs)

    lane = make(work)

    async def ask():
        return await asyncio.gather(*(lane.submit(n) for n in range(4)), return_exceptions=True)

    found = asyncio.run(ask())
    assert isinstance(found[2], RuntimeError)
    assert [found[n] for n in (0, 1, 3)] == [0, 1, 3]
    assert [2] in batches
    lane.close(5)


def test_the_queue_is_bounded():
    go, entered = threading.Event(), threading.Event()

    def work(jobs, _abandoned):
        entered.set()
        go.wait(10)
        return list(jobs)

    lane = make(work, max_waiting=2, max_batch=1)

    async def ask():
        first = asyncio.create_task(lane.submit(0))
        await asyncio.to_thread(entered.wait, 10)
        waiting = [asyncio.create_task(lane.submit(n)) for n in (1, 2)]
        await asyncio.sleep(0)
        assert lane.waiting == 2
        with pytest.raises(OverloadedError) as caught:
            await lane.submit(3)
        assert 1 <= caught.value.retry_after <= 60
        go.set()
        assert await asyncio.gather(first, *waiting) == [0, 1, 2]

    asyncio.run(ask())
    lane.close(5)


def test_what_is_given_up_leaves_the_queue_and_the_work_is_told():
    told, done = threading.Event(), []

    def work(jobs, abandoned):
        if jobs == [0]:
            while not abandoned():
                pass
            told.set()
        done.extend(jobs)
        return list(jobs)

    lane = make(work, timeout_s=0.2, max_batch=1)

    async def ask():
        first = asyncio.create_task(lane.submit(0))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(lane.submit(1))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(TimedOutError):
            await first
        assert lane.waiting == 0
        assert await lane.submit(2) == 2

    asyncio.run(ask())
    assert told.is_set()
    assert done == [0, 2]
    lane.close(5)


def test_closing_answers_what_waits_and_takes_no_more():
    go, entered = threading.Event(), threading.Event()

    def work(jobs, _abandoned):
        entered.set()
        go.wait(10)
        return list(jobs)

    lane = make(work, max_batch=1)

    async def ask():
        tasks = [asyncio.create_task(lane.submit(n)) for n in range(3)]
        await asyncio.to_thread(entered.wait, 10)
        closing = asyncio.create_task(asyncio.to_thread(lane.close, 10))
        await asyncio.sleep(0.05)
        with pytest.raises(OverloadedError):
            await lane.submit(3)
        go.set()
        await closing
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [0, 1, 2]


def test_a_lane_that_never_started_closes():
    Lane("test", echo, max_batch=1, max_waiting=1, timeout_s=1).close(0.1)
