"""What an engine's answers are governed by: its policy, and a path with a receipt for each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

from llama_index.core.schema import MetadataMode

from caco.gate import GatingPolicy
from caco.governance import GovernedPath, RagCaiConfig
from caco.receipts import Sink
from caco.validator import Validator
from llamaindex_caco.checking import Checker

__all__ = ["Governor", "UserRole"]

UserRole = str | Callable[[str | None], str]
"""Who asks, by role, or a function of the question that says it."""


@dataclass(frozen=True)
class Governor:
    """Makes the checker of each answer; with a path, where there are receipts to write.

    Attributes:
        checker: The engine.
        config: The tension to hold to. None: that of the policy.
        user_role: Who asks.
        receipts: Where receipts go.
    """

    checker: Checker
    config: RagCaiConfig | None = None
    user_role: UserRole = "user"
    receipts: Sink | None = None

    @classmethod
    def build(
        cls,
        validator: Validator | None,
        threshold: float | None,
        language: str | None,
        metadata_mode: MetadataMode,
        policy: GatingPolicy | None,
        config: RagCaiConfig | None,
        user_role: UserRole,
        receipts: Sink | None,
    ) -> Governor:
        """Return a governor for an engine's arguments.

        Raises:
            ValueError: An argument outside its range, or a policy beside the validator's own.
            TypeError: An argument of a wrong type.
        """
        checker = Checker.build(validator, threshold, language, metadata_mode)
        if policy is not None:
            checker = replace(checker, validator=_with_policy(checker.validator, policy))
        governor = cls(checker, config, user_role, receipts)
        if governor.governs:
            # What is wrong with an argument is said now, not at the first question.
            governor.path("user" if callable(user_role) else user_role)
        elif user_role != "user":
            raise ValueError("user_role stands in receipts only: give receipts or config too")
        return governor

    @property
    def governs(self) -> bool:
        """Whether answers have receipts."""
        return self.config is not None or self.receipts is not None

    @property
    def policy(self) -> GatingPolicy | None:
        """The policy in force; with receipts there always is one."""
        return self.path("user").policy if self.governs else self.checker.policy

    def begin(self, query: str | None) -> Checker:
        """Return the checker for the answer to a question."""
        if not self.governs:
            return self.checker
        role = self.user_role(query) if callable(self.user_role) else self.user_role
        path = self.path(role)
        return replace(self.checker, validator=path.validator, path=path)

    def path(self, user_role: str) -> GovernedPath:
        """Return a new path."""
        return GovernedPath(
            self.checker.validator, self.config, user_role=user_role, sink=self.receipts
        )


def _with_policy(validator: Validator, policy: GatingPolicy) -> Validator:
    if not isinstance(policy, GatingPolicy):
        raise TypeError(f"policy must be a GatingPolicy or None, not {type(policy).__name__}")
    if not hasattr(validator, "policy"):
        raise TypeError(f"a {type(validator).__name__} takes no policy")
    if validator.policy is not None and validator.policy != policy:
        raise ValueError("the validator has another policy: give one of the two")
    changed = copy.copy(validator)
    changed.policy = policy
    return changed
