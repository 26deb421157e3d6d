"""Claims by a language model: parsing, falling back, offsets."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.errors import LLMError
from caco.extractor import LLMExtractor, RuleExtractor
from caco.extractor.llm import parse_claims

RESPONSE = "The lamp is red and costs $5. It ships free."


def answering(text: object) -> Callable[[str], str]:
    return lambda prompt: text  # type: ignore[return-value]


@pytest.mark.parametrize(
    "answer",
    [
        '["A.", "B."]',
        '```json\n["A.", "B."]\n```',
        'Sure! Here are the claims [2 of them]:\n\n["A.", "B."]\n\nHope this helps.',
        '["A.",\n "B.",\n]',
        '{"claims": ["A.", "B."], "notes": ["none"]}',
        '{"claims": ["A.", "B.",],}',
        '[" A. ", "", "B.\\n"]',
        'See [1]: ["A.", "B."]',
    ],
)
def test_lists_are_found(answer: str) -> None:
    assert parse_claims(answer) == ["A.", "B."]


def test_a_comma_inside_a_string_stays() -> None:
    assert parse_claims('["a, ]", "b, }",]') == ["a, ]", "b, }"]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No claims.",
        "[]",
        "{}",
        '{"claims": []}',
        '["", " "]',
        '["A.", 3]',
        "[1]",
        "null",
        '["A.',
    ],
)
def test_anything_else_is_an_error(answer: str) -> None:
    with pytest.raises(LLMError):
        parse_claims(answer)


@given(st.text(st.sampled_from('[]{}",: \\ab1\n'), max_size=40))
def test_parsing_returns_strings_or_raises_its_own_error(answer: str) -> None:
    try:
        claims = parse_claims(answer)
    except LLMError:
        return
    assert claims
    assert all(isinstance(claim, str) and claim.strip() for claim in claims)


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(LLMError):
        parse_claims("[" * 100_000)


def test_claims_have_offsets_where_they_occur() -> None:
    extractor = LLMExtractor(
        answering('["The lamp costs $5.", "The lamp is red", "It ships free."]')
    )
    claims = extractor.claims(RESPONSE)
    assert [(claim.text, claim.start, claim.end) for claim in claims] == [
        ("The lamp costs $5.", None, None),
        ("The lamp is red", 0, 15),
        ("It ships free.", 30, 44),
    ]
    assert extractor.extract(RESPONSE, "") == [claim.text for claim in claims]


def test_the_prompt_holds_question_and_answer_as_they_are() -> None:
    seen = []

    def remember(prompt: str) -> str:
        seen.append(prompt)
        return '["x"]'

    response = "The {response} field is {question} and {0}."
    LLMExtractor(remember).extract(response, "", "What is {response}?")
    LLMExtractor(remember, language="pt").extract("A luz é azul.", "")
    assert f"Question: What is {{response}}?\nAnswer:\n{response}" in seen[0]
    assert "JSON list" in seen[0]
    assert "lista JSON" in seen[1]
    assert seen[1].endswith("Resposta:\nA luz é azul.")


def fail(prompt: str) -> str:
    raise ConnectionError("no route")


@pytest.mark.parametrize(
    ("llm_fn", "kind", "message"),
    [
        (fail, "ConnectionError", "no route"),
        (answering(""), "LLMError", "no JSON list"),
        (answering(None), "LLMError", "NoneType"),
        (answering("I cannot do that."), "LLMError", "I cannot do that."),
        (answering("[]"), "LLMError", "empty list"),
        (answering('["a", 1]'), "LLMError", "something else than strings"),
    ],
)
def test_failures_are_logged_and_the_rules_take_over(
    llm_fn: Callable[[str], str], kind: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="caco.extractor.llm"):
        claims = LLMExtractor(llm_fn).claims(RESPONSE)
    assert claims == RuleExtractor().claims(RESPONSE)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert kind in caplog.text
    assert message in caplog.text


def test_only_declining_claims_do_not_hide_the_answers_claims(
    caplog: pytest.LogCaptureFixture,
) -> None:
    claims = LLMExtractor(answering('["I don\'t know."]')).claims(RESPONSE)
    assert [claim.text for claim in claims if claim.checkworthy] == [
        "The lamp is red and costs $5.",
        "It ships free.",
    ]
    assert "falling back" in caplog.text


@pytest.mark.parametrize(
    ("texts", "added"),
    [
        (["The lamp is red."], ["The lamp is red and costs $5.", "It ships free."]),
        (["The lamp is red.", "The lamp costs $5."], ["It ships free."]),
        (["The lamp is red.", "The lamp costs $9.", "It ships free."],
         ["The lamp is red and costs $5."]),
        (["The lamp is red", "It costs $5", "The lamp ships for free."], []),
        (["The lamp is red, costing $5.", "It ships free."], []),
        (["Bananas are yellow."], ["The lamp is red and costs $5.", "It ships free."]),
    ],
)  # fmt: skip
def test_what_the_model_leaves_out_is_added(
    texts: list[str], added: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="caco.extractor.llm"):
        claims = LLMExtractor(answering(json.dumps(texts))).claims(RESPONSE)
    assert sorted(claim.text for claim in claims) == sorted([*texts, *added])
    assert [record.levelname for record in caplog.records] == ["INFO"] * bool(added)


def test_a_figure_elsewhere_does_not_stand_in_for_one_left_out() -> None:
    response = "The lamp and its red shade together cost $5. The bag costs $7."
    claims = LLMExtractor(answering('["The lamp and its red shade cost $7."]')).claims(response)
    assert "The lamp and its red shade together cost $5." in [claim.text for claim in claims]


def test_keyboard_interrupt_is_not_swallowed() -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LLMExtractor(interrupt).extract(RESPONSE)


@pytest.mark.parametrize(
    "response", ["I don't know.", "Hello!", "Olá! Não encontrei essa informação."]
)
def test_an_answer_without_claims_is_not_sent(response: str) -> None:
    claims = LLMExtractor(fail).claims(response)
    assert claims
    assert not any(claim.checkworthy for claim in claims)


def test_declining_sentences_are_kept_beside_the_models_claims() -> None:
    response = "I don't know the price. The lamp is red."
    claims = LLMExtractor(answering('["The lamp is red.", "I don\'t know the price."]')).claims(
        response
    )
    assert [(claim.text, claim.checkworthy, claim.declines) for claim in claims] == [
        ("I don't know the price.", False, True),
        ("The lamp is red.", True, False),
    ]


def test_max_claims_limits_the_texts_but_hides_no_claim() -> None:
    texts = '["The lamp costs $5.", "Red is the lamp.", "Shipping is free; it ships."]'
    extractor = LLMExtractor(answering(texts), max_claims=2)
    assert extractor.extract(RESPONSE, "") == ["The lamp costs $5.", "Red is the lamp."]
    assert len(extractor.claims(RESPONSE)) == 3
    assert LLMExtractor(answering('["a", "b", "c"]'), 2, "english").max_claims == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"llm_fn": "gpt"}, TypeError),
        ({"llm_fn": fail, "max_claims": 0}, ValueError),
        ({"llm_fn": fail, "max_claims": "2"}, TypeError),
        ({"llm_fn": fail, "max_claims": True}, TypeError),
        ({"llm_fn": fail, "language": "latin"}, ValueError),
    ],
)
def test_bad_arguments(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        LLMExtractor(**arguments)  # type: ignore[arg-type]
