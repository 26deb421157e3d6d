"""Sinks for receipts besides the file: Python logging and OpenTelemetry."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from caco.errors import MissingExtraError
from caco.receipts.record import Receipt

__all__ = ["Sink", "logging_sink", "opentelemetry_sink"]

Sink = Callable[[Receipt], None]
"""What takes receipts: any callable."""


def logging_sink(logger: str | logging.Logger = "caco.receipts", level: int = logging.INFO) -> Sink:
    """Return a sink that writes each receipt as one JSON message to a Python logger."""
    target = logging.getLogger(logger) if isinstance(logger, str) else logger

    def write(receipt: Receipt) -> None:
        target.log(level, "%s", json.dumps(receipt.to_dict()))

    return write


def opentelemetry_sink(logger_provider: Any = None) -> Sink:  # noqa: ANN401 (an optional package's)
    """Return a sink that emits each receipt as an OpenTelemetry log record.

    The record's event name is "caco.receipt", its body the receipt's JSON, its attributes
    ``caco.request_id``, ``caco.cts``, ``caco.abstained`` and ``caco.reason``; it belongs to the
    span in force.

    Args:
        logger_provider: An OpenTelemetry ``LoggerProvider``. None: the global one.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry._logs import LogRecord, SeverityNumber, get_logger_provider
    except ImportError as error:
        raise MissingExtraError("Receipts as OpenTelemetry log records", "otel") from error
    provider = logger_provider if logger_provider is not None else get_logger_provider()
    logger = provider.get_logger("caco.receipts")

    def emit(receipt: Receipt) -> None:
        plain = receipt.to_dict()
        attributes: dict[str, str | float | bool] = {
            "caco.request_id": receipt.request_id,
            "caco.cts": plain["path_scores"]["CTS"],
            "caco.abstained": receipt.decision.abstained,
        }
        if receipt.decision.reason is not None:
            attributes["caco.reason"] = receipt.decision.reason
        logger.emit(
            LogRecord(
                timestamp=int(_seconds(receipt.timestamp) * 1e9),
                severity_number=SeverityNumber.INFO,
                severity_text="INFO",
                body=json.dumps(plain),
                attributes=attributes,
                event_name="caco.receipt",
            )
        )

    return emit


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
