"""Governed chains: the path of each run, its receipt, and what becomes of a withheld answer."""

from __future__ import annotations

import asyncio
import json
import pickle
from operator import itemgetter
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from caco.errors import HallucinationError
from caco.gate import GatingPolicy
from caco.governance import RagCaiConfig, current_path
from caco.ranking import Ranker
from caco.receipts import Receipt, ReceiptLog
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco import CacoDocumentCompressor, CacoGovernor, CacoGuard, GovernedText

OLD = "The Arno bridge opened in 1932."
NEW = "The Arno bridge opened in 1951."
AGREES = "The Arno bridge opened in 1951, in May."
DOCS = [
    Document(page_content=OLD, id="old"),
    Document(page_content=NEW, id="new"),
    Document(page_content=AGREES, id="more"),
]
QUERY = "When did the Arno bridge open?"
MESSAGE = GatingPolicy().message_for("english")


def verdict(claim: str, context: str) -> str:
    if claim.rstrip(".") in context:
        return "entailment"
    return "contradiction" if all(y in claim + context for y in ("1932", "1951")) else "neutral"


@pytest.fixture
def receipts() -> list[Receipt]:
    return []


@pytest.fixture
def make_governor(receipts):
    def make(config=None, *, guard=None, **options) -> CacoGovernor:
        validator = Validator(classifier=FakeClassifier(verdict))
        guard = guard or CacoGuard(validator=validator)
        return CacoGovernor(config, guard=guard, receipts=receipts.append, **options)

    return make


def first(prompt: str) -> str:
    """What a model says that believes its first source."""
    return prompt.split("\n")[0].removeprefix("human: ")


def joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


@pytest.fixture
def make_chain(model, retriever):
    """A RAG chain as one writes it, from a question to a text, a message or a dict."""

    def make(governor, kind="text", answer=first, found=DOCS, wrap=True) -> Any:
        source = retriever(found)
        context = governor.retriever(source) if wrap else source
        prompt = ChatPromptTemplate.from_template("{context}\n{question}")
        parts = {"context": context | joined, "question": RunnablePassthrough()}
        writer = prompt | model(answer)
        if kind == "message":
            return governor.govern(parts | writer)
        if kind == "text":
            return governor.govern(parts | writer | StrOutputParser())
        found_first = RunnablePassthrough.assign(context=itemgetter("question") | context)
        shown = {"context": lambda x: joined(x["context"]), "question": itemgetter("question")}
        answered = RunnablePassthrough.assign(answer=shown | writer | StrOutputParser())
        return governor.govern(found_first | answered)

    return make


def run(chain, value, how):
    """Run a chain in one of six ways; the last chunk, where it streams."""

    async def streamed():
        return [chunk async for chunk in chain.astream(value)][-1]

    return {
        "invoke": lambda: chain.invoke(value),
        "ainvoke": lambda: asyncio.run(chain.ainvoke(value)),
        "batch": lambda: chain.batch([value])[0],
        "abatch": lambda: asyncio.run(chain.abatch([value]))[0],
        "stream": lambda: list(chain.stream(value))[-1],
        "astream": lambda: asyncio.run(streamed()),
    }[how]()


every_way = pytest.mark.parametrize(
    "how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"]
)


