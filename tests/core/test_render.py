"""The HTML rendering: exact marks, everything escaped, nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.cli import main
from caco.models import (
    ClaimResult,
    Coverage,
    Decision,
    Document,
    Evidence,
    Labels,
    Status,
    ValidationResult,
)
from caco.render import render_fragment, render_html

SUPPORTED, NEUTRAL, AGAINST = (
    Labels.VALUE_ENTAILMENT,
    Labels.VALUE_NEUTRAL,
    Labels.VALUE_CONTRADICTION,
)
VOID = {"meta", "link", "br"}
TAGS = {
    "a",
    "article",
    "bdi",
    "blockquote",
    "div",
    "footer",
    "h2",
    "h3",
    "li",
    "mark",
    "ol",
    "p",
    "section",
    "span",
    "strong",
}


class Reader(HTMLParser):
    """Reads HTML into elements, and checks that it is well nested."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "hidden": ""}
        assert len(dict(attrs)) == len(attrs)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        hidden = any(e["attrs"].get("class") == "hidden" for e in self.open)
        for element in self.open:
            element["hidden" if hidden else "text"] += data

    def all(self, tag, **wanted):
        return [
            e
            for e in self.elements
            if e["tag"] == tag
            and all(v in (e["attrs"].get(k) or "").split() for k, v in wanted.items())
        ]


def quote(document, text, needle, score=0.9):
    start = text.index(needle)
    return Evidence(document, needle, start, start + len(needle), score)


def claim(response, needle, label, quotes=(), **rest):
    start = response.index(needle)
    own = {}
    if quotes:
        own = {
            "evidence_document": quotes[0].document,
            "evidence_start": quotes[0].start,
            "evidence_end": quotes[0].end,
        }
    side = {SUPPORTED: "supporting", AGAINST: "conflicting"}.get(label)
    if side:
        own[side] = tuple(quotes)
    return ClaimResult(
        needle,
        quotes[0].text if quotes else "",
        label,
        0.9,
        start=start,
        end=start + len(needle),
        **{**own, **rest},
    )


def result(response, *claims, **rest):
    fields = {
        "score": 0.9,
        "is_hallucination": True,
        "claims": claims,
        "summary": "A summary.",
        "response": response,
        **rest,
    }
    return ValidationResult(**fields)


RESPONSE = "Hello!\n- The tower is 90 m high.\n- It is red."
TEXT = "About the tower. It is 80 m high & old. It is red <b>today</b>."
HIGH, RED = "It is 80 m high & old.", "It is red <b>today</b>."
DOCUMENTS = [Document(TEXT, "guide.txt"), Document("Nothing here.", "other")]
RESULT = result(
    RESPONSE,
    claim(RESPONSE, "The tower is 90 m high.", AGAINST, [quote("guide.txt", TEXT, HIGH)]),
    claim(RESPONSE, "It is red.", SUPPORTED, [quote("guide.txt", TEXT, RED)]),
)


def test_claims_are_marked_by_verdict_and_lead_to_the_exact_words():
    page = Reader(render_fragment(RESULT, DOCUMENTS))
    (first, second) = page.all("a", **{"class": "claim"})
    assert (first["text"], second["text"]) == ("The tower is 90 m high.", "It is red.")
    assert first["attrs"]["class"] == "claim contradiction"
    assert second["attrs"]["class"] == "claim entailment"
    assert first["hidden"].strip() == "(contradicted)"
    for link, words in ((first, HIGH), (second, RED)):
        (target,) = [
            e for e in page.elements if e["attrs"].get("id") == link["attrs"]["href"].lstrip("#")
        ]
        assert target["tag"] == "mark"
        assert target["text"] == words
        assert target["attrs"]["data-claims"] == link["attrs"]["data-claim"]


def test_texts_are_whole_and_unchanged():
    page = Reader(render_fragment(RESULT, DOCUMENTS))
    shown = [e["text"] for e in page.all("div", **{"class": "text"})]
    assert shown == [RESPONSE, TEXT, "Nothing here."]


