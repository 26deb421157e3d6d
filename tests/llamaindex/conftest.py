"""A scripted LLM, fixed retrievers, and an engine whose verdicts are plain to see."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import pytest

from caco.gate import GatingPolicy
from caco.models import Decision, Labels
from caco.testing import FakeClassifier
from caco.validator import Validator

if find_spec("llama_index") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    with warnings.catch_warnings():
        # The oldest releases warn of themselves when a newer pydantic reads them.
        warnings.simplefilter("ignore")
        import llama_index.core  # noqa: F401

    from llama_index.core import Settings
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.llms import (
        CompletionResponse,
        CompletionResponseGen,
        CustomLLM,
        LLMMetadata,
    )
    from llama_index.core.llms.callbacks import llm_completion_callback
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from pydantic import PrivateAttr

    class ScriptedLLM(CustomLLM):
        """Answers from a list, the last one again and again, or with a function of the prompt."""

        _script: Any = PrivateAttr()
        _prompts: list[str] = PrivateAttr(default_factory=list)
        _lock: Any = PrivateAttr(default_factory=threading.Lock)

        def __init__(self, script: Sequence[str | Exception] | Callable[[str], str]) -> None:
            super().__init__(callback_manager=CallbackManager([]))
            self._script = script

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="scripted")

        @property
        def prompts(self) -> list[str]:
            return self._prompts

        def _answer(self, prompt: str) -> str:
            with self._lock:
                turn = len(self._prompts)
                self._prompts.append(prompt)
            if callable(self._script):
                return self._script(prompt)
            answer = self._script[min(turn, len(self._script) - 1)]
            if isinstance(answer, Exception):
                raise answer
            return answer

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any):
            return CompletionResponse(text=self._answer(prompt))

        @llm_completion_callback()
        def stream_complete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> CompletionResponseGen:
            answer = self._answer(prompt)

            def tokens() -> CompletionResponseGen:
                said = ""
                for token in answer.replace(" ", "\0 ").split("\0"):
                    said += token
                    yield CompletionResponse(text=said, delta=token)

            return tokens()

    class FixedRetriever(BaseRetriever):
        """Returns the same node objects each time, or what a function of the query says."""

        def __init__(self, nodes: Any, similarity_top_k: int = 2) -> None:
            self.nodes = nodes
            self.similarity_top_k = similarity_top_k
            self.queries: list[QueryBundle] = []
            super().__init__()

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            self.queries.append(query_bundle)
            if callable(self.nodes):
                return self.nodes(query_bundle.query_str)
            return list(self.nodes)[: self.similarity_top_k]

    class GivenEngine(BaseQueryEngine):
        """Answers with a given object and no synthesizer; without one it must not be asked."""

        def __init__(self, response: Any = None) -> None:
            super().__init__(None)
            self.response = response

        def _query(self, query_bundle: QueryBundle) -> Any:
            assert self.response is not None, "not to be asked"
            return self.response

        async def _aquery(self, query_bundle: QueryBundle) -> Any:
            return self._query(query_bundle)

        def _get_prompt_modules(self) -> dict[str, Any]:
            return {}


@pytest.fixture
def given_engine():
    return GivenEngine


@pytest.fixture(autouse=True)
def _no_default_llm():
    """Nothing of ours may need ``Settings.llm``; asking for it would try to import OpenAI."""
    before = Settings._llm
    Settings._llm = None
    yield
    Settings._llm = before


@pytest.fixture(autouse=True)
def _event_loop():
    """LlamaIndex's ``asyncio_run`` takes the thread's loop, else makes one that it never closes."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def make_llm():
    return ScriptedLLM


@pytest.fixture
def make_retriever():
    return FixedRetriever


@pytest.fixture
def make_node():
    def make(text: str = "", score: float | None = None, **fields: Any) -> NodeWithScore:
        return NodeWithScore(node=TextNode(text=text, **fields), score=score)

    return make


@pytest.fixture
def make_engine():
    """A retriever query engine over nodes, answering from a script."""

    def make(nodes: Any, script: Any, **options: Any) -> RetrieverQueryEngine:
        retriever = nodes if isinstance(nodes, BaseRetriever) else FixedRetriever(nodes)
        llm = script if isinstance(script, ScriptedLLM) else ScriptedLLM(script)
        return RetrieverQueryEngine.from_args(retriever, llm=llm, **options)

    return make


def verbatim(claim: str, context: str) -> Labels:
    """A claim is supported when the context says it word for word, else contradicted."""
    said = claim.strip().rstrip(".") in context
    return Labels.VALUE_ENTAILMENT if said else Labels.VALUE_CONTRADICTION


@pytest.fixture
def validator() -> Validator:
    return Validator(classifier=FakeClassifier(verbatim))


class WithholdAll(GatingPolicy):
    """A gate that lets nothing through, whatever the claims."""

    def decide(self, result, cts=None):
        return Decision(True, "by order", self.tau_star, ())


@pytest.fixture
def withholding() -> Validator:
    """Like ``validator``, with a gate that withholds every answer."""
    policy = WithholdAll(abstain_if=("contradiction",))
    return Validator(classifier=FakeClassifier(verbatim), policy=policy)
