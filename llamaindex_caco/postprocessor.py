"""A node postprocessor that finds retrieved nodes at odds with each other, or with an assertion."""

# No `from __future__ import annotations`: pydantic reads the annotations of the fields.

import asyncio
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from llama_index.core.bridge.pydantic import ConfigDict, Field, model_validator
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from caco.consistency import ConflictReport, find_source_conflicts, outvoted
from caco.models import Document, Labels, ValidationResult
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
    equals the lower-scored. Some node always stays.

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

    @model_validator(mode="after")
    def _check_arguments(self) -> "CacoNodePostprocessor":
        for name in ("draft", "claim"):
            if (getattr(self, name) is not None) != (self.mode == name):
                needed = "needs" if self.mode == name else "does not use"
                raise ValueError(f"mode={self.mode!r} {needed} {name}=")
        if self.min_support is not None and self.mode == "consistency":
            raise ValueError("mode='consistency' does not use min_support=")
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
            return self._consistent(nodes)
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
            return await asyncio.to_thread(self._consistent, nodes)
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

    def _consistent(self, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        documents, names = named_documents(nodes, MetadataMode.NONE)
        report = find_source_conflicts(
            documents,
            self.validator.classifier,
            language=self.validator.language,
            max_pairs=self.max_pairs,
        )
        losers = set(outvoted(report, _best_first(documents, names, nodes)))
        notes = [_conflict_notes(report, name) for name in names]
        copies = [_annotated(node, note) for node, note in zip(nodes, notes, strict=True)]
        kept = [node for node, name in zip(copies, names, strict=True) if name not in losers]
        if self.action == "drop":
            return kept
        if self.action == "downrank":
            return kept + [node for node, name in zip(copies, names, strict=True) if name in losers]
        return copies

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


def _best_first(
    documents: Sequence[Document], names: Sequence[str], nodes: Sequence[NodeWithScore]
) -> list[Document]:
    """The documents by their nodes' score, best first; those without one keep their place last."""
    scores: dict[str, float] = {}
    for name, node in zip(names, nodes, strict=True):
        score = float("-inf") if node.score is None else node.score
        scores[name] = max(score, scores.get(name, score))
    return sorted(documents, key=lambda document: -scores[document.id or ""])


def _conflict_notes(report: ConflictReport, name: str) -> dict[str, Any]:
    conflicts = []
    for conflict in report.conflicts:
        for own, other in (
            (conflict.first, conflict.second),
            (conflict.second, conflict.first),
        ):
            if own.document == name:
                conflicts.append(
                    {
                        "text": own.text,
                        "node_id": other.document,
                        "other_text": other.text,
                        "score": conflict.score,
                    }
                )
    return {
        "caco_conflicts": conflicts,
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
