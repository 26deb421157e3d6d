"""Measure the engine on development sets and print what it reaches beside what it should.

usage: python benchmarks/accuracy.py DATA [--sets A,B] [--limit N] [--model FOLDER] [--keep FILE]
       python benchmarks/accuracy.py record [--model FOLDER]

DATA is a folder with the sets as ``NAME.jsonl.gz``. Each set is read as `caco eval` reads it:
answers are validated as a user would; of pairs, the classifier alone judges hypothesis against
premise. Sets larger than the table says are cut to their first rows after a shuffle with seed 0.
``--keep`` stores what each set gave and adds to what is stored, so that the table can be made in
parts.

``record`` writes down what the packaged model says about the rows of the accuracy gate (`gate.py`),
to be run after new weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gate
from machine import describe_machine
from sklearn.metrics import balanced_accuracy_score

import caco
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.evaluation import Dataset, Table, Validators, evaluate, read_dataset, take
from caco.evaluation.measures import BINS, RESAMPLES, Estimate, measure
from caco.evaluation.report import interval, number
from caco.models import Status

RIVALS = ("word_overlap", "tfidf_logistic")
MOST_ECE = 0.08
MOST_LOSS = 0.02
LEAD = 0.05


@dataclass(frozen=True)
class Goal:
    """What a measure of a set should reach: at least ``floor``, better ``goal``."""

    measure: str
    floor: float
    goal: float


@dataclass(frozen=True)
class DevSet:
    """A development set.

    Attributes:
        name: Its file's name without endings.
        goals: What it should reach.
        rows: How many rows are measured at most; None: all.
        with_prompt: Whether the question is given to the engine.
    """

    name: str
    goals: tuple[Goal, ...]
    rows: int | None = None
    with_prompt: bool = False


SETS = (
    DevSet("nli_mnli_dev", (Goal("pair_accuracy", 0.78, 0.85),), 1500),
    DevSet("nli_pt_assin2_dev", (Goal("pair_accuracy", 0.90, 0.93),)),
    DevSet("nli_pt_inferbr_val", (Goal("pair_accuracy", 0.87, 0.91),)),
    DevSet("begin_tc_dev", (Goal("balanced_accuracy", 0.89, 0.93),)),
    DevSet("begin_cmu_dev", (Goal("balanced_accuracy", 0.90, 0.93),)),
    DevSet(
        "attributionbench_dev",
        (Goal("auroc", 0.79, 0.84), Goal("balanced_accuracy", 0.71, 0.77)),
        500,
    ),
    DevSet(
        "wice_claim_dev", (Goal("auroc", 0.77, 0.83), Goal("balanced_accuracy", 0.70, 0.76)), 150
    ),
    DevSet("qags_cnndm", (Goal("auroc", 0.80, 0.86),)),
    DevSet("qags_xsum", (Goal("auroc", 0.80, 0.84),)),
    DevSet("halueval_qa", (Goal("balanced_accuracy", 0.72, 0.82),), 600, with_prompt=True),
)


def measure_set(dataset: Dataset, validators: Validators) -> dict[str, Any]:
    """Return the measures of a set with the risks and labels behind them, as plain data."""
    report = evaluate([dataset], validators, claims=False, progress=show_progress).reports[0]
    judged = [j for j in report.judgements if j.judged]
    return {
        **report.to_dict(),
        "risks": report.risks,
        "flagged": [judgement.flagged for judgement in judged],
        "claims_nothing": [judgement.status is Status.NO_CLAIMS for judgement in judged],
        "labels": report.labels,
    }


def show_progress(name: str, done: int, total: int) -> None:
    """Say every tenth of the way how far it is."""
    if done == total or done * 10 // total > (done - 16) * 10 // total:
        print(f"{name}: {done} of {total}", file=sys.stderr, flush=True)


def claiming(results: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the risks, verdicts and labels of all answers that claim something."""
    rows = [
        row
        for found in results
        for *row, nothing in zip(
            found["risks"],
            found["flagged"],
            found["labels"],
            found["claims_nothing"],
            strict=True,
        )
        if not nothing
    ]
    return dict(
        zip(("risks", "flagged", "labels"), map(list, zip(*rows, strict=True)), strict=True)
    )


def estimate_of(found: Mapping[str, Any], name: str) -> Estimate:
    """Return a measure of a set."""
    return Estimate(**found["measures"].get(name, {"value": None}))