class TestReceipt:
    @every_way
    def test_of_a_text(self, make_governor, make_chain, receipts, how):
        out = run(make_chain(make_governor(user_role="analyst")), QUERY, how)
        assert out == NEW
        assert isinstance(out, GovernedText)
        assert out.validation.gate.abstained is False
        assert [out.receipt] == receipts
        retrieve, generate = out.receipt.sites
        assert (retrieve.name, generate.name) == ("retrieve", "generate")
        assert retrieve.provenance == ("old", "new", "more")
        assert generate.provenance == ("new", "more", "old")
        assert retrieve.C > 0.3
        assert out.receipt.user_role == "analyst"

    @every_way
    def test_of_a_dict(self, make_governor, make_chain, receipts, how):
        out = run(make_chain(make_governor(), "dict"), {"question": QUERY}, how)
        assert out["answer"] == NEW
        assert out["validation"].is_hallucination is False
        assert [out["receipt"]] == receipts
        assert [document.id for document in out["context"]] == ["new", "more", "old"]
        assert [site.name for site in out["receipt"].sites] == ["retrieve", "generate"]

    @every_way
    def test_of_a_message(self, make_governor, make_chain, receipts, how):
        out = run(make_chain(make_governor(), "message"), QUERY, how)
        assert isinstance(out, AIMessage)
        verdict_on_it = out.response_metadata["caco"]
        assert verdict_on_it["receipt"] == receipts[0].to_dict()
        assert verdict_on_it["gate"]["abstained"] is False
        json.dumps(out.response_metadata)

    def test_under_another_key(self, make_governor, make_chain, receipts):
        governor = make_governor()
        chain = governor.govern(RunnableLambda(lambda x: {**x, "answer": NEW}), receipt_key="log")
        out = chain.invoke({"question": QUERY, "context": DOCS})
        assert out["log"] is receipts[0]
        assert "receipt" not in out

    def test_where_the_retriever_is_not_wrapped(self, make_governor, make_chain):
        out = make_chain(make_governor(), wrap=False).invoke(QUERY)
        assert out == OLD
        assert [site.name for site in out.receipt.sites] == ["retrieve", "generate"]
        assert {site.provenance for site in out.receipt.sites} == {("old", "new", "more")}
        assert out.receipt.sites[0].C > 0.3

    def test_with_a_compressor_of_ones_own(self, make_governor, receipts):
        governor = make_governor()
        compressor = CacoDocumentCompressor(action="drop", validator=governor.guard.validator)

        def answer(question):
            kept = compressor.compress_documents(DOCS, question)
            return {"answer": kept[0].page_content, "context": kept}

        out = governor.govern(answer).invoke(QUERY)
        assert out["answer"] == NEW
        assert [site.provenance for site in out["receipt"].sites] == [
            ("old", "new", "more"),
            ("new", "more"),
        ]

    def test_rows_of_a_batch_do_not_mix(self, make_governor, make_chain, receipts):
        def found(query):
            return [Document(page_content=f"Box {query} is red.", id=f"box-{query}")]

        chain = make_chain(make_governor(user_role=lambda value: f"role-{value}"), found=found)
        numbers = [str(number) for number in range(12)]
        outs = [*chain.batch(numbers), *asyncio.run(chain.abatch(numbers))]
        for number, out in zip(numbers * 2, outs, strict=True):
            assert out == f"Box {number} is red."
            assert {site.provenance for site in out.receipt.sites} == {(f"box-{number}",)}
            assert len(out.receipt.sites) == 2
            assert out.receipt.user_role == f"role-{number}"
        assert len({receipt.request_id for receipt in receipts}) == 24

    def test_into_a_file(self, make_chain, tmp_path):
        log = ReceiptLog(tmp_path / "receipts.jsonl", hash_chain=True)
        guard = CacoGuard(validator=Validator(classifier=FakeClassifier(verdict)))
        chain = make_chain(CacoGovernor(guard=guard, receipts=log))
        chain.batch([QUERY] * 5)
        assert log.verify().lines == 5
        content = (tmp_path / "receipts.jsonl").read_text(encoding="utf-8")
        assert "bridge" not in content

    def test_one_that_is_lost_lets_no_answer_out(self, make_chain):
        def full(receipt):
            raise OSError("disk full")

        guard = CacoGuard(validator=Validator(classifier=FakeClassifier(verdict)))
        with pytest.raises(OSError, match="disk full"):
            make_chain(CacoGovernor(guard=guard, receipts=full)).invoke(QUERY)

    def test_a_message_that_only_calls_tools_has_none(self, make_governor, receipts):
        call = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}])
        assert make_governor().govern(RunnableLambda(lambda _: call)).invoke(QUERY) is call
        assert receipts == []

    def test_a_chain_that_fails_has_none(self, make_governor, receipts):
        def fail(_):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            make_governor().govern(fail).invoke(QUERY)
        assert receipts == []
        assert current_path() is None

    def test_the_verdict_is_told_to_callbacks(self, make_governor, make_chain):
        told = []

        class Listener(BaseCallbackHandler):
            def on_custom_event(self, name, data, **_):
                told.append((name, data["gate"]["abstained"]))

        make_chain(make_governor()).invoke(QUERY, {"callbacks": [Listener()]})
        assert told == [("caco_validation", False)]


