"""CacoNodePostprocessor: conflicts among nodes, and nodes against a draft or a claim."""

from __future__ import annotations

import asyncio
import pickle
import re

import pytest
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle

from caco.models import Labels
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoNodePostprocessor

YEAR = re.compile(r"\d{4}")


def by_year(claim: str, context: str) -> Labels:
    """Texts that name different years contradict each other; the same year is support."""
    said, known = set(YEAR.findall(claim)), set(YEAR.findall(context))
    if not said or not known:
        return Labels.VALUE_NEUTRAL
    return Labels.VALUE_ENTAILMENT if said <= known else Labels.VALUE_CONTRADICTION


@pytest.fixture
def validator() -> Validator:
    return Validator(classifier=FakeClassifier(by_year))


@pytest.fixture
def nodes(make_node):
    """Two that agree, one that contradicts both (and ranks first), one on something else."""
    return [
        make_node("The privacy law was enacted in 2015.", 0.9, id_="odd"),
        make_node("The privacy law was enacted in 2018.", 0.8, id_="a"),
        make_node("Lisbon lies on the Tagus.", 0.7, id_="other"),
        make_node("The national privacy law was enacted in 2018.", None, id_="b"),
    ]


def ids(nodes) -> list[str]:
    return [node.node_id for node in nodes]


def test_consistency_annotates_and_changes_nothing_else(nodes, validator):
    found = CacoNodePostprocessor(validator=validator).postprocess_nodes(nodes)
    assert ids(found) == ["odd", "a", "other", "b"]
    assert [node.score for node in found] == [0.9, 0.8, 0.7, None]
    odd = found[0].metadata["caco_conflicts"]
    assert sorted(conflict["node_id"] for conflict in odd) == ["a", "b"]
    assert odd[0]["text"] == "The privacy law was enacted in 2015."
    assert "2018" in odd[0]["other_text"]
    assert 0.5 <= odd[0]["score"] <= 1.0
    assert ids_of_conflicts(found[1]) == ["odd"]
    assert found[2].metadata["caco_conflicts"] == []


def ids_of_conflicts(node) -> list[str]:
    return [conflict["node_id"] for conflict in node.metadata["caco_conflicts"]]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("annotate", ["odd", "a", "other", "b"]),
        ("downrank", ["a", "other", "b", "odd"]),
        ("drop", ["a", "other", "b"]),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_the_outvoted_node_goes_and_the_order_is_kept(nodes, validator, action, expected, is_async):
    postprocessor = CacoNodePostprocessor(action=action, validator=validator)
    if is_async:
        found = asyncio.run(postprocessor.apostprocess_nodes(nodes, query_str="When?"))
    else:
        found = postprocessor.postprocess_nodes(nodes, query_str="When?")
    assert ids(found) == expected


@pytest.mark.parametrize("scores", [(0.9, 0.3), (0.3, 0.9), (None, 0.1), (0.1, None)])
def test_of_two_that_disagree_the_lower_scored_goes_wherever_it_stands(
    make_node, validator, scores
):
    first = make_node("The law was enacted in 2015.", scores[0], id_="first")
    second = make_node("The law was enacted in 2018.", scores[1], id_="second")
    found = CacoNodePostprocessor(action="drop", validator=validator).postprocess_nodes(
        [first, second]
    )
    better = "first" if (scores[0] or 0.0) > (scores[1] or 0.0) else "second"
    assert ids(found) == [better]


def test_without_scores_the_first_stays(make_node, validator):
    nodes = [make_node(f"The law was enacted in {year}.", id_=str(year)) for year in (2015, 2018)]
    assert ids(
        CacoNodePostprocessor(action="drop", validator=validator).postprocess_nodes(nodes)
    ) == ["2015"]


