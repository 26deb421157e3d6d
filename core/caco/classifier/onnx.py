"""The embedded model: onnxruntime on the CPU, one pair per run."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caco.classifier.calibration import Calibration
from caco.classifier.model_files import (
    MODEL_FILE,
    MODEL_FOLDER,
    TOKENIZER_FILE,
    ModelConfig,
    unavailable,
)
from caco.classifier.scoring import COLUMNS, PairScores, encodable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

__all__ = ["OnnxScorer", "packaged_tokenizer"]

MAX_DEFAULT_THREADS = 8

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Template:
    """How a premise and a hypothesis are joined.

    Attributes:
        before: Ids before the premise.
        between: Ids between premise and hypothesis.
        after: Ids after the hypothesis.
        reserved: Ids of special tokens, which a text may not contain.
        unknown: The id that stands for them there.
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    reserved: frozenset[int]
    unknown: int

    @property
    def size(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    @classmethod
    def parse(cls, tokenizer: Mapping[str, Any]) -> _Template:
        """Take the pair template out of a ``tokenizer.json``."""
        processor = tokenizer["post_processor"]
        parts: list[list[int]] = [[]]
        for piece in processor["pair"]:
            if "Sequence" in piece:
                parts.append([])
            else:
                token = piece["SpecialToken"]["id"]
                parts[-1].extend(processor["special_tokens"][token]["ids"])
        before, between, after = parts
        special = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
        return cls(
            before=tuple(before),
            between=tuple(between),
            after=tuple(after),
            reserved=frozenset(special),
            unknown=tokenizer["model"]["unk_id"],
        )

    def disarm(self, ids: list[int]) -> list[int]:
        """Turn a separator spelled out in a text ("</s>") into an unknown token."""
        if self.reserved.isdisjoint(ids):
            return ids
        return [self.unknown if number in self.reserved else number for number in ids]

    def join(self, premise: list[int], hypothesis: list[int], limit: int) -> tuple[list[int], bool]:
        """Join two texts' ids within ``limit`` ids; the second value says if any were cut.

        The premise gives way first, from its end; the hypothesis only when it is too long alone.
        """
        kept = hypothesis[: limit - self.size]
        room = limit - self.size - len(kept)
        cut = len(kept) < len(hypothesis) or len(premise) > room
        return [*self.before, *premise[:room], *self.between, *kept, *self.after], cut


class _LoadedModel:
    """A session and its tokenizer, ready to run. Shared by every scorer of the same folder.

    Each run is single-threaded and ``threads`` of them go side by side: faster than one run on
    ``threads`` threads, and the scores do not depend on the number of threads.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        self.config = ModelConfig.read(folder)
        tokenizer_json = self.config.read_file(folder, TOKENIZER_FILE)
        weights = self.config.read_file(folder, MODEL_FILE)
        self._tokenizer = _build_tokenizer(tokenizer_json)
        self._template = _Template.parse(json.loads(tokenizer_json))
        self._session = _build_session(folder / MODEL_FILE, weights)
        self._columns = [self.config.labels.index(label) for label in COLUMNS]
        self._slots = threading.BoundedSemaphore(threads)
        self._extra_threads = threads - 1
        self._pool = (
            ThreadPoolExecutor(self._extra_threads, thread_name_prefix="caco-onnx")
            if self._extra_threads
            else None
        )

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        unique = list(dict.fromkeys(pairs))
        probabilities, truncated = self._run_all(unique)
        place = {pair: index for index, pair in enumerate(unique)}
        order = np.array([place[pair] for pair in pairs], dtype=np.intp)
        return PairScores(probabilities[order], truncated[order])

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(encodable(text), add_special_tokens=False).ids
        return self._template.disarm(ids)

    def _run_all(
        self, pairs: Sequence[tuple[str, str]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Run every pair by itself, longest first; float64 [n, 3], and bool [n]: was it cut.

        A thread tokenises what it runs, so that the others need not wait; a text that is in several
        pairs is tokenised once.
        """
        output = np.empty((len(pairs), len(COLUMNS)), dtype=np.float64)
        truncated = np.empty(len(pairs), dtype=np.bool_)
        waiting = iter(sorted(range(len(pairs)), key=lambda index: -sum(map(len, pairs[index]))))
        turn = threading.Lock()
        encode = lru_cache(maxsize=len(pairs) + 1)(self._encode)

        def work() -> None:
            for index in _take_turns(waiting, turn):
                premise, hypothesis = map(encode, pairs[index])
                row, truncated[index] = self._template.join(
                    premise, hypothesis, self.config.max_tokens
                )
                with self._slots:
                    output[index] = self._run(row)

        started = self._start(work, min(self._extra_threads, len(pairs) - 1))
        work()
        for other in started:
            # One that has not begun has nothing left to do, and may stand behind other calls.
            if not other.cancel():
                other.result()
        return output, truncated

    def _start(self, work: Callable[[], None], threads: int) -> list[Future[None]]:
        started: list[Future[None]] = []
        if self._pool is not None:
            try:
                started.extend(self._pool.submit(work) for _ in range(threads))
            except RuntimeError:
                # The interpreter is going down and takes no new work: the caller works alone.
                _logger.debug("scoring on the calling thread alone")
        return started

    def _run(self, row: list[int]) -> npt.NDArray[np.float64]:
        ids = np.array([row], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        (logits,) = self._session.run(["logits"], feed)
        scores = np.asarray(logits, dtype=np.float64)[0, self._columns]
        scores = np.exp(scores - scores.max())
        return np.asarray(scores / scores.sum())


class OnnxScorer:
    """Scores pairs with the embedded model, without torch and without a network.

    The model is loaded on first use, once per process for each (folder, threads), and shared by
    all scorers. A scorer holds no model itself, so it is small, picklable and safe to share.

    Args:
        folder: Folder with model.onnx, tokenizer.json and config.json; None: the packaged one.
        threads: Runs that may go on at a time, in all calls together. None: the CPUs that this
            process may use, at most 8.

    Raises:
        ValueError: ``threads`` is less than 1.
    """

    def __init__(self, folder: str | Path | None = None, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1 or None, not {threads!r}")
        self.folder = MODEL_FOLDER if folder is None else Path(folder)
        self.threads = threads
        self._config: ModelConfig | None = None
        self._place: Path | None = None

    @property
    def config(self) -> ModelConfig:
        """The model's own description; reading it does not load the model.

        Raises:
            ModelNotAvailableError: The folder has no readable ``config.json``.
        """
        if self._config is None:
            self._config = ModelConfig.read(self.folder)
        return self._config

    @property
    def name(self) -> str:
        """Name, version and the first eight digits of the weights' SHA-256."""
        config = self.config
        return f"{config.name}-{config.version}@{config.files[MODEL_FILE][:8]}"

    @property
    def window_words(self) -> int:
        """Words of premise the model wants at a time."""
        return self.config.window_words

    @property
    def max_tokens(self) -> int:
        """Tokens that a pair may have, separators included."""
        return self.config.max_tokens

    @property
    def calibration(self) -> Calibration:
        """The head over the model's P(entailment); `score` does not apply it."""
        return self.config.calibration

    def load(self) -> None:
        """Load the model now rather than on the first `score`.

        Raises:
            ModelNotAvailableError: A file is missing, unreadable or not the one in the config.
        """
        self._loaded()

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score ``(premise, hypothesis)`` pairs; see `PairScorer`.

        Raises:
            ModelNotAvailableError: A file is missing, unreadable or not the one in the config.
        """
        if not pairs:
            return PairScores.empty()
        return self._loaded().score(pairs)

    def _loaded(self) -> _LoadedModel:
        if self._place is None:
            self._place = self.folder.resolve()
        return _shared_model(self.folder, self._place, self.threads or _available_cpus())

    def __repr__(self) -> str:
        return f"OnnxScorer({str(self.folder)!r}, threads={self.threads})"


_models: dict[tuple[Path, int], _LoadedModel] = {}
_models_lock = threading.Lock()


def _shared_model(folder: Path, place: Path, threads: int) -> _LoadedModel:
    key = (place, threads)
    with _models_lock:
        if key not in _models:
            _models[key] = _LoadedModel(folder, threads)
        return _models[key]


def _forget_models() -> None:
    """Start afresh in a forked child: its parent's threads, which a pool counts on, are gone."""
    global _models, _models_lock
    _models, _models_lock = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_models)


def _available_cpus() -> int:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cpus or 1, MAX_DEFAULT_THREADS)


def _take_turns(waiting: Iterator[int], turn: threading.Lock) -> Iterator[int]:
    """Yield from an iterator that several threads draw on."""
    while True:
        with turn:
            index = next(waiting, None)
        if index is None:
            return
        yield index


def packaged_tokenizer() -> Tokenizer:
    """Return the embedded model's tokenizer, without its weights being loaded.

    Raises:
        ModelNotAvailableError: The file is missing or another one.
    """
    return _build_tokenizer(ModelConfig.read(MODEL_FOLDER).read_file(MODEL_FOLDER, TOKENIZER_FILE))


def _build_tokenizer(content: bytes) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    # Settings are made here once and never again: changing them under running threads corrupts.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _build_session(path: Path, weights: bytes) -> InferenceSession:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # patterns are kept per length, and every pair has its own
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            weights, sess_options=options, providers=["CPUExecutionProvider"]
        )
    except (
        failures.Fail,
        failures.InvalidArgument,
        failures.InvalidGraph,
        failures.InvalidProtobuf,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        version = onnxruntime.__version__
        raise unavailable(path, f"does not run on onnxruntime {version} ({error})") from error
