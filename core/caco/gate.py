"""Gating: whether an answer is withheld, by which rules, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from caco.models import Attempt, Decision, Labels, Status, ValidationResult
from caco.settings import Settings, number_in_unit_interval

if TYPE_CHECKING:
    from caco.tension import CTS

__all__ = [
    "ACTIONS",
    "ASK_FOR_SOURCE",
    "INCREASE_RETRIEVAL_WEIGHT",
    "LOWER_TEMPERATURE",
    "RULES",
    "GatingPolicy",
    "actions_wanted",
    "attempt_of",
    "check_handlers",
    "explained",
    "rejected",
    "withheld",
]

RULES = ("no_entailment", "contradiction", "no_context", "CTS > tau_star", "score > threshold")
"""The rules that a policy may abstain by; `GatingPolicy` says what each means."""

ASK_FOR_SOURCE = "ask_for_source"
"""Is carried out by the policy's message in place of the last answer; no handler's to carry out."""
INCREASE_RETRIEVAL_WEIGHT = "increase_retrieval_weight"
LOWER_TEMPERATURE = "lower_temperature"

ACTIONS = (ASK_FOR_SOURCE, INCREASE_RETRIEVAL_WEIGHT, LOWER_TEMPERATURE)
"""The actions that caco's adapters carry out."""

FAILED_CHECK = "check_failed"
"""The reason given when the check itself could not be made; no policy can turn that off."""

TENSION_RULE = "CTS > tau_star"

_SEPARATOR = ", "

_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "english": "I cannot back this answer with the documents at hand. "
        "Could you point me to a source?",
        "portuguese": "Não consigo apoiar esta resposta nos documentos disponíveis. "
        "Pode indicar uma fonte?",
    }
)


@dataclass(frozen=True)
class GatingPolicy(Settings):
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

    kind: ClassVar[str] = "policy"

    tau_star: float = 0.70
    abstain_if: tuple[str, ...] = ("no_entailment", "CTS > tau_star")
    on_abstain: tuple[str, ...] = ACTIONS
    custom_actions: tuple[str, ...] = ()
    message: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_star", number_in_unit_interval("tau_star", self.tau_star))
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
        return self._decision(result, is_tense=cts is not None and cts.value > self.tau_star)

    def decide_again(self, result: ValidationResult, decision: Decision) -> Decision:
        """Decide on a result whose threshold was changed; its tension is what it was.

        Args:
            result: The check, at its new threshold.
            decision: What this policy decided on it before.
        """
        fired = (decision.reason or "").split(_SEPARATOR)
        return self._decision(result, is_tense=TENSION_RULE in fired)

    def _decision(self, result: ValidationResult, *, is_tense: bool) -> Decision:
        fired = [FAILED_CHECK] if result.status is Status.ERROR else []
        for rule in self.abstain_if:
            holds = is_tense if rule == TENSION_RULE else _RULE_FUNCTIONS[rule](result)
            if holds:
                fired.append(rule)
        return Decision(
            abstained=bool(fired),
            reason=_SEPARATOR.join(fired) or None,
            tau_star=self.tau_star,
            actions=self.on_abstain if fired else (),
        )

    def message_for(self, language: str) -> str:
        """Return what to say instead of a withheld answer ("english" or "portuguese")."""
        return self.message if self.message is not None else _MESSAGES[language]


def withheld(result: ValidationResult, action: str | None = None) -> bool:
    """Whether the gating policy withholds an answer, and asks for an action if one is named."""
    gate = result.gate
    return gate is not None and gate.abstained and (action is None or action in gate.actions)


def rejected(result: ValidationResult) -> bool:
    """Whether an answer must not pass: it failed its check, or the gating policy withholds it."""
    return result.is_hallucination or withheld(result)


def explained(result: ValidationResult) -> str:
    """Return what is wrong with an answer, or its summary; never empty."""
    if feedback := result.feedback():
        return feedback
    # No claim is to blame: the answer is rejected as a whole.
    reason = result.gate.reason if result.gate is not None else None
    return f"{result.summary} ({reason})" if reason else result.summary


def attempt_of(result: ValidationResult) -> Attempt:
    """Return a verdict as an entry of a history; its feedback is "" when the answer passed."""
    feedback = explained(result) if rejected(result) else ""
    return Attempt(result.response, result.score, feedback)


def actions_wanted(result: ValidationResult) -> list[str]:
    """Return what the policy asks to be done before the next attempt, in its order."""
    wanted = result.gate.actions if result.gate is not None else ()
    return [action for action in wanted if action != ASK_FOR_SOURCE]


def check_handlers(
    handlers: Mapping[str, object], policy: GatingPolicy | None, owner: str = "the policy"
) -> None:
    """Raise unless a policy may ask for each action that there is a handler for.

    Args:
        handlers: What carries out an action, by its name.
        policy: The policy in force, if any.
        owner: What the policy is called in the error.

    Raises:
        ValueError: It never asks for the action, or the action is no handler's to carry out.
        TypeError: A handler is not callable.
    """
    known = policy.on_abstain if policy is not None else ()
    asked = [action for action in known if action != ASK_FOR_SOURCE]
    for name, handler in handlers.items():
        if name not in asked:
            raise ValueError(f"on_action has {name!r}; {owner} asks for {asked}")
        if not callable(handler):
            raise TypeError(f"on_action[{name!r}] must be callable, not {handler!r}")


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
