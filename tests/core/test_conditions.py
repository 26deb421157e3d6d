"""What stands only in a condition is no fact."""

import pytest

from caco.classifier.nli import NLIClassifier
from caco.conditions import only_conditional
from caco.models import Labels
from caco.validator import Validator

SHOP = "The chain may open a shop in Recife if the financing is approved."
LOJA = "A rede poderá abrir uma loja em Recife, caso o financiamento seja aprovado."


@pytest.mark.parametrize(
    ("claim", "evidence", "conditional"),
    [
        ("The bank approved the financing of the shop.", SHOP, True),
        ("O banco já aprovou o financiamento da loja.", LOJA, True),
        (
            "The permit was granted in May.",
            "Work starts in May provided that a permit is granted.",
            True,
        ),
        # Said as a fact elsewhere, said as a condition by the claim too, or about something else.
        ("The bank approved the financing.", f"{SHOP} The financing was approved in May.", False),
        ("The shop opens if the financing is approved.", SHOP, False),
        ("The shop may get approved financing.", SHOP, False),
        ("The chain has a shop in Recife.", SHOP, False),
        ("The bank approved the financing.", "The bank approved the financing.", False),
        ("", SHOP, False),
    ],
)
def test_a_condition_is_not_a_fact(claim: str, evidence: str, conditional: bool) -> None:
    assert only_conditional(claim, evidence) is conditional


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("The bank approved the financing of the shop in Recife.", SHOP),
        ("O banco já aprovou o financiamento da loja em Recife.", LOJA),
    ],
)
def test_the_engine_takes_no_condition_for_support(claim: str, document: str) -> None:
    result = Validator(classifier=NLIClassifier()).validate(claim, document)
    assert result.claims[0].label is not Labels.VALUE_ENTAILMENT
