"""The steps of a governed chain before its answer: a ranking retriever, and checked summaries."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import ConfigDict
from typing_extensions import override

from caco.governance import RETRIEVE, current_path
from caco.models import Document as Source
from langchain_caco.capture import documents_seen
from langchain_caco.convert import context_of, question_of, to_caco_documents
from langchain_caco.retrieval import CacoDocumentCompressor
from langchain_caco.rows import RunManager

__all__ = ["GovernedRetriever", "GovernedStep", "OnePath"]


class GovernedRetriever(BaseRetriever):
    """A retriever whose documents are ranked as a `caco.RagCaiConfig` says.

    Attributes:
        retriever: What retrieves: a retriever, or any Runnable from a query to documents.
        compressor: What ranks.
    """

    retriever: Runnable[Any, Any]
    compressor: CacoDocumentCompressor

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        found = self.retriever.invoke(query, {"callbacks": callbacks})
        return self.compressor.compress_documents(found, query, callbacks)

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        found = await self.retriever.ainvoke(query, {"callbacks": callbacks})
        return list(await self.compressor.acompress_documents(found, query, callbacks))


class OnePath(RunnableSerializable[Any, Any]):
    """A Runnable around another one that runs each input by itself, through `_run` or `_arun`.

    Attributes:
        bound: The other one.
    """

    bound: Runnable[Any, Any]

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @abstractmethod
    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any: ...

    @abstractmethod
    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any: ...

    @property
    @override
    def InputType(self) -> Any:
        """The other one's."""
        return self.bound.InputType

    @property
    @override
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The other one's."""
        return self.bound.config_specs

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it on one input."""
        return self._call_with_config(self._run, input, config, **kwargs)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`; the event loop stays free."""
        return await self._acall_with_config(self._arun, input, config, **kwargs)


class GovernedStep(OnePath):
    """A step that summarises documents; within a governed chain its output is checked too.

    Its documents are those in its input (a list of documents, or a dict's, as for `CacoGuard`),
    else those that the chain's retrievers returned. What it returns, a str or a message, is left as
    it is; a blank one says nothing that could be checked.
    """

    @override
    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        output = self.bound.invoke(
            value, patch_config(config, callbacks=run_manager.get_child()), **kwargs
        )
        path, text = current_path(), _text_of(output)
        if path is not None and text.strip():
            seen, documents = _documents_of(value, run_manager)
            if path.provenance(RETRIEVE) is None:
                path.read_from(seen, question_of(value))
            path.summarize(text, documents)
        return output

    @override
    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        output = await self.bound.ainvoke(
            value, patch_config(config, callbacks=run_manager.get_child()), **kwargs
        )
        path, text = current_path(), _text_of(output)
        if path is not None and text.strip():
            seen, documents = _documents_of(value, run_manager)
            if path.provenance(RETRIEVE) is None:
                await path.aread_from(seen, question_of(value))
            await path.asummarize(text, documents)
        return output


def _text_of(output: object) -> str:
    if isinstance(output, BaseMessage):
        return str(output.text)
    if isinstance(output, str):
        return output
    raise TypeError(f"a summary must be a str or a message, not {type(output).__name__}")


def _documents_of(value: Any, run: RunManager) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """What the chain's retrievers returned, and what a step was given of it; each for the other.

    Nothing, where neither is known: what is written from it is then not supported.
    """
    given: tuple[Source, ...] | None = None
    if isinstance(value, Mapping):
        given = context_of(value)
    elif isinstance(value, (list, tuple, Document)):
        given = to_caco_documents(value)
    found = documents_seen(run.handlers, run.run_id, run.parent_run_id)
    seen = None if found is None else to_caco_documents(found)
    return (seen or given or ()), (given or seen or ())
