"""A Runnable whose work is done for many inputs at once."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from typing_extensions import override

from langchain_caco.rows import unwrapped

__all__ = ["FusedRunnable"]


class FusedRunnable(RunnableSerializable[Any, Any]):
    """Runs everything, a single input too, through `_many` or `_amany`.

    LangChain fills in ``run_manager`` and ``config`` by these names, as lists for a batch. Both
    return one outcome for each input, an exception where it failed.
    """

    @abstractmethod
    def _many(
        self,
        values: list[Any],
        run_manager: list[CallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]: ...

    @abstractmethod
    async def _amany(
        self,
        values: list[Any],
        run_manager: list[AsyncCallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]: ...

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run one input."""
        return self._call_with_config(self._one, input, config, **kwargs)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`; the event loop stays free."""
        return await self._acall_with_config(self._aone, input, config, **kwargs)

    @override
    def batch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> list[Any]:
        """Run many inputs; their answers are verified together."""
        return self._batch_with_config(
            self._many, inputs, config, return_exceptions=return_exceptions, **kwargs
        )

    @override
    async def abatch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> list[Any]:
        """`batch`; the event loop stays free."""
        return await self._abatch_with_config(
            self._amany, inputs, config, return_exceptions=return_exceptions, **kwargs
        )

    def _one(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        return unwrapped(self._many([value], [run_manager], [config], **kwargs)[0])

    async def _aone(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        return unwrapped((await self._amany([value], [run_manager], [config], **kwargs))[0])
