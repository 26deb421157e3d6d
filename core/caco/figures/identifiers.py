"""Identifiers: addresses, telephone numbers, flags, file names, versions, codes, numbered names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "ROMAN_LABELS",
    "Identifier",
    "find_identifiers",
    "find_label",
    "find_roman",
    "without_zeros",
]


@dataclass(frozen=True)
class Identifier:
    """An identifier found in a text.

    Attributes:
        kind: "identifier" or "version".
        value: Its characters, without what spelling varies in (case, hyphens, blanks).
        sort: What it identifies: "e-mail", "url", "phone", "flag", "file", "code", …
        start: First character.
        end: One past the last character.
    """

    kind: str
    value: str
    sort: str
    start: int
    end: int


_FILE_ENDINGS = (
    "py|ipynb|json|jsonl|ya?ml|toml|md|txt|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|exe|"
    "sh|js|ts|html?|css|xml|ini|cfg|conf|log|zip|gz|tar|parquet|sql|env|lock|onnx|rs|go|java"
)
_PATTERN = re.compile(
    rf"""
    (?P<url>(?:(?<!\w)https?://|(?<![\w/.])www\.)[^\s<>"'`|)\]]{{1,2000}})
  | (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}})
  | (?P<flag>(?<![\w-])--[A-Za-z][\w-]{{0,60}})
  | (?P<file>(?<![\w./\\-])[\w./\\-]{{0,120}}[\w-]\.(?:{_FILE_ENDINGS})(?![\w-]|\.\w))
  | (?P<phone>(?<![\w.,/-])(?:
        \+\d{{1,3}}(?:[\s.-]?\(?\d{{1,5}}\)?){{1,6}}
      | \(\d{{2,4}}\)\s?\d{{3,5}}[\s.-]?\d{{4}}
      | 0\d00[\s-]\d{{3}}[\s-]?\d{{4}}
      | (?:1-)?\d{{3}}[-.]\d{{3}}[-.]\d{{4}}
      | \d{{3}}-\d{{4}}
      | [2-9]\d{{3,4}}-\d{{4}}
    )(?![\w/-]|[.,]\d))
  | (?P<taxpayer>(?<![\w.,])(?:\d{{3}}\.\d{{3}}\.\d{{3}}-\d{{2}}
      |\d{{2}}\.\d{{3}}\.\d{{3}}/\d{{4}}-\d\d|\d{{5}}-\d{{3}})(?![\w-]))
  | (?P<address>(?<![\w.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\w.]\d))
  | (?P<version>(?<![\w.,])(?:[vV]\.?\s?\d{{1,4}}(?:\.\d{{1,5}}){{0,4}}
      |\d{{1,4}}(?:\.\d{{1,5}}){{2,4}})(?:[-.]?(?:rc|alpha|beta|dev|post|a|b)\.?\d{{1,4}})?(?![\w,]|\.\d))
  | (?P<named_version>(?<=[\w\s][\s])\d{{1,3}}\.\d{{1,3}}(?![\w,%]|\.\d|\s?[%°]))
  | (?P<law>(?<![\w.,/])\d{{1,3}}(?:\.\d{{3}})+/\d{{2,4}}(?![\w/]))
  | (?P<docket>(?<![\w.,/-])\d{{4}}-\d{{5,12}}(?![\w-])|(?<![\w.,/-])\d{{5,12}}-\d{{1,12}}(?![\w-]))
  | (?P<code>(?<![\w.,$€£-])[A-Za-z]{{1,12}}(?:-[A-Za-z]{{1,12}})?-?\d{{1,12}}
      (?:[-.]?[A-Za-z\d]{{1,8}}){{0,3}}(?!\w))
