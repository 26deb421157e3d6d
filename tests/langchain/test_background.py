"""The queue that works in the background: in order, bounded, and never stuck."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from langchain_caco.background import BackgroundQueue


def test_in_order():
    done: list[int] = []
    queue = BackgroundQueue(done.append, size=1000)
    assert all(queue.put(number) for number in range(500))
    assert queue.flush(timeout=10)
    assert done == list(range(500))


def test_from_many_threads_nothing_is_lost():
    done: list[int] = []
    queue = BackgroundQueue(done.append, size=10_000)
    threads = [
        threading.Thread(target=lambda: [queue.put(number) for number in range(200)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.flush(timeout=10)
    assert sorted(done) == sorted([*range(200)] * 8)


def test_work_that_fails_does_not_stop_the_rest(caplog):
    done: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            raise OSError("disk full")
        done.append(number)

    queue = BackgroundQueue(work, size=10)
    for number in range(3):
        queue.put(number)
    assert queue.flush(timeout=10)
    assert done == [1, 2]
    assert "disk full" in caplog.text


def test_a_full_queue_refuses():
    gate = threading.Event()
    queue = BackgroundQueue(lambda _: gate.wait(10), size=2)
    taken = [queue.put(number) for number in range(10)]
    assert taken.count(False) in (7, 8)
    assert queue.flush(timeout=0.01) is False
    gate.set()
    assert queue.flush(timeout=10)
    assert queue.put(1)
    assert queue.flush(timeout=10)


def test_flush_from_the_work_is_refused():
    problems: list[Exception] = []

    def work(_: int) -> None:
        with pytest.raises(RuntimeError) as caught:
            queue.flush()
        problems.append(caught.value)

    queue = BackgroundQueue(work, size=1)
    queue.put(1)
    assert queue.flush(timeout=10)
    assert len(problems) == 1


def test_no_thread_waits_for_work():
    queue = BackgroundQueue(lambda _: None, size=1)
    queue.put(1)
    queue.flush()
    deadline = time.monotonic() + 5
    while any(t.name == "caco-monitor" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_interpreter_waits_for_what_is_queued():
    program = """
import time
from langchain_caco.background import BackgroundQueue
def work(number):
    time.sleep(0.05)
    print(number, flush=True)
queue = BackgroundQueue(work, 10)
for number in range(4):
    queue.put(number)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0", "1", "2", "3"]
