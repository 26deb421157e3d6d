"""The verification tool: langchain's own suites, and what an agent gets from it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_tests")

from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from caco.models import ValidationResult
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco.tools import CacoVerifyTool

ROME = "Rome has four gates."


class CoroutineTests:
    """Runs test functions that are coroutines: the suites bring some, and may not be overridden."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = inspect.signature(pyfuncitem.obj).parameters
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True


@pytest.fixture(autouse=True, scope="module")
def _coroutine_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    plugin = CoroutineTests()
    request.config.pluginmanager.register(plugin)
    yield
    request.config.pluginmanager.unregister(plugin)


def in_sources(claim: str, context: str) -> Any:
    return "entailment" if claim in context else "contradiction"


@pytest.fixture
def verify() -> CacoVerifyTool:
    from caco.models import Labels

    classifier = FakeClassifier(lambda claim, context: Labels(in_sources(claim, context)))
    return CacoVerifyTool(validator=Validator(classifier=classifier))


class _Example:
    """What both suites are told about the tool; the embedded model does the checking."""

    @property
    def tool_constructor(self) -> type[BaseTool]:
        return CacoVerifyTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"language": "english"}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"answer": ROME, "sources": ["Rome has four gates and two bridges."]}


class TestUnitSuite(_Example, ToolsUnitTests):
    pass


class TestIntegrationSuite(_Example, ToolsIntegrationTests):
    pass


def call(answer: str, sources: list[str]) -> dict[str, Any]:
    arguments = {"answer": answer, "sources": sources}
    return {"name": "verify_answer", "args": arguments, "id": "1", "type": "tool_call"}


def test_a_faithful_answer(verify):
    message = verify.invoke(call(ROME, [ROME]))
    assert message.status == "success"
    assert message.content.startswith("CHECKED: ")
    assert not ValidationResult.from_dict(message.artifact).is_hallucination


def test_a_false_answer_comes_back_with_its_evidence(verify):
    message = verify.invoke(call("Rome has nine gates.", [ROME]))
    assert message.content.startswith("NOT SUPPORTED: ")
    assert "Rome has nine gates." in message.content
    result = ValidationResult.from_dict(json.loads(json.dumps(message.artifact)))
    assert result.is_hallucination
    assert result.feedback() in message.content


def test_async_gives_the_same(verify):
    arguments = call("Rome has nine gates.", [ROME])
    message = asyncio.run(verify.ainvoke(arguments))
    assert message.content == verify.invoke(arguments).content


@pytest.mark.parametrize("sources", [[], ["  "]])
def test_no_sources_is_never_a_pass(verify, sources):
    message = verify.invoke(call(ROME, sources))
    assert message.content.startswith("NOT SUPPORTED: ")
    assert message.artifact["status"] == "NO_CONTEXT"


def test_an_empty_answer_is_an_error_that_the_model_reads(verify):
    message = verify.invoke(call("  ", [ROME]))
    assert message.status == "error"
    assert "empty" in message.content


def test_plain_arguments_give_the_text(verify):
    assert isinstance(verify.invoke({"answer": ROME, "sources": [ROME]}), str)


def test_what_the_model_sees_of_it(verify):
    schema = verify.tool_call_schema.model_json_schema()
    assert set(schema["properties"]) == {"answer", "sources"}
    assert schema["required"] == ["answer", "sources"]
    assert all("description" in item for item in schema["properties"].values())


def test_an_agent_gets_it_like_any_tool(verify):
    from langchain_core.utils.function_calling import convert_to_openai_tool

    function = convert_to_openai_tool(verify)["function"]
    assert function["name"] == "verify_answer"
    assert function["parameters"]["properties"]["sources"]["type"] == "array"


def test_language():
    message = CacoVerifyTool(language="portuguese").invoke(call("Roma é grande.", []))
    assert message.artifact["language"] == "portuguese"


def test_unknown_language_is_refused_when_it_is_made():
    with pytest.raises(ValueError, match="klingon"):
        CacoVerifyTool(language="klingon")
