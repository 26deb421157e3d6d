"""Rank order of retrieved documents: what others contradict, the weight of it, the budget."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.models import Document, Labels
from caco.ranking import Ranker, count_tokens, rank_sources
from caco.testing import FakeClassifier

OLD = "The Arno bridge opened in 1932."
NEW = "The Arno bridge opened in 1951."
AGREES = "The Arno bridge opened in 1951, in May."
OTHER = "The museum has 40 rooms."


def years_differ(claim: str, context: str) -> Labels:
    years = [set(re.findall(r"\b\d{4}\b", text)) for text in (claim, context)]
    differ = all(years) and years[0] != years[1]
    return Labels.VALUE_CONTRADICTION if differ else Labels.VALUE_NEUTRAL


def rank(texts, *, scores=None, budget=None, count=None, **settings):
    documents = [Document(text, f"d{i}") for i, text in enumerate(texts)]
    return rank_sources(
        documents,
        FakeClassifier(years_differ),
        ranker=Ranker(**settings),
        scores=scores,
        token_budget=budget,
        count=count,
    )


def texts(ranking) -> list[str]:
    return [document.text for document in ranking.documents]


class TestOrder:
    def test_the_outvoted_comes_last_and_the_rest_keeps_its_order(self):
        ranking = rank([OLD, NEW, OTHER, AGREES])
        assert texts(ranking) == [NEW, OTHER, AGREES, OLD]
        last = ranking.kept[-1]
        assert last.is_outvoted
        assert last.position == 0
        assert last.penalty == pytest.approx(2 * 0.99 / 3)
        assert last.score == pytest.approx(1 - last.penalty)
        assert [source.score for source in ranking.kept[:3]] == [1.0, 1.0, 1.0]
        assert ranking.kept[0].penalty == pytest.approx(0.99 / 3)
        assert [d.text for d in ranking.given] == [OLD, NEW, OTHER, AGREES]

    def test_the_weight_trades_it_against_the_retrievers_order(self):
        given = [OLD, NEW, AGREES, OTHER]
        assert texts(rank(given, penalty_weight=0.0)) == given
        # OLD: 0.5 * 1 + 0.5 * (1 - 0.66) = 0.67; AGREES: 0.5 * 0.5 + 0.5 = 0.75; OTHER: 0.625.
        ranking = rank(given, penalty_weight=0.5)
        assert texts(ranking) == [NEW, AGREES, OLD, OTHER]
        assert [s.score for s in ranking.kept] == pytest.approx([0.875, 0.75, 0.67, 0.625])

    def test_scores_say_what_is_relevant_where_there_are_any(self):
        ranking = rank([OLD, NEW], scores=[0.1, 0.9])
        assert texts(ranking) == [NEW, OLD]
        assert texts(rank([OLD, NEW], scores=[None, 0.1])) == [NEW, OLD]
        assert texts(rank([OLD, NEW], scores=[None, None])) == [OLD, NEW]
        assert texts(rank([OLD, NEW], scores=[float("nan"), 0.1])) == [NEW, OLD]
        by_score = rank([NEW, OTHER, AGREES], scores=[0.1, 0.9, 0.5], penalty_weight=0.0)
        assert texts(by_score) == [OTHER, AGREES, NEW]

    @given(st.permutations([OLD, NEW, AGREES, OTHER]), st.floats(0, 1), st.floats(0, 1))
    def test_nothing_is_lost_and_the_best_always_stays(self, given_texts, weight, least):
        ranking = rank(given_texts, penalty_weight=weight, min_score=least)
        everything = sorted(s.position for s in (*ranking.kept, *ranking.left_out))
        assert everything == [0, 1, 2, 3]
        scores = [source.score for source in ranking.kept]
        assert scores == sorted(scores, reverse=True)
        assert ranking.kept
        assert all(score >= least for score in scores[1:])
        assert all(s.score < least or len(ranking.kept) == 1 for s in ranking.left_out)
        assert {s.document.text for s in ranking.kept if s.is_outvoted} <= {OLD}


class TestLeavingOut:
    def test_drop(self):
        ranking = rank([OLD, NEW, AGREES, OTHER], conflicting="drop")
        assert texts(ranking) == [NEW, AGREES, OTHER]
        assert [source.document.text for source in ranking.left_out] == [OLD]

    def test_min_score(self):
        assert texts(rank([OLD, NEW, AGREES, OTHER], min_score=0.35)) == [NEW, AGREES, OTHER]
        assert OLD in texts(rank([OLD, NEW, AGREES, OTHER], min_score=0.33))

    def test_no_pairs_read_nothing_penalised(self):
        ranking = rank([OLD, NEW], max_pairs=0, conflicting="drop")
        assert texts(ranking) == [OLD, NEW]
        assert ranking.report.pairs_skipped == 1

    def test_nothing_in_nothing_out(self):
        assert rank([]).kept == ()


class TestBudget:
    @pytest.mark.parametrize(
        ("budget", "kept"), [(1, 1), (6, 1), (10, 1), (11, 2), (12, 3), (17, 3), (18, 4), (99, 4)]
    )
    def test_whole_documents_in_rank_order_while_they_fit(self, budget, kept):
        ranking = rank([OLD, NEW, OTHER, "Blue."], budget=budget, count=lambda t: len(t.split()))
        # NEW is outvoted by OLD, which stands before it: 6, 5, 1 and 6 words in rank order.
        assert texts(ranking) == [OLD, OTHER, "Blue.", NEW][:kept]
        assert len(ranking.left_out) == 4 - kept

    def test_a_smaller_one_further_down_does_not_slip_in(self):
        ranking = rank(["one", "two three four", "five"], budget=2, count=lambda t: len(t.split()))
        assert texts(ranking) == ["one"]

    def test_the_best_stays_though_it_is_too_long(self):
        assert texts(rank(["one two three", "four"], budget=1)) == ["one two three"]

    def test_tokens_are_counted_by_the_embedded_models_tokenizer(self):
        assert count_tokens("") == 0
        assert 7 <= count_tokens(OLD) <= 12
        assert count_tokens(f"{OLD} {OLD}") == 2 * count_tokens(OLD)
        assert count_tokens("\ud800") >= 1
        both = count_tokens(NEW) + count_tokens(OTHER)
        assert texts(rank([NEW, OTHER], budget=both)) == [NEW, OTHER]
        assert texts(rank([NEW, OTHER], budget=both - 1)) == [NEW]


class TestArguments:
    @pytest.mark.parametrize(
        ("settings", "error", "reason"),
        [
            ({"penalty_weight": 1.5}, ValueError, "penalty_weight"),
            ({"penalty_weight": "1"}, TypeError, "penalty_weight"),
            ({"min_score": -0.1}, ValueError, "min_score"),
            ({"min_score": float("nan")}, ValueError, "min_score"),
            ({"conflicting": "hide"}, ValueError, "conflicting"),
            ({"max_pairs": -1}, ValueError, "max_pairs"),
            ({"max_pairs": 1.5}, TypeError, "max_pairs"),
            ({"max_pairs": True}, TypeError, "max_pairs"),
        ],
    )
    def test_of_the_ranker(self, settings, error, reason):
        with pytest.raises(error, match=reason):
            Ranker(**settings)

    @pytest.mark.parametrize(("budget", "error"), [(0, ValueError), (1.5, TypeError)])
    def test_the_budget(self, budget, error):
        with pytest.raises(error, match="token_budget"):
            rank([NEW], budget=budget)

    def test_scores_are_one_for_each(self):
        with pytest.raises(ValueError, match="2 scores for 1 documents"):
            rank([NEW], scores=[0.1, 0.2])
