"""Checks an answer against its documents, claim by claim, with evidence.

```
import caco

result = caco.Validator().validate(response="…", context="…")
result.is_hallucination, result.score, result.summary
```

Only the data classes and the errors are imported here; everything else is imported when its name
is first used, so that ``import caco`` stays quick and loads no model runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from caco.errors import (
    CacoError,
    HallucinationError,
    LLMError,
    MissingContextError,
    MissingExtraError,
    ModelNotAvailableError,
    SearchError,
)
from caco.models import (
    Attempt,
    Claim,
    ClaimResult,
    Coverage,
    Decision,
    Document,
    Evidence,
    Labels,
    Signal,
    Status,
    ValidationResult,
)

if TYPE_CHECKING:
    from caco.aggregator import Aggregator
    from caco.batch import BatchValidator
    from caco.citations import CitationReport, check_citations
    from caco.classifier.base import ClassifierContract
    from caco.classifier.cross_encoder import CrossEncoderClassifier, DeBERTaClassifier
    from caco.classifier.export import export_cross_encoder
    from caco.classifier.nli import NLIClassifier
    from caco.extractor.base import ExtractorContract
    from caco.extractor.llm import LLMExtractor
    from caco.extractor.rule import RuleExtractor
    from caco.gate import GatingPolicy
    from caco.governance import GovernedPath, RagCaiConfig
    from caco.receipts import Receipt, ReceiptLog, Site, make_receipt, verify_receipts
    from caco.signals import SignalReport, detect_signals
    from caco.tension import CTS, cts, fit_weights
    from caco.tuning import tune_tau_star
    from caco.validator import Validator

    Caco = Validator
    caco = Validator

__version__ = "0.1.0"

__all__ = [
    "CTS",
    "Aggregator",
    "Attempt",
    "BatchValidator",
    "Caco",
    "CacoError",
    "CitationReport",
    "Claim",
    "ClaimResult",
    "ClassifierContract",
    "Coverage",
    "CrossEncoderClassifier",
    "DeBERTaClassifier",
    "Decision",
    "Document",
    "Evidence",
    "ExtractorContract",
    "GatingPolicy",
    "GovernedPath",
    "HallucinationError",
    "LLMError",
    "LLMExtractor",
    "Labels",
    "MissingContextError",
    "MissingExtraError",
    "ModelNotAvailableError",
    "NLIClassifier",
    "RagCaiConfig",
    "Receipt",
    "ReceiptLog",
    "RuleExtractor",
    "SearchError",
    "Signal",
    "SignalReport",
    "Site",
    "Status",
    "ValidationResult",
    "Validator",
    "__version__",
    "check_citations",
    "cts",
    "detect_signals",
    "export_cross_encoder",
    "fit_weights",
    "make_receipt",
    "tune_tau_star",
    "verify_receipts",
]

# Public name -> where it is defined. ``Caco`` and ``caco`` are what cavaquinho calls ``Validator``.
_LAZY_NAMES = {
    "CTS": ("caco.tension", "CTS"),
    "Aggregator": ("caco.aggregator", "Aggregator"),
    "BatchValidator": ("caco.batch", "BatchValidator"),
    "Caco": ("caco.validator", "Validator"),
    "CitationReport": ("caco.citations", "CitationReport"),
    "ClassifierContract": ("caco.classifier.base", "ClassifierContract"),
    "CrossEncoderClassifier": ("caco.classifier.cross_encoder", "CrossEncoderClassifier"),
    "DeBERTaClassifier": ("caco.classifier.cross_encoder", "DeBERTaClassifier"),
    "ExtractorContract": ("caco.extractor.base", "ExtractorContract"),
    "GatingPolicy": ("caco.gate", "GatingPolicy"),
    "GovernedPath": ("caco.governance", "GovernedPath"),
    "LLMExtractor": ("caco.extractor.llm", "LLMExtractor"),
    "NLIClassifier": ("caco.classifier.nli", "NLIClassifier"),
    "RagCaiConfig": ("caco.governance", "RagCaiConfig"),
    "Receipt": ("caco.receipts", "Receipt"),
    "ReceiptLog": ("caco.receipts", "ReceiptLog"),
    "RuleExtractor": ("caco.extractor.rule", "RuleExtractor"),
    "SignalReport": ("caco.signals", "SignalReport"),
    "Site": ("caco.receipts", "Site"),
    "Validator": ("caco.validator", "Validator"),
    "caco": ("caco.validator", "Validator"),
    "check_citations": ("caco.citations", "check_citations"),
    "cts": ("caco.tension", "cts"),
    "detect_signals": ("caco.signals", "detect_signals"),
    "export_cross_encoder": ("caco.classifier.export", "export_cross_encoder"),
    "fit_weights": ("caco.tension", "fit_weights"),
    "make_receipt": ("caco.receipts", "make_receipt"),
    "tune_tau_star": ("caco.tuning", "tune_tau_star"),
    "verify_receipts": ("caco.receipts", "verify_receipts"),
}

# Reachable as attributes after a bare ``import caco``.
_LAZY_MODULES = (
    "aggregator",
    "batch",
    "citations",
    "classifier",
    "config",
    "core",
    "extractor",
    "gate",
    "governance",
    "receipts",
    "signals",
    "tension",
    "testing",
    "tuning",
    "validator",
)


def __getattr__(name: str) -> object:
    if name in _LAZY_NAMES:
        module, attribute = _LAZY_NAMES[name]
        value: object = getattr(import_module(module), attribute)
    elif name in _LAZY_MODULES:
        value = import_module(f"caco.{name}")
    else:
        raise AttributeError(f"module 'caco' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_NAMES, *_LAZY_MODULES})
