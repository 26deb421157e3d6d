"""The frozen data that travels through the engine, and its JSON form."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

__all__ = [
    "Attempt",
    "Claim",
    "ClaimResult",
    "Coverage",
    "Decision",
    "Document",
    "Evidence",
    "Labels",
    "Probabilities",
    "Signal",
    "Status",
    "ValidationResult",
    "unit_interval",
]

SCHEMA_VERSION = 1


class Labels(str, Enum):
    """What the documents say about a claim (the three classes of natural-language inference)."""

    VALUE_ENTAILMENT = "entailment"
    VALUE_NEUTRAL = "neutral"
    VALUE_CONTRADICTION = "contradiction"

    def __str__(self) -> str:
        return self.value


class Status(str, Enum):
    """What kind of outcome a check had.

    ``CHECKED``: claims were verified. ``NO_CLAIMS``: nothing check-worthy was said. ``NO_CONTEXT``:
    there was nothing to check against. ``ABSTAINED``: the answer declines, or was not judged.
    ``ERROR``: the check could not be made. ``NO_CONTEXT`` and ``ERROR`` never pass.
    """

    CHECKED = "CHECKED"
    NO_CLAIMS = "NO_CLAIMS"
    NO_CONTEXT = "NO_CONTEXT"
    ABSTAINED = "ABSTAINED"
    ERROR = "ERROR"

    def __str__(self) -> str:
        return self.value


def unit_interval(name: str, value: object) -> float:
    """Return ``value`` as a Python float; ``ValueError`` unless it is a number in [0, 1]."""
    try:
        number = float("nan") if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number in [0, 1], not {value!r}") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], not {value!r}")
    return number


@dataclass(frozen=True)
class Document:
    """One source text.

    Attributes:
        text: The text, as given; all evidence offsets point into it.
        id: Its name in the evidence. None: its position among the documents ("0", "1", …).
        metadata: Anything the caller wants to carry along; not read by the engine.
    """

    text: str
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"Document.text must be a str, not {type(self.text).__name__}")
        if self.id is not None and not isinstance(self.id, str):
            raise TypeError(f"Document.id must be a str or None, not {type(self.id).__name__}")


@dataclass(frozen=True)
class Claim:
    """A piece of the answer to be verified, as an extractor hands it to a classifier.

    Attributes:
        text: The claim as it stands in the answer (or as an LLM rewrote it).
        start: Where it starts in the answer, in characters; None when it does not occur there.
        end: Where it ends.
        hypothesis: What the model reads: ``text`` made self-contained and typographically plain.
        checkworthy: False for greetings, questions, offers of help, headings.
        declines: True when the sentence says that the answer is not known.
    """

    text: str
    start: int | None = None
    end: int | None = None
    hypothesis: str = ""
    checkworthy: bool = True
    declines: bool = False

    def __post_init__(self) -> None:
        if not self.hypothesis:
            object.__setattr__(self, "hypothesis", self.text)


@dataclass(frozen=True)
class Evidence:
    """A quotation: ``documents[document].text[start:end] == text``.

    Attributes:
        document: The document's id.
        text: The quoted sentence or sentences.
        start: First character in the document.
        end: One past the last character.
        score: How strongly it supports (in ``supporting``) or contradicts (in ``conflicting``)
            the claim, a probability in [0, 1].
    """

    document: str
    text: str
    start: int
    end: int
    score: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", unit_interval("Evidence.score", self.score))


@dataclass(frozen=True)
class Probabilities(Mapping[str, float]):
    """The probabilities of the three labels: a read-only, hashable mapping that sums to 1.

    Keys are the label's values; since `Labels` is a str enum, ``p["entailment"]`` and
    ``p[Labels.VALUE_ENTAILMENT]`` are the same look-up.
    """

    entailment: float
    neutral: float
    contradiction: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = unit_interval(f"P({item.name})", getattr(self, item.name))
            object.__setattr__(self, item.name, value)
        total = self.entailment + self.neutral + self.contradiction
        if abs(total - 1.0) > 1e-3:
            raise ValueError(f"probabilities must sum to 1, not {total}")

    def __getitem__(self, key: str) -> float:
        try:
            return float(getattr(self, Labels(key).value))
        except ValueError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return (label.value for label in Labels)

    def __len__(self) -> int:
        return len(Labels)

    @classmethod
    def from_label(cls, label: Labels, score: float) -> Probabilities:
        """Give ``label`` the probability ``score``; the other two labels share the rest.

        A claim that is not called supported is never likely to be: entailment then gets a third at
        most, so that a score of 0 for "neutral" is no support.
        """
        half = (1.0 - score) / 2
        if label is Labels.VALUE_ENTAILMENT:
            return cls(entailment=score, neutral=half, contradiction=half)
        support = min(half, 1 / 3)
        other = 1.0 - score - support
        if label is Labels.VALUE_NEUTRAL:
            return cls(entailment=support, neutral=score, contradiction=other)
        return cls(entailment=support, neutral=other, contradiction=score)


@dataclass(frozen=True)
class ClaimResult:
    """One claim and what the documents say about it.

    Only ``text``, ``evidence``, ``label`` and ``score`` are needed to build one; a custom
    classifier's result is completed by the engine.

    Attributes:
        text: The claim.
        evidence: The sentence or sentences that decided it; "" if none is relevant.
        label: The verdict.
        score: Confidence in ``label``, in [0, 1].
        reason: For a contradiction, what speaks against it, and both values where a figure differs.
        start: ``response[start:end]`` is the claim's source text; None when an LLM rewrote it.
        end: See ``start``.
        probabilities: P(label) for the three labels; defaults to ``score`` for ``label`` and equal
            shares of the rest.
        evidence_document: Id of the document that ``evidence`` is from; None without evidence.
        evidence_start: ``documents[evidence_document].text[evidence_start:evidence_end]`` is
            ``evidence``.
        evidence_end: See ``evidence_start``.
        supporting: Every document that backs the claim, best first.
        conflicting: Every document that contradicts it, best first.
        checkworthy: False for what is not a claim (a greeting, a question, a heading): not counted.

    Raises:
        ValueError: ``score`` or a probability is outside [0, 1], or the label is unknown.
        TypeError: ``text`` or ``evidence`` is not a str.
    """

    text: str
    evidence: str
    label: Labels
    score: float
    reason: str | None = None
    start: int | None = None
    end: int | None = None
    probabilities: Mapping[str, float] = None  # type: ignore[assignment]  # filled in below
    evidence_document: str | None = None
    evidence_start: int | None = None
    evidence_end: int | None = None
    supporting: tuple[Evidence, ...] = ()
    conflicting: tuple[Evidence, ...] = ()
    checkworthy: bool = True

    def __post_init__(self) -> None:
        for name in ("text", "evidence"):
            if not isinstance(getattr(self, name), str):
                kind = type(getattr(self, name)).__name__
                raise TypeError(f"ClaimResult.{name} must be a str, not {kind}")
        label = Labels(self.label)
        score = unit_interval("ClaimResult.score", self.score)
        given = self.probabilities
        probabilities = (
            Probabilities.from_label(label, score)
            if given is None
            else Probabilities(**{item.value: given[item] for item in Labels})
        )
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "score", score)
        object.__setattr__(self, "probabilities", probabilities)
        object.__setattr__(self, "supporting", tuple(self.supporting))
        object.__setattr__(self, "conflicting", tuple(self.conflicting))

    @property
    def risk(self) -> float:
        """1 - P(entailment), in [0, 1]: how likely it is that the claim is not supported."""
        return 1.0 - self.probabilities[Labels.VALUE_ENTAILMENT]

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return (
            f"ClaimResult(label={self.label.value.upper()}, score={self.score:.4f}, text={text!r})"
        )


@dataclass(frozen=True)
class Coverage:
    """What was read.

    Attributes:
        claims_total: Check-worthy claims found in the answer.
        claims_checked: How many of them were verified.
        documents: Documents given.
        windows: Premise windows the documents were cut into.
        pairs_scored: (premise, claim) pairs that went through the model.
        truncated: True only if something was left unread; the result is then never a pass.
    """

    claims_total: int = 0
    claims_checked: int = 0
    documents: int = 0
    windows: int = 0
    pairs_scored: int = 0
    truncated: bool = False


@dataclass(frozen=True)
class Signal:
    """A stage-1 surface signal: ``value`` is the term found, ``count`` a number of occurrences."""

    type: str
    value: str | None = None
    count: int | None = None


@dataclass(frozen=True)
class Decision:
    """What a gating policy decided.

    Attributes:
        abstained: True when the answer should be withheld.
        reason: The rules that fired, or None.
        tau_star: The tension threshold in force, in [0, 1].
        actions: What to do about it, by name.
    """

    abstained: bool
    reason: str | None
    tau_star: float
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """One try of a retry loop.

    Attributes:
        answer: What was answered.
        score: Its risk in [0, 1].
        feedback: What was said about it to the next attempt; "" when it passed.
        actions: What was done about it, of the actions that the gating policy asked for.
    """

    answer: str
    score: float
    feedback: str
    actions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", tuple(self.actions))


_FEEDBACK: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "english": {
            "intro": "These statements are not backed by the documents:",
            Labels.VALUE_CONTRADICTION.value: "contradicted",
            Labels.VALUE_NEUTRAL.value: "not supported",
            Labels.VALUE_ENTAILMENT.value: "weakly supported",
            "evidence": "Source {document}: {text}",
            "outro": "Correct or remove them, and state only what the documents say.",
            "nothing": "No document was available to check the answer against.",
            "error": "The answer could not be checked.",
            "truncated": "Part of the answer or of the documents was left unread.",
        },
        "portuguese": {
            "intro": "Estas afirmações não têm apoio nos documentos:",
            Labels.VALUE_CONTRADICTION.value: "contradita",
            Labels.VALUE_NEUTRAL.value: "sem apoio",
            Labels.VALUE_ENTAILMENT.value: "apoio fraco",
            "evidence": "Fonte {document}: {text}",
            "outro": "Corrija ou retire essas afirmações; diga apenas o que está nos documentos.",
            "nothing": "Não havia documento com que conferir a resposta.",
            "error": "Não foi possível conferir a resposta.",
            "truncated": "Parte da resposta ou dos documentos não foi lida.",
        },
    }
)

_COLOURS = {"entailment": "#1a7f37", "neutral": "#9a6700", "contradiction": "#cf222e"}


@dataclass(frozen=True)
class ValidationResult:
    """The verdict on one answer.

    Attributes:
        score: Risk in [0, 1]; higher is worse.
        is_hallucination: ``score > threshold``; always True for ``NO_CONTEXT``, ``ERROR`` and a
            truncated check, always False for ``NO_CLAIMS`` and ``ABSTAINED``.
        claims: In order of appearance.
        summary: One or two sentences in ``language``.
        status: See `Status`.
        coverage: What was read.
        signals: Stage-1 surface signals, if enabled.
        gate: The gating policy's decision, if a policy is set.
        threshold: The threshold in force, in [0, 1].
        model: Name of the classifier's model.
        language: "english" or "portuguese".
        response: The answer that was checked.
        attempts: The history of a retry loop, oldest first.
        schema_version: Version of the JSON form.
    """

    score: float
    is_hallucination: bool
    claims: tuple[ClaimResult, ...]
    summary: str
    status: Status = Status.CHECKED
    coverage: Coverage = field(default_factory=Coverage)
    signals: tuple[Signal, ...] = ()
    gate: Decision | None = None
    threshold: float = 0.5
    model: str = ""
    language: str = "english"
    response: str = ""
    attempts: tuple[Attempt, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", unit_interval("score", self.score))
        object.__setattr__(self, "threshold", unit_interval("threshold", self.threshold))
        object.__setattr__(self, "status", Status(self.status))
        for name in ("claims", "signals", "attempts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def supported(self) -> tuple[ClaimResult, ...]:
        """The check-worthy claims that the documents entail."""
        return self._labelled(Labels.VALUE_ENTAILMENT)

    @property
    def contradicted(self) -> tuple[ClaimResult, ...]:
        """The check-worthy claims that a document contradicts."""
        return self._labelled(Labels.VALUE_CONTRADICTION)

    @property
    def unsupported(self) -> tuple[ClaimResult, ...]:
        """The check-worthy claims on which the documents say nothing."""
        return self._labelled(Labels.VALUE_NEUTRAL)

    @property
    def failing(self) -> tuple[ClaimResult, ...]:
        """The check-worthy claims that are not supported, or whose risk is over the threshold."""
        return tuple(
            claim
            for claim in self.claims
            if claim.checkworthy
            and (claim.label is not Labels.VALUE_ENTAILMENT or claim.risk > self.threshold)
        )

    def _labelled(self, label: Labels) -> tuple[ClaimResult, ...]:
        return tuple(claim for claim in self.claims if claim.checkworthy and claim.label is label)

    @staticmethod
    def decide(status: Status, score: float, threshold: float, *, truncated: bool) -> bool:
        """Return ``is_hallucination`` for a check's outcome; the one place where it is decided."""
        if status in (Status.NO_CONTEXT, Status.ERROR):
            return True
        if status in (Status.NO_CLAIMS, Status.ABSTAINED):
            return False
        return truncated or score > threshold

    def with_threshold(self, threshold: float) -> ValidationResult:
        """Decide again at another threshold in [0, 1], without running the model."""
        threshold = unit_interval("threshold", threshold)
        truncated = self.coverage.truncated
        verdict = self.decide(self.status, self.score, threshold, truncated=truncated)
        return replace(self, threshold=threshold, is_hallucination=verdict)

    def feedback(self) -> str:
        """Return text to hand back to a language model: failing claims with their evidence.

        Returns:
            "" when nothing is wrong.
        """
        words = _FEEDBACK[self.language]
        if self.status is Status.NO_CONTEXT:
            return words["nothing"]
        if self.status is Status.ERROR:
            return words["error"]
        lines = []
        for claim in self.failing:
            lines.append(f"- {claim.text.strip()} ({words[claim.label.value]})")
            detail = claim.reason or claim.evidence
            if detail and claim.evidence_document is not None:
                quote = words["evidence"].format(document=claim.evidence_document, text=detail)
                lines.append(f"  {quote}")
            elif detail:
                lines.append(f"  {detail}")
        if lines:
            lines = [words["intro"], *lines, words["outro"]]
        if self.coverage.truncated:
            lines.append(words["truncated"])
        return "\n".join(lines)

    def redacted(self) -> str:
        """Return the response without its failing claims.

        Returns:
            "" when not all of it was verified (no context, an error, a truncated check), or when a
            failing claim cannot be located in it (an LLM rewrote it): the rest could still say it.
        """
        failing = self.failing
        if self.status in (Status.NO_CONTEXT, Status.ERROR) or self.coverage.truncated:
            return ""
        if any(claim.start is None or claim.end is None for claim in failing):
            return ""
        text = self.response
        for claim in sorted(failing, key=lambda item: item.start or 0, reverse=True):
            text = _cut(text, claim.start or 0, claim.end or 0)
        return text if not failing else text.strip()

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python data that ``json.dumps`` takes."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain

    def to_json(self, **options: Any) -> str:  # noqa: ANN401 (json.dumps' own options)
        """Return `to_dict` as JSON; ``options`` go to ``json.dumps`` (non-ASCII is kept)."""
        return json.dumps(self.to_dict(), **{"ensure_ascii": False, **options})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ValidationResult:
        """Rebuild a result from `to_dict`'s output.

        Raises:
            ValueError: The data has another schema version, or is not of its form.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"a validation result is a mapping, not a {type(data).__name__}")
        version = data.get("schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(f"schema_version must be {SCHEMA_VERSION}, not {version!r}")
        try:
            return cls(**_result_fields(data))
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a validation result: {error!r}") from error

    def __repr__(self) -> str:
        flag = "HALLUCINATION" if self.is_hallucination else "OK"
        claims = len(self.claims)
        return f"ValidationResult({self.status}, {flag}, score={self.score:.4f}, claims={claims})"

    def __str__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='color:{_COLOURS[claim.label.value]}'>{claim.label}"
            f"&nbsp;{claim.score:.2f}</td><td>{html.escape(claim.text)}</td>"
            f"<td>{html.escape(claim.evidence)}</td>"
            f"<td>{html.escape(claim.evidence_document or '')}</td></tr>"
            for claim in self.claims
            if claim.checkworthy
        )
        head = "<tr><th>verdict</th><th>claim</th><th>evidence</th><th>document</th></tr>"
        return f"<p>{html.escape(self.summary)}</p><table>{head}{rows}</table>"


def _cut(text: str, start: int, end: int) -> str:
    """Remove ``text[start:end]`` and what only made sense with it (a bullet, doubled spaces)."""
    before, after = text[:start], text[end:]
    line_start = before.rfind("\n") + 1
    if not after.split("\n", 1)[0].strip() and re.fullmatch(
        r"\s*(?:[-*+•]|\d+[.)]|#+)?\s*", before[line_start:]
    ):
        return before[:line_start] + after.partition("\n")[2]
    return before.rstrip(" ") + " " + after.lstrip(" ") if before.strip() else after.lstrip(" ")


def _plain(value: object) -> object:
    """Turn the data classes of this module into dicts, lists, str and numbers."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        names = [item.name for item in fields(value)]  # type: ignore[arg-type]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _known(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(cls)}
    return {key: value for key, value in data.items() if key in names}


def _result_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the JSON form of a result into the arguments of `ValidationResult`."""
    values = _known(ValidationResult, data)
    values["claims"] = tuple(_claim_from_dict(claim) for claim in values.get("claims", ()))
    values["coverage"] = Coverage(**_known(Coverage, values.get("coverage", {})))
    values["signals"] = tuple(Signal(**_known(Signal, s)) for s in values.get("signals", ()))
    values["attempts"] = tuple(Attempt(**_known(Attempt, a)) for a in values.get("attempts", ()))
    if values.get("gate") is not None:
        gate = _known(Decision, values["gate"])
        values["gate"] = Decision(**{**gate, "actions": tuple(gate.get("actions", ()))})
    if values.get("language", "english") not in _FEEDBACK:
        raise ValueError(f"language must be one of {sorted(_FEEDBACK)}")
    return values


def _claim_from_dict(data: Mapping[str, Any]) -> ClaimResult:
    values = _known(ClaimResult, data)
    for side in ("supporting", "conflicting"):
        values[side] = tuple(Evidence(**_known(Evidence, item)) for item in values.get(side, ()))
    return ClaimResult(**values)
