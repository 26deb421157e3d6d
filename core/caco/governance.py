"""A governed path: tension measured at every step of a RAG answer, one receipt at its end.

```
path = GovernedPath(validator, RagCaiConfig(token_budget=2000), sink=ReceiptLog("receipts.jsonl"))
sources = path.retrieve(question, documents)  # what contradicts the others comes last
result = path.generate(write_answer(question, sources), sources)
receipt = path.receipt()
```
"""

from __future__ import annotations

import asyncio
import copy
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import ClassVar

from caco.classifier import ClassifierContract
from caco.evidence import Context, as_documents
from caco.gate import GatingPolicy
from caco.models import Decision, Document, ValidationResult
from caco.ranking import CountTokens, RankedSource, Ranker, Ranking, checked_budget, rank_sources
from caco.receipts import Receipt, Sink, Site, check_name, make_receipt
from caco.settings import Settings, number_in_unit_interval
from caco.tension import tension_among
from caco.validator import Validator

__all__ = [
    "GENERATE",
    "RETRIEVE",
    "SUMMARIZE",
    "GovernedPath",
    "RagCaiConfig",
    "RankedSource",
    "Ranker",
    "Ranking",
    "current_path",
    "rank_retrieved",
]

RETRIEVE, SUMMARIZE, GENERATE = "retrieve", "summarize", "generate"
"""The sites of a RAG path, by name."""

_NEEDED = ("validate", "tension", "classifier", "language")


@dataclass(frozen=True)
class RagCaiConfig(Settings):
    """The settings of a governed RAG path, read from a file or given.

    A file may hold them under the key ``rag_cai``, beside the settings of others:

    ```yaml
    rag_cai:
      token_budget: 2000
      tau_target: 0.6
      ranker: {penalty_weight: 0.8, conflicting: drop}
    ```

    Attributes:
        token_budget: The most tokens of retrieved text to hand to the model, at least 1: whole
            documents are kept in rank order up to the first that no longer fits; the best one
            always stays. None: no limit.
        tau_target: The highest tension of an answer that passes, in [0, 1]: it becomes the gating
            policy's ``tau_star``, for the rule ``CTS > tau_star``.
        ranker: How retrieved documents are ranked; a `Ranker`, or a mapping with its fields.

    Raises:
        ValueError: A value out of its range, or an unknown field of the ranker.
        TypeError: A value of a wrong type.
    """

    kind: ClassVar[str] = "RAG configuration"
    section: ClassVar[str | None] = "rag_cai"

    token_budget: int | None = None
    tau_target: float = 0.70
    ranker: Ranker = field(default_factory=Ranker)

    def __post_init__(self) -> None:
        checked_budget(self.token_budget)
        tau = number_in_unit_interval("tau_target", self.tau_target)
        object.__setattr__(self, "tau_target", tau)
        if isinstance(self.ranker, Mapping):
            object.__setattr__(self, "ranker", Ranker.from_dict(self.ranker))
        if not isinstance(self.ranker, Ranker):
            kind = type(self.ranker).__name__
            raise TypeError(f"ranker must be a Ranker or a mapping, not {kind}")


