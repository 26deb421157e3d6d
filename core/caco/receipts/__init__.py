"""Receipts: what was decided about an answer, at what tension, from which documents; not the text.

One JSON object a line, as ``receipt.schema.json`` beside these modules describes it.
"""

from caco.receipts.lines import ReceiptCheck
from caco.receipts.log import ReceiptLog, verify_receipts
from caco.receipts.record import (
    SCHEMA_FILE,
    Receipt,
    Site,
    check_name,
    make_receipt,
    receipt_from_dict,
)
from caco.receipts.sinks import Sink, logging_sink, opentelemetry_sink

__all__ = [
    "SCHEMA_FILE",
    "Receipt",
    "ReceiptCheck",
    "ReceiptLog",
    "Sink",
    "Site",
    "check_name",
    "logging_sink",
    "make_receipt",
    "opentelemetry_sink",
    "receipt_from_dict",
    "verify_receipts",
]
