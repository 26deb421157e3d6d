"""Engines whose answers are governed: the path of each, and its receipt."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer

from caco.errors import HallucinationError
from caco.gate import GatingPolicy
from caco.governance import RagCaiConfig, current_path
from caco.ranking import Ranker
from caco.receipts import ReceiptLog
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import (
    CacoChatEngine,
    CacoNodePostprocessor,
    CacoQueryEngine,
    CacoRetryQueryEngine,
)

OLD = "The Arno bridge opened in 1932."
NEW = "The Arno bridge opened in 1951."
AGREES = "The Arno bridge opened in 1951, in May."
QUERY = "When did the Arno bridge open?"
MESSAGE = GatingPolicy().message_for("english")

both = pytest.mark.parametrize("is_async", [False, True])


def verdict(claim: str, context: str) -> str:
    if claim.rstrip(".") in context:
        return "entailment"
    return "contradiction" if all(y in claim + context for y in ("1932", "1951")) else "neutral"


@pytest.fixture
def validator():
    return Validator(classifier=FakeClassifier(verdict))


@pytest.fixture
def receipts():
    return []


@pytest.fixture
def nodes(make_node):
    return [
        make_node(OLD, 0.9, id_="old"),
        make_node(NEW, 0.8, id_="new"),
        make_node(AGREES, 0.7, id_="more"),
    ]


@pytest.fixture
def ranked(make_engine, make_retriever, nodes, validator):
    """An engine whose nodes are ranked before it answers."""

    def make(answer=NEW, *, config=None, given=None, **options):
        settings = {"action": "downrank"} if config is None else {"config": config}
        ranking = CacoNodePostprocessor(validator=validator, **settings)
        retriever = make_retriever(nodes if given is None else given, similarity_top_k=3)
        return make_engine(retriever, [answer], node_postprocessors=[ranking], **options)

    return make


def read(response):
    """Read a response to its end, whatever kind it is."""
    if hasattr(response, "async_response_gen"):

        async def tokens():
            return "".join([token async for token in response.async_response_gen()])

        return asyncio.run(tokens())
    return "".join(response.response_gen) if hasattr(response, "response_gen") else str(response)


def ask(engine, *, is_async=False):
    response = asyncio.run(engine.aquery(QUERY)) if is_async else engine.query(QUERY)
    return response, read(response)


def sites(receipt):
    return [(site.name, site.provenance) for site in receipt.sites]


class TestQueryEngine:
    @both
    @pytest.mark.parametrize("streaming", [False, True])
    def test_the_receipt_of_a_ranked_answer(self, ranked, validator, receipts, streaming, is_async):
        engine = CacoQueryEngine(
            ranked(streaming=streaming),
            validator=validator,
            receipts=receipts.append,
            user_role="analyst",
        )
        response, text = ask(engine, is_async=is_async)
        assert text == NEW
        receipt = response.metadata["caco_receipt"]
        assert receipts == [receipt]
        assert response.metadata["caco"].gate.abstained is False
        assert sites(receipt) == [
            ("retrieve", ("old", "new", "more")),
            ("generate", ("new", "more", "old")),
        ]
        assert receipt.sites[0].C > 0.3
        assert receipt.user_role == "analyst"
        assert "bridge" not in json.dumps(receipt.to_dict())

    @both
    def test_nodes_that_nobody_ranked_are_compared(
        self, make_engine, make_retriever, nodes, validator, receipts, is_async
    ):
        inner = make_engine(make_retriever(nodes, similarity_top_k=3), [OLD])
        engine = CacoQueryEngine(inner, validator=validator, receipts=receipts.append)
        response, text = ask(engine, is_async=is_async)
        assert text == OLD
        assert sites(receipts[0]) == [
            ("retrieve", ("old", "new", "more")),
            ("generate", ("old", "new", "more")),
        ]
        assert receipts[0].sites[0].C > 0.3
        assert [node.node_id for node in response.source_nodes] == ["old", "new", "more"]

    def test_metadata_that_differ_are_no_tension(self, make_engine, make_node, validator, receipts):
        given = [make_node("The law.", id_=y, metadata={"bridge": y}) for y in ("1932", "1951")]
        inner = make_engine(given, ["The law."])
        CacoQueryEngine(inner, validator=validator, receipts=receipts.append).query(QUERY)
        assert receipts[0].sites[0].C == 0.0

    @both
    def test_a_withheld_answer(self, ranked, validator, receipts, is_async):
        engine = CacoQueryEngine(
            ranked("It never opened."), validator=validator, receipts=receipts.append
        )
        response, text = ask(engine, is_async=is_async)
        assert text == MESSAGE
        assert response.metadata["caco"].response == "It never opened."
        assert receipts[0].decision.reason == "no_entailment"
        assert receipts[0].token_count == 3

    @both
    def test_the_configurations_tension_is_the_policys(self, ranked, validator, is_async):
        policy = GatingPolicy(abstain_if=("CTS > tau_star",))
        inner = ranked("The Arno bridge opened in 1932. It never opened.", given=None)
        for target, abstained in ((0.0, True), (1.0, False)):
            engine = CacoQueryEngine(
                inner, validator=validator, policy=policy, config=RagCaiConfig(tau_target=target)
            )
            response, _ = ask(engine, is_async=is_async)
            decision = response.metadata["caco_receipt"].decision
            assert (decision.abstained, decision.tau_star) == (abstained, target)
            assert response.metadata["caco"].gate == decision_of(response)

    def test_budget_and_ranker_are_the_postprocessors(self, ranked, validator, receipts):
        config = RagCaiConfig(token_budget=1, ranker=Ranker(conflicting="drop"))
        engine = CacoQueryEngine(
            ranked(config=config), validator=validator, config=config, receipts=receipts.append
        )
        response, _ = ask(engine)
        assert [node.node_id for node in response.source_nodes] == ["new"]
        assert sites(receipts[0]) == [
            ("retrieve", ("old", "new", "more")),
            ("generate", ("new",)),
        ]

    @both
    @pytest.mark.parametrize("streaming", [False, True])
    def test_the_receipt_is_written_before_the_exception(
        self, ranked, validator, receipts, streaming, is_async
    ):
        engine = CacoQueryEngine(
            ranked("Never.", streaming=streaming),
            "raise",
            validator=validator,
            receipts=receipts.append,
        )
        with pytest.raises(HallucinationError):
            ask(engine, is_async=is_async)
        assert receipts[0].decision.abstained

    @both
    @pytest.mark.parametrize("streaming", [False, True])
    def test_an_answer_whose_receipt_is_lost_is_not_given_out(
        self, ranked, validator, streaming, is_async
    ):
        def full(receipt):
            raise OSError("disk full")

        engine = CacoQueryEngine(ranked(streaming=streaming), validator=validator, receipts=full)
        with pytest.raises(OSError, match="disk full"):
            ask(engine, is_async=is_async)

    @both
    def test_nothing_said(self, given_engine, nodes, validator, receipts, is_async):
        inner = given_engine(Response("", nodes))
        engine = CacoQueryEngine(inner, validator=validator, receipts=receipts.append)
        _, text = ask(engine, is_async=is_async)
        assert text == MESSAGE
        assert receipts[0].decision.reason == "check_failed, no_entailment"

    def test_no_nodes(self, make_engine, validator, receipts):
        engine = CacoQueryEngine(
            make_engine([], [NEW]), validator=validator, receipts=receipts.append
        )
        assert ask(engine)[1] == MESSAGE
        assert sites(receipts[0]) == [("retrieve", ()), ("generate", ())]

    @both
    def test_a_response_from_elsewhere(self, given_engine, nodes, validator, receipts, is_async):
        engine = CacoQueryEngine(given_engine(), validator=validator, receipts=receipts.append)
        given = Response(NEW, nodes)
        response = (
            asyncio.run(engine.acheck_response(given, QUERY))
            if is_async
            else engine.check_response(given, QUERY)
        )
        assert response.metadata["caco_receipt"] is receipts[0]
        assert len(receipts[0].sites) == 2

    @both
    def test_retrieval_and_synthesis_apart(self, ranked, validator, receipts, is_async):
        from llama_index.core.schema import QueryBundle

        engine = CacoQueryEngine(ranked(), validator=validator, receipts=receipts.append)
        query = QueryBundle(QUERY)
        if is_async:
            found = asyncio.run(engine.aretrieve(query))
            asyncio.run(engine.asynthesize(query, found))
        else:
            engine.synthesize(query, engine.retrieve(query))
        assert [name for name, _ in sites(receipts[0])] == ["retrieve", "generate"]

    def test_questions_at_once_do_not_mix(
        self, make_engine, make_node, make_retriever, validator, receipts
    ):
        def found(query):
            return [make_node(f"Box {query} is red.", id_=f"box-{query}")]

        inner = make_engine(
            make_retriever(found),
            lambda prompt: f"Box {prompt.split('Box ')[1].split(' ')[0]} is red.",
            node_postprocessors=[CacoNodePostprocessor(validator=validator)],
        )
        engine = CacoQueryEngine(
            inner, validator=validator, receipts=receipts.append, user_role=lambda q: f"role-{q}"
        )

        async def many():
            return await asyncio.gather(*(engine.aquery(str(number)) for number in range(12)))

        with ThreadPoolExecutor(6) as pool:
            responses = list(pool.map(lambda n: engine.query(str(n)), range(12)))
        for number, response in enumerate([*responses, *asyncio.run(many())]):
            number %= 12
            receipt = response.metadata["caco_receipt"]
            box = (f"box-{number}",)
            assert sites(receipt) == [("retrieve", box), ("generate", box)]
            assert receipt.user_role == f"role-{number}"
        assert len({receipt.request_id for receipt in receipts}) == 24
        assert current_path() is None

    def test_into_a_file(self, ranked, validator, tmp_path):
        log = ReceiptLog(tmp_path / "receipts.jsonl", hash_chain=True)
        engine = CacoQueryEngine(ranked(), validator=validator, receipts=log)
        for _ in range(3):
            engine.query(QUERY)
        assert (log.verify().ok, log.verify().lines) == (True, 3)

    def test_without_receipts_nothing_is_added(self, ranked, validator):
        response, _ = ask(CacoQueryEngine(ranked(), validator=validator))
        assert "caco_receipt" not in response.metadata
        assert response.metadata["caco"].gate is None

    def test_a_step_of_ones_own(self, make_engine, make_retriever, nodes, validator, receipts):
        """What runs inside may add its site: a summary, say."""
        from llama_index.core.postprocessor.types import BaseNodePostprocessor

        class Summary(BaseNodePostprocessor):
            def _postprocess_nodes(self, nodes, query_bundle=None):
                current_path().summarize(NEW, [NEW])
                return nodes

        inner = make_engine(
            make_retriever(nodes, similarity_top_k=3),
            [NEW],
            node_postprocessors=[CacoNodePostprocessor(validator=validator), Summary()],
        )
        CacoQueryEngine(inner, validator=validator, receipts=receipts.append).query(QUERY)
        assert [name for name, _ in sites(receipts[0])] == ["retrieve", "summarize", "generate"]

    def test_async_leaves_the_loop_free(self, make_engine, make_retriever, nodes, loop_watch):
        kept = []
        engine = CacoQueryEngine(
            make_engine(make_retriever(nodes), [NEW]),
            validator=Validator(classifier=FakeClassifier(loop_watch.within(verdict))),
            receipts=loop_watch.within(kept.append),
        )
        response = loop_watch.run(lambda: engine.aquery(QUERY))
        assert response.metadata["caco_receipt"].sites
        assert kept == [response.metadata["caco_receipt"]]

    def test_the_embedded_model(self, make_engine, make_retriever, nodes, receipts):
        inner = make_engine(
            make_retriever(nodes, similarity_top_k=3),
            [NEW],
            node_postprocessors=[CacoNodePostprocessor(action="downrank")],
        )
        response, text = ask(CacoQueryEngine(inner, receipts=receipts.append))
        assert text == NEW
        assert [node.node_id for node in response.source_nodes] == ["new", "more", "old"]
        assert receipts[0].sites[0].C > 0.3


def decision_of(response):
    from dataclasses import replace

    gate = response.metadata["caco"].gate
    return replace(response.metadata["caco_receipt"].decision, actions=gate.actions)


class TestChatEngine:
    @pytest.fixture(params=[ContextChatEngine, CondensePlusContextChatEngine])
    def chat(self, request, make_retriever, make_llm, nodes, validator, receipts):
        inner = request.param.from_defaults(
            retriever=make_retriever(nodes, similarity_top_k=3),
            llm=make_llm([NEW]),
            memory=ChatMemoryBuffer.from_defaults(token_limit=1000),
            node_postprocessors=[CacoNodePostprocessor(validator=validator, action="downrank")],
        )
        return CacoChatEngine(
            inner, validator=validator, receipts=receipts.append, config=RagCaiConfig()
        )

    @pytest.mark.parametrize("how", ["chat", "achat", "stream_chat", "astream_chat"])
    def test_the_receipt(self, chat, receipts, how):
        async def talk():
            response = await getattr(chat, how)(QUERY)
            if how == "astream_chat":
                text = "".join([token async for token in response.async_response_gen()])
                return response, text
            return response, str(response)

        if how.startswith("a"):
            response, text = asyncio.run(talk())
        else:
            response = getattr(chat, how)(QUERY)
            text = "".join(response.response_gen) if how == "stream_chat" else str(response)
        assert text == NEW
        assert response.metadata["caco_receipt"] is receipts[0]
        assert sites(receipts[0]) == [
            ("retrieve", ("old", "new", "more")),
            ("generate", ("new", "more", "old")),
        ]


class TestRetryQueryEngine:
    @both
    def test_each_attempt_is_a_site(
        self, make_engine, make_retriever, make_node, validator, receipts, is_async
    ):
        inner = make_engine(make_retriever([make_node(NEW, id_="new")]), [OLD, NEW])
        engine = CacoRetryQueryEngine(inner, validator=validator, receipts=receipts.append)
        response, text = ask(engine, is_async=is_async)
        assert text == NEW
        assert [name for name, _ in sites(receipts[0])] == ["retrieve", "generate", "generate"]
        assert receipts[0].sites[1].CTS > receipts[0].sites[2].CTS
        assert receipts[0].decision.abstained is False
        assert response.metadata["caco_receipt"] is receipts[0]
        assert len(response.metadata["caco"].attempts) == 2

    @both
    @pytest.mark.parametrize("is_ranked", [False, True])
    def test_another_retrieval_is_another_site(
        self, make_engine, make_retriever, make_node, validator, receipts, is_ranked, is_async
    ):
        given = [make_node(f"Fact {number}.", id_=f"f{number}") for number in range(4)]
        post = [CacoNodePostprocessor(validator=validator)] if is_ranked else []
        inner = make_engine(
            make_retriever(given, similarity_top_k=1), ["Fact 1."], node_postprocessors=post
        )
        engine = CacoRetryQueryEngine(inner, validator=validator, receipts=receipts.append)
        assert ask(engine, is_async=is_async)[1] == "Fact 1."
        assert sites(receipts[0]) == [
            ("retrieve", ("f0",)),
            ("generate", ("f0",)),
            ("retrieve", ("f0", "f1")),
            ("generate", ("f0", "f1")),
        ]

    @both
    def test_the_decision_is_that_on_the_answer_given_out(
        self, make_engine, make_node, validator, receipts, is_async
    ):
        answers = [OLD, "It never opened. " + OLD, "It opened. " + OLD]
        policy = GatingPolicy(abstain_if=("contradiction",), on_abstain=())
        inner = make_engine([make_node(NEW)], answers)
        engine = CacoRetryQueryEngine(
            inner, validator=validator, policy=policy, receipts=receipts.append
        )
        response, text = ask(engine, is_async=is_async)
        assert text == policy.message_for("english")
        assert response.metadata["caco"].response == OLD
        assert receipts[0].token_count == len(OLD.split())
        assert len(receipts) == 1


class TestPostprocessor:
    def test_a_configuration_in_place_of_an_action(self, nodes, validator):
        plain = {"ranker": {"conflicting": "drop", "penalty_weight": 0.5}, "token_budget": 1}
        for config in (plain, RagCaiConfig.from_dict(plain)):
            ranking = CacoNodePostprocessor(config=config, validator=validator)
            assert [node.node_id for node in ranking.postprocess_nodes(nodes)] == ["new"]
        data = CacoNodePostprocessor(config=plain).to_dict()
        json.dumps(data)
        again = CacoNodePostprocessor.from_dict(data)
        assert again.config == RagCaiConfig.from_dict(plain)
        assert CacoNodePostprocessor.from_dict(again.to_dict()).config == again.config

    def test_weight_against_the_retrievers_order(self, nodes, validator):
        def order(weight):
            config = RagCaiConfig(ranker=Ranker(penalty_weight=weight))
            ranking = CacoNodePostprocessor(config=config, validator=validator)
            return [node.node_id for node in ranking.postprocess_nodes(nodes)]

        assert order(0.0) == ["old", "new", "more"]
        assert order(1.0) == ["new", "more", "old"]

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"action": "drop"}, r"leave out \['action'\]"),
            ({"max_pairs": 3}, r"leave out \['max_pairs'\]"),
            ({"mode": "claim", "claim": NEW}, "does not use config"),
            ({"config": {"budget": 3}}, r"no \['budget'\]"),
        ],
    )
    def test_settings_that_contradict_each_other(self, settings, reason):
        with pytest.raises(ValueError, match=reason):
            CacoNodePostprocessor(**{"config": RagCaiConfig(), **settings})


@pytest.mark.parametrize("kind", [CacoQueryEngine, CacoRetryQueryEngine])
@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"config": {}}, TypeError, "RagCaiConfig"),
        ({"receipts": "receipts.jsonl"}, TypeError, "callable"),
        ({"receipts": print, "user_role": "the boss of it"}, ValueError, "user_role"),
        ({"user_role": "analyst"}, ValueError, "give receipts or config"),
    ],
)
def test_wrong_arguments(given_engine, kind, options, error, reason):
    with pytest.raises(error, match=reason):
        kind(given_engine(), **options)
