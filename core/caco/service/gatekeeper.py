"""What every request passes: its id, its token, its body's size; then the log and the metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
import traceback
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caco.service.metrics import Metrics
from caco.service.settings import ServiceSettings

__all__ = ["OPEN_PATHS", "Gatekeeper", "problem"]

OPEN_PATHS = ("/", "/health", "/openapi.json", "/assets/")
"""What needs no token: paths, and prefixes that end in a slash."""

_log = logging.getLogger("caco.service")

_DRAINED_BODIES = 8
"""A body that is too large is read and dropped up to so many times the limit: a client that is
still sending when the connection closes sees a reset, not the answer."""

_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


def problem(message: str) -> dict[str, str]:
    """Return the body of an answer that says what went wrong."""
    return {"detail": message}


class _RefusedError(Exception):
    """The request goes no further."""

    def __init__(
        self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


@dataclass
class _Exchange:
    """One request and how far its answer has come."""

    scope: Scope
    send: Send
    request_id: str
    status: int = 0

    async def tagged_send(self, message: Message) -> None:
        """Send on, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = (*_HEADERS, (b"x-request-id", self.request_id.encode("ascii")))
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await self.send(message)

    async def answer(
        self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        """Answer with a problem."""
        body = json.dumps(problem(message)).encode("utf-8")
        kind = (b"content-type", b"application/json")
        length = (b"content-length", str(len(body)).encode("ascii"))
        await self.tagged_send(
            {"type": "http.response.start", "status": status, "headers": [kind, length, *headers]}
        )
        await self.tagged_send({"type": "http.response.body", "body": body})


class Gatekeeper:
    """ASGI middleware around everything else.

    Nothing of a request's text is logged: not its body, its query, nor a path that is no route.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, metrics: Metrics) -> None:
        self._app = app
        self._token = None if settings.token is None else _digest(settings.token.encode("utf-8"))
        self._max_body = settings.max_body_bytes
        self._timeout_s = settings.timeout_s
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        exchange = _Exchange(scope, send, _request_id(headers))
        scope.setdefault("state", {})["request_id"] = exchange.request_id
        started = time.perf_counter()
        try:
            self._check_token(scope, headers)
            body = await self._body(headers, receive)
            await self._app(scope, _replayed(body, receive), exchange.tagged_send)
        except _RefusedError as refused:
            await exchange.answer(refused.status, refused.message, refused.headers)
        except Exception as error:  # noqa: BLE001 (the last stop: its message may quote the text)
            _log.error("request_id=%s error=%s at %s", exchange.request_id, *_place(error))
            if not exchange.status:
                await exchange.answer(500, "internal error; the log has the request's id")
        finally:
            self._record(exchange, time.perf_counter() - started)

    def _check_token(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        path = scope["path"]
        if self._token is None or any(
            path == open_path
            or (len(open_path) > 1 and open_path[-1] == "/" and path.startswith(open_path))
            for open_path in OPEN_PATHS
        ):
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        # Digests: neither the time nor the length of the comparison tells anything.
        right = hmac.compare_digest(_digest(given.strip()), self._token)
        if scheme.lower() != b"bearer" or not right:
            raise _RefusedError(
                401, "a valid bearer token is needed", ((b"www-authenticate", b"Bearer"),)
            )

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Read the body; refuse one that is too large or too slow."""
        try:
            return await asyncio.wait_for(self._read(headers, receive), self._timeout_s)
        except asyncio.TimeoutError:
            raise _RefusedError(408, "the body did not come in time") from None

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        too_large = _RefusedError(413, f"the body is over {self._max_body} bytes")
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._max_body * _DRAINED_BODIES:
            raise too_large
        parts: list[bytes] = []
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedError(400, "the client went away")
            part = message.get("body", b"")
            length += len(part)
            more = message.get("more_body", False)
            if length <= self._max_body:
                parts.append(part)
            elif length > self._max_body * _DRAINED_BODIES:
                break
        if length > self._max_body:
            raise too_large
        return b"".join(parts)

    def _record(self, exchange: _Exchange, seconds: float) -> None:
        path = getattr(exchange.scope.get("route"), "path", "other")
        self._metrics.request(path, exchange.status, seconds)
        _log.info(
            "request_id=%s method=%s path=%s status=%d ms=%.1f",
            exchange.request_id,
            exchange.scope["method"] if path != "other" else "-",
            path,
            exchange.status,
            seconds * 1000,
        )


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    """Return the client's id if it is a UUID, so that no text comes in that way; else a new one."""
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    try:
        if str(uuid.UUID(given)) == given:
            return given
    except ValueError:
        pass
    return str(uuid.uuid4())


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _place(error: BaseException) -> tuple[str, str]:
    """Return an error's type and where it came from, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return type(error).__name__, " < ".join(reversed(places))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the body once, then what the client does."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
