"""The answers that the examples check: three columns, of which two hold what is needed."""

from __future__ import annotations

TERMS = "The Pro plan costs $35 per month. It can be cancelled at any time."

ANSWERS: dict[str, list[object]] = {
    "id": ["right", "wrong", "nowhere"],
    "response": [
        "The Pro plan costs $35 per month.",
        "The Pro plan costs $53 per month.",
        "The Pro plan includes a phone number.",
    ],
    "context": [[TERMS], [TERMS], [TERMS]],
}
