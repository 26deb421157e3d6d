"""The guard in conftest.py is real: without it, every other test could be online unnoticed."""

from __future__ import annotations

import socket
import urllib.request

import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80)])
def test_a_remote_address_cannot_be_connected_to(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(RuntimeError, match="connection to"):
        client.connect(address)


def test_a_remote_name_cannot_be_looked_up():
    with pytest.raises(RuntimeError, match=r"look-up of 'example\.org'"):
        urllib.request.urlopen("http://example.org/")


def test_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"x")
            accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(1) == b"x"
