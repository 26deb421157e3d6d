"""What the service can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from caco.gate import GatingPolicy
from caco.receipts import Sink, logging_sink

__all__ = ["ServiceSettings"]


@dataclass(frozen=True)
class ServiceSettings:
    """Limits, policy and receipts of a service.

    Attributes:
        token: What requests must carry as ``Authorization: Bearer``. None: no token is asked for.
            The page at ``/``, ``/health`` and the API's description are open in any case.
        policy: Decides which answers should be withheld.
        receipts: Takes the receipt of each answer, before the client gets it.
        max_body_bytes: The largest body of a request.
        max_waiting: Requests that may wait for the engine; more are turned away.
        max_batch: Answers checked together.
        max_claims: Check-worthy claims verified in one answer; one with more never passes.
        timeout_s: Seconds until a request that was not answered is given up.
        shutdown_s: Seconds that requests under way have when the service is told to stop.

    Raises:
        ValueError: A limit that is not positive, or an empty token.
        TypeError: A part of a wrong type.
    """

    token: str | None = field(default=None, repr=False)
    policy: GatingPolicy = field(default_factory=GatingPolicy)
    receipts: Sink = field(default_factory=logging_sink)
    max_body_bytes: int = 1_000_000
    max_waiting: int = 128
    max_batch: int = 32
    max_claims: int = 500
    timeout_s: float = 30.0
    shutdown_s: float = 30.0

    def __post_init__(self) -> None:
        if self.token is not None and not self.token.strip():
            raise ValueError("the token is empty")
        if not isinstance(self.policy, GatingPolicy):
            raise TypeError(f"policy must be a GatingPolicy, not {type(self.policy).__name__}")
        if not callable(self.receipts):
            raise TypeError(f"receipts must be callable, not {type(self.receipts).__name__}")
        for name in (
            "max_body_bytes",
            "max_waiting",
            "max_batch",
            "max_claims",
            "timeout_s",
            "shutdown_s",
        ):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
