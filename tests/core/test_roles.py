"""Names that change places around the same words."""

from __future__ import annotations

import pytest

import caco
from caco.roles import turned_roles


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Ann hired Bob in May.", "Bob hired Ann in May."),
        ("The Blue Team beat the Red Team.", "The Red Team beat the Blue Team, 3 to 1."),
        ("O Santos venceu o Guarani.", "No domingo, o Guarani venceu o Santos."),
        ("A Ambev comprou a Skol Brasil.", "A Skol Brasil comprou a Ambev em 1999."),
        (
            "Marta Dias succeeded Ines Holt.",
            "In 2004 it was Ines Holt who left. Ines Holt succeeded Marta Dias.",
        ),
        ("Nordlys sold Halden to Veran.", "Veran sold Halden to Nordlys."),
        ("Bank of Arden sued Colby Mills.", "Colby Mills sued Bank of Arden."),
    ],
)
def test_turned_roles_are_found(claim: str, evidence: str) -> None:
    found = turned_roles(claim, evidence)
    assert found is not None
    assert found.claim in claim
    assert found.evidence in evidence
    assert turned_roles(claim, claim) is None


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Ann hired Bob.", "Bob was hired by Ann."),
        ("Ann met Bob.", "Bob met Ann."),
        ("Ann and Bob left.", "Bob and Ann left."),
        ("Ana casou com Rui.", "Rui casou com Ana."),
        ("The train goes from Faro to Porto.", "The bus goes from Porto to Faro."),
        ("Ann hired Bob.", "Bob hired Ann, and Ann hired Bob."),
        ("Ann hired Bob.", "Bob praised Ann."),
        ("Ann hired Bob.", "Bob hired Eve. Ann left."),
        ("ann hired bob.", "bob hired ann."),
        ("", ""),
    ],
)
def test_what_is_not_turned_is_left_alone(claim: str, evidence: str) -> None:
    assert turned_roles(claim, evidence) is None


@pytest.mark.parametrize(
    ("language", "claim", "evidence"),
    [
        ("english", "Velora acquired Tamsin Labs in 2019.", "Tamsin Labs acquired Velora in 2019."),
        ("portuguese", "A Velora comprou a Tamsin.", "A Tamsin comprou a Velora no ano passado."),
    ],
)
def test_the_engine_calls_it_a_contradiction(language: str, claim: str, evidence: str) -> None:
    result = caco.Validator(language=language).validate(claim, evidence).claims[0]
    assert result.label is caco.Labels.VALUE_CONTRADICTION
    assert "Tamsin" in (result.reason or "")