def test_never_an_empty_list_out_of_a_non_empty_one(make_node, validator):
    """No nodes would make the answer "Empty Response", with no sources."""
    nodes = [make_node(f"The law was enacted in {year}.") for year in range(2000, 2008)]
    drop = CacoNodePostprocessor(action="drop", validator=validator)
    assert len(drop.postprocess_nodes(nodes)) == 1
    against = CacoNodePostprocessor(
        mode="claim", claim="The law was enacted in 1999.", action="drop", validator=validator
    )
    assert len(against.postprocess_nodes(nodes)) == 1
    assert drop.postprocess_nodes([]) == []
    assert against.postprocess_nodes([]) == []


def test_the_embedded_model_finds_two_documents_that_disagree(make_node):
    nodes = [
        make_node("The LGPD was enacted on August 14, 2018, by President Michel Temer.", id_="law"),
        make_node("The LGPD was enacted in 2015 during Dilma Rousseff's government.", id_="blog"),
        make_node("Lisbon lies on the Tagus and is the capital of Portugal.", id_="other"),
    ]
    found = CacoNodePostprocessor().postprocess_nodes(nodes)
    assert ids_of_conflicts(found[0]) == ["blog"]
    assert ids_of_conflicts(found[1]) == ["law"]
    assert ids_of_conflicts(found[2]) == []


def test_metadata_that_differ_are_no_conflict(make_node, validator):
    nodes = [make_node("The law is old.", metadata={"year": year}) for year in ("2015", "2018")]
    found = CacoNodePostprocessor(validator=validator).postprocess_nodes(nodes)
    assert [node.metadata["caco_conflicts"] for node in found] == [[], []]


@pytest.mark.parametrize("options", [{}, {"mode": "claim", "claim": "Enacted in 2018."}])
def test_given_nodes_are_not_touched_and_notes_stay_out_of_prompts(nodes, validator, options):
    before = [node.model_copy(deep=True) for node in nodes]
    found = CacoNodePostprocessor(validator=validator, **options).postprocess_nodes(nodes)
    assert nodes == before
    assert all(new.node is not old.node for new, old in zip(found, nodes, strict=True))
    for new, old in zip(found, nodes, strict=True):
        assert any(key.startswith("caco_") for key in new.metadata)
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert new.get_content(mode) == old.get_content(mode)
    again = CacoNodePostprocessor(validator=validator, **options).postprocess_nodes(found)
    assert again == found


def test_the_notes_reach_the_answer_but_not_the_model(nodes, validator, make_engine, make_llm):
    llm = make_llm(["In 2018."])
    engine = make_engine(
        nodes[:2], llm, node_postprocessors=[CacoNodePostprocessor(validator=validator)]
    )
    response = engine.query("When?")
    assert "caco_" not in llm.prompts[0]
    assert ids_of_conflicts(response.source_nodes[0]) == ["a"]


def test_pair_work_is_bounded_and_said(make_node, validator):
    nodes = [make_node(f"The law was enacted in {year}.") for year in range(2000, 2010)]
    found = CacoNodePostprocessor(validator=validator, max_pairs=7).postprocess_nodes(nodes)
    assert {node.metadata["caco_pairs_compared"] for node in found} == {7}
    assert {node.metadata["caco_pairs_skipped"] for node in found} == {45 - 7}
    assert sum(len(node.metadata["caco_conflicts"]) for node in found) == 2 * 7
    unread = CacoNodePostprocessor(validator=validator, max_pairs=0, action="drop")
    assert len(unread.postprocess_nodes(nodes)) == 10


def test_the_most_similar_pairs_are_read_first(make_node, validator):
    nodes = [
        make_node("The border treaty of the two kingdoms was signed in 1500.", id_="far"),
        make_node("The new privacy law was enacted in 2015.", id_="x"),
        make_node("The new privacy law was enacted in 2018.", id_="y"),
    ]
    found = CacoNodePostprocessor(validator=validator, max_pairs=1).postprocess_nodes(nodes)
    assert ids_of_conflicts(found[1]) == ["y"]


