"""The model form: tension from verified claims, a real compressor and a background distribution."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cache

from caco.classifier import ClassifierContract
from caco.classifier.model_files import MODEL_FOLDER, TOKENIZER_FILE, unavailable
from caco.consistency import find_source_conflicts
from caco.extractor.rule import RuleExtractor
from caco.models import ClaimResult, Document, Labels
from caco.tension.heuristic import compressibility

__all__ = ["contradiction_parts", "source_parts", "strain_parts"]

_WINDOW = 32_000
"""What deflate can look back on, in bytes, with some to spare."""
_WORD = re.compile(r"[^\W_]+")
_WORD_START = "\u2581"


def strain_parts(text: str, sources: Sequence[str]) -> dict[str, float]:
    """Return the components of the compression strain, each in [0, 1].

    ``delta_L_pred``: compressed length of the text with the sources as dictionary, over its
    compressed length alone; near 0 for a quotation, near 1 for what the sources do not foresee.
    ``KL``: divergence of the text's words from the background (see `_divergence`). ``E_res``: as in
    the heuristic form.
    """
    ratio = compressibility(text)
    return {
        "delta_L_pred": _unforeseen(text, sources),
        "KL": _divergence(text),
        "E_res": min(1.0, 1 / ratio) if ratio else 1.0,
    }


def contradiction_parts(
    text: str, claims: Sequence[ClaimResult], classifier: ClassifierContract, language: str
) -> dict[str, float]:
    """Return P_NLI and H_halluc, each in [0, 1]; 0 where nothing check-worthy is claimed.

    ``P_NLI``: mean over the check-worthy claims of the probability that the sources or another
    sentence of the text contradict it, whichever is larger. ``H_halluc``: the share of them that is
    not supported.

    Args:
        text: The text.
        claims: Its claims, verified against the sources.
        classifier: Reads the text's sentences against each other.
        language: "english" or "portuguese".
    """
    counted = [claim for claim in claims if claim.checkworthy]
    if not counted:
        return {"P_NLI": 0.0, "H_halluc": 0.0}
    worst = [claim.probabilities[Labels.VALUE_CONTRADICTION] for claim in counted]
    readings = _readings(text, language)
    sentences = [
        Document(readings.get((claim.start, claim.end), claim.text), str(place))
        for place, claim in enumerate(counted)
    ]
    report = find_source_conflicts(sentences, classifier, language=language)
    for conflict in report.conflicts:
        for side in (conflict.first, conflict.second):
            place = int(side.document)
            worst[place] = max(worst[place], conflict.score)
    unsupported = sum(claim.label is not Labels.VALUE_ENTAILMENT for claim in counted)
    return {"P_NLI": math.fsum(worst) / len(worst), "H_halluc": unsupported / len(counted)}


def source_parts(
    texts: Sequence[str], conflicts: Sequence[float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the components of strain and of contradiction for sources, each against the others.

    Each is a mean over the sources; ``H_halluc`` is 0, since sources say what they say.

    Args:
        texts: The sources; blank ones do not count.
        conflicts: For each source the score of its worst conflict with another one.
    """
    spoken = [place for place, text in enumerate(texts) if text.strip()]
    if not spoken:
        return strain_parts("", ()), {"P_NLI": 0.0, "H_halluc": 0.0}
    strains = [
        strain_parts(texts[place], [texts[other] for other in spoken if other != place])
        for place in spoken
    ]
    strain = {name: math.fsum(item[name] for item in strains) / len(strains) for name in strains[0]}
    contradiction = math.fsum(conflicts[place] for place in spoken) / len(spoken)
    return strain, {"P_NLI": contradiction, "H_halluc": 0.0}


def _readings(text: str, language: str) -> dict[tuple[int | None, int | None], str]:
    """Each sentence of a text by its place, made self-contained.

    A sentence that begins with a pronoun says nothing by itself that another could contradict.
    """
    if not text.strip():
        return {}
    claims = RuleExtractor(language).claims(text)
    return {(claim.start, claim.end): claim.hypothesis for claim in claims}


def _unforeseen(text: str, sources: Sequence[str]) -> float:
    data = _bytes(text)
    if not data.strip():
        return 0.0
    # Sorted: the order of the documents must not matter.
    known = b"\n".join(sorted(_bytes(source) for source in sources))
    if not known.strip():
        return 1.0
    alone = _compressed_length(data, b"")
    with_sources = min(
        _compressed_length(data, known[start : start + _WINDOW])
        for start in range(0, len(known), _WINDOW // 2)
    )
    return min(1.0, with_sources / alone)


def _compressed_length(data: bytes, dictionary: bytes) -> int:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=dictionary)
    return len(compressor.compress(data) + compressor.flush())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _divergence(text: str) -> float:
    """Kullback-Leibler divergence of the text's words from the background, as a share of its most.

    The background is the word distribution that the embedded model's tokenizer was made with,
    English and Portuguese among its languages. A word it does not hold counts as the rarest one.
    """
    words = Counter(_WORD.findall(text.lower()))
    total = words.total()
    if not total:
        return 0.0
    background, rarest = _background()
    divergence = sum(
        count / total * (math.log(count / total) - background.get(word, rarest))
        for word, count in words.items()
    )
    return min(1.0, max(0.0, divergence / -rarest))


@cache
def _background() -> tuple[dict[str, float], float]:
    """Return the log-probability of each word that is one piece, and that of the rarest."""
    path = MODEL_FOLDER / TOKENIZER_FILE
    try:
        vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
        scores = {
            piece[1:].lower(): float(score)
            for piece, score in reversed(vocabulary)
            if piece.startswith(_WORD_START) and len(piece) > 1
        }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise unavailable(path, f"has no word distribution ({error!r})") from error
    total = math.log(math.fsum(math.exp(score) for score in scores.values()))
    return {word: score - total for word, score in scores.items()}, min(scores.values()) - total
