"""The page and the rendering in a real browser: by keyboard, by mouse, with hostile text."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")
pytest.importorskip("websockets", reason="needs websockets to drive the browser")

import caco
from caco.render import render_html
from caco.service import ServiceSettings

_spec = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
_browser = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_browser)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_browser.CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]

DOCUMENT = (
    "The LGPD was enacted on August 14, 2018, by President Michel Temer. "
    "It applies to companies that treat personal data in Brazil. <script>window.hit = 1</script>"
)
FILLER = "\n".join(f"Line {number} is about the weather." for number in range(60))
ANSWER = (
    "The LGPD was created in 2015. It applies to companies that treat personal data in Brazil. "
    "<img src=x onerror='window.hit = 2'>"
)
CURRENT = "[...document.querySelectorAll('mark.current')].map(n => n.textContent).join('|')"


@pytest.fixture
def page(tmp_path):
    with _browser.browser(tmp_path / "profile") as tab:
        yield tab
    assert not tab.problems, tab.problems


def picture(page, name):
    """Keep a screenshot where one was asked for."""
    folder = os.environ.get("CACO_SCREENSHOTS")
    if folder:
        page.screenshot(Path(folder) / f"{name}.png")


def test_a_check_by_keyboard(page, engine_service):
    page.open(engine_service.address)
    picture(page, "empty")
    page.run("document.getElementById('response').focus()")
    page.type(ANSWER)
    page.tab()
    page.type(DOCUMENT)
    page.tab()
    assert page.run("document.activeElement.id") == "add"
    page.enter()
    assert page.run("document.activeElement.tagName") == "TEXTAREA"
    page.type(FILLER)
    page.run("document.getElementById('check').focus()")
    page.enter()
    page.wait("document.querySelector('.caco')")
    assert page.run("document.activeElement.id") == "result"
    assert page.run("document.getElementById('message').textContent") == "Checked."
    claims = page.run(
        "[...document.querySelectorAll('a.claim')].map(n => [n.className, n.textContent])"
    )
    assert claims[0] == ["claim contradiction", "The LGPD was created in 2015. (contradicted) "]
    assert claims[1][0] == "claim entailment"
    page.tab()
    assert page.run("document.activeElement.matches('a.claim')")
    assert page.run(CURRENT) == page.run("document.querySelector('mark').textContent")
    page.enter()
    assert page.run("document.activeElement.tagName") == "MARK"
    assert "August 14, 2018" in page.run("document.activeElement.textContent")
    picture(page, "checked")
    assert page.run("window.hit") is None
    assert page.run("document.querySelectorAll('#result script, #result img').length") == 0
    assert all(address.startswith(engine_service.address) for address in page.requests)


def test_hovering_shows_the_evidence(page, engine_service, tmp_path):
    text = FILLER + "\n" + DOCUMENT
    result = caco.Validator().validate(ANSWER, text)
    path = tmp_path / "out.html"
    path.write_text(render_html(result, text), encoding="utf-8")
    page.open(path.as_uri())
    box = "document.querySelector('.document .text')"
    assert page.run(f"{box}.scrollTop") == 0
    page.hover("a.claim.contradiction")
    page.wait(f"{CURRENT}.includes('August 14, 2018')")
    assert page.run(f"{box}.scrollTop") > 0
    picture(page, "hovered")
    page.hover("a.claim.entailment")
    page.wait(f"{CURRENT}.includes('companies')")
    assert page.run("window.hit") is None
    assert page.requests == [path.as_uri()]


def test_it_can_be_read_by_a_screen_reader(page, engine_service):
    page.open(engine_service.address)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = {
        (node["role"]["value"], node.get("name", {}).get("value"))
        for node in nodes
        if not node["ignored"]
    }
    assert {
        ("textbox", "Answer"),
        ("textbox", "Document 1"),
        ("button", "Add a document"),
        ("button", "Check"),
        ("combobox", "Language"),
        ("spinbutton", "Threshold"),
        ("heading", "Check an answer against its documents"),
    } <= named
    for role in ("textbox", "button", "combobox"):
        assert (role, "") not in named, f"a {role} without a name"


def test_what_goes_wrong_is_said(page, serve):
    from caco.testing import FakeClassifier

    settings = ServiceSettings(token="s3cret")
    with serve(settings, classifier=FakeClassifier()) as service:
        page.open(service.address)
        page.run("document.getElementById('response').value = 'It is so.'")
        page.run("document.querySelector('#list textarea').value = 'It is so.'")
        page.run("document.getElementById('check').click()")
        page.wait("document.getElementById('message').classList.contains('wrong')")
        assert "token" in page.run("document.getElementById('message').textContent")
        assert page.run("document.activeElement.id") == "token"
        page.type("s3cret")
        page.enter()
        page.wait("document.querySelector('.caco')")
        page.run("document.getElementById('response').value = '   '")
        page.run("document.getElementById('check').click()")
        page.wait("document.getElementById('message').textContent.startsWith('response:')")
    # Chromium logs each answer that is an error: these two were asked for.
    expected = [p for p in page.problems if "status of 4" in p.get("entry", {}).get("text", "")]
    assert len(expected) == 2
    page.problems[:] = [p for p in page.problems if p not in expected]


def test_a_narrow_window(tmp_path, engine_service):
    with _browser.browser(tmp_path / "profile", size=(500, 1200)) as page:
        page.open(engine_service.address)
        page.run(f"document.getElementById('response').value = {ANSWER!r}")
        page.run("document.querySelector('#list textarea').value = 'x'.repeat(2000)")
        page.run("document.getElementById('check').click()")
        page.wait("document.querySelector('.caco')")
        picture(page, "narrow")
        width = page.run("document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 0, "it must not scroll sideways"
