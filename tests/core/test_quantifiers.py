"""All or some."""

import pytest

from caco.classifier.nli import NLIClassifier
from caco.models import Labels
from caco.quantifiers import overreach
from caco.validator import Validator

SOME = "Some stores in the chain will open on Sunday; the others will remain closed."
PARTE = "Parte dos alunos do colégio recebeu bolsa integral; os demais pagam mensalidade."


@pytest.mark.parametrize(
    ("claim", "evidence", "found"),
    [
        ("All stores in the chain will open on Sunday.", SOME, True),
        ("All of the stores in the chain open on Sunday.", SOME, True),
        ("Todos os alunos do colégio receberam bolsa integral.", PARTE, True),
        ("Every member received a refund.", "Most of the members received a refund.", True),
        ("All pupils passed the exam.", "Not all pupils passed the exam.", True),
        ("All pupils passed the exam.", "None of the pupils passed the exam.", True),
        ("Todas as lojas abrem aos domingos.", "Nem todas as lojas abrem aos domingos.", True),
        # What the claim says of all is not what the document says of a part.
        ("All stores in the chain accept cards.", SOME, False),
        ("All members pay a fee.", "Some members attend the yearly dinner.", False),
        # Of other things, or of all of them as well.
        ("All members received a refund.", "Some visitors received a refund.", False),
        (
            "All members received a refund.",
            "At first some members received a refund. In May all members received a refund.",
            False,
        ),
        # The claim speaks of a part itself, or of none in particular.
        ("Some stores in the chain will open on Sunday.", SOME, False),
        ("Not all stores in the chain will open on Sunday.", SOME, False),
        ("Stores in the chain will open on Sunday.", SOME, False),
        ("All in all, it went well.", SOME, False),
        ("All stores", SOME, False),
    ],
)
def test_what_is_said_of_a_part_denies_it_of_all(claim: str, evidence: str, found: bool) -> None:
    assert (overreach(claim, evidence) is not None) == found


def test_the_evidence_is_the_sentence_that_speaks_of_a_part() -> None:
    found = overreach(
        "All pupils passed the exam.", "The exam was in May. Most pupils passed the exam."
    )
    assert found is not None
    assert (found.claim, found.evidence) == ("All pupils", "Most pupils passed the exam.")


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("All stores in the chain will open on Sunday.", SOME),
        ("Todos os alunos do colégio receberam bolsa integral.", PARTE),
    ],
)
def test_the_engine_contradicts_it_with_that_sentence(claim: str, document: str) -> None:
    result = Validator(classifier=NLIClassifier()).validate(claim, document)
    assert result.claims[0].label is Labels.VALUE_CONTRADICTION
    assert result.claims[0].evidence == document
