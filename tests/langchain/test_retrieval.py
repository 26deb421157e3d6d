"""Retrieved documents that contradict each other."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from caco.models import Labels
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco.retrieval import CacoDocumentCompressor

OLD = "The Arno bridge opened in 1932."
NEW = "The Arno bridge opened in 1951."
AGREES = "The Arno bridge opened in 1951, in May."
OTHER = "The museum has 40 rooms."


def disagree(claim: str, context: str) -> Labels:
    """Sentences about the bridge contradict each other when they name different years."""
    both = claim + context
    if "1932" in both and "1951" in both:
        return Labels.VALUE_CONTRADICTION
    return Labels.VALUE_NEUTRAL


def documents(*texts: str) -> list[Document]:
    return [
        Document(page_content=text, id=f"d{i}", metadata={"page": i})
        for i, text in enumerate(texts)
    ]


@pytest.fixture
def compressor() -> Any:
    def make(**settings: Any) -> CacoDocumentCompressor:
        validator = Validator(classifier=FakeClassifier(disagree))
        return CacoDocumentCompressor(validator=validator, **settings)

    return make


def texts(found: list[Document]) -> list[str]:
    return [document.page_content for document in found]


def test_annotate_keeps_all_in_order(compressor):
    given = documents(NEW, OTHER, OLD)
    found = compressor().compress_documents(given, "q")
    assert texts(found) == [NEW, OTHER, OLD]
    (conflict,) = found[0].metadata["caco_conflicts"]
    assert conflict["text"] == NEW
    assert (conflict["document"], conflict["document_text"]) == ("d2", OLD)
    assert conflict["score"] > 0.9
    (mirrored,) = found[2].metadata["caco_conflicts"]
    assert (mirrored["document"], mirrored["document_text"]) == ("d0", NEW)
    assert found[1].metadata["caco_conflicts"] == []
    assert found[1].metadata["caco_penalty"] == 0.0
    assert found[0].metadata["caco_penalty"] == pytest.approx(0.99 / 2)
    outvoted_first = documents(OLD, NEW, AGREES)
    assert texts(compressor().compress_documents(outvoted_first, "q")) == [OLD, NEW, AGREES]


def test_the_documents_that_were_given_are_not_changed(compressor):
    given = documents(NEW, OLD)
    compressor().compress_documents(given, "q")
    assert all(set(document.metadata) == {"page"} for document in given)


def test_metadata_is_kept_and_plain_json(compressor):
    found = compressor().compress_documents(documents(NEW, OLD), "q")
    assert [document.metadata["page"] for document in found] == [0, 1]
    assert [document.id for document in found] == ["d0", "d1"]
    json.dumps([document.metadata for document in found])


def test_reorder_puts_the_outvoted_last_and_keeps_the_order_of_equals(compressor):
    found = compressor(action="reorder").compress_documents(documents(OLD, NEW, AGREES, OTHER), "q")
    assert texts(found) == [NEW, AGREES, OTHER, OLD]


def test_drop_leaves_out_the_outvoted(compressor):
    found = compressor(action="drop").compress_documents(documents(OLD, NEW, AGREES, OTHER), "q")
    assert texts(found) == [NEW, AGREES, OTHER]


def test_drop_of_equals_takes_the_one_further_down(compressor):
    drop = compressor(action="drop")
    assert texts(drop.compress_documents(documents(OLD, NEW), "q")) == [OLD]
    assert texts(drop.compress_documents(documents(NEW, OLD), "q")) == [NEW]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_drop_never_leaves_nothing(count):
    everything = Validator(classifier=FakeClassifier(default=Labels.VALUE_CONTRADICTION))
    drop = CacoDocumentCompressor(action="drop", validator=everything)
    given = documents(*(f"The Arno bridge opened in {1900 + i}." for i in range(count)))
    assert texts(drop.compress_documents(given, "q")) == [given[0].page_content]


def test_nothing_in_nothing_out(compressor):
    for action in ("annotate", "reorder", "drop"):
        assert compressor(action=action).compress_documents([], "q") == []


def test_documents_without_an_id_or_sharing_one(compressor):
    given = [Document(page_content=text) for text in (NEW, OTHER, OLD)]
    assert (
        compressor().compress_documents(given, "q")[0].metadata["caco_conflicts"][0]["document"]
        == "2"
    )
    numbered = [Document(page_content=NEW, id="1"), Document(page_content=OLD)]
    first, second = compressor().compress_documents(numbered, "q")
    assert first.metadata["caco_conflicts"][0]["document"] != "1"
    assert second.metadata["caco_conflicts"][0]["document"] == "1"
    same = [Document(page_content=text, id="x") for text in (NEW, OTHER, OLD)]
    assert texts(compressor(action="drop").compress_documents(same, "q")) == [NEW, OTHER]


def test_blank_documents(compressor):
    found = compressor(action="drop").compress_documents(documents(NEW, "", "  ", OLD), "q")
    assert texts(found) == [NEW, "", "  "]


def test_what_was_left_unread_is_said(compressor):
    found = compressor(max_pairs=1).compress_documents(documents(NEW, OLD, AGREES), "q")
    assert {document.metadata["caco_pairs_skipped"] for document in found} == {2}
    assert (
        compressor().compress_documents(documents(NEW, OLD), "q")[0].metadata["caco_pairs_skipped"]
        == 0
    )


def test_async_leaves_the_loop_free(compressor):
    drop = compressor(action="drop")
    given = documents(NEW, OLD)

    async def main() -> list[Document]:
        return list(await drop.acompress_documents(given, "q"))

    assert texts(asyncio.run(main())) == [NEW]


def test_in_a_contextual_compression_retriever(compressor):
    pytest.importorskip("langchain_classic")
    from langchain_classic.retrievers import ContextualCompressionRetriever

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return documents(NEW, OTHER, OLD)

    retriever = ContextualCompressionRetriever(
        base_compressor=compressor(action="drop"), base_retriever=Fixed()
    )
    assert texts(retriever.invoke("q")) == [NEW, OTHER]
    assert texts(asyncio.run(retriever.ainvoke("q"))) == [NEW, OTHER]


@pytest.mark.parametrize(
    "settings",
    [
        {"action": "delete"},
        {"max_pairs": -1},
        {"language": "klingon"},
        {"treshold": 1},
        {"validator": "x"},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        CacoDocumentCompressor(**settings)


def test_pickling():
    again = pickle.loads(pickle.dumps(CacoDocumentCompressor(action="drop", language="pt")))
    assert (again.action, again.language) == ("drop", "portuguese")


def test_the_embedded_model():
    given = documents(
        "The Golden Gate Bridge opened in 1937. It is painted orange.",
        "San Francisco lies in California.",
        "The Golden Gate Bridge opened in 1951.",
    )
    found = CacoDocumentCompressor(action="drop").compress_documents(given, "when?")
    assert [document.id for document in found] == ["d0", "d1"]
    assert (
        found[0].metadata["caco_conflicts"][0]["text"] == "The Golden Gate Bridge opened in 1937."
    )
