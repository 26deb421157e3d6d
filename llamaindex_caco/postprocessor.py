"""A node postprocessor that finds retrieved nodes at odds with each other, or with an assertion."""

# No `from __future__ import annotations`: pydantic reads the annotations of the fields.

import asyncio
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from llama_index.core.bridge.pydantic import (
    ConfigDict,
    Field,
    field_serializer,
    field_validator,
    model_validator,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from caco.consistency import ConflictReport
from caco.governance import RagCaiConfig, Ranker, rank_retrieved
from caco.models import Document, Labels, ValidationResult
from caco.ranking import Conflicting
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import named_documents, query_text

__all__ = ["CacoNodePostprocessor"]

Mode = Literal["consistency", "draft", "claim"]
Action = Literal["annotate", "downrank", "drop"]
Assertion = str | Callable[[str], Any] | None


class CacoNodePostprocessor(BaseNodePostprocessor):
    """Finds, before the answer is written, the nodes that are at odds.

    Modes: "consistency" looks for nodes that contradict each other; "draft" and "claim" read each
    node against a draft answer or a claim and score how far it supports it.

    Actions: "annotate" only writes metadata; "downrank" puts nodes at odds last (and, in "draft"
    and "claim", sorts by support, which becomes the nodes' score); "drop" leaves nodes at odds out.
    Otherwise the order is kept. Of nodes that contradict each other the most contradicted go, of
    equals the lower-scored. Some node always stays. In "consistency", ``config`` (a
    `caco.RagCaiConfig`, or a mapping with its fields) may take the place of ``action`` and
    ``max_pairs``: nodes are ranked as it says, and kept within its token budget.

    Within an engine that writes receipts (`CacoQueryEngine` with ``receipts``), the nodes' tension
    in "consistency" becomes the receipt's site "retrieve".

    The nodes returned are copies. What is written to their metadata is kept out of prompts and
    embeddings:

    - "consistency": ``caco_conflicts`` (a list of ``text``, ``node_id``, ``other_text``,
      ``score``), ``caco_pairs_compared``, ``caco_pairs_skipped`` (pairs left unread because of
      ``max_pairs``: no finding there is no proof of agreement);
    - "draft", "claim": ``caco_support`` (the mean P(entailment) over the assertion's claims, in
      [0, 1]), ``caco_label``, ``caco_evidence``, ``caco_status``, and after "downrank"
      ``caco_retrieval_score`` (the score before).

    A draft that is wrong makes the nodes that would correct it look at odds: prefer "annotate" or
    "downrank" to "drop" there.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    mode: Mode = Field(default="consistency", description="What the nodes are read against.")
    action: Action = Field(default="annotate", description="What happens to nodes at odds.")
    draft: Assertion = Field(
        default=None, description="A draft answer, or a function of the query that returns one."
    )
    claim: Assertion = Field(
        default=None, description="A claim, or a function of the query that returns one."
    )
    max_pairs: int = Field(
        default=64, ge=0, description="The most pairs of sentences to compare, most alike first."
    )
    config: RagCaiConfig | None = Field(
        default=None,
        description="Instead of action and max_pairs in the mode consistency: a governed path's "
        "ranker and token budget.",
    )
    min_support: float | None = Field(
        default=None, ge=0.0, le=1.0, description="Nodes that support less are at odds too."
    )
    language: str | None = Field(default=None, description="English or Portuguese.")
    metadata_mode: MetadataMode = Field(
        default=MetadataMode.LLM,
        description="Which metadata count as a node's text in the modes draft and claim; "
        "consistency compares the nodes' own words.",
    )
    validator: Any = Field(default=None, exclude=True, repr=False, description="The engine.")

    @field_validator("config", mode="before")
    @classmethod
    def _read(cls, config: Any) -> Any:  # noqa: ANN401 - the field's own check follows
        return RagCaiConfig.from_dict(config) if isinstance(config, Mapping) else config

    @field_serializer("config")
    def _written(self, config: RagCaiConfig | None) -> dict[str, Any] | None:
        return None if config is None else config.to_dict()

    @model_validator(mode="after")
    def _check_arguments(self) -> "CacoNodePostprocessor":
        for name in ("draft", "claim"):
            if (getattr(self, name) is not None) != (self.mode == name):
                needed = "needs" if self.mode == name else "does not use"
                raise ValueError(f"mode={self.mode!r} {needed} {name}=")
        if self.min_support is not None and self.mode == "consistency":
            raise ValueError("mode='consistency' does not use min_support=")
        if self.config is not None and self.mode != "consistency":
            raise ValueError(f"mode={self.mode!r} does not use config=")
        known = type(self).model_fields
        beside = [n for n in ("action", "max_pairs") if getattr(self, n) != known[n].default]
        if self.config is not None and beside:
            raise ValueError(f"config says how to rank: leave out {beside}")
        self.validator = Checker.build(self.validator, language=self.language).validator
        return self

    @classmethod
    def class_name(cls) -> str:
        """The name in serialised pipelines."""
        return "CacoNodePostprocessor"

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # The base class leaves out what cannot be pickled: another engine would come back.
        lost = {"draft", "claim", "validator"} - set(state["__dict__"])
        if lost:
            raise pickle.PicklingError(f"cannot pickle {', '.join(sorted(lost))} of {self!r}")
        return state

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        if self.mode == "consistency":
            return self._consistent(nodes, query_text(query_bundle))
        said = self._asserted(query_bundle)
        if inspect.isawaitable(said):
            if inspect.iscoroutine(said):
                said.close()
            raise TypeError(f"{self.mode} is an async function: use apostprocess_nodes")
        return self._scored(nodes, said)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        if self.mode == "consistency":
            return await asyncio.to_thread(self._consistent, nodes, query_text(query_bundle))
        said = await asyncio.to_thread(self._asserted, query_bundle)
        if inspect.isawaitable(said):
            said = await said
        return await asyncio.to_thread(self._scored, nodes, said)

    def _asserted(self, query_bundle: QueryBundle | None) -> Any:  # noqa: ANN401 - or awaitable
        source = self.draft if self.mode == "draft" else self.claim
        if not callable(source):
            return source
        query = query_text(query_bundle)
        if query is None:
            raise ValueError(f"{self.mode} is a function of the query, but there is no query")
        return source(query)

    def _consistent(self, nodes: list[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        documents, names = named_documents(nodes, MetadataMode.NONE)
        ranking = rank_retrieved(
            documents,
            self.validator.classifier,
            config=self._settings(),
            language=self.validator.language,
            scores=_best_scores(documents, names, nodes),
            query=query,
        )
        notes = {name: _conflict_notes(ranking.report, name) for name in set(names)}
        scores = {source.document.id: source.score for source in ranking.kept}
        kept = [
            (name, _annotated(node, notes[name]))
            for name, node in zip(names, nodes, strict=True)
            if name in scores
        ]
        if self.config is not None or self.action != "annotate":
            kept.sort(key=lambda item: -scores[item[0]])
        return [node for _, node in kept]

    def _settings(self) -> RagCaiConfig:
        """What to rank by: the configuration given, or what ``action`` stands for."""
        if self.config is not None:
            return self.config
        conflicting: Conflicting = "drop" if self.action == "drop" else "keep"
        return RagCaiConfig(ranker=Ranker(conflicting=conflicting, max_pairs=self.max_pairs))

    def _scored(self, nodes: list[NodeWithScore], said: object) -> list[NodeWithScore]:
        if not isinstance(said, str) or not said.strip():
            raise ValueError(f"the {self.mode} must be a non-empty str, not {said!r}")
        documents, names = named_documents(nodes, self.metadata_mode)
        readable = [document for document in documents if document.text.strip()]
        results = self.validator.validate_batch([(said, [document]) for document in readable])
        found = {document.id: result for document, result in zip(readable, results, strict=True)}
        supports = [_support(found.get(name)) for name in names]
        odd = [
            _label(found.get(name)) is Labels.VALUE_CONTRADICTION
            or (self.min_support is not None and support < self.min_support)
            for name, support in zip(names, supports, strict=True)
        ]
        copies = [
            _annotated(node, _support_notes(found.get(name), support))
            for node, name, support in zip(nodes, names, supports, strict=True)
        ]
        if self.action == "annotate":
            return copies
        order = sorted(range(len(copies)), key=lambda i: (odd[i], -supports[i]))
        if self.action == "downrank":
            return [_rescored(copies[i], supports[i]) for i in order]
        kept = [node for node, is_odd in zip(copies, odd, strict=True) if not is_odd]
        return kept or [copies[order[0]]]


def _best_scores(
    documents: Sequence[Document], names: Sequence[str], nodes: Sequence[NodeWithScore]
) -> list[float | None]:
    """The best score among each document's nodes."""
    best: dict[str | None, float] = {}
    for name, node in zip(names, nodes, strict=True):
        if node.score is not None:
            best[name] = max(node.score, best.get(name, node.score))
    return [best.get(document.id) for document in documents]


def _conflict_notes(report: ConflictReport, name: str) -> dict[str, Any]:
    return {
        "caco_conflicts": [
            {
                "text": own.text,
                "node_id": other.document,
                "other_text": other.text,
                "score": score,
            }
            for own, other, score in report.seen_from(name)
        ],
        "caco_pairs_compared": report.pairs_compared,
        "caco_pairs_skipped": report.pairs_skipped,
    }


def _support(result: ValidationResult | None) -> float:
    """The mean P(entailment) over the check-worthy claims; 0 where nothing could be read."""
    claims = [claim for claim in result.claims if claim.checkworthy] if result else []
    return sum(1.0 - claim.risk for claim in claims) / len(claims) if claims else 0.0


def _label(result: ValidationResult | None) -> Labels | None:
    """What a node says about the assertion as a whole; None where nothing could be judged."""
    labels = {claim.label for claim in result.claims if claim.checkworthy} if result else set()
    for label in (Labels.VALUE_CONTRADICTION, Labels.VALUE_ENTAILMENT, Labels.VALUE_NEUTRAL):
        if label in labels:
            return label
    return None


def _support_notes(result: ValidationResult | None, support: float) -> dict[str, Any]:
    label = _label(result)
    claims = result.claims if result else ()
    evidence = [claim.evidence for claim in claims if claim.label is label and claim.evidence]
    return {
        "caco_support": support,
        "caco_label": None if label is None else label.value,
        "caco_evidence": evidence[0] if evidence else "",
        "caco_status": "NO_CONTEXT" if result is None else result.status.value,
    }


def _annotated(given: NodeWithScore, notes: Mapping[str, Any]) -> NodeWithScore:
    """A copy of the node with the notes in its metadata, kept out of prompts and embeddings."""
    node = given.node.model_copy(deep=True)
    node.metadata = {**node.metadata, **notes}
    for hidden in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
        keys = list(getattr(node, hidden))
        setattr(node, hidden, keys + [key for key in notes if key not in keys])
    return given.model_copy(update={"node": node})


def _rescored(given: NodeWithScore, support: float) -> NodeWithScore:
    rescored = _annotated(given, {"caco_retrieval_score": given.score})
    rescored.score = support
    return rescored
