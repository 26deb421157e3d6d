"""Running the service with uvicorn."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable

import uvicorn

from caco.errors import CacoError
from caco.service.app import create_app
from caco.service.engine import Engine
from caco.service.settings import ServiceSettings

__all__ = ["serve"]

_log = logging.getLogger("caco.service")


def serve(
    settings: ServiceSettings | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    on_ready: Callable[[str], None] = lambda _address: None,
) -> None:
    """Serve until SIGINT or SIGTERM; then requests under way are answered first.

    Args:
        settings: Limits, policy and receipts. None: the defaults.
        host: The address to bind.
        port: The port; 0: any free one.
        on_ready: Told the service's address when the model is loaded and the port is bound.

    Raises:
        OSError: The address cannot be bound.
        ModelNotAvailableError: The model could not be loaded.
        CacoError: The server could not start.
    """
    settings = settings if settings is not None else ServiceSettings()
    engine = Engine(settings)
    engine.preload()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=2048) as listener:
        if settings.token is None and not _is_loopback(host):
            _log.warning("bound to %s without a token: anyone who reaches it can use it", host)
        config = uvicorn.Config(
            create_app(settings, engine=engine),
            access_log=False,  # it would hold the paths and queries that clients make up
            log_config=None,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_s)),
        )
        server = uvicorn.Server(config)
        shown = f"[{host}]" if family is socket.AF_INET6 else host
        on_ready(f"http://{shown}:{listener.getsockname()[1]}")
        server.run(sockets=[listener])
    if not server.started:
        raise CacoError("the service could not start; the log says why")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