""",
    re.VERBOSE | re.ASCII,
)
_HINT = re.compile(
    r"[@/]|--|www\.|\.[a-z]|\+\d|\(\d|\d[-.]\d|0\d00[\s-]|[vV]\.?\s?\d|[A-Za-z]-?\d", re.ASCII
)
"""It is in every match of the pattern; looking for it is quick."""
_PROGRAM = re.compile(
    r"(?:version|versions|versão|release|python|node|java|django|release|ubuntu|android|ios|"
    r"windows|macos|kernel|firmware|postgresql|php|ruby|go|rust)\s$",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+")
_CURRENCY_CODE = re.compile(r"(?:USD|EUR|GBP|BRL|US|RS|R)\d")
_COMPOUND = re.compile(r"(?!covid)[a-z]{2,12}-\d+(?:[a-z]{1,2})?")
_UNITS = frozenset(("m2", "m3", "km2"))
_SAYS_VERSION = re.compile(
    r"(?:version|versions|versão|versões|release|releases)\s$", re.IGNORECASE
)
_TRAILING_ZEROS = re.compile(r"(?:\.0)+$")
_ROMAN = re.compile(
    r"\s(?=[IVXL])(?P<tens>XL|L?X{0,3})(?P<ones>IX|IV|V?I{0,3})(?![\w.]\w|\w|['’])", re.ASCII
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_BLANK_OR_HYPHEN = re.compile(r"[\s\-().]")

_LABELS: dict[str, str] = {
    alias: names.split()[0]
    for names in (
        "room sala",
        "line linha",
        "section sec. § seção",
        "chapter ch. capítulo cap.",
        "article art. artigo arts.",
        "page p. pg. pp. página pág.",
        "figure fig. figura",
        "table tabela",
        "appendix annex anexo",
        "clause cláusula",
        "law lei act",
        "decree decreto",
        "bus ônibus",
        "flight voo",
        "platform plataforma",
        "gate portão",
        "route rota",
        "highway rodovia",
        "volume vol.",
        "phase fase",
        "level nível",
        "type tipo",
        "grade grau",
        "class classe",
        "zone zona",
        "building prédio bloco",
        "number no. nº n.º n° num. número #",
        "resolution resolução portaria",
        "paragraph parágrafo",
        "item inciso",
        "case processo protocolo",
        "step passo etapa",
        "rule regra",
        "question questão",
        "document documento",
        "source fonte",
        "version versão",
    )
    for alias in names.split()
}
ROMAN_LABELS = frozenset(
    "chapter capítulo section seção article artigo art annex anexo appendix clause cláusula volume "
    "vol phase fase level nível type tipo class classe grade grau table tabela figure figura item "
    "inciso".split()
)
"""Words after which a Roman number counts parts or kinds ("Chapter IV", "type II")."""
_LABEL_BEFORE = re.compile(r"([^\W\d_]+\.?|#|§|[nN]\.?[º°])[\s\-]?$")
_NAME_BEFORE = re.compile(r"(?:^|(?P<before>\S)\s{1,2})(?P<name>[A-ZÀ-Ý][\w'’-]{1,30}) $")
_SENTENCE_END = '.!?:;|*•"“(>#-—–'
_NEVER_NAMES = frozenset(
    "About After Around At Before Between By During Early Except For From In Late Only Over Since "
    "The This That These Those To Under Until Up With Within Without And Or But A An Its Their Our "
    "Em De Desde Até Cerca Mais Menos Quase Com Por Para Entre Após Sobre Os As O Dos Das Do Da No "
    "Na Nos Nas Ao Aos E Ou Mas Um Uma "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec "
    "January February March April May June July August September October November December "
    "Janeiro Fevereiro Março Abril Maio Junho Julho Agosto Setembro Outubro Novembro Dezembro "
    "Hour Day Week Month Year Copyright".split()
)


def find_label(text: str, start: int, floor: int) -> tuple[str, int] | None:
    """Return what names the number at ``start`` ("Room 204", "nº 13.709", "Mira 2").

    Args:
        text: Any text.
        start: Where the number's digits start.
        floor: Characters before this one belong to another figure.

    Returns:
        The label ("room", or "name mira") and where it starts; None if the number stands free.
    """
    before = text[max(floor, start - 40) : start]
    found = _LABEL_BEFORE.search(before)
    if found:
        label = _LABELS.get(found.group(1).lower())
        if label:
            return label, start - len(before) + found.start()
    name = _NAME_BEFORE.search(before)
    if name is None or name["name"] in _NEVER_NAMES or name["name"].isupper():
        return None
    previous = name["before"]
    if previous is None or previous in _SENTENCE_END:
        return None
    return f"name {name['name'].lower()}", start - len(before) + name.start("name")


def find_roman(text: str, start: int, end: int) -> tuple[str, int, int] | None:
    """Return the label, the Roman number after the word ``text[start:end]``, and where it ends."""
    if text[end : end + 1] == ".":
        end += 1
    found = _ROMAN.match(text, end)
    label = _LABELS.get(text[start:end].lower())
    if found is None or label is None or found["tens"] == "L":
        return None
    # "Section I" but not "the section I read".
    if found[0][1:] == "I" and not text[start].isupper():
        return None
    digits = [_ROMAN_VALUES[letter] for letter in found[0][1:]]
    pairs = zip(digits, [*digits[1:], 0], strict=True)
    return label, sum(-one if one < after else one for one, after in pairs), found.end()


def without_zeros(text: str, start: int, value: str) -> str | None:
    """Return a version without its trailing zeros, where the text calls it a version ("v3.0")."""
    says = text[start] in "vV" or _SAYS_VERSION.search(text[max(0, start - 10) : start])
    plain = _TRAILING_ZEROS.sub("", value)
    return plain if (says or value.count(".") > 1) and plain != value else None


def find_identifiers(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of ``text`` from left to right, without overlap."""
    if _HINT.search(text) is None:
        return
    for found in _PATTERN.finditer(text):
        sort, raw = str(found.lastgroup), found.group()
        start, end = found.span()
        if sort == "url":
            end -= len(raw) - len(raw.rstrip(".,;:!?*_…"))
        elif _is_something_else(sort, raw, text[max(0, start - 14) : start]):
            continue
        kind = "version" if sort in ("version", "named_version") else "identifier"
        yield Identifier(kind, _normal(sort, text[start:end]), sort, start, end)


def _is_something_else(sort: str, raw: str, before: str) -> bool:
    """Whether what looks like an identifier is an amount, or a compound like "mid-2015"."""
    if sort == "named_version":
        return _PROGRAM.search(before) is None
    if sort == "version":
        return _GROUPED.fullmatch(raw) is not None
    if sort == "code":
        return bool(_CURRENCY_CODE.match(raw) or _COMPOUND.fullmatch(raw)) or raw in _UNITS
    return False


def _normal(sort: str, raw: str) -> str:
    """Return ``raw`` in a form in which equal identifiers are equal."""
    if sort == "url":
        bare = re.sub(r"^https?://(?:www\.)?|^www\.", "", raw, flags=re.IGNORECASE)
        return bare.rstrip("/").casefold()
    if sort in ("version", "named_version"):
        return raw.lower().lstrip("v. ")
    if sort in ("phone", "code", "taxpayer", "docket", "law"):
        return _BLANK_OR_HYPHEN.sub("", raw).lstrip("+").casefold()
    return raw.casefold()
