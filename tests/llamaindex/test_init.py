"""The names that users import, frozen: a change here is a change to the public contract."""

from __future__ import annotations

import llamaindex_caco

EXPECTED = {
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
}


def test_the_public_names():
    assert set(llamaindex_caco.__all__) == EXPECTED
    assert all(hasattr(llamaindex_caco, name) for name in EXPECTED)


def test_everything_public_is_documented():
    for name in EXPECTED:
        assert (getattr(llamaindex_caco, name).__doc__ or "").strip(), name
