"""A governed path: its sites, its decision, its one receipt; and the settings it is run by."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import jsonschema
import pytest

import caco
from caco.gate import GatingPolicy
from caco.governance import GovernedPath, RagCaiConfig, current_path, rank_retrieved
from caco.models import Labels
from caco.ranking import Ranker
from caco.receipts import SCHEMA_FILE, ReceiptLog
from caco.testing import FakeClassifier
from caco.validator import Validator

OLD = "The Arno bridge opened in 1932."
NEW = "The Arno bridge opened in 1951."
AGREES = "The Arno bridge opened in 1951, in May."
OTHER = "The museum has 40 rooms."
DOCUMENTS = [OLD, NEW, AGREES, OTHER]
QUERY = "When did the Arno bridge open?"


def verdict(claim: str, context: str) -> str:
    """What a document says word for word is supported; other years than its own are not."""
    if claim.rstrip(".") in context:
        return "entailment"
    return "contradiction" if all(y in claim + context for y in ("1932", "1951")) else "neutral"


@pytest.fixture
def validator() -> Validator:
    return Validator(classifier=FakeClassifier(verdict))


@pytest.fixture
def receipts() -> list[caco.Receipt]:
    return []


@pytest.fixture
def make_path(validator, receipts):
    def make(config=None, **options):
        return GovernedPath(validator, config, sink=receipts.append, **options)

    return make


def walked(path):
    """Take a path through its three steps."""
    sources = path.retrieve(QUERY, DOCUMENTS)
    path.summarize(AGREES, sources)
    return path.generate(NEW, sources)


class TestPath:
    def test_from_retrieval_to_the_receipt(self, make_path, receipts):
        path = make_path(user_role="analyst")
        sources = path.retrieve(QUERY, DOCUMENTS)
        assert [source.text for source in sources] == [NEW, AGREES, OTHER, OLD]
        assert path.summarize(AGREES, sources).is_hallucination is False
        result = path.generate(NEW, sources)
        assert result.gate == caco.Decision(False, None, 0.70, ())
        receipt = path.receipt()
        plain = receipt.to_dict()
        jsonschema.validate(plain, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
        assert [site["name"] for site in plain["sites"]] == ["retrieve", "summarize", "generate"]
        assert plain["sites"][0]["provenance"] == ["0", "1", "2", "3"]
        assert plain["sites"][2]["provenance"] == ["1", "2", "3", "0"]
        for score in ("S", "C", "CTS"):
            mean = sum(site[score] for site in plain["sites"]) / 3
            assert plain["path_scores"][score] == pytest.approx(mean, abs=1e-12)
        assert plain["decision"] == {"abstained": False, "reason": None, "tau_star": 0.70}
        assert plain["user_role"] == "analyst"
        assert receipt.request_id == path.request_id
        assert receipts == [receipt]

    def test_the_retrieval_is_as_tense_as_its_documents_are_at_odds(self, make_path):
        calm, tense = make_path(), make_path()
        calm.retrieve(QUERY, [NEW, OTHER])
        tense.retrieve(QUERY, [NEW, OLD])
        assert calm.sites[0].C == 0.0
        # P_NLI is the mean over the documents, its weight one half.
        assert pytest.approx(0.99 / 2) == tense.sites[0].C
        assert pytest.approx(tense.sites[0].S * tense.sites[0].C) == tense.sites[0].CTS
        mixed = make_path()
        mixed.retrieve(QUERY, [NEW, OLD, OTHER, " "])
        assert pytest.approx(0.99 * 2 / 3 / 2) == mixed.sites[0].C

    def test_the_sites_of_texts_are_the_validators_tension(self, make_path, validator):
        path = make_path()
        result = path.generate(OLD, [NEW])
        tension = validator.tension(result, [caco.Document(NEW, "0")])
        site = path.sites[0]
        assert (tension.S, tension.C, tension.value) == (site.S, site.C, site.CTS)
        assert site.C > 0.5

    def test_a_withheld_answer(self, make_path):
        path = make_path(RagCaiConfig(tau_target=0.05))
        result = path.generate(OLD, path.retrieve(QUERY, [NEW, OTHER]))
        assert result.gate.abstained
        assert result.gate.reason == "no_entailment, CTS > tau_star"
        decision = path.receipt().decision
        assert (decision.abstained, decision.tau_star) == (True, 0.05)

    def test_calm_steps_do_not_make_up_for_a_tense_answer(self, validator):
        policy = GatingPolicy(abstain_if=("CTS > tau_star",), tau_star=0.3)
        path = GovernedPath(Validator(classifier=validator.classifier, policy=policy))
        for _ in range(9):
            path.summarize(OTHER, [OTHER])
        assert path.generate(OLD, [NEW]).gate.abstained
        assert path.sites[-1].CTS > 0.3 > path.receipt().path_scores["CTS"]
        assert path.receipt().decision.abstained

    def test_the_policy_is_the_validators_at_the_target(self, validator):
        policy = GatingPolicy(abstain_if=("contradiction",), tau_star=0.4, message="No.")
        with_policy = Validator(classifier=validator.classifier, policy=policy)
        assert GovernedPath(with_policy).policy == policy
        path = GovernedPath(with_policy, RagCaiConfig(tau_target=0.2))
        assert path.policy.tau_star == 0.2
        assert (path.policy.message, path.policy.abstain_if) == ("No.", ("contradiction",))
        assert path.generate(OLD, [NEW]).gate.reason == "contradiction"
        assert with_policy.policy is policy
        assert GovernedPath(validator).policy == GatingPolicy()

    def test_an_answer_that_is_tried_again(self, make_path):
        path = make_path()
        first = path.generate(OLD, [NEW])
        second = path.generate(NEW, [NEW])
        assert [site.name for site in path.sites] == ["generate", "generate"]
        assert path.receipt(first).decision.abstained is True
        other = make_path()
        other.generate(OLD, [NEW])
        assert other.generate(NEW, [NEW]) == second
        assert other.receipt().decision.abstained is False

    def test_the_receipt_goes_to_the_sink_once_and_ends_the_path(self, make_path, receipts):
        path = make_path()
        walked(path)
        assert path.receipt() is path.receipt()
        assert len(receipts) == 1
        for step in (walked, lambda p: p.summarize(NEW, [NEW]), lambda p: p.generate(NEW, [NEW])):
            with pytest.raises(RuntimeError, match="has ended"):
                step(path)
        assert len(path.receipt().sites) == 3

    def test_a_sink_that_fails_is_not_passed_over(self, validator):
        calls = []

        def full(receipt):
            calls.append(receipt)
            if len(calls) == 1:
                raise OSError("disk full")

        path = GovernedPath(validator, sink=full)
        path.generate(NEW, [NEW])
        with pytest.raises(OSError, match="disk full"):
            path.receipt()
        assert path.receipt() is calls[1]

    def test_without_an_answer_there_is_no_receipt(self, make_path, receipts):
        path = make_path()
        path.retrieve(QUERY, DOCUMENTS)
        with pytest.raises(RuntimeError, match="no answer"):
            path.receipt()
        assert receipts == []

    def test_to_a_file(self, validator, tmp_path):
        log = ReceiptLog(tmp_path / "receipts.jsonl", hash_chain=True)
        for _ in range(3):
            path = GovernedPath(validator, sink=log)
            walked(path)
            path.receipt()
        check = log.verify()
        assert check.ok
        assert check.lines == 3

    def test_no_text_is_in_it(self, make_path):
        path = make_path()
        walked(path)
        line = json.dumps(path.receipt().to_dict())
        for text in (*DOCUMENTS, QUERY):
            assert not any(text[i : i + 12] in line for i in range(len(text) - 11))

    def test_short_answers_are_read_with_the_query(self, validator):
        asked = []

        class Recording(Validator):
            def validate(self, response, context, prompt=None):
                asked.append(prompt)
                return super().validate(response, context, prompt)

        path = GovernedPath(Recording(classifier=validator.classifier))
        sources = path.retrieve(QUERY, [NEW])
        path.generate(NEW, sources)
        path.generate(NEW, sources, "Why?")
        assert asked == [QUERY, "Why?"]

    def test_the_budget_and_the_ranker_are_the_configurations(self, make_path):
        words = {"count_tokens": lambda text: len(text.split())}
        budget = make_path(RagCaiConfig(token_budget=6), **words).retrieve(QUERY, DOCUMENTS)
        assert [source.text for source in budget] == [NEW]
        dropping = RagCaiConfig(ranker=Ranker(conflicting="drop"))
        kept = make_path(dropping).retrieve(QUERY, DOCUMENTS)
        assert [source.text for source in kept] == [NEW, AGREES, OTHER]
        scored = make_path().retrieve(QUERY, [OLD, NEW], scores=[0.1, 0.9])
        assert [source.text for source in scored] == [NEW, OLD]

    def test_other_steps(self, make_path):
        path = make_path()
        result = path.measure("tool:search", NEW, [caco.Document(NEW, "page")])
        assert result.gate is not None
        assert path.sites[0].name == "tool:search"
        assert path.sites[0].provenance == ("page",)
        with pytest.raises(RuntimeError, match="no answer"):
            path.receipt()
        with pytest.raises(ValueError, match="name"):
            path.measure("a tool", NEW, [NEW])

    def test_what_nobody_ranked_is_compared_once(self, make_path):
        path = make_path()
        path.read_from([caco.Document(NEW, "a"), caco.Document(OLD, "b")], QUERY)
        path.read_from([caco.Document(OLD, "b")])
        assert [site.provenance for site in path.sites] == [("a", "b")]
        path.read_from([caco.Document(OLD, "b"), caco.Document(OTHER, "c")])
        assert [site.provenance for site in path.sites] == [("a", "b"), ("b", "c")]
        assert path.provenance("retrieve") == {"a", "b", "c"}
        assert path.provenance("generate") is None

    def test_no_documents(self, make_path):
        path = make_path()
        assert path.retrieve(QUERY, []) == ()
        result = path.generate(NEW, ())
        assert result.status is caco.Status.NO_CONTEXT
        assert path.receipt().decision.reason == "no_entailment"
        assert [site.provenance for site in path.sites] == [(), ()]

    def test_portuguese_on_the_embedded_model(self):
        dropping = RagCaiConfig(ranker=Ranker(conflicting="drop"))
        path = GovernedPath(Validator(language="pt"), dropping)
        law = "A LGPD foi sancionada em 14 de agosto de 2018 por Michel Temer."
        blog = "A LGPD foi sancionada em 2015 por Dilma Rousseff."
        sources = path.retrieve(
            "Quando foi sancionada a LGPD?", [law, blog, "Lisboa fica no Tejo."]
        )
        assert [source.id for source in sources] == ["0", "2"]
        assert path.sites[0].C > 0.2
        assert path.generate("A LGPD foi sancionada em 2018.", sources).gate.abstained is False


class TestSideBySide:
    def test_async(self, make_path, receipts):
        async def walk():
            path = make_path()
            sources = await path.aretrieve(QUERY, DOCUMENTS)
            await path.asummarize(AGREES, sources)
            await path.agenerate(NEW, sources)
            return await path.areceipt()

        async def many():
            return await asyncio.gather(*(walk() for _ in range(8)))

        found = asyncio.run(many())
        assert {len(receipt.sites) for receipt in found} == {3}
        assert len({receipt.request_id for receipt in receipts}) == 8
        path = make_path()
        walked(path)
        assert found[0].sites == path.receipt().sites

    def test_async_leaves_the_loop_free(self, receipts):
        held = threading.Event()

        def slow(claim, context):
            assert held.wait(5)
            return Labels.VALUE_NEUTRAL

        async def main():
            path = GovernedPath(Validator(classifier=FakeClassifier(slow)), sink=receipts.append)
            task = asyncio.create_task(path.aretrieve(QUERY, [OLD, NEW]))
            await asyncio.sleep(0.05)
            assert not task.done()
            held.set()
            await task
            await path.aread_from([OTHER])
            await path.achecked("generate", await path.agenerate(NEW, [NEW]), [])
            return await path.areceipt()

        assert len(asyncio.run(main()).sites) == 3

    def test_many_threads_on_one_path(self, receipts):
        def slow(claim, context):
            time.sleep(0.01)
            return verdict(claim, context)

        path = GovernedPath(Validator(classifier=FakeClassifier(slow)), sink=receipts.append)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: path.read_from([NEW, OLD]), range(16)))
            list(pool.map(lambda _: path.summarize(NEW, [NEW]), range(40)))
            path.generate(NEW, [NEW])
            found = list(pool.map(lambda _: path.receipt(), range(16)))
        assert [site.name for site in path.sites].count("retrieve") == 1
        assert len(path.sites) == 42
        assert all(receipt is found[0] for receipt in found)
        assert len(receipts) == 1


class TestInForce:
    def test_the_ranking_of_others_is_noted(self, make_path, validator):
        path = make_path()
        with path.active() as active:
            assert active is path
            assert current_path() is path
            ranking = rank_retrieved(
                [caco.Document(text, f"d{i}") for i, text in enumerate(DOCUMENTS)],
                validator.classifier,
                query=QUERY,
            )
        assert current_path() is None
        assert path.sites[0].provenance == ("d0", "d1", "d2", "d3")
        own = make_path()
        assert own.retrieve(QUERY, DOCUMENTS)[0].text == ranking.documents[0].text
        assert own.sites[0].C == path.sites[0].C

    def test_it_is_not_in_force_elsewhere(self, make_path, validator):
        path = make_path()
        documents = [caco.Document(OLD, "a"), caco.Document(NEW, "b")]
        with path.active(), ThreadPoolExecutor(1) as pool:
            assert pool.submit(current_path).result() is None
            pool.submit(rank_retrieved, documents, validator.classifier).result()
        assert path.sites == ()

    def test_its_settings_are_its_own(self, validator):
        config = RagCaiConfig(ranker=Ranker(conflicting="drop"), token_budget=1)
        ranking = rank_retrieved(
            [caco.Document(NEW, "a"), caco.Document(OTHER, "b")],
            validator.classifier,
            config=config,
        )
        assert [document.id for document in ranking.documents] == ["a"]

    def test_an_inner_path_gives_way_again(self, make_path):
        outer, inner = make_path(), make_path()
        with outer.active():
            with pytest.raises(KeyError), inner.active():
                raise KeyError
            assert current_path() is outer


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "error", "reason"),
        [
            ({"user_role": "the boss of it"}, ValueError, "user_role"),
            ({"request_id": "7"}, ValueError, "UUID"),
            ({"config": {"tau_target": 0.5}}, TypeError, "RagCaiConfig"),
            ({"sink": "receipts.jsonl"}, TypeError, "sink"),
            ({"count_tokens": 3}, TypeError, "count_tokens"),
            ({"validator": "engine"}, TypeError, "validator"),
        ],
    )
    def test_that_are_wrong(self, options, error, reason):
        with pytest.raises(error, match=reason):
            GovernedPath(**options)

    def test_the_request_id(self, validator):
        given = str(uuid4())
        assert GovernedPath(validator, request_id=given).request_id == given
        assert str(UUID(GovernedPath(validator).request_id))

    def test_the_validator_is_not_changed(self, validator):
        validator.policy = GatingPolicy()
        path = GovernedPath(validator)
        assert path.validator is not validator
        assert path.validator.policy is None
        assert validator.policy == GatingPolicy()


class TestConfig:
    CONFIG = RagCaiConfig(
        token_budget=2000,
        tau_target=0.6,
        ranker=Ranker(penalty_weight=0.8, conflicting="drop", min_score=0.1, max_pairs=32),
    )
    YAML = """
