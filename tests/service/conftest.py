"""A service on a loopback port, run by uvicorn in a thread."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")
import httpx
import uvicorn

from caco.service import ServiceSettings, create_app


class Running:
    """A service that runs, and a client for it."""

    def __init__(self, app, port):
        self.app = app
        self.address = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.address, timeout=30, trust_env=False)

    def post(self, path, **body):
        return self.client.post(path, json=body)


@contextmanager
def running(settings=None, **options):
    """Serve until the block ends; requests under way are answered first."""
    app = create_app(settings or ServiceSettings(), **options)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        config = uvicorn.Config(app, log_config=None, access_log=False, log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        service = Running(app, listener.getsockname()[1])
        service.server = server
        try:
            yield service
        finally:
            service.client.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture(scope="session")
def serve():
    return running


@pytest.fixture(scope="module")
def engine_service():
    """With the embedded model."""
    with running() as service:
        yield service
