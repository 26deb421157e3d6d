"""What all tests share: no network, the same hypothesis examples, and a watch on event loops."""

from __future__ import annotations

import asyncio
import functools
import importlib
import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

# Before any test imports a library that would look something up on its own.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

settings.register_profile("caco", derandomize=True, deadline=None, database=None)
settings.load_profile("caco")

_TRAINING = Path(__file__).parent.parent / "training"
_SOCKET_METHODS = ("connect", "connect_ex")


class NetworkBlockedError(RuntimeError):
    """A test tried to reach something other than this machine."""


def _is_local(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def _guard_sockets() -> Iterator[dict[str, bool]]:
    """Let nothing but loopback addresses be connected to, or looked up, while tests run."""
    state = {"allowed": False}
    patch = pytest.MonkeyPatch()

    def guarded(original: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            is_remote = isinstance(address, tuple) and not _is_local(address[0])
            if is_remote and not state["allowed"]:
                raise NetworkBlockedError(f"connection to {address!r}")
            return original(self, address)

        return connect

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        if not _is_local(host) and not state["allowed"]:
            raise NetworkBlockedError(f"look-up of {host!r}")
        return look_up(host, *rest, **options)

    for name in _SOCKET_METHODS:
        patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
    patch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield state
    patch.undo()


@pytest.fixture(autouse=True)
def _network_only_where_marked(
    request: pytest.FixtureRequest, _guard_sockets: dict[str, bool]
) -> Iterator[None]:
    _guard_sockets["allowed"] = request.node.get_closest_marker("network") is not None
    yield
    _guard_sockets["allowed"] = False


@pytest.fixture(scope="module")
def import_training() -> Iterator[Callable[[str], ModuleType]]:
    """Import a script of ``training/`` by its name; the module is forgotten afterwards."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_TRAINING))
        yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(_TRAINING) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


class LoopWatch:
    """Whether the event loop turns while work goes on that could hold it up.

    The work itself asks the loop to run something, and waits for it. A loop that the work runs on,
    or that stands still until the work is done, cannot. How long anything takes does not matter.
    """

    _PATIENCE = 60

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._wrapped: list[str] = []
        self._asked: set[int] = set()
        self._held_up_in: str | None = None

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which now asks first; of a generator only its start would ask."""
        number = len(self._wrapped)
        self._wrapped.append(function.__qualname__)

        @functools.wraps(function)
        def asking(*arguments: Any, **options: Any) -> Any:
            self._ask(number)
            return function(*arguments, **options)

        return asking

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine function; every function of `within` must be called, the loop free.

        Work in the background has to end before the coroutine does.
        """
        self._asked.clear()

        async def main() -> Any:
            self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
            return await work()

        try:
            result = asyncio.run(main())
        finally:
            self._loop = None
        # An exception at the place itself might be caught and logged by what is tested.
        assert self._held_up_in is None, f"the loop stands still in {self._held_up_in}"
        for number, name in enumerate(self._wrapped):
            assert number in self._asked, f"{name} was not called"
        return result

    def _ask(self, number: int) -> None:
        if self._loop is None:
            return
        self._asked.add(number)
        if self._held_up_in is not None:
            return
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        # On the loop's own thread there is nothing to wait for.
        if not turned.wait(0 if threading.get_ident() == self._thread else self._PATIENCE):
            self._held_up_in = self._wrapped[number]


@pytest.fixture
def loop_watch() -> LoopWatch:
    return LoopWatch()


@pytest.fixture
def watched_validator(loop_watch: LoopWatch, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An engine with the embedded model; its claims and its scores are watched."""
    from caco.classifier.onnx import OnnxScorer
    from caco.extractor.rule import RuleExtractor
    from caco.validator import Validator

    for part, name in ((RuleExtractor, "claims"), (OnnxScorer, "score")):
        monkeypatch.setattr(part, name, loop_watch.within(getattr(part, name)))
    return Validator()


@pytest.fixture
def count_calls() -> Callable[[Callable[[], Any]], int]:
    """Count the calls that a function makes, of Python's and of C's functions.

    A measure of its work that a busy machine does not change. What goes on inside a regular
    expression is not in it.
    """

    def count(function: Callable[[], Any]) -> int:
        calls = 0

        def seen(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(seen)
        try:
            function()
        finally:
            sys.setprofile(before)
        return calls

    return count
