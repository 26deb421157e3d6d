"""The service's endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from caco import __version__
from caco.classifier.base import ClassifierContract
from caco.errors import MissingExtraError
from caco.render import render_fragment
from caco.service.engine import Check, Checked, Compute, Computed, Engine
from caco.service.gatekeeper import Gatekeeper, problem
from caco.service.lane import Lane, OverloadedError, TimedOutError
from caco.service.metrics import Metrics
from caco.service.responses import (
    COMPUTE,
    HEALTH,
    METRICS,
    SIGNALS,
    TRAIN,
    VALIDATE,
    describe,
    field_problem,
    validation_problem,
)
from caco.service.schemas import ComputeBody, SignalsBody, TrainBody, ValidateBody
from caco.service.settings import ServiceSettings
from caco.signals import detect_signals
from caco.tension import fit_weights

__all__ = ["create_app"]

_LARGE_CHECK = 5_000_000
"""Characters of the answer times those of the documents: over this, a check waits in a queue of its
own, so that the common ones, some milliseconds each, do not wait for it."""
_ASSETS = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "view.css": "text/css",
    "view.js": "text/javascript",
}

_Task = Callable[[], Any]


@dataclass(frozen=True)
class _Desk:
    """What the endpoints share."""

    engine: Engine
    metrics: Metrics
    checks: Lane[Check, Checked]
    large_checks: Lane[Check, Checked]
    computations: Lane[Compute, Computed]
    tasks: Lane[_Task, Any]

    @property
    def lanes(self) -> tuple[Lane[Any, Any], ...]:
        return self.checks, self.large_checks, self.computations, self.tasks


def create_app(
    settings: ServiceSettings | None = None,
    *,
    classifier: ClassifierContract | None = None,
    engine: Engine | None = None,
) -> FastAPI:
    """Build the ASGI application.

    Args:
        settings: Limits, policy and receipts. None: the defaults.
        classifier: Verifies claims instead of the embedded model, in every language.
        engine: A whole engine, instead.

    Returns:
        The application; its lifespan loads the model, and ends the queues.
    """
    settings = settings if settings is not None else ServiceSettings()
    desk = _desk(settings, engine if engine is not None else Engine(settings, classifier))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(desk.engine.preload)
        for lane in desk.lanes:
            lane.start()
        yield
        for lane in desk.lanes:
            await asyncio.to_thread(lane.close, settings.shutdown_s)

    # No interactive API pages: they would load scripts from outside.
    app = FastAPI(
        title="caco",
        version=__version__,
        summary="Checks answers against their documents, claim by claim, with evidence.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.desk = desk
    app.include_router(_router)
    app.add_middleware(Gatekeeper, settings=settings, metrics=desk.metrics)
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, handler)
    app.openapi = lambda: _described(app, settings)  # type: ignore[method-assign]
    return app


def _desk(settings: ServiceSettings, engine: Engine) -> _Desk:
    metrics = Metrics()

    def lane(name: str, work: Any, **options: Any) -> Lane[Any, Any]:  # noqa: ANN401
        options = {"max_batch": 1, **options}
        made: Lane[Any, Any] = Lane(
            f"caco-{name}",
            work,
            max_waiting=settings.max_waiting,
            timeout_s=settings.timeout_s,
            **options,
        )
        metrics.watch(name, lambda: made.waiting)
        return made

    return _Desk(
        engine,
        metrics,
        checks=lane("checks", engine.check, max_batch=settings.max_batch, on_batch=metrics.batch),
        large_checks=lane("large-checks", engine.check),
        computations=lane("computations", engine.compute),
        tasks=lane("tasks", _do),
    )


def _do(tasks: Sequence[_Task], _abandoned: Callable[[], bool]) -> list[Any]:
    return [task() for task in tasks]


_router = APIRouter()


@_router.post("/validate", responses=VALIDATE)
async def validate(body: ValidateBody, request: Request) -> Response:
    """Check an answer against its documents, claim by claim.

    Asked for ``text/html``, the answer is the rendering that the page at ``/`` shows.
    """
    desk: _Desk = request.app.state.desk
    check = Check(
        response=body.response,
        documents=body.context,
        prompt=body.prompt,
        language=body.language,
        threshold=body.threshold,
        user_role=body.user_role,
        request_id=request.state.request_id,
    )
    lane = desk.large_checks if check.size > _LARGE_CHECK else desk.checks
    checked = await lane.submit(check)
    desk.metrics.answer(checked.result)
    if request.headers.get("accept", "").startswith("text/html"):
        return HTMLResponse(render_fragment(checked.result, check.documents))
    return JSONResponse({**checked.result.to_dict(), "receipt": checked.receipt.to_dict()})


@_router.post("/compute", responses=COMPUTE)
async def compute(body: ComputeBody, request: Request) -> Response:
    """Compute the cognitive tension of a text: CTS = S x C."""
    desk: _Desk = request.app.state.desk
    job = Compute(
        text=body.text,
        documents=body.sources,
        constraints=body.constraints,
        mode=body.mode,
        language=body.language,
        user_role=body.user_role,
        request_id=request.state.request_id,
    )
    try:
        computed = await desk.computations.submit(job)
    except (MissingExtraError, ValueError) as error:
        return field_problem("constraints", str(error))
    plain = computed.tension.to_dict()
    plain["CTS"] = plain.pop("value")
    return JSONResponse({**plain, "receipt": computed.receipt.to_dict()})


@_router.post("/train/cac", responses=TRAIN)
async def train(body: TrainBody, request: Request) -> Response:
    """Learn the weights of a tension's components from examples."""
    desk: _Desk = request.app.state.desk
    try:
        fitted = await desk.tasks.submit(lambda: fit_weights(body.features, body.target_cts))
    except ValueError as error:
        return field_problem("features", str(error))
    return JSONResponse(fitted.to_dict())


