"""What a gating policy has done before an engine is asked again, and what is said in the end."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import BaseModel

from caco.errors import HallucinationError
from caco.gate import ACTIONS, GatingPolicy
from caco.models import Labels
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoChatEngine, CacoQueryEngine, CacoRetryQueryEngine, NextAttempt
from llamaindex_caco.actions import _cooled

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
QUERY = "When was the LGPD enacted?"
ASK, MORE, COLDER = ACTIONS
MESSAGE = GatingPolicy().message_for("english")

both = pytest.mark.parametrize("is_async", [False, True])


def ask(engine, query=QUERY, *, is_async=False):
    return asyncio.run(engine.aquery(query)) if is_async else engine.query(query)


def policy(*actions, **fields):
    own = tuple(name for name in actions if name not in ACTIONS)
    return GatingPolicy(
        abstain_if=("contradiction",), on_abstain=actions, custom_actions=own, **fields
    )


@pytest.fixture
def warm(make_llm):
    """A model with a temperature, which it notes with each answer."""

    class Warm(make_llm):
        temperature: float = 0.7
        temperatures: list = []

        def _answer(self, prompt):
            self.temperatures.append(self.temperature)
            return super()._answer(prompt)

    def make(script):
        llm = Warm(script)
        llm.temperatures = []
        return llm

    return make


@pytest.fixture
def retrying(make_node, make_engine, make_retriever, make_llm, validator):
    """A retrying engine, its LLM and its retriever."""

    def make(script, *actions, nodes=None, max_retries=2, streaming=False, **options):
        llm = make_llm(script) if isinstance(script, list) or callable(script) else script
        retriever = make_retriever([make_node(SOURCE, id_="law")] if nodes is None else nodes)
        inner = make_engine(retriever, llm, streaming=streaming)
        options = {"validator": validator, "policy": policy(*actions), **options}
        return CacoRetryQueryEngine(inner, max_retries, **options), llm, retriever

    return make


def actions_of(response):
    return [attempt.actions for attempt in response.metadata["caco"].attempts]


class TestTemperature:
    @both
    def test_the_next_attempt_is_at_zero_and_the_model_stays_as_it_is(
        self, retrying, warm, is_async
    ):
        llm = warm([WRONG, RIGHT])
        engine, _, retriever = retrying(llm, COLDER)
        response = ask(engine, is_async=is_async)
        assert response.response == RIGHT
        assert llm.temperatures == [0.7, 0.0]
        assert llm.temperature == 0.7
        assert len(retriever.queries) == 1
        assert actions_of(response) == [(COLDER,), ()]

    def test_the_next_question_is_asked_as_the_first_was(self, retrying, warm):
        llm = warm([WRONG, RIGHT, WRONG, RIGHT])
        engine, _, _ = retrying(llm, COLDER)
        ask(engine)
        ask(engine)
        assert llm.temperatures == [0.7, 0.0, 0.7, 0.0]

    def test_only_a_withheld_answer_is_tried_colder(self, retrying, warm):
        """One that fails its check without the gate minding is tried again as it was."""
        llm = warm([WRONG, WRONG])
        lenient = GatingPolicy(abstain_if=("no_context",), on_abstain=(COLDER,))
        engine, _, _ = retrying(llm, max_retries=1, policy=lenient)
        assert ask(engine).response == WRONG
        assert llm.temperatures == [0.7, 0.7]

    @pytest.mark.parametrize(
        ("mode", "streaming"),
        [
            (mode, streaming)
            for mode in ResponseMode
            for streaming in (False, True)
            if mode not in (ResponseMode.NO_TEXT, ResponseMode.CONTEXT_ONLY)
            and not (streaming and "accumulate" in mode.value)
        ],
    )
    def test_with_every_synthesizer(
        self, make_node, make_retriever, make_engine, validator, warm, mode, streaming
    ):
        llm = warm(lambda prompt: WRONG)
        synthesizer = get_response_synthesizer(llm=llm, response_mode=mode, streaming=streaming)
        inner = make_engine([make_node(SOURCE)], llm, response_synthesizer=synthesizer)
        engine = CacoRetryQueryEngine(inner, 1, validator=validator, policy=policy(COLDER))
        str(ask(engine))
        assert llm.temperatures[0] == 0.7
        assert llm.temperatures[-1] == 0.0
        assert llm.temperatures == sorted(llm.temperatures, reverse=True)

    def test_a_copied_synthesizer_shares_no_method_with_the_first(self, make_engine, warm):
        """Refine keeps its own method as an attribute, bound to itself."""
        engine = make_engine([], warm([RIGHT]))
        before = engine._response_synthesizer
        after = _cooled(engine)._response_synthesizer
        assert after is not before
        assert after._program_factory.__self__ is after
        assert before._program_factory.__self__ is before
        assert (before._llm.temperature, after._llm.temperature) == (0.7, 0.0)

    def test_a_model_that_answers_in_the_form_of_a_class(self, make_engine, warm):
        class Answer(BaseModel):
            text: str

        inner = warm([RIGHT])
        structured = StructuredLLM(llm=inner, output_cls=Answer)
        synthesizer = get_response_synthesizer(llm=structured)
        cooled = _cooled(make_engine([], [RIGHT], response_synthesizer=synthesizer))
        assert cooled._response_synthesizer._llm.llm.temperature == 0.0
        assert (structured.llm.temperature, inner.temperature) == (0.7, 0.7)

    def test_a_model_without_one_is_said(self, retrying, caplog):
        engine, _, _ = retrying([WRONG, RIGHT], COLDER)
        with caplog.at_level(logging.WARNING, "llamaindex_caco"):
            response = ask(engine)
        assert response.response == RIGHT
        assert COLDER in caplog.text
        assert actions_of(response) == [(), ()]


class TestRetrieval:
    @both
    def test_twice_as_many_each_time_on_a_copy(self, retrying, make_node, is_async):
        nodes = [make_node(f"Fact {number}.", id_=str(number)) for number in range(6)]
        engine, llm, retriever = retrying([WRONG], MORE, nodes=[*nodes, make_node(SOURCE)])
        retriever.similarity_top_k = 1
        response = ask(engine, is_async=is_async)
        counts = [prompt.count("Fact ") for prompt in llm.prompts]
        assert counts == [1, 2, 4]
        assert retriever.similarity_top_k == 1
        assert actions_of(response) == [(MORE,), (MORE,), ()]

    def test_many_questions_at_once_do_not_see_each_others(self, retrying, make_node):
        nodes = [make_node(f"Fact {number}.", id_=str(number)) for number in range(6)]
        engine, llm, retriever = retrying(lambda _: WRONG, MORE, nodes=nodes, max_retries=1)
        retriever.similarity_top_k = 2
        with ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(lambda _: ask(engine), range(24)))
        counts = sorted(prompt.count("Fact ") for prompt in llm.prompts)
        assert counts == [2] * 24 + [4] * 24
        assert retriever.similarity_top_k == 2
        assert all(len(response.metadata["caco"].attempts) == 2 for response in responses)

    @both
    def test_with_no_documents_more_are_looked_for(self, make_engine, validator, is_async):
        class Shy(type(make_engine([], [RIGHT]).retriever)):
            def _retrieve(self, query_bundle):
                return super()._retrieve(query_bundle) if self.similarity_top_k > 2 else []

        retriever = Shy([NodeWithScore(node=TextNode(text=SOURCE))])
        rule = GatingPolicy(abstain_if=("no_context",), on_abstain=(MORE,))
        inner = make_engine(retriever, [RIGHT])
        response = ask(
            CacoRetryQueryEngine(inner, validator=validator, policy=rule), is_async=is_async
        )
        assert response.response == RIGHT
        assert response.metadata["caco"].is_hallucination is False

    @both
    def test_all_at_once(self, retrying, warm, make_node, is_async):
        llm = warm([WRONG, RIGHT])
        nodes = [make_node(text, id_=text) for text in ("It rains.", "It snows.", SOURCE)]
        engine, _, retriever = retrying(llm, MORE, ASK, COLDER, nodes=nodes)
        response = ask(engine, is_async=is_async)
        assert response.response == RIGHT
        assert llm.temperatures == [0.7, 0.0]
        assert len(retriever.queries) == 2
        assert len(response.source_nodes) == 3
        assert actions_of(response) == [(MORE, COLDER), ()]


class TestOwn:
    @both
    def test_a_handler_sees_the_verdict_and_may_change_the_engine(
        self, retrying, make_engine, make_node, is_async
    ):
        seen = []
        other = make_engine([make_node(SOURCE, id_="archive")], [RIGHT])

        def to_the_archive(attempt):
            seen.append(attempt)
            return replace(attempt, engine=other)

        engine, llm, _ = retrying([WRONG], "use_archive", on_action={"use_archive": to_the_archive})
        response = ask(engine, is_async=is_async)
        assert response.response == RIGHT
        assert [node.node_id for node in response.source_nodes] == ["archive"]
        assert [attempt.result.response for attempt in seen] == [WRONG]
        assert isinstance(seen[0].engine, BaseQueryEngine)
        assert len(llm.prompts) == 1
        assert actions_of(response) == [("use_archive",), ()]

    def test_one_that_only_watches(self, retrying):
        seen = []
        engine, _, retriever = retrying(
            [WRONG, WRONG, RIGHT], "page", on_action={"page": seen.append}
        )
        assert ask(engine).response == RIGHT
        assert len(seen) == 2
        assert len(retriever.queries) == 1

    def test_one_in_place_of_cacos_own(self, retrying, warm):
        llm = warm([WRONG, RIGHT])
        engine, _, _ = retrying(llm, COLDER, on_action={COLDER: lambda attempt: None})
        assert ask(engine).response == RIGHT
        assert llm.temperatures == [0.7, 0.7]

    def test_its_exception_surfaces(self, retrying):
        def fail(attempt):
            raise ZeroDivisionError

        engine, _, _ = retrying([WRONG], "page", on_action={"page": fail})
        with pytest.raises(ZeroDivisionError):
            ask(engine)

    def test_it_must_return_an_attempt(self, retrying):
        engine, _, _ = retrying([WRONG], "page", on_action={"page": lambda attempt: "done"})
        with pytest.raises(TypeError, match=r"on_action\['page'\] must return a NextAttempt"):
            ask(engine)

    def test_without_a_handler_it_is_said(self, retrying, caplog):
        engine, _, _ = retrying([WRONG, RIGHT], "page")
        with caplog.at_level(logging.WARNING, "llamaindex_caco"):
            assert ask(engine).response == RIGHT
        assert "'page'" in caplog.text

    @pytest.mark.parametrize(
        ("handlers", "error", "reason"),
        [
            ({"pge": print}, ValueError, r"has 'pge'; the policy asks for \['page'\]"),
            ({ASK: print}, ValueError, ASK),
            ({"page": "me"}, TypeError, "callable"),
        ],
    )
    def test_that_make_no_sense(self, retrying, handlers, error, reason):
        with pytest.raises(error, match=reason):
            retrying([RIGHT], "page", ASK, on_action=handlers)

    def test_without_a_policy_there_are_none(self, retrying):
        with pytest.raises(ValueError, match=r"asks for \[\]"):
            retrying([RIGHT], policy=None, on_action={"page": print})

    def test_an_attempt_is_frozen(self, given_engine):
        attempt = NextAttempt(given_engine(), None)
        with pytest.raises(AttributeError):
            attempt.retrieves = True


class TestMessage:
    @both
    @pytest.mark.parametrize("on_fail", ["annotate", "replace", "redact"])
    @pytest.mark.parametrize("actions", [(ASK,), ()])
    def test_when_nothing_passed(self, retrying, on_fail, actions, is_async):
        engine, llm, _ = retrying([WRONG], *actions, on_fail=on_fail, fallback_message="Sorry.")
        response = ask(engine, is_async=is_async)
        assert response.response == MESSAGE
        assert response.metadata["caco"].response == WRONG
        assert len(llm.prompts) == 3

    @both
    def test_not_when_something_did(self, retrying, is_async):
        engine, _, _ = retrying([WRONG, RIGHT], ASK)
        assert ask(engine, is_async=is_async).response == RIGHT

    @both
    def test_raise_raises(self, retrying, is_async):
        engine, _, _ = retrying([WRONG], ASK, on_fail="raise")
        with pytest.raises(HallucinationError):
            ask(engine, is_async=is_async)

    @both
    @pytest.mark.parametrize("streaming", [False, True])
    def test_of_a_single_attempt(self, make_engine, make_node, validator, streaming, is_async):
        inner = make_engine([make_node(SOURCE)], [WRONG], streaming=streaming)
        own = policy(message="Where does it say so?")
        engine = CacoQueryEngine(inner, validator=validator, policy=own)
        response = ask(engine, is_async=is_async)
        assert str(response) == "Where does it say so?"
        assert response.metadata["caco"].gate.reason == "contradiction"

    @both
    def test_in_the_validators_language(self, make_engine, make_node, is_async):
        portuguese = Validator(
            classifier=FakeClassifier(default=Labels.VALUE_CONTRADICTION),
            language="pt",
            policy=GatingPolicy(),
        )
        engine = CacoQueryEngine(make_engine([make_node("A lei.")], ["É."]), validator=portuguese)
        assert ask(engine, is_async=is_async).response == GatingPolicy().message_for("portuguese")

    def test_of_an_answer_in_the_form_of_a_class(self, given_engine, make_node, validator):
        class Answer(BaseModel):
            text: str

        given = PydanticResponse(Answer(text=WRONG), [make_node(SOURCE)])
        engine = CacoQueryEngine(given_engine(given), validator=validator, policy=policy())
        response = engine.query(QUERY)
        assert isinstance(response, Response)
        assert response.response == MESSAGE

    @both
    def test_of_an_answer_that_could_not_be_checked(
        self, given_engine, make_node, validator, is_async
    ):
        """Nothing was said: no policy lets that pass."""
        engine = CacoQueryEngine(
            given_engine(Response("", [make_node(SOURCE)])),
            validator=validator,
            policy=GatingPolicy(abstain_if=()),
        )
        response = ask(engine, is_async=is_async)
        assert response.response == MESSAGE
        assert response.metadata["caco"].gate.reason == "check_failed"

    @both
    def test_of_a_chat(self, make_engine, make_node, make_llm, make_retriever, validator, is_async):
        chat = ContextChatEngine.from_defaults(
            retriever=make_retriever([make_node(SOURCE)]),
            llm=make_llm([WRONG]),
            memory=ChatMemoryBuffer.from_defaults(token_limit=1000),
        )
        engine = CacoChatEngine(chat, validator=validator, policy=policy(ASK))
        response = asyncio.run(engine.achat(QUERY)) if is_async else engine.chat(QUERY)
        assert str(response) == MESSAGE
        assert response.metadata["caco"].response == WRONG


class TestPolicy:
    def test_at_another_threshold_it_decides_again(self, make_engine, make_node):
        weak = Validator(classifier=FakeClassifier(score=0.6))
        rule = GatingPolicy(abstain_if=("score > threshold",))
        inner = make_engine([make_node(SOURCE)], [RIGHT])
        for threshold, abstained in ((None, False), (0.3, True), (0.5, False)):
            engine = CacoQueryEngine(inner, validator=weak, policy=rule, threshold=threshold)
            assert engine.query(QUERY).metadata["caco"].gate.abstained is abstained

    def test_is_given_once(self, make_engine, validator):
        own = Validator(classifier=validator.classifier, policy=policy(ASK))
        inner = make_engine([], [RIGHT])
        assert CacoQueryEngine(inner, validator=own, policy=policy(ASK)).validator.policy
        with pytest.raises(ValueError, match="another policy"):
            CacoQueryEngine(inner, validator=own, policy=policy(MORE))
        with pytest.raises(TypeError, match="GatingPolicy"):
            CacoQueryEngine(inner, validator=own, policy={"tau_star": 0.5})

    def test_leaves_the_given_validator_alone(self, make_engine, validator):
        CacoQueryEngine(make_engine([], [RIGHT]), validator=validator, policy=policy(ASK))
        assert validator.policy is None