class GovernedPath:
    """The path of one answer through retrieval, summaries and generation; made anew for each.

    Each step adds a `caco.Site` with its tension and the ids of the documents it read; `receipt`
    ends the path. Texts are not kept. Thread-safe.

    Args:
        validator: The engine; may be shared. None: one on the embedded model. Its gating policy, or
            the default one, decides on the answer.
        config: Token budget, ranker, and the tension to hold to, which replaces the ``tau_star`` of
            the validator's policy. None: the defaults, and the policy's own ``tau_star``.
        user_role: Who asked, by role: at most 64 letters, digits and ``_ . : / -``.
        sink: Called with the receipt: a `caco.ReceiptLog`, or any callable. None: nobody.
        request_id: A UUID. None: a new one.
        count_tokens: Counts a text's tokens for the budget. None: the embedded model's tokenizer.

    Raises:
        ValueError: A role or a request id that is not of its form.
        TypeError: An argument of a wrong type.
    """

    def __init__(
        self,
        validator: Validator | None = None,
        config: RagCaiConfig | None = None,
        *,
        user_role: str = "user",
        sink: Sink | None = None,
        request_id: str | None = None,
        count_tokens: CountTokens | None = None,
    ) -> None:
        if config is not None and not isinstance(config, RagCaiConfig):
            raise TypeError(f"config must be a RagCaiConfig or None, not {type(config).__name__}")
        for name, function in (("sink", sink), ("count_tokens", count_tokens)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}")
        check_name("user_role", user_role)
        engine = Validator() if validator is None else validator
        lacking = [name for name in _NEEDED if not hasattr(engine, name)]
        if lacking:
            kind = type(engine).__name__
            raise TypeError(f"validator must be a Validator, not a {kind}; it lacks {lacking}")
        policy = getattr(engine, "policy", None) or GatingPolicy()
        self.config = config if config is not None else RagCaiConfig(tau_target=policy.tau_star)
        self.policy = replace(policy, tau_star=self.config.tau_target)
        # The decision is made here, so that the tension is computed once.
        self._validator = copy.copy(engine)
        self._validator.policy = None
        self.request_id = str(uuid.uuid4() if request_id is None else uuid.UUID(request_id))
        self.user_role = user_role
        self._sink = sink
        self._count_tokens = count_tokens
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._sites: list[Site] = []
        self._query: str | None = None
        self._answer: ValidationResult | None = None
        self._receipt: Receipt | None = None

    @property
    def validator(self) -> Validator:
        """The engine, without its policy: the path decides."""
        return self._validator

    @property
    def sites(self) -> tuple[Site, ...]:
        """Where tension was measured so far, in order."""
        return tuple(self._sites)

    def provenance(self, name: str) -> frozenset[str] | None:
        """Return the ids of all documents read at the sites of a name; None without such a site."""
        sites = [site for site in self.sites if site.name == name]
        return frozenset(id_ for site in sites for id_ in site.provenance) if sites else None

    def retrieve(
        self,
        query: str | None,
        documents: Context,
        *,
        scores: Sequence[float | None] | None = None,
    ) -> tuple[Document, ...]:
        """Rank retrieved documents, and add the site "retrieve".

        Its tension is that of all the documents, each against the others: see
        `caco.tension.tension_among`.

        Args:
            query: What was asked; short answers are read with it.
            documents: What was retrieved, best first.
            scores: The retriever's scores, one for each document, if it has any.

        Returns:
            The documents to answer from, best first, within the token budget.

        Raises:
            ValueError: As in `caco.ranking.rank_sources`.
            TypeError: A document of a wrong type.
            RuntimeError: The path has ended.
        """
        ranking = rank_sources(
            as_documents(documents),
            self._validator.classifier,
            ranker=self.config.ranker,
            language=self._validator.language,
            scores=scores,
            token_budget=self.config.token_budget,
            count=self._count_tokens,
        )
        self.retrieved(ranking, query)
        return ranking.documents

    def retrieved(self, ranking: Ranking, query: str | None = None) -> None:
        """Add the site "retrieve" for documents that have been ranked elsewhere.

        Args:
            ranking: What `rank_retrieved` or `caco.ranking.rank_sources` returned.
            query: What was asked.

        Raises:
            RuntimeError: The path has ended.
        """
        given = ranking.given
        site = Site.of(RETRIEVE, tension_among(given, ranking.report), given)
        self._add(site)
        if query is not None:
            self._query = query

    def read_from(self, documents: Context, query: str | None = None) -> None:
        """Add the site "retrieve" for documents that nobody ranked.

        Nothing is added if all of them stand in the path's "retrieve" sites already.

        Args:
            documents: What the answer is written from.
            query: What was asked.

        Raises:
            ValueError: As in `retrieve`.
            RuntimeError: The path has ended.
        """
        with self._reading:  # steps side by side read the same documents
            given = as_documents(documents)
            known = self.provenance(RETRIEVE)
            if known is not None and known.issuperset(document.id for document in given):
                return
            ranking = rank_sources(
                given,
                self._validator.classifier,
                ranker=self.config.ranker,
                language=self._validator.language,
            )
            self.retrieved(ranking, query)

    def summarize(
        self, summary: str, documents: Context, prompt: str | None = None
    ) -> ValidationResult:
        """Check a summary of the documents, and add the site "summarize"; see `measure`."""
        return self.measure(SUMMARIZE, summary, documents, prompt)

    def generate(
        self, answer: str, documents: Context, prompt: str | None = None
    ) -> ValidationResult:
        """Check the answer, and add the site "generate"; see `measure`.

        An answer that is tried again adds a site each time; the receipt tells the last decision.
        """
        return self.measure(GENERATE, answer, documents, prompt)

    def measure(
        self, name: str, text: str, documents: Context, prompt: str | None = None
    ) -> ValidationResult:
        """Check what a step wrote against the documents it read, and add its site.

        Args:
            name: The site's name: "summarize", "generate", or a tool call's ("tool:search").
            text: What was written.
            documents: What it was written from; not a summary of that, where it can be had.
            prompt: The question. None: the query of the retrieval.

        Returns:
            The verdict, with the policy's decision as its ``gate``.

        Raises:
            ValueError: The text is blank, or the name is not of its form.
            RuntimeError: The path has ended.

        Whatever `caco.Validator.validate` raises surfaces as it is.
        """
        given = as_documents(documents)
        result = self._validator.validate(text, given, self._query if prompt is None else prompt)
        return self.checked(name, result, given)

    def checked(
        self, name: str, result: ValidationResult, documents: Sequence[Document]
    ) -> ValidationResult:
        """Add the site of a step whose check has been made elsewhere; else as `measure`.

        Args:
            name: The site's name.
            result: The check; its own ``gate`` is replaced.
            documents: What it was checked against, with ids.
        """
        tension = self._validator.tension(result, documents)
        result = replace(result, gate=self.policy.decide(result, tension))
        self._add(Site.of(name, tension, documents))
        if name == GENERATE:
            self._answer = result
        return result

    def receipt(self, result: ValidationResult | None = None) -> Receipt:
        """End the path: write its receipt, and hand it to the sink.

        The receipt has the mean of each score over the sites, and the decision on the answer, which
        was made by the answer's own tension: calm steps before it do not make up for a tense
        answer.

        Args:
            result: The verdict on the answer that is given out, if several were tried; one that
                this path returned. None: the last.

        Returns:
            The receipt; called again, the same one, which is not handed to the sink again.

        Raises:
            RuntimeError: No answer was checked yet.

        Whatever the sink raises surfaces as it is, and the path has not ended.
        """
        with self._lock:
            if self._receipt is None:
                answer = self._answer if result is None else result
                if answer is None or answer.gate is None:
                    raise RuntimeError("there is no answer to write a receipt for: call generate")
                receipt = self._written(answer.response, answer.gate)
                if self._sink is not None:
                    self._sink(receipt)
                self._receipt = receipt
            return self._receipt

    async def aretrieve(
        self,
        query: str | None,
        documents: Context,
        *,
        scores: Sequence[float | None] | None = None,
    ) -> tuple[Document, ...]:
        """`retrieve`, with the event loop left free."""
        return await asyncio.to_thread(self.retrieve, query, documents, scores=scores)

    async def asummarize(
        self, summary: str, documents: Context, prompt: str | None = None
    ) -> ValidationResult:
        """`summarize`, with the event loop left free."""
        return await asyncio.to_thread(self.summarize, summary, documents, prompt)

    async def agenerate(
        self, answer: str, documents: Context, prompt: str | None = None
    ) -> ValidationResult:
        """`generate`, with the event loop left free."""
        return await asyncio.to_thread(self.generate, answer, documents, prompt)

    async def aread_from(self, documents: Context, query: str | None = None) -> None:
        """`read_from`, with the event loop left free."""
        await asyncio.to_thread(self.read_from, documents, query)

    async def achecked(
        self, name: str, result: ValidationResult, documents: Sequence[Document]
    ) -> ValidationResult:
        """`checked`, with the event loop left free."""
        return await asyncio.to_thread(self.checked, name, result, documents)

    async def areceipt(self, result: ValidationResult | None = None) -> Receipt:
        """`receipt`, with the event loop left free."""
        return await asyncio.to_thread(self.receipt, result)

    @contextmanager
    def active(self) -> Iterator[GovernedPath]:
        """Make this the path in force: `rank_retrieved` adds its site to it.

        It is in force for what is called inside, in the threads and tasks that inherit its context
        too, and for nobody else.
        """
        token = _path_in_force.set(self)
        try:
            yield self
        finally:
            _path_in_force.reset(token)

    def _add(self, site: Site) -> None:
        with self._lock:
            if self._receipt is not None:
                raise RuntimeError("the path has ended: make a new one for each answer")
            self._sites.append(site)

    def _written(self, answer: str, decision: Decision) -> Receipt:
        return make_receipt(
            answer, self._sites, decision, user_role=self.user_role, request_id=self.request_id
        )


