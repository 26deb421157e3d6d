"""What the speed benchmarks check: an answer of 5 sentences against 4 documents of 120 words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from caco.classifier.onnx import MODEL_FOLDER
from caco.classifier.scoring import PairScorer, PairScores

TOWNS = ("Arden", "Brask", "Colby", "Dunmore", "Elsworth", "Farrow", "Gilden", "Harlow")
SUBJECTS = ("library", "tram depot", "water works", "town museum", "ferry pier", "music school")


def document(rng: random.Random, town: str, subject: str) -> tuple[str, dict[str, int]]:
    """Return a text of about 120 words and the figures in it."""
    facts = {
        "year": rng.randint(1850, 1990),
        "staff": rng.randint(12, 90),
        "cost": rng.randint(100, 900),
        "visits": rng.randint(1000, 9000),
    }
    text = (
        f"The {subject} of {town} was founded in {facts['year']} after a vote of the council. It "
        f"employs {facts['staff']} people, most of whom live in {town} or in the villages around "
        f"it. Running the {subject} costs {facts['cost']} thousand crowns a year, two thirds of "
        f"which the region pays. In the last year {facts['visits']} people used it, a few more "
        f"than in the year before. The building was repaired twice, the second time after a fire "
        f"that destroyed the roof and a part of the archive. Its director is appointed for six "
        f"years and reports to a board of nine members, three of whom are chosen by the staff. "
        f"The {subject} is closed on public holidays, and a guided visit can be booked by "
        f"telephone or at the desk."
    )
    return text, facts


def rag_check(seed: int) -> tuple[str, list[str]]:
    """Return an answer of five sentences, two of them wrong, and its four documents.

    Args:
        seed: At least 0; each gives texts of its own.
    """
    rng = random.Random(seed)
    towns, subjects = rng.sample(TOWNS, 4), rng.sample(SUBJECTS, 4)
    made = [document(rng, town, subject) for town, subject in zip(towns, subjects, strict=True)]
    (_, a), (_, b), (_, c), _ = made
    answer = (
        f"The {subjects[0]} of {towns[0]} dates from {a['year']}. "
        f"{b['staff']} people work for the {subjects[1]} of {towns[1]}. "
        f"The yearly cost of the {subjects[2]} is {c['cost'] + 50} thousand crowns. "
        f"The {subjects[0]} can be visited with a guide. "
        f"The {subjects[3]} of {towns[3]} was designed by a famous architect from abroad."
    )
    return answer, [text for text, _ in made]


class Recorder:
    """A scorer that passes everything on and keeps the unique pairs."""

    def __init__(self, scorer: PairScorer) -> None:
        self.scorer = scorer
        self.name, self.window_words = scorer.name, scorer.window_words
        self.max_tokens, self.calibration = scorer.max_tokens, scorer.calibration
        self.pairs: dict[tuple[str, str], None] = {}

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score and remember the pairs."""
        self.pairs.update(dict.fromkeys(pairs))
        return self.scorer.score(pairs)


def token_rows(pairs: Sequence[tuple[str, str]]) -> list[np.ndarray]:
    """Tokenise pairs for the embedded model: int64 [1, tokens] each, longest first."""
    tokenizer = Tokenizer.from_file(str(MODEL_FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoded = [np.array([tokenizer.encode(*pair).ids], dtype=np.int64) for pair in pairs]
    return sorted(encoded, key=lambda ids: -ids.shape[1])


class BareSession:
    """onnxruntime and nothing else: rows of ids in, logits out, single-threaded runs side by side.

    Args:
        threads: Runs side by side.
    """

    def __init__(self, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        path = str(MODEL_FOLDER / "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self.pool = ThreadPoolExecutor(threads)
        self.threads = threads

    def run(self, rows: Sequence[np.ndarray]) -> None:
        """Run every row by itself."""
        waiting = iter(rows)
        for done in [self.pool.submit(self._drain, waiting) for _ in range(self.threads)]:
            done.result()

    def _drain(self, waiting: object) -> None:
        for ids in waiting:  # type: ignore[attr-defined]
            self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
