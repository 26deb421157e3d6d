"""A threshold keeps to its target, says what to expect, and is refused where data are hopeless."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.evaluation import tune_threshold
from caco.tuning import trade_offs


def noisy(rows, seed=0, distance=0.25):
    """Scores that order bad and good answers, but not perfectly."""
    rng = random.Random(seed)
    labels = [rng.random() < 0.4 for _ in range(rows)]
    scores = [min(1.0, max(0.0, rng.gauss(0.4 + distance * bad, 0.2))) for bad in labels]
    return scores, labels


def rates(scores, labels, threshold):
    missed = sum(bad and score <= threshold for score, bad in zip(scores, labels, strict=True))
    alarms = sum(not bad and score > threshold for score, bad in zip(scores, labels, strict=True))
    return missed / sum(labels), alarms / (len(labels) - sum(labels))


SCORES = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.500000001, 0.75, 0.9, 1.0])


@st.composite
def data(draw):
    good = draw(st.lists(SCORES, min_size=10, max_size=30))
    bad = draw(st.lists(SCORES, min_size=10, max_size=30))
    return [*good, *bad], [*[False] * len(good), *[True] * len(bad)]


@pytest.mark.parametrize(("target", "kept"), [("miss-rate", 0), ("alarm-rate", 1)])
@given(rows=data(), value=st.floats(0, 1))
def test_a_rate_is_kept_at_the_least_cost(target, kept, rows, value):
    """No threshold that keeps to the rate has less of the other."""
    scores, labels = rows
    try:
        found = tune_threshold(scores, labels, target, value)
    except ValueError:
        return
    own = rates(scores, labels, found.threshold)
    assert own[kept] <= value
    assert (found.fitted.miss_rate.value, found.fitted.alarm_rate.value) == own
    for other in {0.0, *scores}:
        beside = rates(scores, labels, other)
        assert beside[kept] > value or beside[1 - kept] >= own[1 - kept]


@given(data())
def test_the_best_balanced_accuracy(rows):
    scores, labels = rows
    try:
        found = tune_threshold(scores, labels)
    except ValueError:
        return
    best = min(sum(rates(scores, labels, other)) for other in {0.0, *scores})
    assert sum(rates(scores, labels, found.threshold)) == pytest.approx(best)
    assert found.fitted.balanced_accuracy == pytest.approx(1 - best / 2)


def test_the_threshold_lies_between_scores():
    scores = [0.1] * 10 + [0.2] * 10 + [0.6] * 10
    found = tune_threshold(scores, [False] * 20 + [True] * 10)
    assert found.threshold == pytest.approx(0.4)
    found = tune_threshold([0.1] * 10 + [1.0] * 10, [False] * 10 + [True] * 10, "alarm-rate", 0.0)
    assert found.threshold == pytest.approx(0.55)


@pytest.mark.parametrize("below", [0.5, math.nextafter(0.5, 1)])
def test_neighbouring_floats_are_kept_apart(below):
    """Their middle is one of the two, whichever ends in an even digit."""
    above = math.nextafter(below, 1)
    found = tune_threshold([below] * 10 + [above] * 10, [False] * 10 + [True] * 10)
    assert below <= found.threshold < above
    assert found.fitted.balanced_accuracy == 1.0


def test_the_held_out_estimate_is_nearer_to_what_comes():
    """On few rows, fitted numbers are too good; held-out ones are not, on average."""
    fitted = held_out = true = 0.0
    fresh = noisy(5000, seed=99)
    for seed in range(30):
        found = tune_threshold(*noisy(60, seed=seed))
        miss, alarm = rates(*fresh, found.threshold)
        fitted += found.fitted.balanced_accuracy
        held_out += found.held_out.balanced_accuracy
        true += 1 - (miss + alarm) / 2
    assert fitted > true + 0.5
    assert abs(held_out - true) < (fitted - true) / 2


def test_a_miss_rate_holds_on_new_rows_within_the_interval():
    found = tune_threshold(*noisy(1500), "miss-rate", 0.1)
    miss, alarm = rates(*noisy(5000, seed=7), found.threshold)
    assert found.held_out.miss_rate.low - 0.02 < miss < found.held_out.miss_rate.high + 0.02
    assert found.held_out.alarm_rate.low - 0.02 < alarm < found.held_out.alarm_rate.high + 0.02


def test_results_repeat_and_are_json():
    found = tune_threshold(*noisy(80), "miss-rate", 0.2)
    assert found == tune_threshold(*noisy(80), "miss-rate", 0.2)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["held_out"]["miss_rate"]["value"] == found.held_out.miss_rate.value
    assert plain["rows"] == 80
    table = found.table()
    assert table.title == f"Threshold {found.threshold:.4f}"
    assert "held out, 5 folds" in table.rows[1][0]


def test_few_rows_for_the_target_are_said():
    labels = [True] * 20 + [False] * 400
    scores = [0.5 + n / 100 for n in range(20)] + [n / 1000 for n in range(400)]
    assert "hangs on chance" in tune_threshold(scores, labels, "miss-rate", 0.05).notes[0]
    assert not tune_threshold(scores, labels, "alarm-rate", 0.05).notes
    assert not tune_threshold(scores, labels).notes


GOOD = [0.1, 0.2] * 10
BAD = [0.8, 0.9] * 10
LABELS = [False] * 20 + [True] * 20


@pytest.mark.parametrize(
    ("scores", "labels", "arguments", "message"),
    [
        ([], [], (), "10 rows of each label"),
        (BAD, [True] * 20, (), "20 of label 1 and 0 of label 0"),
        ([*GOOD, *BAD[:9]], LABELS[:29], (), "9 of label 1"),
        ([0.4] * 40, LABELS, (), "every score is 0.4"),
        ([*BAD, *GOOD], LABELS, (), "no better than chance"),
        ([*GOOD, *BAD], LABELS[:39], (), "40 scores, but 39 labels"),
        ([*GOOD, *BAD[:19], float("nan")], LABELS, (), "a score"),
        ([*GOOD, *BAD[:19], 1.5], LABELS, (), "a score"),
        ([*GOOD, *BAD], LABELS, ("recall", 0.5), "target must be one of"),
        ([*GOOD, *BAD], LABELS, ("miss-rate",), "needs a value"),
        ([*GOOD, *BAD], LABELS, ("miss-rate", 1.2), "miss-rate must be"),
        ([*GOOD, *BAD], LABELS, ("balanced-accuracy", 0.9), "takes no value"),
        ([*GOOD, *BAD[:10], *[0.0] * 10], LABELS, ("miss-rate", 0.1), "no better|even at 0"),
    ],
)
def test_hopeless_data_are_refused(scores, labels, arguments, message):
    with pytest.raises(ValueError, match=message):
        tune_threshold(scores, labels, *arguments)


def test_a_miss_rate_that_nothing_keeps_to():
    scores = [*[0.0] * 10, *[0.9] * 30, *[0.1] * 40]
    labels = [True] * 40 + [False] * 40
    with pytest.raises(ValueError, match=r"even at 0 it is 0\.250"):
        tune_threshold(scores, labels, "miss-rate", 0.2)
    assert tune_threshold(scores, labels, "miss-rate", 0.25).threshold >= 0.1


def test_trade_offs_from_low_to_high():
    table = trade_offs([0.2, 0.7, 0.7], [False, True, False])
    assert [row.tau_star for row in table] == [0.0, 0.2, 0.7]
    assert [row.miss_rate for row in table] == [0.0, 0.0, 1.0]
    assert [row.good_withheld for row in table] == [1.0, 0.5, 0.0]