_path_in_force: ContextVar[GovernedPath | None] = ContextVar("caco_governed_path", default=None)


def current_path() -> GovernedPath | None:
    """Return the path in force here; see `GovernedPath.active`."""
    return _path_in_force.get()


def rank_retrieved(
    documents: Sequence[Document],
    classifier: ClassifierContract | None = None,
    *,
    config: RagCaiConfig | None = None,
    language: str = "english",
    scores: Sequence[float | None] | None = None,
    query: str | None = None,
) -> Ranking:
    """Rank retrieved documents, and add the site "retrieve" to the path in force, if there is one.

    This is what the document compressor for LangChain and the node postprocessor for LlamaIndex do.

    Args:
        documents: What was retrieved, best first.
        classifier: Reads the pairs of sentences. None: `NLIClassifier` on the embedded model.
        config: The ranker and the token budget. None: the defaults, not those of the path.
        language: "english" or "portuguese", or an alias.
        scores: The retriever's scores, one for each document.
        query: What was asked.

    Raises:
        ValueError: As in `caco.ranking.rank_sources`.
        TypeError: An argument of a wrong type.
        RuntimeError: The path in force has ended.
        ModelNotAvailableError: The model could not be loaded.
    """
    config = RagCaiConfig() if config is None else config
    ranking = rank_sources(
        documents,
        classifier,
        ranker=config.ranker,
        language=language,
        scores=scores,
        token_budget=config.token_budget,
    )
    path = current_path()
    if path is not None:
        path.retrieved(ranking, query)
    return ranking
