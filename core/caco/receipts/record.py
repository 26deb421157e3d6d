"""A receipt: what was decided about one answer, at what tension, from which documents."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caco.models import Decision, Document
from caco.settings import number_in_unit_interval

if TYPE_CHECKING:
    from caco.tension import CTS as Tension  # noqa: N811 (a field of `Site` is called CTS)

__all__ = ["SCHEMA_FILE", "Receipt", "Site", "check_name", "make_receipt", "receipt_from_dict"]

SCHEMA_FILE = Path(__file__).parent / "receipt.schema.json"
"""The JSON Schema (2020-12) of a receipt."""

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")


@dataclass(frozen=True)
class Site:
    """A place on an answer's path where tension was measured.

    Attributes:
        name: "retrieve", "summarize", "generate", or a tool call's ("tool:search"): at most 64
            letters, digits and ``_ . : / -``.
        S: Compression strain in [0, 1].
        C: Contradiction magnitude in [0, 1].
        CTS: Tension in [0, 1].
        provenance: Ids of the documents that were read there.

    Raises:
        ValueError: A name with other characters, or a number outside [0, 1].
    """

    name: str
    S: float
    C: float
    CTS: float
    provenance: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("a site's name", self.name)
        for key in ("S", "C", "CTS"):
            object.__setattr__(self, key, number_in_unit_interval(key, getattr(self, key)))
        object.__setattr__(self, "provenance", tuple(map(str, self.provenance)))

    @classmethod
    def of(cls, name: str, tension: Tension, documents: Sequence[Document] = ()) -> Site:
        """Build one from a tension and the documents (with ids) it was measured against."""
        ids = tuple(document.id for document in documents if document.id is not None)
        return cls(name, tension.S, tension.C, tension.value, ids)


@dataclass(frozen=True)
class Receipt:
    """The record of one answer; `make_receipt` fills in what can be filled in.

    Attributes:
        request_id: A UUID.
        timestamp: UTC, RFC 3339, with a "Z".
        user_role: Who asked, by role: at most 64 letters, digits and ``_ . : / -``.
        sites: Where tension was measured, in order; at least one.
        decision: What the gating policy decided.
        token_count: Words of the answer.
        raw_text: The answer, only where that was asked for; None: not logged.

    Raises:
        ValueError: A field is not of its form.
    """

    request_id: str
    timestamp: str
    user_role: str
    sites: tuple[Site, ...]
    decision: Decision
    token_count: int
    raw_text: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", tuple(self.sites))
        if str(uuid.UUID(self.request_id)) != self.request_id:
            raise ValueError(f"request_id must be a UUID, not {self.request_id!r}")
        if not _TIMESTAMP.fullmatch(self.timestamp):
            raise ValueError(f"timestamp must be UTC in RFC 3339, not {self.timestamp!r}")
        check_name("user_role", self.user_role)
        if not self.sites:
            raise ValueError("a receipt needs at least one site")
        number_in_unit_interval("tau_star", self.decision.tau_star)
        if not isinstance(self.decision.abstained, bool):
            raise ValueError(f"abstained must be a bool, not {self.decision.abstained!r}")
        if type(self.token_count) is not int or self.token_count < 0:
            raise ValueError(f"token_count must be a count of words, not {self.token_count!r}")

    @property
    def path_scores(self) -> dict[str, float]:
        """S, C and CTS over the path: the mean over the sites."""
        return {
            key: math.fsum(getattr(site, key) for site in self.sites) / len(self.sites)
            for key in ("S", "C", "CTS")
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as its schema has it."""
        plain: dict[str, Any] = {
            "request_id": self.request_id,
            "timestamp": self.timestamp,
            "user_role": self.user_role,
            "sites": [
                {
                    "name": site.name,
                    "S": site.S,
                    "C": site.C,
                    "CTS": site.CTS,
                    "provenance": list(site.provenance),
                }
                for site in self.sites
            ],
            "path_scores": self.path_scores,
            "decision": {
                "abstained": self.decision.abstained,
                "reason": self.decision.reason,
                "tau_star": self.decision.tau_star,
            },
            "redaction": {
                "raw_text_logged": self.raw_text is not None,
                "token_count": self.token_count,
            },
        }
        return plain if self.raw_text is None else {**plain, "raw_text": self.raw_text}


def make_receipt(
    text: str,
    sites: Sequence[Site],
    decision: Decision,
    *,
    user_role: str = "user",
    request_id: str | None = None,
    log_raw_text: bool = False,
) -> Receipt:
    """Write a receipt for an answer.

    Args:
        text: The answer; only its words are counted, unless ``log_raw_text`` is True.
        sites: Where tension was measured.
        decision: What was decided.
        user_role: Who asked, by role.
        request_id: A UUID. None: a new one.
        log_raw_text: True puts the answer itself into the receipt, which then says so.

    Raises:
        ValueError: As in `Receipt` and `Site`.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return Receipt(
        request_id=request_id if request_id is not None else str(uuid.uuid4()),
        timestamp=now.replace("+00:00", "Z"),
        user_role=user_role,
        sites=tuple(sites),
        decision=decision,
        token_count=len(text.split()),
        raw_text=text if log_raw_text else None,
    )


def receipt_from_dict(data: Mapping[str, Any]) -> Receipt:
    """Read a receipt from what `Receipt.to_dict` wrote; a hash chain's entry is passed over.

    Raises:
        ValueError: It is no receipt, or its path scores are not the mean of its sites.
    """
    try:
        given = {key: value for key, value in data.items() if key != "chain"}
        redaction = given["redaction"]
        receipt = Receipt(
            request_id=given["request_id"],
            timestamp=given["timestamp"],
            user_role=given["user_role"],
            sites=tuple(Site(**site) for site in given["sites"]),
            decision=Decision(**given["decision"]),
            token_count=redaction["token_count"],
            raw_text=given.get("raw_text"),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a receipt: {error!r}") from error
    if receipt.to_dict() != given:
        raise ValueError("not a receipt: its fields do not agree with each other")
    return receipt


def check_name(what: str, name: object) -> None:
    """Raise ``ValueError`` unless a name is of a form that gives nothing away."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{what} must be 1 to 64 letters, digits and _ . : / -, not {name!r}")
