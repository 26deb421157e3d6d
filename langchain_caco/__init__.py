"""caco for LangChain: guard a chain, retry it with feedback, monitor it, verify in agents.

```
from langchain_caco import CacoGuard

chain = RunnablePassthrough.assign(answer=prompt | llm | StrOutputParser()) | CacoGuard()
chain.invoke({"question": "…", "context": documents})["validation"].is_hallucination
```

Names are imported when they are first used. ``langchain_caco.middleware`` and
``langchain_caco.langgraph`` need the extra ``agents`` and are imported by their own names.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from caco.errors import HallucinationError, MissingExtraError

if TYPE_CHECKING:
    from langchain_caco.actions import NextAttempt
    from langchain_caco.callbacks import (
        AsyncCacoCallbackHandler,
        CacoCallbackHandler,
        MonitorRecord,
        caco_monitor,
    )
    from langchain_caco.convert import GuardedText
    from langchain_caco.evaluator import caco_evaluator
    from langchain_caco.governance import CacoGovernor, GovernedText
    from langchain_caco.guard import CacoGuard
    from langchain_caco.retrieval import CacoDocumentCompressor
    from langchain_caco.retry import HallucinationRetry, with_hallucination_retry
    from langchain_caco.tools import CacoVerifyTool

__all__ = [
    "AsyncCacoCallbackHandler",
    "CacoCallbackHandler",
    "CacoDocumentCompressor",
    "CacoGovernor",
    "CacoGuard",
    "CacoVerifyTool",
    "GovernedText",
    "GuardedText",
    "HallucinationError",
    "HallucinationRetry",
    "MonitorRecord",
    "NextAttempt",
    "caco_evaluator",
    "caco_monitor",
    "with_hallucination_retry",
]

_LAZY_NAMES = {
    "AsyncCacoCallbackHandler": "langchain_caco.callbacks",
    "CacoCallbackHandler": "langchain_caco.callbacks",
    "CacoDocumentCompressor": "langchain_caco.retrieval",
    "CacoGovernor": "langchain_caco.governance",
    "CacoGuard": "langchain_caco.guard",
    "CacoVerifyTool": "langchain_caco.tools",
    "GovernedText": "langchain_caco.governance",
    "GuardedText": "langchain_caco.convert",
    "HallucinationRetry": "langchain_caco.retry",
    "MonitorRecord": "langchain_caco.callbacks",
    "NextAttempt": "langchain_caco.actions",
    "caco_evaluator": "langchain_caco.evaluator",
    "caco_monitor": "langchain_caco.callbacks",
    "with_hallucination_retry": "langchain_caco.retry",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'langchain_caco' has no attribute {name!r}")
    if find_spec("langchain_core") is None:
        raise MissingExtraError(f"langchain_caco.{name}", "langchain")
    value: object = getattr(import_module(_LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_NAMES})
