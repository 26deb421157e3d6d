"""A scripted chat model, a fixed retriever, and an engine whose verdicts are plain to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import pytest

from caco.models import ClaimResult, Labels
from caco.testing import FakeClassifier
from caco.validator import Validator

if find_spec("langchain_core") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
    from langchain_core.retrievers import BaseRetriever

    class ScriptedModel(BaseChatModel):
        """Answers with a function of the prompt's text; streams word by word."""

        answer: Callable[[str], str]
        prompts: list[str] = []

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _text(self, messages: list[BaseMessage]) -> str:
            prompt = "\n".join(f"{message.type}: {message.text}" for message in messages)
            self.prompts.append(prompt)
            return self.answer(prompt)

        def _generate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
        ) -> ChatResult:
            message = AIMessage(self._text(messages))
            return ChatResult(generations=[ChatGeneration(message=message)])

        def _stream(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
        ) -> Iterator[ChatGenerationChunk]:
            words = self._text(messages).split(" ")
            for position, word in enumerate(words):
                text = word if position == 0 else f" {word}"
                chunk = ChatGenerationChunk(message=AIMessageChunk(text))
                if run_manager is not None:
                    run_manager.on_llm_new_token(text, chunk=chunk)
                yield chunk

    class FixedRetriever(BaseRetriever):
        """Returns a function of the query."""

        find: Callable[[str], Sequence[Any]]

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [
                item if isinstance(item, Document) else Document(page_content=item)
                for item in self.find(query)
            ]


def found_in_documents(claim: str, context: str) -> ClaimResult:
    """A claim is supported when a document says exactly that, and contradicted otherwise."""
    if claim in context:
        return ClaimResult(claim, claim, Labels.VALUE_ENTAILMENT, 0.99)
    source = context.split("\n\n")[0]
    return ClaimResult(claim, source, Labels.VALUE_CONTRADICTION, 0.98, f"the source says {source}")


@pytest.fixture
def validator() -> Validator:
    """The engine with `found_in_documents` in the model's place; it pickles."""
    return Validator(classifier=FakeClassifier(found_in_documents))


@pytest.fixture
def model() -> Callable[..., Any]:
    """Makes a chat model from a text or a function of the prompt."""

    def make(answer: str | Callable[[str], str]) -> Any:
        function = answer if callable(answer) else lambda _: answer
        return ScriptedModel(answer=function, prompts=[])

    return make


@pytest.fixture
def retriever() -> Callable[..., Any]:
    """Makes a retriever from documents (or their texts), or a function of the query."""

    def make(found: Sequence[Any] | Callable[[str], Sequence[Any]]) -> Any:
        return FixedRetriever(find=found if callable(found) else lambda _: found)

    return make
