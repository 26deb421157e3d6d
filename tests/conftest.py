"""What all tests share: no network, and the same hypothesis examples on every run."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
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
