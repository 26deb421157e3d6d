"""An answer that is checked while it streams; no input or output of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from llama_index.core.schema import NodeWithScore

from caco.models import ClaimResult, Labels, ValidationResult
from caco.receipts import Receipt
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import said
from llamaindex_caco.policy import FailurePolicy

__all__ = ["AnswerStream", "OnClaim"]

OnClaim = Callable[[ClaimResult], None]

_MAY_END_A_CLAIM = re.compile(r"[.!?…:;\n][^\w\s]*\s*\S")
"""Only where this occurs is it worth asking the engine whether a claim is complete."""
_LOOK_BACK = 8


class AnswerStream:
    """Takes the tokens of one answer and says which text may be passed on.

    With "annotate" every token may, at once. With "raise" a sentence may once its claims are
    verified; after the first that is not, nothing may until the whole answer is judged. With
    "replace" and "redact", and wherever a gating policy has the last word, nothing may before the
    end, since what is shown depends on all of it.

    Use: ``add`` each token; whenever ``is_due``, ``judge`` (the slow part); at the end ``finish``,
    then ``rest``. Not thread-safe.

    Args:
        checker: The engine.
        policy: What happens when the answer fails.
        nodes: What the answer must be backed by.
        query: The question.
        on_claim: Called with each check-worthy claim's verdict, in order, once it is complete.
    """

    def __init__(
        self,
        checker: Checker,
        policy: FailurePolicy,
        nodes: Sequence[NodeWithScore],
        query: str | None,
        on_claim: OnClaim | None = None,
    ) -> None:
        self._checker = checker
        self._policy = policy
        self._nodes = nodes
        self._documents = checker.documents(nodes)
        self._query = query
        self._on_claim = on_claim
        self._engine = checker.streaming(self._documents, query)
        self._text = ""
        self._fed = 0
        self._passed_on = 0
        self._reported = 0
        # A gating policy decides on the whole answer only.
        gated = checker.policy is not None
        self._passes_all = policy.on_fail == "annotate" and not gated
        self._may_release = policy.on_fail == "raise" and not gated
        self._threshold = (
            checker.validator.threshold if checker.threshold is None else checker.threshold
        )

    @property
    def is_due(self) -> bool:
        """Whether a claim may have become complete since the last `judge`."""
        start = max(0, self._fed - _LOOK_BACK)
        found = _MAY_END_A_CLAIM.search(self._text, start)
        while found is not None and found.end() <= self._fed:
            found = _MAY_END_A_CLAIM.search(self._text, found.start() + 1)
        return found is not None

    def add(self, token: str) -> str:
        """Take a token; return the text that may be passed on at once."""
        self._text += token
        return self._release(len(self._text)) if self._passes_all else ""

    def judge(self) -> str:
        """Check the claims that became complete; return the text that may be passed on."""
        new, self._fed = self._text[self._fed :], len(self._text)
        verified = self._passed_on
        for claim in self._engine.feed(new):
            self._may_release = self._may_release and not self._fails(claim)
            if self._may_release and claim.end is not None:
                verified = claim.end
            self._report(claim)
        return self._release(verified)

    def finish(self) -> tuple[ValidationResult, Receipt | None]:
        """Return the verdict on the whole answer, as if checked at once, and its receipt if any."""
        self._checker.read(self._nodes, self._query)
        result = self._checker.check(said(self._text), self._documents, self._query)
        for claim in result.claims:
            if claim.checkworthy and (claim.start is None or claim.start >= self._reported):
                self._report(claim)
        return result, self._checker.receipt(result)

    def rest(self, result: ValidationResult) -> str:
        """Return what is left to pass on under the verdict.

        Raises:
            HallucinationError: The check failed and the policy is to raise.
        """
        shown = self._policy.text(result)
        if shown == result.response:
            return self._release(len(self._text))
        return shown

    def _report(self, claim: ClaimResult) -> None:
        self._reported = claim.end or self._reported
        if self._on_claim is not None:
            self._on_claim(claim)

    def _release(self, end: int) -> str:
        start, self._passed_on = self._passed_on, max(end, self._passed_on)
        return self._text[start : self._passed_on]

    def _fails(self, claim: ClaimResult) -> bool:
        return claim.label is not Labels.VALUE_ENTAILMENT or claim.risk > self._threshold