class TestSummary:
    @pytest.mark.parametrize("is_async", [False, True])
    def test_is_a_site_of_its_own(self, make_governor, model, retriever, is_async):
        governor = make_governor()
        prompt = ChatPromptTemplate.from_template("{context}")
        summary = governor.summary({"context": joined} | prompt | model(first) | StrOutputParser())
        chain = governor.govern(governor.retriever(retriever(DOCS)) | summary)
        out = asyncio.run(chain.ainvoke(QUERY)) if is_async else chain.invoke(QUERY)
        assert out == NEW
        assert [site.name for site in out.receipt.sites] == ["retrieve", "summarize", "generate"]
        assert out.receipt.sites[1].provenance == ("new", "more", "old")

    def test_that_is_wrong_is_tense(self, make_governor, retriever):
        governor = make_governor()
        wrong = governor.summary(lambda _: "The Arno bridge opened in 1932.")
        right = governor.summary(lambda _: NEW)
        tensions = []
        for step in (wrong, right):
            out = governor.govern(retriever([NEW]) | step).invoke(QUERY)
            tensions.append(out.receipt.sites[1].CTS)
        assert tensions[0] > 0.2
        assert tensions[1] < 0.01

    def test_of_each_document(self, make_governor, retriever):
        governor = make_governor()
        each = governor.summary(lambda document: AIMessage(document.page_content)).map()
        last = RunnableLambda(lambda messages: messages[1].content)
        out = governor.govern(retriever(DOCS) | each | last).invoke(QUERY)
        names = [site.name for site in out.receipt.sites]
        assert names == ["retrieve", "summarize", "summarize", "summarize", "generate"]
        assert out.receipt.sites[0].provenance == ("old", "new", "more")
        assert sorted(site.provenance for site in out.receipt.sites[1:4]) == [
            ("more",),
            ("new",),
            ("old",),
        ]

    def test_of_a_dict(self, make_governor, receipts):
        governor = make_governor()
        step = governor.summary(lambda value: value["context"][0].page_content)
        chain = governor.govern(RunnablePassthrough.assign(answer=step))
        out = chain.invoke({"question": QUERY, "context": DOCS[1:]})
        assert [site.name for site in receipts[0].sites] == ["retrieve", "summarize", "generate"]
        assert {site.provenance for site in out["receipt"].sites} == {("new", "more")}

    def test_outside_a_governed_chain_nothing_is_done(self, make_governor):
        assert make_governor().summary(lambda _: "").invoke(DOCS) == ""

    def test_a_blank_one_has_no_site(self, make_governor, retriever):
        governor = make_governor()
        chain = retriever([NEW]) | governor.summary(lambda _: " ") | (lambda _: NEW)
        names = [site.name for site in governor.govern(chain).invoke(QUERY).receipt.sites]
        assert names == ["retrieve", "generate"]

    def test_must_be_a_text(self, make_governor, retriever):
        governor = make_governor()
        chain = retriever([NEW]) | governor.summary(lambda _: 3)
        with pytest.raises(TypeError, match="a str or a message, not int"):
            governor.govern(chain).invoke(QUERY)


