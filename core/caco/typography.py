"""Typography and markup, made plain for the model while every character keeps its place.

`normalise` undoes what makes two equal sentences look different to a tokenizer: curly quotes,
ligatures, full-width forms, invisible characters, Markdown, citation markers, emoji.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Normalised", "normalise", "normalise_code"]


@dataclass(frozen=True)
class Normalised:
    """A plain reading of a text.

    Attributes:
        text: The reading.
        offsets: ``offsets[i]`` is where character ``i`` of ``text`` comes from in the original;
            as long as ``text``, never decreasing.
    """

    text: str
    offsets: Sequence[int]


_Edit = tuple[int, int, str]
"""Replace ``text[start:end]`` by a string."""

_LATIN = "À-ÖØ-öø-ÿ"
_WORK = re.compile(rf"[^ -~{_LATIN}°ºª²³€£§]|[*_`\[(<>~\\&#]|  |^ | $| (?=[.,;!?](?:\s|$))")
_SPECIAL = re.compile(rf"[^\n -~{_LATIN}°ºª²³€£§]|&(?:amp|nbsp|lt|gt|quot|\#39);")
_SPECIAL_OR_COMBINED = re.compile(rf"[^\W\d_][\u0300-\u036f]+|{_SPECIAL.pattern}")
_COMBINING = re.compile(r"[\u0300-\u036f]")
_BLANKS = re.compile(r"\s{2,}|[^\S ]|[ ](?=[.,;!?](?:\s|$))|^ | $")
_CLOSING_PUNCTUATION = frozenset(".,;!?")

_ENTITIES = {"&amp;": "&", "&nbsp;": " ", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}
_CHARACTERS = {
    **dict.fromkeys("‘’‚‛‹›′´", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–−﹣", "-"),
    **dict.fromkeys("—―", " - "),
    **dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r\t", " "),
    "•": "-",
}
# NFKC would turn 10² into 102 and ½ into 1⁄2; a circled digit is a marker, not a number.
_KEPT_FORMS = frozenset({"<super>", "<sub>", "<fraction>", "<circle>"})
_INVISIBLE = frozenset({"Cc", "Cf"})
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u20e3"
    "\ufe00-\ufe0f\U000e0000-\U000e0fff\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]"
)


@lru_cache(maxsize=4096)
def _character(match: str) -> str:
    """Return the plain form of one character (or entity, or letter with combining marks)."""
    if match in _CHARACTERS:
        return _CHARACTERS[match]
    if match in _ENTITIES:
        return _ENTITIES[match]
    if len(match) > 1:
        return unicodedata.normalize("NFC", match)
    category = unicodedata.category(match)
    if category == "Cs":
        return "\ufffd"
    if category in _INVISIBLE or _EMOJI.match(match):
        return ""
    if category in ("Zs", "Zl", "Zp"):
        return " "
    form = unicodedata.decomposition(match).partition(" ")[0]
    if form.startswith("<") and form not in _KEPT_FORMS:
        return unicodedata.normalize("NFKC", match)
    return match


_CITATION = r"""
    \[\^?[1-9]\d{0,2}(?:\s?[,;–-]\s?\^?\d{1,3}){0,20}\](?![\w(])
    |\[\^[\w-]{1,30}\]
    |\[(?:doc(?:ument)?o?|d|source|fonte|ref|passage|context|chunk)s?[\s_:\#-]{0,3}\d{1,4}\](?!\()
    |\[(?:sources?|fontes?|refs?|citations?)\s?:[^\[\]\n]{1,120}\]
    |\((?:sources?|fontes?|refs?|references?|referências?|citations?)\s?:[^()\n]{1,120}\)
    |\((?:doc(?:ument)?o?|source|fonte)s?\s?\#?\d{1,4}(?:\s?,\s?\d{1,4}){0,20}\)
    |【[^【】\n]{1,60}】
"""
_TOKEN = re.compile(
    rf"""
    (?P<tick>`+)
    |(?P<cite>{_CITATION})
    |(?P<link>!?\[(?P<label>[^\[\]\n]{{1,300}})\]
        (?:\([^()\s]{{0,2000}}(?:\([^()\s]{{0,200}}\)[^()\s]{{0,200}})?(?:\s"[^"\n]{{0,200}}")?\)
          |\[[^\[\]\n]{{1,60}}\]))
    |(?P<address><(?:https?://|mailto:)[^<>\s]{{1,2000}}>)
    |(?P<tag></?(?:b|i|u|em|strong|br|p|sup|sub|span|code|mark)\b[^<>\n]{{0,100}}>)
    |(?P<run>\*{{1,3}}|_{{1,3}}|~~)
    |(?P<gap>\n[ \t]*\n)
    |(?P<prefix>^[ \t]{{0,3}}(?:\#{{1,6}}[ \t]+|(?:>[ \t]?)+))
    |(?P<escape>\\(?=[*_\#`~|\[\]]))
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_CODE_SPAN_LIMIT = 1000
_DUNDER = re.compile(r"[a-z0-9_]+")


class _Markup:
    """Collects the edits that remove Markdown and citation markers, in one pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edits: list[_Edit] = []
        self._open: dict[str, int] = {}

    def scan(self) -> list[_Edit]:
        position = 0
        tail = (len(self.text) + 1, 0)  # the "](address)" of the link being read
        while match := _TOKEN.search(self.text, position):
            if match.start() >= tail[0]:
                position, tail = tail[1], (len(self.text) + 1, 0)
                continue
            position = match.end()
            kind = match.lastgroup
            if match["link"]:
                tail = (match.end("label"), match.end())
                self.edits += [(match.start(), match.start("label"), ""), (*tail, "")]
                position = match.start("label")
            elif kind == "tick":
                position = self._code(match)
            elif kind == "run":
                self._emphasis(match)
            elif kind == "cite":
                self._citation(match)
            else:
                self._other(match, kind)
        self.edits.sort()
        return self.edits

    def _other(self, match: re.Match[str], kind: str | None) -> None:
        start, end = match.span()
        if kind == "gap":
            self._open.clear()
        elif kind == "address":
            self.edits += [(start, start + 1, ""), (end - 1, end, "")]
        elif kind == "tag":
            self.edits.append((start, end, " " if match[0].lower().startswith("<br") else ""))
        else:
            self.edits.append((start, end, ""))

    def _code(self, match: re.Match[str]) -> int:
        """Remove a code span's marks and return where to read on: its inside is literal."""
        start, end = match.span()
        ticks = match[0]
        close = re.compile(f"(?<!`){ticks}(?!`)").search(
            self.text, end, min(len(self.text), end + _CODE_SPAN_LIMIT)
        )
        if close is None:
            return end
        if len(ticks) > 2 and (info := re.compile(r"\w{0,20}\n").match(self.text, end)):
            end = info.end()
        self.edits += [(start, end, ""), (*close.span(), "")]
        return close.end()

    def _citation(self, match: re.Match[str]) -> None:
        start, end = match.span()
        if not self.text[end : end + 1].isalnum():
            floor = self.edits[-1][1] if self.edits else 0
            while start > floor and self.text[start - 1] in " \t":
                start -= 1
        self.edits.append((start, end, ""))

    def _emphasis(self, match: re.Match[str]) -> None:
        """Pair emphasis marks; those of identifiers, globs and formulas have no partner."""
        start, end = match.span()
        mark = match[0]
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        closes = bool(before) and not before.isspace()
        closes = closes and (not after.isalnum() or (mark[0] == "*" and len(mark) > 1))
        opened = self._open.get(mark)
        if closes and opened is not None:
            inside = self.text[opened + len(mark) : start]
            if inside and not (mark == "__" and _DUNDER.fullmatch(inside)):
                self.edits += [(opened, opened + len(mark), ""), (start, end, "")]
            del self._open[mark]
        elif after and not after.isspace() and not before.isalnum():
            self._open[mark] = start


def _rewrite(text: str, offsets: Sequence[int], edits: Iterable[_Edit]) -> Normalised:
    """Apply edits, sorted by start; one that overlaps the last is dropped."""
    pieces: list[str] = []
    origins = array("q")
    position = 0
    for start, end, new in edits:
        if start < position:
            continue
        pieces += (text[position:start], new)
        origins.extend(offsets[position:start])
        origins.extend([offsets[start]] * len(new))
        position = end
    pieces.append(text[position:])
    origins.extend(offsets[position:])
    return Normalised("".join(pieces), origins)


def _plain_characters(raw: str) -> Normalised:
    pattern = _SPECIAL_OR_COMBINED if _COMBINING.search(raw) else _SPECIAL
    edits = ((*match.span(), _character(match[0])) for match in pattern.finditer(raw))
    return _rewrite(raw, range(len(raw)), edits)


def _single_blanks(plain: Normalised) -> Normalised:
    text = plain.text

    def edits() -> Iterable[_Edit]:
        for match in _BLANKS.finditer(text):
            start, end = match.span()
            at_edge = start == 0 or end == len(text)
            joins = text[end : end + 1] in _CLOSING_PUNCTUATION and (
                end + 1 == len(text) or text[end + 1].isspace()
            )
            yield start, end, "" if at_edge or joins else " "

    return _rewrite(text, plain.offsets, edits())


def normalise(raw: str) -> Normalised:
    """Return the text as the model should read it.

    Curly quotes, odd spaces, dashes, ligatures and full-width forms become plain; invisible and
    control characters, emoji, Markdown marks, link addresses and citation markers ("[2]",
    "(Source: d2)") go; a lone surrogate becomes U+FFFD; runs of blanks become one space.
    Identifiers (``--flag``, ``snake_case``, ``__init__``, addresses) and ², ½, º stay.

    Args:
        raw: Any text; takes time in proportion to its length.

    Returns:
        The reading, without blanks at either end, and where each character comes from.
    """
    if not _WORK.search(raw):
        return Normalised(raw, range(len(raw)))
    plain = _plain_characters(raw)
    markup = _Markup(plain.text).scan()
    if markup:
        plain = _rewrite(plain.text, plain.offsets, markup)
    return _single_blanks(plain)


def normalise_code(raw: str) -> Normalised:
    """Return source code as the model should read it: like `normalise`, but no mark is markup."""
    return _single_blanks(_plain_characters(raw))