def goal_rows(dev: DevSet, found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table row for each goal of a set."""
    rows = []
    for goal in dev.goals:
        name = goal.measure.replace("pair_accuracy", "accuracy").replace("_", " ")
        rows.append(goal_row(dev.name, found["rows"], name, goal, estimate_of(found, goal.measure)))
        if any(found["claims_nothing"]):
            some = claiming([found])
            estimates = measure(**some).estimates
            label = f"{name}, of what claims something"
            rows.append(
                goal_row(dev.name, len(some["labels"]), label, goal, estimates[goal.measure])
            )
        if goal.measure == "pair_accuracy":
            alone = Estimate(found["model_accuracy"])
            rows.append(goal_row(dev.name, found["rows"], f"{name}, model alone", goal, alone))
    return rows


def goal_row(name: str, rows: int, what: str, goal: Goal, value: Estimate) -> tuple[str, ...]:
    """Return a table row that says whether a measure reaches its goal."""
    reached = "-"
    if value.value is not None:
        reached = "goal" if value.value >= goal.goal else "floor"
        reached = reached if value.value >= goal.floor else "under the floor"
    return name, str(rows), what, interval(value), f"{goal.floor:.2f}", f"{goal.goal:.2f}", reached


def beside_rows(results: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each set: AUROC of caco and of the baselines, the lead, the time."""
    rows = []
    for name, found in results.items():
        own = estimate_of(found, "auroc").value
        baselines = {key: value["auroc"]["value"] for key, value in found["baselines"].items()}
        known = [baselines[rival] for rival in RIVALS if baselines[rival] is not None]
        lead = None if own is None or not known else own - max(known)
        unjudged = 1 - found["judged"] / found["rows"]
        rows.append(
            (
                name,
                number(own),
                *(number(value) for value in baselines.values()),
                "-" if lead is None else f"{lead:+.3f}",
                number(estimate_of(found, "balanced_accuracy").value),
                number(estimate_of(found, "ece").value),
                number(found["model_accuracy"]),
                f"{unjudged:.1%}",
                f"{found['milliseconds']:.0f}",
            )
        )
    return rows


def tables(results: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return the tables of what was measured."""
    wanted = [
        row for dev in SETS if dev.name in results for row in goal_rows(dev, results[dev.name])
    ]
    names = [key.replace("_", " ") for key in next(iter(results.values()))["baselines"]]
    return [
        Table(
            "Measures, with 95 % intervals",
            ("set", "rows", "measure", "caco", "floor", "goal", "reached"),
            tuple(wanted),
            (
                f"{RESAMPLES} bootstrap resamples. Accuracy: of the classifier on the pair; model "
                "alone: without caco's rules and head. Balanced accuracy at the default threshold. "
                "An answer that is only a question claims nothing (status NO_CLAIMS) and passes; "
                "where such answers are labelled unsupported, the measure without them follows.",
            ),
        ),
        Table(
            "AUROC beside baselines",
            (
                "set",
                "caco",
                *names,
                "lead",
                "balanced accuracy",
                "ECE",
                "model alone",
                "not judged",
                "ms/row",
            ),
            tuple(beside_rows(results)),
            (
                f"Lead: over the better of {' and '.join(RIVALS)}; wanted: over 0, better {LEAD}. "
                "TF-IDF with logistic regression is fitted on four fifths of the set and measured "
                f"on the fifth. ECE: {BINS} equal-width bins. Model alone: accuracy over the "
                "classes of pairs, without caco's rules. What was not judged is in no measure.",
            ),
        ),
        pooled_table(results),
    ]


def pooled_table(results: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return calibration and threshold over the answers of all sets together."""
    answers = [found for found in results.values() if found["kind"] == "answers"]
    risks, flagged, labels = (
        [value for found in answers for value in found[key]]
        for key in ("risks", "flagged", "labels")
    )
    if len(set(labels)) < 2:
        return Table("All answers pooled", ("", "value", "wanted"), ())
    estimates = measure(risks, flagged, labels).estimates
    some = measure(**claiming(answers)).estimates
    grid = [step / 100 for step in range(1, 100)]
    best = max(grid, key=lambda at: balanced_accuracy_score(labels, [risk > at for risk in risks]))
    top = float(balanced_accuracy_score(labels, [risk > best for risk in risks]))
    own = estimates["balanced_accuracy"].value or 0.0
    rows = (
        ("AUROC", interval(estimates["auroc"]), ""),
        ("balanced accuracy", interval(estimates["balanced_accuracy"]), ""),
        ("ECE", interval(estimates["ece"]), f"at most {MOST_ECE}"),
        ("ECE of what claims something", interval(some["ece"]), f"at most {MOST_ECE}"),
        (f"loss to the best threshold ({best:.2f})", number(top - own), f"at most {MOST_LOSS}"),
    )
    return Table(f"All {len(labels)} answers pooled", ("", "value", "wanted"), rows)


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for, and return it with what was kept before."""
    kept = Path(arguments.keep) if arguments.keep else None
    results: dict[str, Any] = {}
    if kept is not None and kept.exists():
        results = json.loads(kept.read_text(encoding="utf-8"))
    names = arguments.sets.split(",") if arguments.sets else [dev.name for dev in SETS]
    unknown = set(names) - {dev.name for dev in SETS}
    if unknown:
        raise SystemExit(f"unknown sets {sorted(unknown)}; there are {[dev.name for dev in SETS]}")
    validators = validators_of(arguments.model)
    for dev in SETS:
        if dev.name not in names:
            continue
        file = Path(arguments.data) / f"{dev.name}.jsonl.gz"
        limits = [limit for limit in (dev.rows, arguments.limit) if limit is not None]
        dataset = take(
            read_dataset(file, with_prompt=dev.with_prompt), min(limits) if limits else None
        )
        results[dev.name] = measure_set(dataset, validators)
        if kept is not None:
            kept.write_text(json.dumps(results), encoding="utf-8")
    return results


def validators_of(folder: str | None) -> Validators:
    """Return validators on the packaged model, or on another."""
    return Validators(
        lambda language: caco.Validator(
            classifier=NLIClassifier(OnnxScorer(folder), language=language), language=language
        )
    )


def main() -> None:
    """Print the tables, or record the gate's labels."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help='folder with the sets, or "record"')
    parser.add_argument("--sets", default="", help="comma-separated names (default: all)")
    parser.add_argument("--limit", type=int, help="at most so many rows of each set")
    parser.add_argument("--model", help="another model's folder")
    parser.add_argument("--keep", help="file that keeps what was measured and adds to it")
    arguments = parser.parse_args()
    if arguments.data == "record":
        print(gate.record(arguments.model))
        return
    results = measured(arguments)
    for table in tables(results):
        print(f"\n**{table.title}**\n\n{table.markdown()}\n")
        print(*table.notes, sep="\n")
    print(f"\n{OnnxScorer(arguments.model).name}; {describe_machine('scikit-learn')}")


if __name__ == "__main__":
    main()