def test_evidence_that_two_claims_share_belongs_to_both():
    text = "Rui is 40 and lives in Faro."
    response = "Rui is 40. He lives in Porto."
    both = result(
        response,
        claim(response, "Rui is 40.", SUPPORTED, [quote("d", text, "Rui is 40 and lives")]),
        claim(response, "He lives in Porto.", AGAINST, [quote("d", text, "lives in Faro")]),
    )
    page = Reader(render_fragment(both, [Document(text, "d")]))
    marks = [(m["text"], m["attrs"]["data-claims"], m["attrs"]["class"]) for m in page.all("mark")]
    assert marks == [
        ("Rui is 40 and ", "1", "entailment"),
        ("lives", "1 2", "contradiction entailment"),
        (" in Faro", "2", "contradiction"),
    ]


def test_both_sides_are_shown_where_sources_disagree():
    response, first, second = "It opened in 1990.", "It opened in 1990.", "It opened in 1991."
    torn = claim(
        response,
        response,
        SUPPORTED,
        [quote("a", first, first)],
        conflicting=(quote("b", second, second),),
    )
    documents = [Document(first, "a"), Document(second, "b")]
    page = Reader(render_fragment(result(response, torn), documents))
    assert [m["attrs"]["class"] for m in page.all("mark")] == ["entailment", "contradiction"]
    assert [s["text"] for s in page.all("span", **{"class": "stance"})] == ["for", "against"]


def test_without_documents_the_evidence_is_quoted():
    page = Reader(render_fragment(RESULT))
    assert not page.all("mark")
    assert [q["text"] for q in page.all("blockquote")] == [
        HIGH + "against Document guide.txt",
        RED + "for Document guide.txt",
    ]
    (first, _) = page.all("a", **{"class": "claim"})
    assert first["attrs"]["href"] == "#claim-1"
    assert page.all("li", id="claim-1")


def test_evidence_that_is_not_where_it_says_is_not_marked():
    moved = Document("x" + TEXT, "guide.txt")
    page = Reader(render_fragment(RESULT, [moved]))
    assert not page.all("mark")
    assert len(page.all("blockquote")) == 2


def test_a_claim_that_cannot_be_placed_is_in_the_list():
    response = "Some answer."
    rewritten = ClaimResult("Ana leads the team.", "", NEUTRAL, 0.8)
    outside = ClaimResult("Beyond.", "", NEUTRAL, 0.8, start=5, end=500)
    inner = claim(response, "answer", NEUTRAL)
    outer = claim(response, "Some answer.", SUPPORTED)
    page = Reader(render_fragment(result(response, rewritten, outside, inner, outer), "Text."))
    assert [a["text"] for a in page.all("a", **{"class": "claim"})] == ["Some answer."]
    assert len(page.all("li")) == 4
    assert page.all("div", **{"class": "text"})[0]["text"] == response


def test_what_is_no_claim_is_not_marked():
    greeting = claim(RESPONSE, "Hello!", NEUTRAL, checkworthy=False)
    page = Reader(render_fragment(result(RESPONSE, greeting), DOCUMENTS))
    assert not page.all("a")
    assert "Nothing to check" in page.all("section", **{"class": "claims"})[0]["text"]


@pytest.mark.parametrize(
    ("status", "is_hallucination", "language", "words"),
    [
        (Status.CHECKED, True, "english", "Not faithful to the documents"),
        (Status.CHECKED, False, "english", "Faithful to the documents"),
        (Status.NO_CONTEXT, True, "english", "Not faithful to the documents"),
        (Status.ERROR, True, "english", "Could not be checked"),
        (Status.ABSTAINED, False, "portuguese", "Não julgada"),
        (Status.NO_CLAIMS, False, "portuguese", "Nada a conferir"),
    ],
)
def test_the_verdict_is_in_words(status, is_hallucination, language, words):
    shown = result("x", status=status, is_hallucination=is_hallucination, language=language)
    page = Reader(render_html(shown))
    assert page.all("strong")[0]["text"] == words
    assert page.all("html")[0]["attrs"]["lang"] == {"english": "en", "portuguese": "pt"}[language]


def test_the_gate_is_shown():
    gate = Decision(True, "no_entailment, <i>", 0.7)
    page = Reader(render_fragment(result("x", gate=gate)))
    assert page.all("p", **{"class": "gate"})[0]["text"] == "To be withheld: no_entailment, <i>"


