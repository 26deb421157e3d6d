"""Cognitive tension: golden values, the model form, MaxSAT, weights."""

from __future__ import annotations

import builtins
import itertools
import json
import pickle
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import caco
from caco.consistency import find_source_conflicts
from caco.models import Document, Labels
from caco.tension import (
    CTS,
    DEFAULT_WEIGHTS,
    Parts,
    cts,
    fit_weights,
    satisfaction,
    tension_among,
    unsatisfied_share,
)
from caco.tension.parts import CONTRADICTION, STRAIN
from caco.testing import FakeClassifier

GOLDEN = [
    (
        "Paris is the capital of France. Paris is not the capital of France.",
        "france gov site",
        (0.25396825396825395, 0.0, 0.26865671641791045, 0.1941483060886046),
        (1.0, 0.8888888888888888, 0.7222222222222222, 0.1402182210639922),
    ),
    (
        "A is B. A is not B.",
        ["doc a", "doc b"],
        (0.3666666666666666, 0.0, 0.5263157894736842, 0.31491228070175437),
        (0.0, 0.8, 0.2, 0.06298245614035088),
    ),
    (
        "The LGPD was created in 2015.",
        "The LGPD was enacted on August 14, 2018.",
        (0.06376811594202902, 0.0, 0.793103448275862, 0.23015992003998),
        (0.0, 0.7272727272727273, 0.18181818181818182, 0.04184725818908728),
    ),
    ("", [], (0.0, 0.0, 1.0, 0.25), (0.0, 1.0, 0.25, 0.0625)),
]


@pytest.mark.parametrize(("text", "sources", "strain", "contradiction"), GOLDEN)
def test_golden_values_of_the_heuristic_form(text, sources, strain, contradiction):
    for result in (caco.cts(text, sources), caco.cts(text, sources, (), "heuristic")):
        found = (*result.strain.values(), result.S)
        assert found == pytest.approx(strain, abs=1e-9)
        found = (
            result.contradiction["P_NLI"],
            result.contradiction["H_halluc"],
            result.C,
            result.value,
        )
        assert found == pytest.approx(contradiction, abs=1e-9)
        assert result.contradiction["U_SAT"] == 0.0
        assert result.mode == "heuristic"


def plain_p_nli(text: str) -> float:
    """The definition, pair by pair."""
    stop = set(
        "the a an and or of for in on to is are was were be been being with by as at from this "
        "that it".split()
    )
    negations = set("not never no none cannot isn't can't".split())
    import re

    sentences = [re.findall(r"[a-z0-9']+", s.lower()) for s in re.split(r"(?<=[.!?])\s+", text)]
    sentences = [words for words in sentences if words]
    values = []
    for first, second in itertools.combinations(sentences, 2):
        one, other = ({w for w in s if len(w) > 3 and w not in stop} for s in (first, second))
        overlap = len(one & other) / len(one | other) if one | other else 0.0
        opposed = bool(negations & set(first)) != bool(negations & set(second))
        values.append(overlap * opposed)
    return min(1.0, sum(values) / len(values) / 0.6) if values else 0.0


_WORDS = st.sampled_from("Paris London capital river long with the cat sat".split())
_SENTENCES = st.tuples(
    st.lists(_WORDS, max_size=5),
    st.sampled_from(["", "not", "never", "isn't"]),
    st.sampled_from(".!?"),
).map(lambda parts: " ".join([*parts[0], parts[1]]).strip() + parts[2])