def test_nodes_without_text_pass_through(nodes, make_node, validator):
    image = NodeWithScore(node=ImageNode(id_="image"), score=0.5)
    mixed = [image, make_node("", id_="blank"), *nodes[:2]]
    drop = CacoNodePostprocessor(action="drop", validator=validator)
    assert ids(drop.postprocess_nodes(mixed)) == ["image", "blank", "odd"]
    assert ids(drop.postprocess_nodes([image])) == ["image"]
    claim = CacoNodePostprocessor(mode="claim", claim="Enacted in 2018.", validator=validator)
    found = claim.postprocess_nodes(mixed)
    assert found[0].metadata["caco_support"] == 0.0
    assert found[0].metadata["caco_status"] == "NO_CONTEXT"
    assert found[0].metadata["caco_label"] is None


def test_the_same_node_twice_is_no_conflict_and_both_stay(nodes, validator):
    twice = [nodes[1], nodes[1]]
    found = CacoNodePostprocessor(action="drop", validator=validator).postprocess_nodes(twice)
    assert ids(found) == ["a", "a"]


CLAIM = "The privacy law was enacted in 2018."


def test_claim_scores_each_node(nodes, validator):
    found = CacoNodePostprocessor(mode="claim", claim=CLAIM, validator=validator).postprocess_nodes(
        nodes
    )
    labels = [node.metadata["caco_label"] for node in found]
    assert labels == ["contradiction", "entailment", "neutral", "entailment"]
    supports = [node.metadata["caco_support"] for node in found]
    assert supports[1] > 0.9
    assert supports[0] < 0.1
    assert [node.score for node in found] == [0.9, 0.8, 0.7, None]


def test_downrank_sorts_by_support_and_makes_it_the_score(nodes, validator):
    found = CacoNodePostprocessor(
        mode="claim", claim=CLAIM, action="downrank", validator=validator
    ).postprocess_nodes(nodes)
    assert ids(found) == ["a", "b", "other", "odd"]
    assert [node.score for node in found] == [node.metadata["caco_support"] for node in found]
    assert [node.metadata["caco_retrieval_score"] for node in found] == [0.8, None, 0.7, 0.9]
    assert "caco_retrieval_score" not in found[0].get_content(MetadataMode.LLM)


def test_drop_leaves_out_what_contradicts_and_with_min_support_what_does_not_help(nodes, validator):
    options = {"mode": "claim", "claim": CLAIM, "action": "drop", "validator": validator}
    assert ids(CacoNodePostprocessor(**options).postprocess_nodes(nodes)) == ["a", "other", "b"]
    strict = CacoNodePostprocessor(**options, min_support=0.5)
    assert ids(strict.postprocess_nodes(nodes)) == ["a", "b"]


def test_a_draft_of_several_claims_is_supported_by_its_share(make_node, validator):
    draft = "The law was enacted in 2018. The fund was founded in 1990."
    nodes = [make_node("In 2018."), make_node("In 2018 and 1990."), make_node("In 1066.")]
    found = CacoNodePostprocessor(mode="draft", draft=draft, validator=validator).postprocess_nodes(
        nodes
    )
    supports = [round(node.metadata["caco_support"], 1) for node in found]
    assert supports == [0.5, 1.0, 0.0]


def test_a_draft_may_be_a_function_of_the_query(nodes, validator):
    asked = []

    def draft(query: str) -> str:
        asked.append(query)
        return CLAIM

    postprocessor = CacoNodePostprocessor(mode="draft", draft=draft, validator=validator)
    found = postprocessor.postprocess_nodes(nodes, QueryBundle("When?"))
    assert found[1].metadata["caco_label"] == "entailment"
    assert asyncio.run(postprocessor.apostprocess_nodes(nodes, query_str="Again?")) == found
    assert asked == ["When?", "Again?"]
    with pytest.raises(ValueError, match="there is no query"):
        postprocessor.postprocess_nodes(nodes)


