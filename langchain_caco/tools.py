"""Fact-checking as a tool for agents."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, field_validator

from caco.models import ValidationResult
from caco.text import resolve_language
from caco.validator import Validator

__all__ = ["CacoVerifyTool"]


class _VerifyInput(BaseModel):
    """What a model passes to the tool."""

    answer: str = Field(description="The text to check, as it would be said to the user.")
    sources: list[str] = Field(
        description="The texts to check it against, word for word as they were retrieved."
    )


class CacoVerifyTool(BaseTool):
    """Lets an agent check a text against sources, claim by claim.

    What the model reads is the verdict in words: a summary and, where something is wrong, each
    failing claim with the evidence against it. The message's ``artifact`` is the whole result as
    plain JSON (`ValidationResult.to_dict`).

    An empty answer is a tool error that the model reads; without readable sources the verdict is
    that nothing could be checked, never a pass.

    Attributes:
        validator: Does the checking. None: the default one.
        language: "english" or "portuguese", for the default validator.

    Raises:
        ValueError: The language is not supported.
    """

    name: str = "verify_answer"
    description: str = (
        "Check an answer against its sources before giving it to the user. Returns whether every "
        "statement in the answer is backed by the sources and, for each one that is not, the "
        "evidence against it."
    )
    args_schema: type[BaseModel] = _VerifyInput
    response_format: Literal["content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool = True
    language: str = "english"
    validator: Validator | None = Field(default=None, exclude=True, repr=False)

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str) -> str:
        return resolve_language(language)

    def _run(self, answer: str, sources: list[str]) -> tuple[str, dict[str, Any]]:
        return _reply(self._checker().validate(_given(answer), sources))

    async def _arun(self, answer: str, sources: list[str]) -> tuple[str, dict[str, Any]]:
        return _reply(await self._checker().avalidate(_given(answer), sources))

    def _checker(self) -> Validator:
        """Return the validator to use; building one is cheap, its model is shared."""
        return self.validator if self.validator is not None else Validator(language=self.language)


def _given(answer: str) -> str:
    if not answer.strip():
        raise ToolException("the answer is empty: there is nothing to check")
    return answer


def _reply(result: ValidationResult) -> tuple[str, dict[str, Any]]:
    verdict = "NOT SUPPORTED" if result.is_hallucination else str(result.status)
    lines = [f"{verdict}: {result.summary}", result.feedback() if result.is_hallucination else ""]
    return "\n".join(filter(None, lines)), result.to_dict()