@given(st.lists(_SENTENCES, min_size=2, max_size=8))
@example(["Paris long river.", "Paris capital not.", "The cat."])
def test_contradiction_is_the_mean_over_pairs(sentences):
    text = " ".join(sentences)
    found = cts(text, ["x"]).contradiction["P_NLI"]
    assert found == pytest.approx(plain_p_nli(text.strip()), abs=1e-12)


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=3))
def test_everything_is_in_the_unit_interval_and_adds_up(text, sources):
    result = cts(text, sources)
    parts = {**result.strain, **result.contradiction}
    assert all(0.0 <= value <= 1.0 for value in (*parts.values(), result.S, result.C))
    assert result.value == result.S * result.C
    weigh = [(DEFAULT_WEIGHTS[name] * parts[name]) for name in (*STRAIN, *CONTRADICTION)]
    assert pytest.approx(sum(weigh[:3])) == result.S
    assert pytest.approx(sum(weigh[3:])) == result.C
    assert cts(text, sources[::-1]) == result


def test_the_work_grows_linearly_up_to_a_megabyte(count_calls):
    chance = random.Random(1)
    words = [*(f"word{number}" for number in range(3000)), "not"]

    def work(size):
        text = " ".join(" ".join(chance.choices(words, k=10)) + "." for _ in range(size // 80))
        return count_calls(lambda: cts(text, [text[:1000]]))

    work(1000)
    assert work(1_000_000) < 5 * work(250_000)


class TestResult:
    def test_is_frozen_hashable_picklable_and_json_safe(self):
        result = cts("The sky is not blue.", "The sky is blue.")
        assert pickle.loads(pickle.dumps(result)) == result
        assert len({result, cts("The sky is not blue.", "The sky is blue.")}) == 1
        with pytest.raises(AttributeError):
            result.S = 0.0
        plain = json.loads(json.dumps(result.to_dict()))
        assert plain["value"] == result.value
        assert plain["weights"] == dict(DEFAULT_WEIGHTS)
        assert result.strain == plain["strain"]
        assert "delta_L_pred" in repr(result.strain)

    def test_parts_are_a_mapping(self):
        parts = Parts((("a", 0.5),))
        assert (parts["a"], len(parts), list(parts)) == (0.5, 1, ["a"])
        with pytest.raises(KeyError):
            parts["b"]
        assert parts != 3


class TestWeights:
    def test_of_ones_own(self):
        weights = {"P_NLI": 0.0, "U_SAT": 0.0, "H_halluc": 1.0}
        result = cts("A cat.", "A dog.", weights=weights)
        assert result.contradiction["H_halluc"] == result.C
        assert result.weights["delta_L_pred"] == 0.5

    @pytest.mark.parametrize(
        "weights",
        [
            {"P_NLI": 1.0},
            {"P_NLI": 0.5, "U_SAT": 0.5, "H_halluc": 0.5},
            {"P_NLI": 1.5, "U_SAT": -0.5, "H_halluc": 0.0},
            {"unknown": 1.0},
            {"P_NLI": float("nan"), "U_SAT": 0.5, "H_halluc": 0.5},
        ],
    )
    def test_that_are_none(self, weights):
        with pytest.raises(ValueError, match="weights"):
            cts("x", weights=weights)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": 3}, TypeError),
        ({"text": "x", "mode": "magic"}, ValueError),
        ({"text": "x", "language": "klingon"}, ValueError),
        ({"text": "x", "sources": [3]}, TypeError),
    ],
)
def test_wrong_arguments(arguments, error):
    with pytest.raises(error):
        cts(**arguments)