def test_an_async_draft_function_needs_the_async_method(nodes, validator):
    async def draft(query: str) -> str:
        await asyncio.sleep(0)
        return CLAIM

    postprocessor = CacoNodePostprocessor(mode="draft", draft=draft, validator=validator)
    found = asyncio.run(postprocessor.apostprocess_nodes(nodes, query_str="When?"))
    assert found[1].metadata["caco_label"] == "entailment"
    with pytest.raises(TypeError, match="use apostprocess_nodes"):
        postprocessor.postprocess_nodes(nodes, query_str="When?")


@pytest.mark.parametrize("said", ["", "  ", None, 3])
def test_a_draft_function_that_returns_nothing_is_an_error(nodes, validator, said):
    postprocessor = CacoNodePostprocessor(
        mode="draft", draft=lambda query: said, validator=validator
    )
    with pytest.raises(ValueError, match="draft must be a non-empty str"):
        postprocessor.postprocess_nodes(nodes, query_str="When?")


def test_a_question_as_claim_judges_nothing(nodes, validator):
    found = CacoNodePostprocessor(
        mode="claim", claim="When was it enacted?", action="drop", validator=validator
    ).postprocess_nodes(nodes)
    assert ids(found) == ids(nodes)
    assert {node.metadata["caco_status"] for node in found} == {"NO_CLAIMS"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "record"}, "Input should be 'consistency', 'draft' or 'claim'"),
        ({"action": "hide"}, "Input should be 'annotate', 'downrank' or 'drop'"),
        ({"mode": "draft"}, "mode='draft' needs draft="),
        ({"mode": "claim"}, "mode='claim' needs claim="),
        ({"claim": "x"}, "mode='consistency' does not use claim="),
        ({"mode": "claim", "claim": "x", "draft": "y"}, "does not use draft="),
        ({"min_support": 0.5}, "does not use min_support="),
        ({"max_pairs": -1}, "greater than or equal to 0"),
        ({"mode": "claim", "claim": "x", "min_support": 2}, "less than or equal to 1"),
        ({"actoin": "drop"}, "Extra inputs are not permitted"),
        ({"language": "klingon"}, "klingon"),
    ],
)
def test_bad_arguments_are_value_errors_that_name_them(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        CacoNodePostprocessor(**options)


def test_serialisation_carries_the_settings_and_not_the_engine(validator):
    given = CacoNodePostprocessor(
        mode="claim", claim=CLAIM, action="downrank", min_support=0.2, validator=validator
    )
    data = given.to_dict()
    assert data["class_name"] == "CacoNodePostprocessor"
    assert "validator" not in data
    again = CacoNodePostprocessor.from_dict(data)
    assert again.to_dict() == data
    assert isinstance(again.validator, Validator)
    assert CacoNodePostprocessor.from_json(given.to_json()).claim == CLAIM
    assert "validator" not in repr(given)


def test_pickling_keeps_the_settings_and_an_engine(nodes):
    again = pickle.loads(pickle.dumps(CacoNodePostprocessor(action="drop")))
    assert ids(again.postprocess_nodes(nodes))[1:] == ["other", "b"]


def test_what_cannot_be_pickled_is_not_silently_left_out():
    """The base class would drop it, and another engine would come back."""
    postprocessor = CacoNodePostprocessor(mode="draft", draft=lambda query: CLAIM)
    with pytest.raises(pickle.PicklingError, match="draft"):
        pickle.dumps(postprocessor)


def test_async_leaves_the_loop_free(nodes, loop_watch):
    validator = Validator(classifier=FakeClassifier(loop_watch.within(by_year)))
    for options in ({}, {"mode": "claim", "claim": CLAIM}):
        postprocessor = CacoNodePostprocessor(validator=validator, **options)
        loop_watch.run(lambda p=postprocessor: p.apostprocess_nodes(nodes, query_str="When?"))


def test_portuguese(make_node):
    nodes = [
        make_node("A LGPD foi sancionada em 2018 por Michel Temer.", id_="lei"),
        make_node("A LGPD foi sancionada em 2015 por Dilma Rousseff.", id_="blog"),
    ]
    found = CacoNodePostprocessor(language="pt").postprocess_nodes(nodes)
    assert ids_of_conflicts(found[0]) == ["blog"]