gating: {something: else}
rag_cai:
  token_budget: 2000
  tau_target: 0.6
  ranker:
    penalty_weight: 0.8
    conflicting: drop
    min_score: 0.1
    max_pairs: 32
"""

    def test_defaults(self):
        config = RagCaiConfig()
        assert (config.token_budget, config.tau_target, config.ranker) == (None, 0.70, Ranker())
        assert caco.RagCaiConfig is RagCaiConfig
        assert caco.GovernedPath is GovernedPath

    def test_round_trips(self):
        assert RagCaiConfig.from_dict(self.CONFIG.to_dict()) == self.CONFIG
        assert pickle.loads(pickle.dumps(self.CONFIG)) == self.CONFIG
        assert len({self.CONFIG, RagCaiConfig.from_dict(self.CONFIG.to_dict())}) == 1

    def test_yaml_text_and_file(self, tmp_path):
        pytest.importorskip("yaml", exc_type=ImportError)
        file = tmp_path / "settings.yaml"
        file.write_text(self.YAML, encoding="utf-8")
        for source in (self.YAML, file, str(file)):
            assert RagCaiConfig.from_yaml(source) == self.CONFIG
        assert RagCaiConfig.from_yaml("tau_target: 0.2") == RagCaiConfig(tau_target=0.2)

    def test_json_text_and_file(self, tmp_path):
        plain = json.dumps({"rag_cai": self.CONFIG.to_dict()})
        file = tmp_path / "settings.json"
        file.write_text(plain, encoding="utf-8")
        for source in (plain, file, json.dumps(self.CONFIG.to_dict())):
            assert RagCaiConfig.from_json(source) == self.CONFIG

    @pytest.mark.parametrize(
        ("data", "error", "reason"),
        [
            ({"token_budgett": 5}, ValueError, r"a RAG configuration has no \['token_budgett'\]"),
            ({"rag_cai": {"tau_star": 0.5}}, ValueError, r"no \['tau_star'\]"),
            ({"rag_cai": {}, "tau_target": 0.5}, ValueError, "under 'rag_cai'"),
            ({"rag_cai": None}, TypeError, "'rag_cai' must be a mapping"),
            ({"ranker": {"weight": 1}}, ValueError, r"a ranker has no \['weight'\]"),
            ({"ranker": "strict"}, TypeError, "ranker"),
            ({"tau_target": 1.2}, ValueError, "tau_target"),
            ({"tau_target": "0.5"}, TypeError, "tau_target"),
            ({"token_budget": 0}, ValueError, "token_budget"),
            ({"token_budget": 10.5}, TypeError, "token_budget"),
            ({"token_budget": True}, TypeError, "token_budget"),
            ([], TypeError, "a RAG configuration must be a mapping"),
        ],
    )
    def test_what_is_unknown_or_out_of_range_is_an_error_at_once(self, data, error, reason):
        with pytest.raises(error, match=reason):
            RagCaiConfig.from_dict(data)

    def test_a_mapping_as_ranker(self):
        assert RagCaiConfig(ranker={"min_score": 0.3}).ranker == Ranker(min_score=0.3)

    def test_a_policy_has_no_section(self):
        with pytest.raises(ValueError, match=r"a policy has no \['rag_cai'\]"):
            GatingPolicy.from_dict({"rag_cai": {}})
