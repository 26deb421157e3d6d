"""Every exception caco raises on its own account.

```
Exception
└── CacoError
    ├── HallucinationError        an answer failed its check and the caller asked for an exception
    ├── ModelNotAvailableError    a model, its weights or its tokenizer could not be loaded
    ├── MissingExtraError         an optional dependency is not installed (also an ImportError)
    ├── MissingContextError       there is nothing to check against (also a ValueError)
    ├── LLMError                  a language model failed or answered in an unusable form
    └── SearchError               an outside search failed
```

Wrong arguments, and custom parts that break their contract, raise ``ValueError`` or ``TypeError``.
An exception raised inside a user's own extractor or classifier surfaces as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caco.models import ValidationResult

__all__ = [
    "CacoError",
    "HallucinationError",
    "LLMError",
    "MissingContextError",
    "MissingExtraError",
    "ModelNotAvailableError",
    "SearchError",
]


class CacoError(Exception):
    """Root of the exceptions that caco raises."""


class HallucinationError(CacoError):
    """An answer failed its check.

    Attributes:
        result: The failed check.
    """

    def __init__(self, result: ValidationResult, message: str | None = None) -> None:
        super().__init__(message or result.summary)
        self.result = result
        self.message = message

    def __reduce__(self) -> tuple[type[HallucinationError], tuple[ValidationResult, str | None]]:
        return type(self), (self.result, self.message)


class ModelNotAvailableError(CacoError):
    """A model could not be loaded; the message says where it was looked for and what to do."""


class MissingExtraError(CacoError, ImportError):
    """An optional dependency is missing; the message names the pip extra."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "caco-guard[{extra}]"')
        self.feature = feature
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.feature, self.extra)


class MissingContextError(CacoError, ValueError):
    """There is no document, or only blank ones, to check an answer against."""


class LLMError(CacoError):
    """A language model failed or its answer could not be used."""


class SearchError(CacoError):
    """A search outside the given documents failed."""
