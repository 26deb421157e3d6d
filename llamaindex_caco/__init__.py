"""caco in LlamaIndex: evaluator, node postprocessor, query engines, monitoring.

```
from llamaindex_caco import CacoEvaluator, CacoQueryEngine

guarded = CacoQueryEngine(index.as_query_engine(), on_fail="replace")
guarded.query("When was the LGPD enacted?").metadata["caco"].is_hallucination
```

Imports nothing but ``llama_index.core``; the checking itself is done by `caco.Validator`.
"""

from __future__ import annotations

from caco.errors import MissingExtraError

try:
    import llama_index.core  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "llama_index":
        raise
    raise MissingExtraError("llamaindex_caco", "llamaindex") from error

from llamaindex_caco.actions import NextAttempt
from llamaindex_caco.chat_engine import CacoChatEngine
from llamaindex_caco.convert import documents_from
from llamaindex_caco.evaluator import CacoEvaluationResult, CacoEvaluator
from llamaindex_caco.instrumentation import (
    CacoEventHandler,
    MonitorRecord,
    caco_instrumentation,
)
from llamaindex_caco.postprocessor import CacoNodePostprocessor
from llamaindex_caco.query_engine import CacoQueryEngine
from llamaindex_caco.retry import CacoRetryQueryEngine

__all__ = [
    "CacoChatEngine",
    "CacoEvaluationResult",
    "CacoEvaluator",
    "CacoEventHandler",
    "CacoNodePostprocessor",
    "CacoQueryEngine",
    "CacoRetryQueryEngine",
    "MonitorRecord",
    "NextAttempt",
    "caco_instrumentation",
    "documents_from",
]