class TestModelForm:
    def test_is_the_default_where_a_classifier_is_at_hand(self):
        assert cts("The sky is blue.", "Sky.", classifier=FakeClassifier()).mode == "model"
        heuristic = cts("The sky is blue.", "Sky.", (), "heuristic", classifier=FakeClassifier())
        assert heuristic.mode == "heuristic"

    def test_counts_unsupported_claims_and_contradiction(self):
        verdicts = {
            "The sky is green.": Labels.VALUE_CONTRADICTION,
            "Cats like fish.": Labels.VALUE_NEUTRAL,
        }
        classifier = FakeClassifier(verdicts, score=0.9)
        text = "The sky is green. Cats like fish. Grass is tall. Snow is cold."
        result = cts(text, "Some document.", classifier=classifier)
        assert result.contradiction["H_halluc"] == 0.5
        expected = (0.9 + 3 * 0.05) / 4
        assert result.contradiction["P_NLI"] == pytest.approx(expected)

    def test_hears_a_text_contradict_itself(self):
        """Each sentence has its own source, and so is supported; together they cannot be true."""
        first, second = "The bridge is open.", "The bridge is closed."
        sources = [Document(first, "a"), Document(second, "b")]
        both = cts(f"{first} {second}", sources, mode="model")
        one = cts(first, sources[:1], mode="model")
        assert both.contradiction["P_NLI"] > 0.8
        assert one.contradiction["P_NLI"] < 0.2

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("english", "The bridge opened in 1932. It opened in 1951."),
            ("portuguese", "A ponte abriu em 1932. Ela abriu em 1951."),
        ],
    )
    def test_hears_it_where_a_pronoun_stands_for_the_name(self, language, text):
        """Read by itself, the second sentence speaks of nothing that the first one does."""
        found = cts(text, "Cats like fish.", mode="model", language=language)
        assert found.contradiction["P_NLI"] > 0.8
        plain = cts(text.split(". ")[0] + ".", "Cats like fish.", mode="model", language=language)
        assert plain.contradiction["P_NLI"] < 0.6

    def test_ranks_answers(self):
        source = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
        true = cts("The LGPD was enacted in 2018.", source, mode="model")
        false = cts("The LGPD was created in 2015.", source, mode="model")
        assert false.value > true.value + 0.2
        quoted = cts(source, source, mode="model")
        assert quoted.strain["delta_L_pred"] < true.strain["delta_L_pred"]

    def test_without_sources_no_claim_is_supported(self):
        result = cts("The sky is blue.", mode="model")
        assert result.contradiction["H_halluc"] == 1.0
        assert result.strain["delta_L_pred"] == 1.0

    @pytest.mark.parametrize("text", ["", "Hello!", "  "])
    def test_nothing_claimed_is_no_contradiction(self, text):
        result = cts(text, "The sky is blue.", mode="model")
        assert (result.C, result.value) == (0.0, 0.0)

    def test_does_not_depend_on_the_order_of_sources(self):
        sources = ["The sky is blue.", "Grass is green.", "Snow is white and cold."]
        text = "The sky is blue. Snow is warm."
        results = {
            cts(text, [Document(s, s) for s in order], mode="model")
            for order in itertools.permutations(sources)
        }
        assert len(results) == 1

    def test_ordinary_words_diverge_less_than_rare_ones(self):
        plain = "it is the house of the man and he is in the house"
        rare = "zyxwv qwrtp plokm bhgvf crdxz wsazx edcrf tgbyh ujmik olpqa zmxnc vbalk"
        found = [cts(text, mode="model").strain["KL"] for text in (plain, rare)]
        assert found[0] < 0.4
        assert found[1] > 0.7

    def test_long_sources_are_read_to_their_end(self):
        filler = " ".join(f"Item {number} of the list." for number in range(4000))
        text = "The quarterly steering committee meets in the old library of Coimbra."
        for source in (f"{text} {filler}", f"{filler} {text}"):
            assert cts(text, source, mode="model").strain["delta_L_pred"] < 0.6

    @given(st.text(max_size=80))
    @settings(max_examples=25)
    def test_any_text(self, text):
        result = cts(text, "Some source.", classifier=FakeClassifier())
        values = (*result.components.values(), result.S, result.C, result.value)
        assert all(0.0 <= value <= 1.0 for value in values)


