"""Run hand-written cases through the engine and print what is right, by kind.

usage: python benchmarks/cases.py CASES.jsonl [--failures] [--model FOLDER]

A case is a JSON object: ``id``, ``kind``, ``documents`` (id, text), ``response``, ``language`` and
``expect`` with ``is_hallucination``, ``status`` and ``claims`` (``contains``: a substring picking
the claim by its source text; ``label``; ``evidence_document``; ``evidence_contains``).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from machine import describe_machine

import caco
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.evaluation import wilson_interval

MEASURES = ("claims", "verdict", "status", "document", "sentence")


def matching_claim(
    result: caco.ValidationResult, response: str, part: str
) -> caco.ClaimResult | None:
    """Return the claim whose source text holds ``part``, or None."""
    for claim in result.claims:
        if claim.start is not None and part in response[claim.start : claim.end]:
            return claim
    return None


def label_right(claim: caco.ClaimResult | None, expected: str) -> bool:
    """Whether a claim is judged as ``expected`` says."""
    if expected == "skip":
        return claim is None or not claim.checkworthy
    if claim is None or not claim.checkworthy:
        return False
    if expected == "conflict":
        return bool(claim.supporting and claim.conflicting)
    if expected == "not_entailment":
        return claim.label != "entailment"
    return bool(claim.label == expected)


def judge(case: dict[str, Any], result: caco.ValidationResult) -> list[tuple[str, bool, str]]:
    """Return (measure, right, what was seen) for everything the case asserts."""
    expect, response = case["expect"], case["response"]
    rows = [("status", str(result.status) == expect["status"], str(result.status))]
    if expect["is_hallucination"] is not None:
        right = result.is_hallucination == expect["is_hallucination"]
        rows.append(("verdict", right, f"{result.is_hallucination} {result.score:.2f}"))
    for wanted in expect["claims"]:
        claim = matching_claim(result, response, wanted["contains"])
        seen = f"{wanted['contains']!r} wanted {wanted['label']}, got {claim!r}"
        if claim is not None:
            values = ", ".join(f"{p:.2f}" for p in claim.probabilities.values())
            seen += f" [{values}] {claim.reason or claim.evidence!r}"
        rows.append(("claims", label_right(claim, wanted["label"]), seen))
        if wanted["label"] not in ("entailment", "contradiction") or claim is None:
            continue
        if wanted["evidence_document"] is not None:
            right = claim.evidence_document == wanted["evidence_document"]
            rows.append(("document", right, f"{seen} from {claim.evidence_document}"))
        if wanted["evidence_contains"] is not None:
            text = next(
                (d["text"] for d in case["documents"] if d["id"] == claim.evidence_document), ""
            )
            place = text.find(wanted["evidence_contains"])
            right = (
                place >= 0
                and claim.evidence_start is not None
                and claim.evidence_start < place + len(wanted["evidence_contains"])
                and place < claim.evidence_end
            )
            rows.append(("sentence", right, seen))
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--failures", action="store_true", help="print every failure")
    parser.add_argument("--model", type=Path, help="another model folder")
    arguments = parser.parse_args()
    validators = {
        language: caco.Validator(
            language=language,
            classifier=NLIClassifier(OnnxScorer(arguments.model), language=language),
        )
        for language in ("english", "portuguese")
    }
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for line in arguments.cases.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        result = validators[case["language"]].validate(case["response"], case["documents"])
        for measure, fine, seen in judge(case, result):
            right[measure, case["kind"]].append(fine)
            right[measure, "all"].append(fine)
            if arguments.failures and not fine:
                print(f"{case['id']:28s} {measure:9s} {seen}")
    kinds = sorted({kind for _, kind in right} - {"all"})
    print(f"\n{'kind':22s}" + "".join(f"{measure:>12s}" for measure in MEASURES))
    for kind in [*kinds, "all"]:
        cells = [right.get((measure, kind), []) for measure in MEASURES]
        print(f"{kind:22s}" + "".join(f"{f'{sum(c)}/{len(c)}' if c else '':>12s}" for c in cells))
    for measure in MEASURES:
        values = right[measure, "all"]
        low, high = wilson_interval(sum(values), len(values))
        print(
            f"{measure:9s} {sum(values) / len(values):.3f}  95 % interval {low:.3f} to {high:.3f}"
        )
    print(describe_machine())


if __name__ == "__main__":
    main()
