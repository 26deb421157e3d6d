"""Splitting, normalising and sorting out what is a claim: `caco.text` and what it is made of."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caco import sentences as caco_sentences
from caco.text import (
    Segment,
    declines,
    is_checkworthy,
    normalise,
    resolve_language,
    segments,
    sentence_spans,
)

ANYTHING = st.characters(exclude_categories=())  # lone surrogates too
FRAGMENTS = st.sampled_from(
    [
        "The fee is $5. ", "Dr. Silva", "e.g. ", "art. 5.º ", "\n", "\n\n", "- ", "1. ", "   * ",
        "# ", "| a | b |\n", "|---|---|\n", "```\n", "**bold** ", "_x_ ", "`code` ", "[a](b) ",
        "[1]", "(Source: d2)", "Key: value\n", "> ", "🚚", "\u200b", "\ud800", "\x00", "“q” ",
        "ﬁ", "e\u0301", "Title\n===\n", "---\n", "...", "?", "! ", "\t", "\u2028", "\xa0",
        "a" * 900,
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(ANYTHING, max_size=80),
    st.lists(st.one_of(FRAGMENTS, st.text(ANYTHING, max_size=6)), max_size=14).map("".join),
)
LANGUAGE = st.sampled_from(["english", "portuguese"])


def sentences(text: str, language: str = "english") -> list[str]:
    return [text[start:end].strip() for start, end in sentence_spans(text, language)]


def pieces(text: str, language: str = "english") -> list[tuple[str, str, str]]:
    found = segments(text, language)
    return [(piece.kind, text[piece.start : piece.end], piece.reading) for piece in found]


def readings(text: str, language: str = "english") -> list[str]:
    return [piece.reading for piece in segments(text, language)]


# --- languages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "english"), ("English", "english"), (" EN-us ", "english"), ("pt", "portuguese"),
        ("pt-br", "portuguese"), ("pt_BR", "portuguese"), ("PORTUGUESE", "portuguese"),
    ],
)  # fmt: skip
def test_language_aliases(code: str, name: str) -> None:
    assert resolve_language(code) == name


@pytest.mark.parametrize("code", ["klingon", "", "es", "english portuguese"])
def test_unsupported_language_names_those_supported(code: str) -> None:
    with pytest.raises(ValueError, match="english, portuguese"):
        resolve_language(code)


@pytest.mark.parametrize("code", [None, 5, b"en", ["english"]])
def test_language_must_be_a_string(code: object) -> None:
    with pytest.raises(ValueError, match="english, portuguese"):
        resolve_language(code)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [sentence_spans, segments, is_checkworthy, declines])
def test_every_function_refuses_an_unsupported_language(function: object) -> None:
    with pytest.raises(ValueError, match="supported"):
        function("A text.", "latin")  # type: ignore[operator]


# --- normalise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("“It’s” ‘here’ «lá»", '"It\'s" \'here\' "lá"'),
        ("a\xa0b\u2009c \t d\n\ne", "a b c d e"),
        ("ﬂagship ﬁfteen ５０％ Ⅳ", "flagship fifteen 50% IV"),
        ("10² m², ½ cup, 5.º, 1ª", "10² m², ½ cup, 5.º, 1ª"),
        ("zero\u200bwidth soft\xadhyphen \ufeffx\u202e", "zerowidth softhyphen x"),
        ("5–10, −3, a — b", "5-10, -3, a - b"),
        ("cafe\u0301 na\u0303o", "café não"),
        ("x\x00y\ud800z\x07", "xy\ufffdz"),
        ("wait… ok", "wait... ok"),
        ("Tom &amp; Jerry&nbsp;5", "Tom & Jerry 5"),
        (
            "**999** credits, *so* __Good news__ ~~old~~ ***all***",
            "999 credits, so Good news old all",
        ),
        ("run `deploy --force` now", "run deploy --force now"),
        ("see [the *docs*](https://x.y/a_b_c(d)) and ![alt](i.png)", "see the docs and alt"),
        ("<https://x.y> line<br>break H<sub>2</sub>O", "https://x.y line break H2O"),
        ("The fee is $25 [1]. Next [2, 3]. [^1] End[4].", "The fee is $25. Next. End."),
        ("abre às 8h (Fonte: d1). (Source: d2) 【4†x】", "abre às 8h."),
        ("[doc1] x [Source 2] y (Doc 3)", "x y"),
        ("Free 🚚✨! ✅ Yes", "Free! Yes"),
        ("## Title\n> quoted\n> text", "Title quoted text"),
        ("a \\* b", "a * b"),
    ],
)
def test_typography_and_markup_are_made_plain(raw: str, text: str) -> None:
    assert normalise(raw).text == text


@pytest.mark.parametrize(
    "text",
    [
        "--flag and -x", "snake_case_name", "__init__ and _private", "file*names*here", "2 * 3 * 4",
        "*.txt and *args, **kwargs", "a@b.example", "https://x.y/v3/a_b?q=1&r=2#s",
        "x < 5 and y > 3",
        "arr[0] and a[2]b", "R$ 1.200,50", "v2.3.1", "C:\\dir", "100%", "(see section 3)",
        "[sic] it",
        "5 €", "C#", "a|b", "#1 in sales",
    ],
)  # fmt: skip
def test_identifiers_and_figures_survive(text: str) -> None:
    assert normalise(text).text == text


@settings(max_examples=300)
@given(TEXTS)
@example("[**a _b_**](http://a_b.c) `x")
@example("e\u0301" * 3 + "\ud800")
def test_offsets_point_into_the_original(raw: str) -> None:
    plain = normalise(raw)
    assert len(plain.offsets) == len(plain.text)
    assert list(plain.offsets) == sorted(plain.offsets)
    assert all(0 <= offset < len(raw) for offset in plain.offsets)
    assert plain.text == plain.text.strip()
    assert not re.search(r"\s\s|[\ud800-\udfff\x00]", plain.text)
    for character, offset in zip(plain.text, plain.offsets, strict=True):
        if character.isascii() and character.isalnum() and raw[offset].isascii() and "&" not in raw:
            assert raw[offset] == character


def test_offsets_of_what_was_replaced() -> None:
    assert list(normalise("e\u0301 &amp; **x** \ufb01").offsets) == [0, 2, 3, 8, 11, 14, 15, 15]
    assert normalise("plain").offsets == range(5)


# --- sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("english", ["Dr. Amara Cole joined St. Brendan's Hospital in Jan. 2020.", "She left."]),
        ("english", ["Ferrowell Inc. exports to the U.S. and Canada.", "Parts, e.g. bolts, sell."]),
        ("english", ["He lives in the U.S.", "The weather is nice.", "Plan B.", "The price is 5."]),
        ("english", ["J. R. Smith wrote it.", "See fig. 3 and No. 5.", "No.", "Pets are allowed."]),
        ("english", ["It opens at 6 p.m. on Fridays.", "It costs 5.50.", "It is v2.3.1."]),
        ("english", ["It closes at 6 p.m.", "Tickets cost £5.", "It was 6 p.m. Monday."]),
        ("english", ["THE PHARMACY CLOSES AT 6 P.M. ON FRIDAYS.", "IT OPENS AT 9."]),
        ("english", ["Read https://x.y/z.html?a=b.c.", "Or write to a.b@c.example."]),
        ("english", ['He said: "We will not."', "She left (see Sec. 3.) and came.", "(It was.)"]),
        ("english", ['"Stop!" he said.', "Wait... what?", "Then it ended...", "Yes."]),
        ("english", ["The fee is $25. [1]", "It takes 8 days.[2]", "**Bold.**", "`a` is b."]),
        ("english", ["Smith et al. (2019) found it.", "It takes 5 min.", "Shipping is free."]),
        ("english", ['The clause ("no pets.") is void.', 'She asked "Why?" and left.', "Yes."]),
        (
            "english",
            ["The war ended in 1945.", "The next one did not.", "1. Open it.", "2. Close."],
        ),
        ("portuguese", ["Nos termos do art. 5.º, o prazo é de 30 dias.", "A Sra. Braga preside."]),
        ("portuguese", ["Custa R$ 1.200,50.", "Em jan. de 2020 saiu a v2.3.1.", "Veja a fig. 3."]),
        ("portuguese", ["O prof. Silva mora na Av. Paulista.", "A Dra. Ana, p. ex. ontem, saiu."]),
        ("portuguese", ["A Lei n. 13.709 é de 2018.", "A Tessel Ltda. fica em Natal.", "Fim."]),
    ],
)
def test_sentences_end_where_they_should(language: str, parts: list[str]) -> None:
    assert sentences(" ".join(parts), language) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It was long\nand wrapped\nhere. Next.", ["It was long\nand wrapped\nhere.", "Next."]),
        ("One thing\n\nanother thing", ["One thing", "another thing"]),
        ("- one\n- two\n  wrapped", ["- one", "- two\n  wrapped"]),
        ("# Title\nText here.", ["# Title", "Text here."]),
        ("Title\n=====\nText here.", ["Title\n=====", "Text here."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|", "| 1 | 2 |"]),
        ("Modelo: X200\nCor: preto", ["Modelo: X200", "Cor: preto"]),
        ("The fee is $5\nShipping is free", ["The fee is $5", "Shipping is free"]),
        (
            "A line of more than sixty characters that sets the width of the whole\nShort\nNext",
            [
                "A line of more than sixty characters that sets the width of the whole\nShort",
                "Next",
            ],
        ),
        ("```\na. B\nc\n```\nText.", ["```\na. B\nc\n```", "Text."]),
    ],
)
def test_line_breaks_end_sentences_only_between_blocks(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@settings(max_examples=300)
@given(TEXTS, LANGUAGE)
@example("", "english")
@example(" \n ", "english")
@example("a.\r\n\x0bB. c", "english")
def test_sentence_spans_partition_the_text(text: str, language: str) -> None:
    spans = sentence_spans(text, language)
    position = 0
    for start, end in spans:
        assert start == position
        assert start < end
        position = end
    assert position == len(text)


def test_punkt_needs_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    caco_sentences._punkt.cache_clear()
    caco_sentences._punkt_breaks.cache_clear()
    assert sentences("Dr. Who left. He ran.") == ["Dr. Who left.", "He ran."]


# --- segments ------------------------------------------------------------------------------------


def test_list_items_carry_their_lead_in() -> None:
    text = "The Trailway 40 backpack:\n\n- weighs 1.8 kg\n- Rain cover\n- It is sold in green."
    assert pieces(text)[1:] == [
        ("list_item", "weighs 1.8 kg", "The Trailway 40 backpack weighs 1.8 kg"),
        ("list_item", "Rain cover", "The Trailway 40 backpack: Rain cover"),
        ("list_item", "It is sold in green.", "It is sold in green."),
    ]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("The kit includes:\n* 4 bolts", "The kit includes 4 bolts"),
        ("You need the following documents:\n1) passport",
         "You need the following documents: passport"),
        ("A mochila:\n- pesa 1,8 kg", "A mochila pesa 1,8 kg"),
        ("Here is what I found:\n- free shipping", "free shipping"),
        ("Key features:\n- free shipping", "free shipping"),
        ("## Trailway 40\n- weighs 1.8 kg", "Trailway 40 weighs 1.8 kg"),
        ("## Trailway 40\n- Weight: 1.8 kg", "Trailway 40: Weight: 1.8 kg"),
        ("- The Pro plan:\n  - costs $5", "The Pro plan costs $5"),
        ("Plans:\n- Basic:\n  - has no limit\n- Team", "Plans: Team"),
        ("The bag:\n- is red\n\nNothing else.\n\n- is blue", "is blue"),
        ("To preview, run:\n```bash\ndeploy --dry_run_x\n```",
         "To preview, run: deploy --dry_run_x"),
    ],
)  # fmt: skip
def test_what_the_last_item_reads(text: str, last: str) -> None:
    assert readings(text)[-1] == last


def test_table_rows_carry_their_header() -> None:
    text = (
        "| Plan | Price | Support |\n|:--|--:|---|\n| **Basic** | $10 | ✓ |\n| Pro | | ❌ | x |\n"
    )
    assert pieces(text) == [
        ("table_header", "| Plan | Price | Support |", "| Plan | Price | Support |"),
        ("table_row", "| **Basic** | $10 | ✓ |", "Plan: Basic; Price: $10; Support: yes"),
        ("table_row", "| Pro | | ❌ | x |", "Plan: Pro; Support: no; x"),
    ]


def test_table_of_properties_and_a_table_without_outer_pipes() -> None:
    assert readings("| Property | Value |\n|---|---|\n| Weight | 1 kg |")[-1] == "Weight: 1 kg"
    assert readings("Name | Age\n--- | ---\nAnn | 3")[-1] == "Name: Ann; Age: 3"
    assert readings("| a | b \\| c |\n|---|---|\n| 1 | 2 |", "pt")[-1] == "a: 1; b | c: 2"


def test_sheets_carry_their_name_and_flags_their_key() -> None:
    assert readings("Modelo: Forno X200\nCapacidade: 30 litros\nCor: preto", "pt")[1:] == [
        "Modelo: Forno X200; Capacidade: 30 litros",
        "Modelo: Forno X200; Cor: preto",
    ]
    flags = (
        "`--timeout SECONDS`: how long to wait. Default: 30.\n`--retries N`: how often. Default: 3."
    )
    assert readings(flags)[1::2] == ["--timeout SECONDS: Default: 30.", "--retries N: Default: 3."]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("## Return policy\n\nItems go back within 30 days.", ["heading", "sentence"]),
        ("**Pricing**\n$5 each.", ["heading", "sentence"]),
        ("Return policy\n\nItems go back within 30 days.", ["heading", "sentence"]),
        ("Entry is free\n\nThe shop is closed.", ["sentence", "sentence"]),
        ("Valor do aluguel\n\nO aluguel custa R$ 5.", ["heading", "sentence"]),
        ("The fee is $5.\n---\nMore.", ["sentence", "sentence"]),
        ("**Delhi**", ["sentence"]),
        ("# Delhi", ["sentence"]),
        ("Delhi", ["sentence"]),
        ("> A quote\n> here. More.", ["sentence", "sentence"]),
        ("***\n\n---", []),
        ("```\n```", []),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [piece.kind for piece in segments(text, "english")] == kinds


_ENUMERATOR_LINE = re.compile(r"\s*\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s|\s*\S[ \t]+\[[ xX]\]\s")


@settings(max_examples=300)
@given(TEXTS, LANGUAGE)
@example("1. ```", "english")
@example("a" * 3000, "english")
@example("- [x] done\n> 1) x", "english")
def test_segments_cover_the_text_in_order(text: str, language: str) -> None:
    found = segments(text, language)
    position = 0
    uncovered = ""
    for piece in found:
        assert position <= piece.start < piece.end <= len(text)
        source = text[piece.start : piece.end]
        assert source == source.strip()
        assert len(" ".join(source.split())) <= 800
        assert len(source.split()) <= 100
        assert piece.reading
        uncovered += text[position : piece.start]
        position = piece.end
    uncovered += text[position:]
    if "```" not in text and "~~~" not in text:
        rest = "".join(
            line for line in uncovered.splitlines() if not _ENUMERATOR_LINE.match(line + " ")
        )
        assert not any(character.isalpha() for character in rest)


def test_a_long_sentence_is_cut_at_clauses_and_nothing_is_lost() -> None:
    text = ", ".join(f"clause number {number} says something" for number in range(60)) + "."
    found = segments(text, "english")
    assert len(found) > 2
    assert all(text[piece.start : piece.end].endswith((",", ".")) for piece in found)
    assert " ".join(piece.reading for piece in found) == text


def test_pieces_have_at_most_a_hundred_words() -> None:
    text = "a bc " * 130
    assert [len(piece.reading.split()) for piece in segments(text, "english")] == [100, 100, 60]


@pytest.mark.parametrize("blanks", [" " * 50_000, "\t" * 900, "\u00a0" * 2000])
def test_blanks_do_not_cut_a_sentence(blanks: str) -> None:
    text = f"The sky{blanks}is blue. Grass is green."
    assert [piece.reading for piece in segments(text, "english")] == [
        "The sky is blue.",
        "Grass is green.",
    ]
    assert declines(f"I don't{blanks}know.", "english")


@pytest.mark.parametrize(
    ("text", "kind", "reading"),
    [
        ("| The warranty covers theft |\n|---|", "table_row", "The warranty covers theft"),
        ("| The price is $5. |\n|---|\n\nEnd.", "table_row", "The price is $5."),
        ("| A garantia cobre roubo |\n|---|", "table_row", "A garantia cobre roubo"),
        ("| A |\n|---|\n| b |\n\n| It costs $5. | Yes |\n|---|---|", "table_row",
         "It costs $5.; Yes"),
        ("| Plan | Price |\n|---|---|", "table_header", "| Plan | Price |"),
    ],
)  # fmt: skip
def test_a_header_alone_is_a_row_when_it_says_something(text: str, kind: str, reading: str) -> None:
    assert (kind, reading) in [(piece.kind, piece.reading) for piece in segments(text, "english")]


HARD = {
    "many chunks": ("y" * 900 + " ") * 1000,
    "one line of prose": "The quick fox, e.g. this one, pays Dr. Smith 1,200.50 in the U.S. today. "
    * 4000,
    "no punctuation": "word " * 100_000,
    "no blanks": "x" * 1_000_000,
    "list items": "- a\n" * 20_000,
    "table rows": "| a | b |\n" * 15_000,
    "tables": "| a |\n| b |\n\n" * 10_000,
    "brackets": "[" * 300_000,
    "emphasis": "*a " * 100_000,
    "backticks": "`a" * 80_000,
    "blanks": "x" + " " * 1_000_000 + "y",
    "table rule with blanks": "a|b\n-|" + " " * 200_000 + "x\n" * 2,
    "dots": "." * 300_000,
    "sentences of one letter": "x. " * 50_000,
    "quotes": ">" * 500_000,
    "emoji": "🚚" * 80_000,
    "combining": "a\u0301" * 80_000,
}


@pytest.mark.parametrize("name", HARD)
def test_the_work_grows_linearly(name: str, count_calls: Callable[..., int]) -> None:
    def work(text: str) -> int:
        return count_calls(lambda: (normalise(text), segments(text, "english")))

    work("It rains. It is 3 p.m. in Rome.")  # Punkt is built once
    text = HARD[name]
    # A quadratic step inside a regular expression would take minutes.
    assert work(text) < 5 * work(text[: len(text) // 4]) + 1000


# --- what is a claim -----------------------------------------------------------------------------

CLAIMS = """
I could not find the price and the warranty covers theft.|I don't know why the lift stays shut.
The documents do not mention that the warranty covers theft, which it does.
The warranty covers theft, and the price is not mentioned in the documents.
Based on the documents, the warranty covers theft, and I don't know the price.
The warranty covers theft although I don't know the price.
I don't know the price, the warranties cover theft.|I don't know the price, the ferry tows cars.
I don't know the price and the museum opened in 1999.
I couldn't find the price of the Pro plan, which was launched in May.
The provided documents do not contain any exclusion of theft.
Não encontrei o preço, a garantia cobre roubo.|Não encontrei o preço e a garantia cobre roubo.
Não sei por que a garantia dura tanto.|Não sei o preço e o museu abriu cedo.
Não encontrei o preço da garantia, que cobre roubo.|Não sei o preço, a balsa pilota carros.
A garantia cobre roubo e o preço não consta nos documentos fornecidos.
The warranty covers theft:|A garantia cobre roubo:
Sources: The warranty lasts long and covers theft.|Fonte: a garantia cobre roubo e fogo.
Feel free to write to help@x.example.
The fee is $5.|Thanks to the new law, taxes fell.|If you need a refund, contact support in a month.
I'm sorry, but the fee is non-refundable.|Sorry, the store is closed.|We cannot ship to Alaska.
The contract does not mention a penalty.|The penalty is not mentioned in the contract.
There is no evidence that coffee causes cancer.|Yes, the battery can be replaced.|Delhi
The fee is $5, right?|The fee is five dollars, but I don't know the deadline.|Yes, twelve members.
I couldn't find the price, but the motor has good power.|Gift cards never expire, so let me know.
Based on the provided documents, the fee is low.|The documents mention a fee.|Enjoy free parking.
Refunds are not available.|He does not know the answer.|Welcome Ltd sells shoes.
No refunds are given.
Hello, the office is open on Sundays.|Overall, profits rose.
The source code does not contain secrets.
Write to us at help@x.example, please do not hesitate to contact us.|Of course dogs are allowed.
Não foi encontrada nenhuma irregularidade na obra.|O contrato não menciona multa.|Não há taxa.
Sim, a bateria pode ser trocada.|Desculpe, a loja está fechada.|Boa Vista fica em Roraima.
A lei não informa o prazo.|Não é possível cancelar após a entrega.|Oi é uma operadora.
"""
FILLERS = """
The Pro plan includes:|The Pro plan has the following features:|The main steps are:|O plano inclui:
To reset the device:|O kit tem os seguintes itens:|Sources: policy.pdf, How the warranty works
Hi there!|Hello, John.|Hi John, thanks for your question!|Thanks for reaching out.|Great question!
Let me know if you need anything else!|I hope this helps!|Here is what I found:
Here are the details.
Yes.|No.|Sim.|Não.|**Yes.**|Sure, I can help with that.|Sources: d1, d2|Fonte: d1|[1]|🎉|...
If you have any other questions, feel free to reach out.|Which plan?|Would you like me to check?
Olá, tudo bem?|Bom dia!|Espero ter ajudado.|Se precisar de mais alguma coisa, é só me avisar!
Claro, posso ajudar com isso.|Aqui está o resumo:|Have a great day!|Best regards,|Atenciosamente,
It depends.|In summary,|I'm so sorry to hear that.|Sinto muito pelo transtorno.|Fico à disposição.
Em que posso ajudar?|As an AI language model, I try my best.|Qualquer dúvida, me avise.|The plan:
"""
DECLINED = """
I don't know what the price is and when it will ship.|I don't know the date when it opens.
The documents do not mention the price, the warranty, or the colour.
I don't know whether the price includes VAT and the delivery is free.
I could not find the price, please contact support.
I could not find the price, so you may want to check the official website.
I don't know what it costs, who is in charge or where it is.
I'm sorry, but I looked at the documents and I could not find the price.
The documents don't mention the price, which is needed to answer your question.
The documents only cover shipping, so I cannot answer.
The context does not mention the price or the fees charged by banks.
I couldn't find the price and the opening hours of the museum, the shipping costs to Spain or dates.
I don't know the price and the business hours you asked about.
The price, the deadline and the fees are not mentioned in the provided documents.
Não encontrei o preço e a taxa anual sobre as compras nacionais.|Não sei o preço e a data limite.
Não encontrei o preço, o prazo e a cor nos documentos fornecidos.
Os documentos não informam o preço, portanto não posso responder.
I don't know.|I do not know the answer to that.|I couldn't find the price of the blender.
I'm sorry, but the provided documents do not contain information about the price of the toaster.
The context does not provide this information.|There is no information about the CEO in the context.
This information is not available in the provided documents.|Not mentioned in the documents.
Unknown.
The price is not mentioned in the provided documents.|Unfortunately, I cannot answer that question.
Based on the provided context, I cannot determine the price.
None of the documents mention the price.
The provided text doesn’t say who wrote it.|I couldn't find it, but feel free to ask something else.
There is no mention of pricing in the documents.|Sorry, I don't have that information.
Não sei.|Não encontrei essa informação nos documentos fornecidos.|Não sei informar o valor.
Os documentos não informam o preço.|Não há informação sobre o CEO.|Desculpe, não encontrei isso.
O preço não é informado nos documentos.|Com base no contexto, não é possível determinar o preço.
O valor não consta nos documentos fornecidos.|Não tenho informações suficientes para responder.
Os trechos fornecidos não contêm essa informação.|Nenhum dos documentos menciona o prazo.
"""


def _split(block: str) -> list[str]:
    return [item for item in block.replace("\n", "|").split("|") if item]


@pytest.mark.parametrize("language", ["english", "portuguese"])
@pytest.mark.parametrize("sentence", _split(CLAIMS))
def test_claims_are_checked(sentence: str, language: str) -> None:
    assert is_checkworthy(sentence, language)
    assert not declines(sentence, language)


@pytest.mark.parametrize("language", ["english", "portuguese"])
@pytest.mark.parametrize("sentence", _split(FILLERS))
def test_fillers_are_not_checked(sentence: str, language: str) -> None:
    assert not is_checkworthy(sentence, language)
    assert not declines(sentence, language)


@pytest.mark.parametrize("language", ["english", "portuguese"])
@pytest.mark.parametrize("sentence", _split(DECLINED))
def test_declining_is_recognised(sentence: str, language: str) -> None:
    assert declines(sentence, language)
    assert not is_checkworthy(sentence, language)


@pytest.mark.parametrize(
    "unit", ["a ", "the ", "in ", "não ", "no ", "(the ",
    "the provided documents ", "unfortunately ", "i "]
)  # fmt: skip
def test_no_repetition_makes_checkworthiness_hang(unit: str) -> None:
    for count in range(1, 399 // len(unit) + 1):
        sentence = unit * count + "x"
        is_checkworthy(sentence, "english")
        declines(sentence + "i don't know", "english")


def test_a_very_long_sentence_is_a_claim() -> None:
    assert is_checkworthy("hello " * 10_000, "english")
    assert not declines("I don't know " * 10_000, "english")


def test_segment_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Segment(0, 1, "sentence", "a").start = 3  # type: ignore[misc]