class TestAmongSources:
    def test_each_is_held_against_the_others(self):
        texts = ["The bridge is open.", "The bridge is closed.", "Cats like fish.", " "]
        sources = [Document(text, str(place)) for place, text in enumerate(texts)]
        report = find_source_conflicts(sources)
        found = tension_among(sources, report)
        (conflict,) = report.conflicts
        assert conflict.score > 0.8
        # Two of the three that say something contradict each other; P_NLI weighs a half.
        assert found.contradiction["P_NLI"] == pytest.approx(2 * conflict.score / 3)
        assert pytest.approx(conflict.score / 3) == found.C
        assert found.value == found.S * found.C
        assert (found.mode, found.contradiction["H_halluc"]) == ("model", 0.0)

    def test_what_others_say_too_is_no_strain(self):
        said = "The quarterly steering committee meets in the old library of Coimbra."
        other = "Cats like fish and sleep through most of the long afternoons of summer."
        none = find_source_conflicts([])
        apart, together = (
            tension_among([Document(a, "a"), Document(b, "b")], none).strain["delta_L_pred"]
            for a, b in ((said, other), (said, f"{said} Yes."))
        )
        assert together < 0.4 < apart

    @pytest.mark.parametrize("texts", [[], [""], ["", "  "]])
    def test_nothing_said(self, texts):
        sources = [Document(text, str(place)) for place, text in enumerate(texts)]
        found = tension_among(sources, find_source_conflicts(sources))
        assert (found.C, found.value) == (0.0, 0.0)

    def test_weights(self):
        given = {"P_NLI": 1.0, "U_SAT": 0.0, "H_halluc": 0.0}
        sources = [Document("The bridge is open.", "a"), Document("The bridge is closed.", "b")]
        report = find_source_conflicts(sources)
        found = tension_among(sources, report, weights=given)
        assert pytest.approx(report.conflicts[0].score) == found.C


def brute_force(clauses: list[list[int]]) -> float:
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    best = len(clauses)
    for values in itertools.product((False, True), repeat=len(variables)):
        value = dict(zip(variables, values, strict=True))
        broken = sum(not any(value[abs(x)] == (x > 0) for x in clause) for clause in clauses)
        best = min(best, broken)
    return best / len(clauses)


_LITERAL = st.integers(1, 5).flatmap(lambda v: st.sampled_from([v, -v]))


def two_thousand_clauses(variables):
    chance = random.Random(variables)
    return [
        [v * chance.choice((1, -1)) for v in chance.sample(range(1, variables + 1), 3)]
        for _ in range(2000)
    ]


class TestSatisfaction:
    @pytest.fixture(autouse=True)
    def _solver(self):
        pytest.importorskip("pysat", exc_type=ImportError)

    @given(st.lists(st.lists(_LITERAL, min_size=1, max_size=3), min_size=1, max_size=14))
    @settings(max_examples=60)
    def test_is_the_least_share_of_unsatisfied_clauses(self, clauses):
        found = unsatisfied_share(clauses)
        assert found.exact
        assert found.share == brute_force(clauses)

    def test_enters_the_tension(self):
        result = cts("x", "x", [[1], [-1], [2], [-2, 1]])
        assert result.contradiction["U_SAT"] == 0.25
        assert cts("x", "x", [[1], [2]]).contradiction["U_SAT"] == 0.0

    @pytest.mark.parametrize("variables", [1500, 700])
    def test_two_thousand_clauses_over_many_variables_are_exact(self, variables, monkeypatch):
        monkeypatch.setattr(satisfaction, "_SECONDS", 600)  # a busy machine takes longer
        assert cts("x", "x", two_thousand_clauses(variables)).exact

    @pytest.mark.parametrize("variables", [480, 300, 40, 8])
    def test_a_search_that_could_take_days_is_cut_short(self, variables, monkeypatch):
        walks = []

        class Walk(satisfaction._Walk):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                walks.append(self)

        monkeypatch.setattr(satisfaction, "_Walk", Walk)
        result = cts("x", "x", two_thousand_clauses(variables))
        assert result.contradiction["U_SAT"] <= 0.125
        assert result.exact or walks
        one_step = 4 * 2000
        assert all(walk.work < satisfaction._WORK + one_step for walk in walks)

    def test_what_is_not_exact_says_so(self, monkeypatch):
        monkeypatch.setattr("caco.tension.satisfaction._least_cost", lambda clauses: None)
        clauses = [[1], [-1], [2], [-2]]
        result = cts("x", "x", clauses)
        assert (result.contradiction["U_SAT"], result.exact) == (0.5, False)
        assert unsatisfied_share([[1], [2, 3]]).exact

    def test_large_names_of_variables_cost_nothing(self):
        assert unsatisfied_share([[10**15], [-(10**15)]]).share == 0.5

    def test_tautologies_and_repetitions(self):
        assert unsatisfied_share([[1, -1]]).share == 0.0
        assert unsatisfied_share([[1, 1], [-1]]).share == 0.5