class TestDecision:
    @pytest.mark.parametrize("kind", ["text", "dict", "message"])
    def test_a_withheld_answer_becomes_the_policys_message(
        self, make_governor, make_chain, receipts, kind
    ):
        chain = make_chain(make_governor(), kind, answer="It never opened.")
        out = chain.invoke({"question": QUERY} if kind == "dict" else QUERY)
        shown = {"text": out, "dict": out, "message": out}[kind]
        if kind == "dict":
            shown = out["answer"]
        elif kind == "message":
            shown = out.text
        assert shown == MESSAGE
        assert receipts[0].decision.reason == "no_entailment"
        assert receipts[0].token_count == 3

    def test_at_the_configurations_tension(self, make_governor, make_chain, receipts):
        tense = RagCaiConfig(tau_target=0.0)
        policy = GatingPolicy(abstain_if=("CTS > tau_star",), message="Too tense.")
        engine = Validator(classifier=FakeClassifier(verdict), policy=policy)
        governor = make_governor(tense, guard=CacoGuard(validator=engine))
        assert make_chain(governor, answer=OLD, found=[NEW]).invoke(QUERY) == "Too tense."
        assert receipts[0].decision.tau_star == 0.0
        assert engine.policy.tau_star == 0.70

    @pytest.mark.parametrize("is_async", [False, True])
    def test_the_tension_is_computed_once(self, make_chain, receipts, is_async):
        asked = []

        class Counting(Validator):
            def tension(self, result, context):
                asked.append(result.response)
                return super().tension(result, context)

        engine = Counting(classifier=FakeClassifier(verdict), policy=GatingPolicy())
        governor = CacoGovernor(guard=CacoGuard(validator=engine), receipts=receipts.append)
        chain = make_chain(governor)
        asyncio.run(chain.ainvoke(QUERY)) if is_async else chain.invoke(QUERY)
        assert asked == [NEW]

    def test_the_receipt_is_written_before_the_exception(self, make_chain, receipts):
        engine = Validator(classifier=FakeClassifier(verdict))
        guard = CacoGuard(validator=engine, on_fail="raise")
        chain = make_chain(CacoGovernor(guard=guard, receipts=receipts.append), answer="Never.")
        with pytest.raises(HallucinationError) as caught:
            chain.invoke(QUERY)
        assert caught.value.result.gate.abstained
        assert len(receipts) == 1

    @every_way
    def test_an_exception_from_within_the_chain_is_not_replaced(self, make_governor, receipts, how):
        inner = HallucinationError(
            Validator(classifier=FakeClassifier(verdict)).validate("Never.", [NEW])
        )

        def raises(value):
            raise inner

        chain = make_governor().govern(RunnableLambda(raises))
        with pytest.raises(HallucinationError) as caught:
            run(chain, {"question": QUERY, "context": [NEW]}, how)
        assert caught.value is inner
        assert receipts == []

    def test_the_guards_threshold_counts(self, make_chain, receipts):
        policy = GatingPolicy(abstain_if=("score > threshold",))
        engine = Validator(classifier=FakeClassifier(verdict), policy=policy)
        guard = CacoGuard(validator=engine, threshold=1.0)
        chain = make_chain(CacoGovernor(guard=guard, receipts=receipts.append), answer=OLD)
        assert chain.invoke(QUERY).validation.threshold == 1.0
        assert receipts[0].decision.abstained is False


class TestRetries:
    @pytest.mark.parametrize("is_async", [False, True])
    def test_each_attempt_is_a_site(self, make_governor, model, retriever, receipts, is_async):
        governor = make_governor()
        context = itemgetter("question") | governor.retriever(retriever(DOCS[1:])) | joined
        writer = model(lambda prompt: NEW if "not backed" in prompt else OLD)
        prompt = ChatPromptTemplate.from_template("{context} {question} {feedback}")
        shown = {"context": context, "question": itemgetter("question")}
        shown["feedback"] = itemgetter("feedback")
        chain = governor.govern(shown | prompt | writer | StrOutputParser(), max_retries=2)
        value = {"question": QUERY}
        out = asyncio.run(chain.ainvoke(value)) if is_async else chain.invoke(value)
        assert out == NEW
        assert [attempt.answer for attempt in out.validation.attempts] == [OLD, NEW]
        names = [site.name for site in out.receipt.sites]
        assert names == ["retrieve", "generate", "retrieve", "generate"]
        assert out.receipt.sites[1].CTS > out.receipt.sites[3].CTS
        assert out.receipt.decision.abstained is False
        assert receipts == [out.receipt]

    def test_the_receipt_tells_the_decision_on_the_answer_given_out(
        self, make_governor, model, receipts
    ):
        answers = iter(["It never opened.", "Nobody knows the bridge.", OLD])
        governor = make_governor()
        chain = governor.govern(
            RunnableLambda(lambda value: {"answer": next(answers), "context": [NEW]}),
            max_retries=2,
            on_exhausted="best",
        )
        out = chain.invoke({"question": QUERY})
        best = min(out["validation"].attempts, key=lambda attempt: attempt.score)
        assert out["answer"] == MESSAGE
        assert out["receipt"].token_count == len(best.answer.split())
        assert len(out["receipt"].sites) == 4
        assert out["receipt"].decision.abstained

    def test_more_documents_are_another_retrieval(self, make_governor, receipts):
        class Growing(BaseRetriever):
            k: int = 1

            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
                return [*(Document(page_content=f"Fact {i}.", id=f"d{i}") for i in range(9))][
                    : self.k
                ]

        for wrap in (True, False):
            governor = make_governor()
            found = governor.retriever(Growing()) if wrap else Growing()
            chain = governor.govern(found | (lambda documents: "Fact 1."), max_retries=1)
            out = chain.invoke(QUERY)
            assert out == "Fact 1."
            retrieved = [s.provenance for s in out.receipt.sites if s.name == "retrieve"]
            assert retrieved == [("d0",), ("d0", "d1")]

    def test_an_exhausted_one_that_raises_has_a_receipt(self, make_governor, receipts):
        chain = make_governor().govern(
            RunnableLambda(lambda value: {"answer": OLD, "context": [NEW]}),
            max_retries=1,
            on_exhausted="raise",
        )
        with pytest.raises(HallucinationError):
            chain.invoke({"question": QUERY})
        assert [site.name for site in receipts[0].sites] == ["retrieve", "generate", "generate"]
        assert receipts[0].decision.abstained


