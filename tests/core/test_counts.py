"""Named things are counted for the model."""

import pytest

from caco.classifier.nli import NLIClassifier
from caco.counts import with_counts
from caco.models import Labels
from caco.validator import Validator


@pytest.mark.parametrize(
    ("claim", "premise", "read"),
    [
        (
            "The committee approved two projects.",
            "It approved the projects Aurora and Ipê.",
            "It approved the two projects Aurora and Ipê.",
        ),
        (
            "O comitê aprovou dois projetos.",
            "Aprovou os projetos Aurora e Ipê.",
            "Aprovou os dois projetos Aurora e Ipê.",
        ),
        (
            "Three of the cities took part.",
            "The cities Porto, New Bern, and Oulu took part.",
            "The three cities Porto, New Bern, and Oulu took part.",
        ),
        # Another number, other things, no number, no list.
        ("It approved three projects.", "The projects Aurora and Ipê.", None),
        ("It approved two budgets.", "The projects Aurora and Ipê.", None),
        ("It approved the projects.", "The projects Aurora and Ipê.", None),
        ("It approved two projects.", "The projects of Aurora were dropped.", None),
    ],
)
def test_the_number_stands_beside_the_names(claim: str, premise: str, read: str | None) -> None:
    assert with_counts(claim, premise) == (read or premise)


def test_the_engine_counts_and_quotes_the_document_as_it_is() -> None:
    document = "O comitê aprovou os projetos Aurora e Ipê. O projeto Cedro foi rejeitado."
    validator = Validator(classifier=NLIClassifier(language="pt"), language="pt")
    right, wrong = validator.validate_batch(
        responses=["O comitê aprovou dois projetos.", "O comitê aprovou três projetos."],
        context=document,
    )
    assert right.claims[0].label is Labels.VALUE_ENTAILMENT
    assert right.claims[0].evidence == "O comitê aprovou os projetos Aurora e Ipê."
    assert wrong.claims[0].label is not Labels.VALUE_ENTAILMENT