class TestMalformedFormulas:
    @pytest.mark.parametrize("formula", [[[0]], [[1], []], [[1, 0, 2]]])
    def test_values(self, formula):
        with pytest.raises(ValueError, match="clause"):
            cts("x", "x", formula)

    @pytest.mark.parametrize(
        "formula", ["1 2", [1, 2], [["a"]], [[1.0]], [[True]], [None], 3, ["12"], {1: [2]}]
    )
    def test_types(self, formula):
        with pytest.raises((TypeError, ValueError)):
            cts("x", "x", formula)

    def test_are_noticed_before_the_solver_is_missed(self, no_pysat):
        with pytest.raises(ValueError, match="clause 0 holds 0"):
            cts("x", "x", [[0]])


@pytest.fixture
def no_pysat(monkeypatch):
    real = builtins.__import__

    def blocked(name, *rest):
        if name.partition(".")[0] == "pysat":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", blocked)


def test_without_the_extra_only_constraints_are_refused(no_pysat):
    assert cts("x", "x").contradiction["U_SAT"] == 0.0
    with pytest.raises(caco.MissingExtraError, match=r"caco-guard\[sat\]"):
        cts("x", "x", [[1]])


class TestFitWeights:
    def features(self, rows=80, columns=3, seed=0):
        return np.random.default_rng(seed).random((rows, columns))

    @pytest.mark.parametrize("true", [(0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.7, 0.0, 0.3)])
    def test_finds_the_weights_that_made_the_targets(self, true):
        table = self.features()
        fit = fit_weights(table.tolist(), (table @ np.array(true)).tolist())
        assert fit.weights == pytest.approx(true, abs=1e-9)
        assert fit.error < 1e-9
        assert fit.held_out_error < 1e-9
        assert (fit.names, fit.rows) == (("0", "1", "2"), 80)

    @pytest.mark.parametrize("seed", range(20))
    def test_is_the_least_squares_point_of_the_simplex(self, seed):
        """No other point is better: not those nearby, not the corners."""
        chance = np.random.default_rng(seed)
        columns = 2 + seed % 5
        table, targets = chance.random((30, columns)), chance.random(30)
        weights = np.array(fit_weights(table, targets).weights)
        assert weights.min() >= 0.0
        assert weights.sum() == pytest.approx(1.0, abs=1e-9)

        def loss(point):
            return ((table @ point - targets) ** 2).sum()

        slope = table.T @ (table @ weights - targets)
        # Optimal on the simplex: every weight in use has the least slope.
        assert slope[weights > 1e-9].max() <= slope.min() + 1e-8
        assert all(loss(corner) >= loss(weights) - 1e-12 for corner in np.eye(columns))

    @pytest.mark.parametrize("seed", [94, 219, 359])
    def test_a_weight_that_was_dropped_too_soon_comes_back(self, seed):
        """Columns so alike that the first step to the boundary leaves the wrong one out."""
        chance = np.random.default_rng(seed)
        columns = 4 + seed % 5
        base = chance.random((40, 2)) @ chance.random((2, columns))
        table = np.clip(base + chance.random((40, columns)) * 0.15, 0, 1)
        targets = np.clip(chance.random(40) * 0.3 + table[:, 0] * 0.5, 0, 1)
        weights = np.array(fit_weights(table, targets).weights)
        slope = table.T @ (table @ weights - targets)
        assert slope[weights > 1e-9].max() <= slope.min() + 1e-8

    def test_held_out_error_shows_what_the_error_hides(self):
        chance = np.random.default_rng(3)
        fit = fit_weights(chance.random((9, 7)), chance.random(9))
        assert fit.held_out_error > fit.error

    def test_both_heads_of_the_tension(self):
        rows = self.features(300, 6, 5)
        strain, conflict = np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.1, 0.2])
        targets = (rows[:, :3] @ strain) * (rows[:, 3:] @ conflict)
        names = (*STRAIN, *CONTRADICTION)
        fit = fit_weights([dict(zip(names, row, strict=True)) for row in rows], targets)
        assert fit.weights == pytest.approx((*strain, *conflict), abs=1e-6)
        result = cts("A cat is not a dog.", "A dog.", weights=fit.as_mapping())
        assert result.weights["P_NLI"] == pytest.approx(0.7, abs=1e-6)
        assert json.dumps(fit.to_dict())

    def test_takes_tensions(self):
        texts = [
            f"{'x' * n} is {'not ' * (n % 2)}extraordinarily {'y' * (n % 7)}. It {'z' * (n % 5)}."
            for n in range(1, 40)
        ]
        rows = [cts(text, "It is extraordinarily long.") for text in texts]
        with pytest.raises(ValueError, match="tell their weights apart"):
            fit_weights(rows, [row.value for row in rows])  # U_SAT and P_NLI are 0 everywhere

    def test_names_of_ones_own(self):
        table = self.features(20, 2)
        fit = fit_weights([{"b": r[0], "a": r[1]} for r in table], table @ np.array([0.25, 0.75]))
        assert fit.as_mapping() == pytest.approx({"b": 0.25, "a": 0.75})

    @pytest.mark.parametrize(
        ("features", "targets", "reason"),
        [
            ([], [], "no rows"),
            ([[0.1, 0.2]] * 3, [0.1, 0.2], "3 rows of features, but 2 targets"),
            ([[0.1], [0.2], [0.3]], [0.1, 0.2, 0.3], "always 1"),
            ([[0.1, 0.2], [0.2, 0.1]], [0.1, 0.2], "too few"),
            ([[0.1, 0.2], [0.3, 0.1], [0.5, 0.9]], [0.5] * 3, "nothing to learn"),
            ([[0.1, 0.1], [0.3, 0.3], [0.5, 0.5]], [0.1, 0.2, 0.3], "weights apart"),
            ([[0.0, 0.0, 0.1]] * 5, [0.1, 0.2, 0.3, 0.4, 0.5], "weights apart"),
            ([[0.1, float("nan")], [0.3, 0.1], [0.5, 0.9]], [0.1, 0.2, 0.3], "not finite"),
            ([[0.1, 0.2], [0.3, 0.1], [0.5, 0.9]], [0.1, 0.2, 1.3], r"in \[0, 1\]"),
            ([[0.1, 0.2], [0.3], [0.5, 0.9]], [0.1, 0.2, 0.3], "row 1 has 1 numbers"),
            ([{"a": 1, "b": 2}, {"a": 1, "c": 2}], [0.1, 0.2], "row 1 does not have the names"),
            ([[1, 0], [0, 0], [0, 0], [0, 0]], [0.1, 0.2, 0.3, 0.4], "hold any out"),
        ],
    )
    def test_degenerate_input_is_refused_with_the_reason(self, features, targets, reason):
        with pytest.raises(ValueError, match=reason):
            fit_weights(features, targets)

    @pytest.mark.parametrize("features", ["text", {"a": 1}, 3, [["a", "b"]], [3]])
    def test_wrong_types(self, features):
        with pytest.raises(TypeError):
            fit_weights(features, [0.5])


def test_the_name_is_a_function_whatever_was_imported_before():
    import caco.tension.compute

    assert callable(caco.cts)
    assert caco.cts is caco.tension.compute.cts
    assert isinstance(caco.cts("x", "y"), CTS)