def test_the_page_stands_alone_and_allows_only_its_own_script_and_style():
    page = render_html(RESULT, DOCUMENTS)
    read = Reader(page)
    (policy,) = [
        m["attrs"]["content"]
        for m in read.all("meta")
        if m["attrs"].get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not read.all("link")
    assert all("src" not in e["attrs"] for e in read.elements)
    assert all(e["attrs"]["href"].startswith("#") for e in read.all("a"))


HOSTILE = [
    "<script>alert(1)</script>",
    "</div></body></html>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "&lt;b&gt; &amp;#60; &#0;",
    "</style><!-- ",
    "\u202eright to left\u2066",
    "null\x00 bell\x07 \x1b[31m",
    "lone \ud800 surrogate",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text):
    everywhere = result(
        text,
        ClaimResult(
            text,
            text,
            AGAINST,
            0.9,
            reason=text,
            start=0,
            end=len(text),
            evidence_document=text,
            evidence_start=0,
            evidence_end=len(text),
            conflicting=(Evidence(text, text, 0, len(text), 0.9),),
        ),
        summary=text,
        gate=Decision(True, text, 0.7),
        model=text,
    )
    page = render_html(everywhere, [Document(text, text)])
    page.encode("utf-8")
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    read = Reader(body)
    assert {e["tag"] for e in read.elements} <= {*TAGS, "main", "h1"}
    allowed = {
        "aria-labelledby",
        "class",
        "data-claim",
        "data-claims",
        "dir",
        "href",
        "id",
        "lang",
        "role",
        "tabindex",
    }
    assert {name for e in read.elements for name in e["attrs"]} <= allowed
    assert all(re.fullmatch(r"#[\w-]+", e["attrs"]["href"]) for e in read.all("a"))
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", page)
    (mark,) = read.all("mark")
    expected = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "\ufffd", text)
    assert mark["text"] == expected
    # Text that reorders is alone in its element.
    for element in read.elements:
        if "\u202e" in element["text"] and element["tag"] == "bdi":
            assert element["attrs"]["dir"] == "auto"


PIECES = st.text(
    st.characters(exclude_characters="\r", exclude_categories=["Cs", "Cc"]), max_size=40
)


@st.composite
def marked(draw):
    text = draw(PIECES)
    spans = draw(
        st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=6)
    )
    return text, [(min(s), max(s)) for s in spans]


@given(marked(), marked())
def test_every_character_is_shown_once_and_marked_by_what_covers_it(answer, document):
    response, claim_spans = answer
    text, spans = document
    labels = (SUPPORTED, NEUTRAL, AGAINST)
    claims = [
        ClaimResult(response[a:b], "", labels[n % 3], 0.9, start=a, end=b)
        for n, (a, b) in enumerate(claim_spans)
    ]
    holder = ClaimResult(
        "c",
        "",
        SUPPORTED,
        0.9,
        supporting=tuple(Evidence("d", text[a:b], a, b, 0.9) for a, b in spans),
    )
    shown = result(response, *claims, holder, coverage=Coverage())
    page = Reader(render_fragment(shown, [Document(text, "d")]))
    clean = str.maketrans({"\ufffe": "\ufffd", "\uffff": "\ufffd"})
    assert [e["text"] for e in page.all("div", **{"class": "text"})] == [
        response.translate(clean),
        text.translate(clean),
    ]
    covered = "".join(c for n, c in enumerate(text) if any(a <= n < b for a, b in spans)).translate(
        clean
    )
    assert "".join(m["text"] for m in page.all("mark")) == covered
    ids = [e["attrs"]["id"] for e in page.elements if "id" in e["attrs"]]
    assert len(ids) == len(set(ids))
    targets = {e["attrs"]["href"][1:] for e in page.all("a")}
    assert targets <= set(ids)


def test_two_documents_of_one_id():
    with pytest.raises(ValueError, match="two documents"):
        render_fragment(RESULT, [Document("a", "x"), Document("b", "x")])


def test_check_writes_the_page(tmp_path, capsys):
    document = tmp_path / "tower.txt"
    document.write_text("The tower is 80 m high & <b>old</b>.", encoding="utf-8")
    page = tmp_path / "out.html"
    arguments = ["check", "--response", "The tower is 90 m high.", "--context-file", str(document)]
    assert main([*arguments, "--html", str(page)]) == 1
    read = Reader(page.read_text(encoding="utf-8"))
    assert read.all("a", **{"class": "claim"})[0]["text"] == "The tower is 90 m high."
    assert [mark["text"] for mark in read.all("mark")] == ["The tower is 80 m high & <b>old</b>."]
    assert "90 m" in capsys.readouterr().out
    assert main([*arguments, "--html", str(tmp_path / "missing" / "out.html")]) == 2
    assert "missing" in capsys.readouterr().err