@_router.post("/signals", responses=SIGNALS)
async def signals(body: SignalsBody, request: Request) -> Response:
    """Look for surface signals of hallucination, without a model."""
    desk: _Desk = request.app.state.desk
    report = await desk.tasks.submit(
        lambda: detect_signals(body.model_output, body.context, language=body.language)
    )
    return JSONResponse(report.to_dict())


@_router.get("/health", responses=HEALTH)
async def health(request: Request) -> Response:
    """Say that the service runs, and with what."""
    desk: _Desk = request.app.state.desk
    waiting = sum(lane.waiting for lane in desk.lanes)
    return JSONResponse(
        {"status": "ok", "version": __version__, "model": desk.engine.model, "waiting": waiting}
    )


@_router.get("/metrics", responses=METRICS)
async def metrics(request: Request) -> Response:
    """Give the metrics in Prometheus' text format."""
    desk: _Desk = request.app.state.desk
    return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@_router.get("/", include_in_schema=False)
async def page() -> Response:
    """Give the page."""
    return HTMLResponse(_asset("page.html"))


@_router.get("/assets/{name}", include_in_schema=False)
async def asset(name: str) -> Response:
    """Give what the page needs."""
    if name not in _ASSETS:
        raise HTTPException(404)
    return Response(_asset(name), media_type=_ASSETS[name])


def _asset(name: str) -> str:
    return (resources.files("caco") / "assets" / name).read_text(encoding="utf-8")


async def _on_invalid(_request: Request, error: Exception) -> Response:
    return validation_problem(error) if isinstance(error, RequestValidationError) else _failed()


async def _on_http_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return _failed()
    if error.status_code == 400:  # what FastAPI says of a body that its JSON parser gave up on
        return field_problem("", "the body is not JSON that can be read")
    return JSONResponse(problem(error.detail), error.status_code, headers=error.headers)


async def _on_overload(_request: Request, error: Exception) -> Response:
    seconds = error.retry_after if isinstance(error, OverloadedError) else 1
    return JSONResponse(problem(str(error)), 503, headers={"Retry-After": str(seconds)})


async def _on_timeout(_request: Request, error: Exception) -> Response:
    return JSONResponse(problem(str(error)), 504)


def _failed() -> Response:
    return JSONResponse(problem("internal error"), 500)


_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Any]] = {
    RequestValidationError: _on_invalid,
    HTTPException: _on_http_error,
    OverloadedError: _on_overload,
    TimedOutError: _on_timeout,
}


def _described(app: FastAPI, settings: ServiceSettings) -> dict[str, Any]:
    if app.openapi_schema is None:
        plain = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        app.openapi_schema = describe(plain, needs_token=settings.token is not None)
    return app.openapi_schema
