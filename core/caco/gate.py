"""Gating: whether an answer is withheld, by which rules, and what is done about it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Union

from caco.errors import MissingExtraError
from caco.models import Decision, Labels, Status, ValidationResult

if TYPE_CHECKING:
    from caco.tension import CTS

__all__ = ["ACTIONS", "RULES", "GatingPolicy"]

RULES = ("no_entailment", "contradiction", "no_context", "CTS > tau_star", "score > threshold")
"""The rules that a policy may abstain by; `GatingPolicy` says what each means."""

ACTIONS = ("ask_for_source", "increase_retrieval_weight", "lower_temperature")
"""The actions that caco's adapters carry out."""

FAILED_CHECK = "check_failed"
"""The reason given when the check itself could not be made; no policy can turn that off."""

TENSION_RULE = "CTS > tau_star"

_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "english": "I cannot back this answer with the documents at hand. "
        "Could you point me to a source?",
        "portuguese": "Não consigo apoiar esta resposta nos documentos disponíveis. "
        "Pode indicar uma fonte?",
    }
)
_Source = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class GatingPolicy:
    """When an answer is withheld, and what is done then.

    Rules, any of which withholds the answer:

    - ``no_entailment``: not one check-worthy claim is supported by the documents (labelled
      entailment, and its risk not over the validator's threshold). Holds without documents too; not
      for an answer that claims nothing or declines.
    - ``contradiction``: at least one check-worthy claim is contradicted by the documents.
    - ``no_context``: there was nothing to check against.
    - ``CTS > tau_star``: the tension is over ``tau_star``.
    - ``score > threshold``: the answer fails its check (``is_hallucination``): its risk is over the
      validator's threshold, or something was left unread.

    A check that could not be made (status ``ERROR``) withholds the answer under every policy.

    Attributes:
        tau_star: The highest tension that passes, in [0, 1].
        abstain_if: Rules, out of `RULES`.
        on_abstain: What is done when the answer is withheld: names out of `ACTIONS` or
            ``custom_actions``, in the order they should be tried.
        custom_actions: Your own actions' names; your code carries them out.
        message: What is said instead of a withheld answer. None: a sentence in the answer's
            language.

    Raises:
        ValueError: ``tau_star`` is outside [0, 1], or a rule or an action is unknown.
        TypeError: A field is of a wrong type.
    """

    tau_star: float = 0.70
    abstain_if: tuple[str, ...] = ("no_entailment", "CTS > tau_star")
    on_abstain: tuple[str, ...] = ACTIONS
    custom_actions: tuple[str, ...] = ()
    message: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_star", _checked_tau(self.tau_star))
        for name in ("abstain_if", "on_abstain", "custom_actions"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        object.__setattr__(self, "abstain_if", tuple(map(_known_rule, self.abstain_if)))
        for action in self.on_abstain:
            if action not in (*ACTIONS, *self.custom_actions):
                raise ValueError(
                    f"unknown action {action!r} in on_abstain; known are {list(ACTIONS)}, and the "
                    "names that custom_actions declares"
                )
        if self.message is not None and not isinstance(self.message, str):
            raise TypeError(f"message must be a str or None, not {type(self.message).__name__}")

    @property
    def needs_tension(self) -> bool:
        """Whether `decide` needs the tension."""
        return TENSION_RULE in self.abstain_if

    def decide(self, result: ValidationResult, cts: CTS | None = None) -> Decision:
        """Decide on a checked answer.

        Args:
            result: The check.
            cts: The answer's tension; may be None if no rule needs it.

        Returns:
            The decision; its reason names every rule that fired, in the policy's order, with
            commas between.

        Raises:
            ValueError: The tension is missing.
        """
        if self.needs_tension and cts is None:
            raise ValueError(f"the rule {TENSION_RULE!r} needs the answer's tension (cts)")
        fired = [FAILED_CHECK] if result.status is Status.ERROR else []
        for rule in self.abstain_if:
            if rule == TENSION_RULE:
                holds = cts is not None and cts.value > self.tau_star
            else:
                holds = _RULE_FUNCTIONS[rule](result)
            if holds:
                fired.append(rule)
        return Decision(
            abstained=bool(fired),
            reason=", ".join(fired) or None,
            tau_star=self.tau_star,
            actions=self.on_abstain if fired else (),
        )

    def message_for(self, language: str) -> str:
        """Return what to say instead of a withheld answer ("english" or "portuguese")."""
        return self.message if self.message is not None else _MESSAGES[language]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` reads."""
        return {
            "tau_star": self.tau_star,
            "abstain_if": list(self.abstain_if),
            "on_abstain": list(self.on_abstain),
            "custom_actions": list(self.custom_actions),
            "message": self.message,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GatingPolicy:
        """Read a policy from plain data; what is left out has its default.

        Raises:
            ValueError: An unknown field, rule or action, or ``tau_star`` outside [0, 1].
            TypeError: A field is of a wrong type.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"a policy must be a mapping, not {type(data).__name__}")
        known = [item.name for item in fields(cls)]
        unknown = [name for name in data if name not in known]
        if unknown:
            raise ValueError(f"a policy has no {unknown}; it has {known}")
        return cls(**data)

    @classmethod
    def from_json(cls, source: _Source) -> GatingPolicy:
        """Read a policy from JSON: a file's path, or the text itself if it starts with "{".

        Raises:
            OSError: The file cannot be read.
            ValueError: It is no JSON, or as in `from_dict`.
            TypeError: A field is of a wrong type.
        """
        return cls._parsed(source, json.loads, "JSON")

    @classmethod
    def from_yaml(cls, source: _Source) -> GatingPolicy:
        """Read a policy from YAML: a file's path, or the text itself.

        A str is taken as text if it holds a line break, ": " or "{".

        Raises:
            MissingExtraError: PyYAML is not installed.
            OSError: The file cannot be read.
            ValueError: It is no YAML, or as in `from_dict`.
            TypeError: A field is of a wrong type.
        """
        try:
            import yaml
        except ImportError as error:
            raise MissingExtraError("A policy in YAML", "yaml") from error

        def parse(text: str) -> Any:  # noqa: ANN401 (checked by from_dict)
            try:
                return yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from error

        return cls._parsed(source, parse, "YAML")

    @classmethod
    def _parsed(cls, source: _Source, parse: Callable[[str], Any], kind: str) -> GatingPolicy:
        is_text = isinstance(source, str) and any(mark in source for mark in ("\n", ": ", "{"))
        name = "the policy" if is_text else os.fspath(source)
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
        try:
            data = parse(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not {kind}: {error}") from error
        return cls.from_dict(data)


def _none_entailed(result: ValidationResult) -> bool:
    if result.status is Status.NO_CLAIMS or _declines(result):
        return False
    return not any(
        claim.label is Labels.VALUE_ENTAILMENT and claim.risk <= result.threshold
        for claim in result.claims
        if claim.checkworthy
    )


def _contradicted(result: ValidationResult) -> bool:
    return bool(result.contradicted)


def _without_context(result: ValidationResult) -> bool:
    unjudged = result.status is Status.ABSTAINED and not _declines(result)
    return result.status is Status.NO_CONTEXT or unjudged


def _declines(result: ValidationResult) -> bool:
    # An answer that was not judged for want of documents has claims; one that declines has none.
    return result.status is Status.ABSTAINED and result.coverage.claims_total == 0


def _fails(result: ValidationResult) -> bool:
    return result.is_hallucination


_RULE_FUNCTIONS: Mapping[str, Callable[[ValidationResult], bool]] = MappingProxyType(
    {
        "no_entailment": _none_entailed,
        "contradiction": _contradicted,
        "no_context": _without_context,
        "score > threshold": _fails,
    }
)


def _known_rule(rule: str) -> str:
    """Return a rule as `RULES` spells it; blanks and case do not matter."""
    plain = "".join(rule.split()).lower()
    for known in RULES:
        if "".join(known.split()).lower() == plain:
            return known
    raise ValueError(f"unknown rule {rule!r} in abstain_if; known are {list(RULES)}")


def _names(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be a list of str, not {value!r}")
    for item in value:
        if not isinstance(item, str):
            raise TypeError(f"{name} must be a list of str; it holds {item!r}")
        if not item.strip():
            raise ValueError(f"{name} holds a blank name")
    return tuple(dict.fromkeys(value))


def _checked_tau(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"tau_star must be a number in [0, 1], not {value!r}")
    if not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"tau_star must be in [0, 1], not {value!r}")
    return float(value)