class TestRetrieval:
    def test_within_the_budget(self, make_governor, make_chain):
        config = RagCaiConfig(token_budget=1, ranker=Ranker(conflicting="drop"))
        out = make_chain(make_governor(config)).invoke(QUERY)
        assert out == NEW
        assert out.receipt.sites[0].provenance == ("old", "new", "more")
        assert out.receipt.sites[1].provenance == ("new",)

    def test_nested_retrievers_are_told_apart(self, make_governor, retriever):
        """What goes on is what was ranked, not what was found."""
        governor = make_governor(RagCaiConfig(ranker=Ranker(conflicting="drop")))
        found = governor.retriever(retriever(DOCS))
        assert [document.id for document in found.invoke(QUERY)] == ["new", "more"]
        assert [document.id for document in asyncio.run(found.ainvoke(QUERY))] == ["new", "more"]

    def test_anything_that_retrieves(self, make_governor):
        found = make_governor().retriever(lambda query: DOCS[:2])
        assert [document.id for document in found.invoke(QUERY)] == ["old", "new"]

    def test_documents_without_ids_are_named_by_position(self, make_governor, make_chain):
        found = [Document(page_content=OLD), Document(page_content=NEW, id="0")]
        out = make_chain(make_governor(), found=found).invoke(QUERY)
        assert len(set(out.receipt.sites[0].provenance)) == 2


class TestCompressor:
    def test_a_configuration_in_place_of_an_action(self):
        validator = Validator(classifier=FakeClassifier(verdict))
        plain = {"ranker": {"conflicting": "drop"}, "token_budget": 1}
        for config in (plain, RagCaiConfig.from_dict(plain)):
            compressor = CacoDocumentCompressor(config=config, validator=validator)
            assert [d.id for d in compressor.compress_documents(DOCS, QUERY)] == ["new"]
        again = pickle.loads(pickle.dumps(CacoDocumentCompressor(config=plain)))
        assert again.config == RagCaiConfig.from_dict(plain)

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"action": "drop"}, r"leave out \['action'\]"),
            ({"max_pairs": 3}, r"leave out \['max_pairs'\]"),
            ({"config": {"budget": 3}}, r"no \['budget'\]"),
            ({"config": 3}, "config"),
        ],
    )
    def test_settings_that_contradict_each_other(self, settings, reason):
        with pytest.raises(ValueError, match=reason):
            CacoDocumentCompressor(**{"config": RagCaiConfig(), **settings})


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"config": {}}, TypeError, "RagCaiConfig"),
        ({"guard": "strict"}, TypeError, "CacoGuard"),
        ({"receipts": "receipts.jsonl"}, TypeError, "sink must be callable"),
        ({"user_role": "the boss of it"}, ValueError, "user_role"),
        ({"guard": CacoGuard(answer_key=itemgetter("answer"))}, ValueError, "answer_key"),
    ],
)
def test_wrong_arguments(options, error, reason):
    with pytest.raises(error, match=reason):
        CacoGovernor(**options)


def test_the_embedded_model(retriever):
    given: list[Receipt] = []
    governor = CacoGovernor(receipts=given.append)
    context = governor.retriever(retriever(DOCS))
    out = governor.govern(context | (lambda documents: documents[0].page_content)).invoke(QUERY)
    assert out == NEW
    assert out.receipt == given[0]
    assert out.receipt.sites[0].C > 0.3


def test_the_text_keeps_what_it_carries(make_governor, make_chain):
    out = make_chain(make_governor()).invoke(QUERY)
    again = pickle.loads(pickle.dumps(out))
    assert again == out
    assert again.receipt == out.receipt
    assert again.validation == out.validation
