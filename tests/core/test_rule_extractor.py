"""Claims by rule, and what every extractor inherits."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caco.extractor import ExtractorContract, RuleExtractor
from caco.extractor.base import locate
from caco.extractor.question import statement
from caco.extractor.reference import resolve, subject_of
from caco.models import Claim
from caco.validator import Validator

ANYTHING = st.characters(exclude_categories=())


def hypotheses(response: str, language: str = "english", prompt: str | None = None) -> list[str]:
    found = RuleExtractor(language).claims(response, "", prompt)
    return [claim.hypothesis for claim in found if claim.checkworthy]


# --- the contract --------------------------------------------------------------------------------


class Fixed(ExtractorContract):
    def __init__(self, texts: object) -> None:
        self.texts = texts

    def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
        if isinstance(self.texts, Exception):
            raise self.texts
        return self.texts  # type: ignore[return-value]


def test_one_abstract_method_is_enough() -> None:
    claims = Fixed(["B is\n here.", "A.", "A.", "A.", " ", "rewritten"]).claims(
        "A. B is  here. A.", ""
    )
    assert claims == [
        Claim("B is  here.", 3, 14),
        Claim("A.", 15, 17),
        Claim("A.", 0, 2),
        Claim("A."),
        Claim("rewritten"),
    ]


@pytest.mark.parametrize("texts", ["a string", None, 5, b"x", {"a": 1}, ["fine", 3], [None]])
def test_what_is_not_a_list_of_strings_is_refused(texts: object) -> None:
    with pytest.raises(TypeError, match=r"Fixed\.extract must return a list of str"):
        Fixed(texts).claims("response", "context")


def test_an_extractors_own_exception_surfaces() -> None:
    with pytest.raises(ZeroDivisionError, match="boom"):
        Fixed(ZeroDivisionError("boom")).claims("response", "context")


def test_an_abstract_extractor_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        ExtractorContract()  # type: ignore[abstract]


@settings(max_examples=200)
@given(st.text(ANYTHING, max_size=60), st.lists(st.text(ANYTHING, max_size=10), max_size=6))
@example("aaaa", ["aa", "a", "aa", "a"])
def test_located_claims_are_passages_used_once(response: str, texts: list[str]) -> None:
    claims = locate([text for text in texts if text.strip()], response)
    spans = [(claim.start, claim.end) for claim in claims if claim.start is not None]
    for claim in claims:
        if claim.start is not None:
            assert response[claim.start : claim.end] == claim.text
    ordered = sorted(spans)
    assert all(first[1] <= second[0] for first, second in pairwise(ordered))


# --- claims --------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(ANYTHING, max_size=80),
        st.lists(
            st.sampled_from(
                [
                    "It is big. ",
                    "The bag has a lid. ",
                    "- ",
                    "\n",
                    "Its lid is red. ",
                    "Hi! ",
                    "| a |\n",
                ]
            ),
            max_size=12,
        ).map("".join),
    ),
    st.sampled_from(["english", "portuguese"]),
    st.one_of(st.none(), st.text(ANYTHING, max_size=20)),
)
def test_claims_are_quotations(response: str, language: str, prompt: str | None) -> None:
    claims = RuleExtractor(language).claims(response, "", prompt)
    position = 0
    for claim in claims:
        assert claim.start is not None
        assert claim.end is not None
        assert position <= claim.start < claim.end
        assert response[claim.start : claim.end] == claim.text
        assert claim.hypothesis
        assert not (claim.checkworthy and claim.declines)
        position = claim.end
    worthy = [claim.text for claim in claims if claim.checkworthy]
    assert RuleExtractor(language).extract(response, "", prompt) == worthy


def test_all_kinds_in_one_answer() -> None:
    response = (
        "Hello! Here is what I found:\n\n## The lamp\n\n- is **red**\n- costs $5 [1]\n\n"
        "| Plan | Price |\n|---|---|\n| Pro | $35 |\n\nI don't know the rest. Anything else?\n\n"
        "Sources:\n- [Lamp guide](https://x.y)\n"
    )
    claims = RuleExtractor().claims(response)
    worthy = [(claim.text, claim.hypothesis) for claim in claims if claim.checkworthy]
    assert worthy == [
        ("is **red**", "The lamp is red"),
        ("costs $5 [1]", "The lamp costs $5"),
        ("| Pro | $35 |", "Plan: Pro; Price: $35"),
    ]
    assert [claim.text for claim in claims if claim.declines] == ["I don't know the rest."]
    others = [claim.text for claim in claims if not claim.checkworthy]
    assert "## The lamp" not in others
    assert {"Hello!", "The lamp", "| Plan | Price |", "Anything else?", "Sources:"} < set(others)


@pytest.mark.parametrize(
    ("heading", "worthy"),
    [
        ("Return policy", False),
        ("How refunds are processed", False),
        ("3. Pricing", False),
        ("The Pro plan costs $35", True),
    ],
)
def test_a_heading_counts_only_when_it_states_something(heading: str, worthy: bool) -> None:
    claims = RuleExtractor().claims(f"# {heading}\n\nThe shop is closed.")
    assert claims[0].checkworthy is worthy


@pytest.mark.parametrize("language", ["pt_BR", "portuguese"])
def test_language_alias(language: str) -> None:
    assert RuleExtractor(language).language == "portuguese"


def test_unsupported_language() -> None:
    with pytest.raises(ValueError, match="latin"):
        RuleExtractor("latin")


@pytest.mark.parametrize(
    ("language", "response", "claimed"),
    [
        ("english", "I could not find the price and the ferry carries cars.",
         ["The ferry carries cars."]),
        ("english", "The ferry carries cars and costs $5, but I don't know its name.",
         ["The ferry carries cars and costs $5."]),
        ("english", "The ferry is new, I don't know its name, and the pier is old.",
         ["The ferry is new, I don't know its name, and the pier is old."]),
        ("english", "I don't know why the ferry carries cars.", ["The ferry carries cars."]),
        ("english", "I couldn't find its price, but it carries cars.",
         ["I couldn't find its price, but it carries cars."]),
        ("portuguese", "Não sei o preço, a balsa leva carros e custa R$ 5.",
         ["A balsa leva carros e custa R$ 5."]),
        ("english", '"The ferry carries cars?" Yes.', ["The ferry carries cars."]),
        ("english", "Is it true? The ferry carries cars? Yes.", ["The ferry carries cars."]),
        ("english", "The ferry carries cars? No.", ["It is not true that the ferry carries cars."]),
        ("english", "Does the plan include support? Yes, it does.", ["The plan includes support."]),
        ("portuguese", "A balsa leva carros? Sim.", ["A balsa leva carros."]),
        ("portuguese", "A garantia cobre roubo? Não.", ["A garantia não cobre roubo."]),
        ("english", "Anything else? No.", []),
        ("english", "Would you like me to look up the price? Yes.", []),
        ("english", "The ferry carries cars:", ["The ferry carries cars."]),
        ("english", "| The ferry carries cars |\n|---|", ["The ferry carries cars"]),
        ("english", "| Plan | Price |\n|---|---|", []),
        ("english", "Sources:\n- The ferry carries cars and costs $5.",
         ["The ferry carries cars and costs $5."]),
        ("portuguese", "Fontes:\n- A garantia cobre roubo.", ["A garantia cobre roubo."]),
        ("english", "References\n\n1. Smith, J. (2018). The ferry carries cars. Example Press.\n"
         "2. policy.pdf\n3. [How it works](https://x.y)\n4. Ferry Guide Covers Cars\n5. Doc 2", []),
    ],
)  # fmt: skip
def test_no_claim_hides(language: str, response: str, claimed: list[str]) -> None:
    assert hypotheses(response, language) == claimed


def test_what_the_question_takes_for_granted_is_no_claim() -> None:
    answer = "The documents do not say why the bridge was closed."
    extractor = RuleExtractor()
    (alone,) = extractor.claims(answer)
    assert (alone.checkworthy, alone.hypothesis) == (True, "The bridge was closed.")
    (asked,) = extractor.claims(answer, "", "Why was the bridge closed?")
    assert (asked.checkworthy, asked.declines) == (False, True)
    (other,) = extractor.claims(answer, "", "Why was the museum closed?")
    assert other.checkworthy
    more = "I don't know the price and the bridge was closed."
    assert extractor.claims(more, "", "What is the price? Was the bridge closed?")[0].checkworthy


# --- pronouns ------------------------------------------------------------------------------------

EN, PT = "english", "portuguese"


@pytest.mark.parametrize(
    ("language", "before", "sentence", "resolved"),
    [
        (EN, "Lena Fischer founded the club.", "She left in 2012.", "Lena Fischer left in 2012."),
        (EN, "Harbour Light is a lighthouse.", "It has a lamp.", "Harbour Light has a lamp."),
        (EN, "The lamp costs $5.", "Its shade is red.", "The lamp's shade is red."),
        (EN, "The drones sold well.", "They weigh 2 kg.", "The drones weigh 2 kg."),
        (EN, "A committee was set up.", "It has 3 members.", "The committee has 3 members."),
        (EN, "The lamp is red.", "It's sold in Oslo.", "The lamp is sold in Oslo."),
        (EN, "In 2003, the club moved.", "It grew.", "The club grew."),
        (EN, "The Pro plan costs $5.", "This plan is new.", "The Pro plan is new."),
        (EN, "The firm that makes lamps moved.", "It grew.", "The firm grew."),
        (PT, "Helena Prado chegou ontem.", "Ela nasceu em Natal.", "Helena Prado nasceu em Natal."),
        (PT, "O forno X200 é preto.", "A capacidade dele é de 45 litros.",
         "A capacidade do forno X200 é de 45 litros."),
        (PT, "A torre foi erguida em 1862.", "Sua altura é de 31 metros.",
         "A altura da torre é de 31 metros."),
        (PT, "Uma comissão foi criada.", "Essa comissão terá três membros.",
         "A comissão terá três membros."),
    ],
)  # fmt: skip
def test_a_pronoun_gets_its_noun(language: str, before: str, sentence: str, resolved: str) -> None:
    assert resolve(sentence, before, language) == resolved


@pytest.mark.parametrize(
    ("language", "before", "sentence"),
    [
        (EN, "The book was written by Tom Hill.", "He was born in 1970."),
        (EN, "Alice bought a car.", "It is red."),
        (EN, "The trial enrolled 420 adults.", "They got the drug."),
        (EN, "There are two plans.", "It costs $5."),
        (EN, "The lamp is red.", "This means that it glows."),
        (EN, "The trial enrolled adults.", "Half of them got the drug."),
        (PT, "A torre foi erguida.", "Ele mora ali."),
        (PT, "O museu abriu.", "Isso agradou a todos."),
    ],
)
def test_in_doubt_the_sentence_before_is_kept(language: str, before: str, sentence: str) -> None:
    assert resolve(sentence, before, language) == f"{before} {sentence}"


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        (EN, "It is important to rest."), (EN, "The tower is white."), (EN, "That door is shut."),
        (EN, "Italy won."), (EN, "Theirry left."), (PT, "A torre é branca."), (PT, "Elaine saiu."),
        (PT, "O preço é bom, e o prazo para entrega em casa dele também."),
    ],
)  # fmt: skip
def test_other_sentences_stay_as_they_are(language: str, sentence: str) -> None:
    assert resolve(sentence, "The lamp is red.", language) == sentence


def test_without_a_sentence_before_nothing_changes() -> None:
    assert resolve("It is red.", "", EN) == "It is red."


def test_a_chain_of_pronouns_keeps_the_first_noun() -> None:
    text = "Harbour Light is a lighthouse. It was built in 1862. Its tower is tall. It is white."
    assert hypotheses(text)[1:] == [
        "Harbour Light was built in 1862.",
        "Harbour Light's tower is tall.",
        "Harbour Light's tower is white.",
    ]


def test_context_does_not_grow_without_end() -> None:
    text = "There are two plans. " + "This means a lot to them. " * 200
    assert max(len(hypothesis) for hypothesis in hypotheses(text)) < 500


@pytest.mark.parametrize(
    "sentence", ["", "Hello.", "When it rains we stay", "The", "of the", "he won"]
)
def test_no_subject(sentence: str) -> None:
    assert subject_of(sentence, EN) is None


# --- questions and short answers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "question", "answer", "stated"),
    [
        (EN, "What is the capital of India?", "Delhi", "The capital of India is Delhi."),
        (EN, "What’s the fee?", "$5", "The fee is $5."),
        (EN, "When was the bridge opened?", "1987", "The bridge was opened in 1987."),
        (EN, "How much does the ticket cost?", "$5.", "The ticket costs $5."),
        (EN, "How long is the bridge?", "640 m", "The bridge is 640 m."),
        (EN, "Who founded the club?", "Lena Fischer", "Lena Fischer founded the club."),
        (EN, "Does the plan include support?", "No.", "The plan does not include support."),
        (EN, "Does the plan include support?", "Yes", "The plan includes support."),
        (EN, "Can the battery be replaced?", "Yes.", "The battery can be replaced."),
        (EN, "Is the watch waterproof?", "No", "The watch is not waterproof."),
        (EN, "Which plan do I need?", "Pro", "Which plan do I need? Pro"),
        (EN, "Is it {x}?", "{0}", "Is it {x}? {0}"),
        (PT, "Qual é a capital da Índia?", "Nova Délhi", "A capital da Índia é Nova Délhi."),
        (PT, "A bateria pode ser trocada?", "Sim.", "A bateria pode ser trocada."),
        (PT, "A bateria pode ser trocada?", "Não.", "A bateria não pode ser trocada."),
        (PT, "É gratuito?", "Não", "Não é gratuito."),
        (PT, "Quanto custa o ingresso?", "R$ 15", "O ingresso custa R$ 15."),
        (PT, "Onde fica o museu?", "Recife", "O museu fica em Recife."),
        (PT, "Quem fundou o clube?", "Lena", "Lena fundou o clube."),
    ],
)
def test_question_and_answer_make_a_statement(
    language: str, question: str, answer: str, stated: str
) -> None:
    claims = RuleExtractor(language).claims(answer, "", question)
    assert [claim.hypothesis for claim in claims] == [stated]
    assert claims[0].checkworthy
    assert claims[0].text == answer


def test_a_bare_answer_counts_only_with_its_question() -> None:
    assert not RuleExtractor().claims("Yes.")[0].checkworthy
    longer = RuleExtractor().claims("Yes. The battery can be replaced.", "", "Can it be replaced?")
    assert [claim.checkworthy for claim in longer] == [False, True]
    declined = RuleExtractor().claims("Unknown.", "", "What is the fee?")
    assert (declined[0].checkworthy, declined[0].declines) == (False, True)


def test_statement_without_a_question_mark() -> None:
    assert statement("Tell me the fee", "$5", EN) == "Tell me the fee $5"


@pytest.mark.parametrize(
    ("response", "hypotheses"),
    [
        ("Did you know it has 640 arches?", ["it has 640 arches."]),
        ("did you know that the tower is older than it ?", ["the tower is older than it."]),
        ("Você sabia que a ponte tem 640 metros?", ["a ponte tem 640 metros."]),
        ("Did you know who built the bridge?", []),
        ("Do you know that the bridge has 640 arches?", ["the bridge has 640 arches."]),
        ("Do you know the bridge?", []),
        ("The tower is 300 m tall, would you like to know more?", ["The tower is 300 m tall."]),
        ("The tower is 300 m tall; shall I go on?", ["The tower is 300 m tall."]),
        ("The fee is 9 euros, so what else do you need?", ["The fee is 9 euros."]),
        ("A torre tem 300 m, quer saber mais?", ["A torre tem 300 m."]),
        ("O museu abre às nove, mas você já comprou o ingresso?", ["O museu abre às nove."]),
        ("When the museum opens, what does it cost?", []),
        ("Is it open now, or is it closed on Mondays?", []),
        ("I hope this helps, do you have other questions?", []),
        ("As a result, what changed?", []),
        ("Those are the main points, would you like a summary?", []),
        ("I found several options, which one do you prefer?", []),
        ("You are right, is there anything else?", []),
        ("This plan includes theft, do you want details?", ["This plan includes theft."]),
        ("You are entitled to 30 days, shall I go on?", ["You are entitled to 30 days."]),
        ("Se a loja fechar, o que acontece?", []),
        ("Great, the museum is open! what else can I do?", ["Great, the museum is open!"]),
        ("Yahoo! is a company.", ["Yahoo! is a company."]),
    ],
)
def test_statements_dressed_as_questions_are_claims(response: str, hypotheses: list[str]) -> None:
    claims = RuleExtractor().claims(response)
    assert [claim.hypothesis for claim in claims if claim.checkworthy] == hypotheses


def test_an_extractors_limit_on_claims_is_said_by_the_validator() -> None:
    class Limited(RuleExtractor):
        max_claims = 1

    text = "The library opens at nine. The ferry carries bicycles."
    result = Validator(extractor=Limited()).validate(text, text)
    assert (result.coverage.claims_total, result.coverage.claims_checked) == (2, 1)
    assert result.coverage.truncated
    assert result.is_hallucination


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("That's true. The fee is 9 euros.", ["The fee is 9 euros."]),
        ("Oh, that is interesting! They also track speed.", ["They also track speed."]),
        ("I agree with you. He released three albums.", ["He released three albums."]),
        ("É verdade. O prazo é de 30 dias.", ["O prazo é de 30 dias."]),
        ("You're right. The fee was raised.", ["The fee was raised."]),
        (
            "That is great for members. The fee is 3.",
            ["That is great for members.", "The fee is 3."],
        ),
        # With nothing beside it, it is the answer.
        ("That's true.", ["That's true."]),
    ],
)
def test_agreement_claims_nothing_beside_a_statement(answer: str, claimed: list[str]) -> None:
    assert RuleExtractor().extract(answer) == claimed


def test_agreement_is_not_the_noun_of_a_pronoun() -> None:
    claims = RuleExtractor().claims("That is interesting. They also track speed.")
    assert claims[1].hypothesis == "They also track speed."


@pytest.mark.parametrize(
    ("footnote", "counts"),
    [("Price list 2024, page 3", False), ("The fee rose to 9 euros in 2024.", True)],
)
def test_a_footnote_counts_when_it_states_something(footnote: str, counts: bool) -> None:
    claims = RuleExtractor().claims(f"The fee is 9 euros.[^1]\n\n[^1]: {footnote}")
    assert [claim.checkworthy for claim in claims] == [True, counts]
