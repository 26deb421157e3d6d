"""The words around figures: what a figure is said about."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from caco.figures.figure import Figure

__all__ = ["Passage", "Word", "stem"]


class Word(NamedTuple):
    """A content word: ``stem`` is what related forms share, ``name`` says it looks like a name."""

    stem: str
    start: int
    end: int
    name: bool = False


_STOP_WORDS = frozenset(
    "a an the of to in on at by for from with within without and or but nor as is are was were be "
    "been being am do does did has have had having will would shall should can could may might "
    "must it its this that these those there here he she they them his her their theirs our ours "
    "we us i you your who whom whose which what when where while than then so such also only just "
    "not no any each every per about around over under up down out into onto off s t more most "
    "less least least very same other others all both some one ones total altogether approximately "
    "roughly nearly almost exactly during until till since before after between among through it's "
    "o os as um uma uns umas de do da dos das em no na nos nas ao aos à às por pelo pela pelos "
    "pelas para com sem e ou mas nem como é são foi foram era eram ser sido sendo está estão "
    "estava estavam estar tem têm tinha tinham ter há havia haver que quem qual quais cujo cuja "
    "quando onde se seu sua seus suas ele ela eles elas isso isto este esta estes estas esse essa "
    "esses essas aquele aquela não já também só apenas mais menos muito mesmo outra outro outros "
    "outras todo toda todos todas cada cerca quase aproximadamente até desde entre durante após "
    "antes depois sobre sob lhe pode podem deve devem será serão seria total ao longo".split()
)

_SYNONYMS = {
    form: group.split()[0]
    for group in (
        "create created creates creation establish established found founded founding set enact "
        "enacted pass passed launch launched introduce introduced institute instituted sign signed "
        "criar criada criado criou fundar fundada fundado fundou instituir instituída instituído "
        "sancionada sancionado sancionou sancionar promulgada promulgado aprovada aprovado lançado "
        "lançada lançou",
        "start starts started begin begins began begun open opens opened opening commence "
        "começa começou começar inicia iniciou iniciar abre abriu aberto aberta inaugurado "
        "inaugurada inaugurou inaugurar início beginning abertura",
        "end ends ended close closes closed finish finishes finished conclude concluded expire "
        "expires termina terminou terminar encerra encerrou fecha fechou acaba acabou vence",
        "cost costs priced price prices fee fees charge charges pay pays paid custa custam custou "
        "custo preço preços valor taxa paga",
        "last lasts lasted duration takes take took run runs ran dura durou duração duram",
        "rise rises rose risen increase increases increased grow grows grew grown growth climb "
        "climbed gain gained jumped subiu sobe aumentou aumento aumentar cresceu crescimento "
        "crescer alta avançou",
        "fall falls fell fallen drop drops dropped decline declined decrease decreased shrink "
        "shrank went caiu cair queda recuou recuo reduziu redução diminuiu baixou",
        "weigh weighs weighed weight pesa pesam peso",
        "height tall high altura alto alta",
        "length long extensão comprimento",
        "employ employs employed employees employee staff workers funcionários funcionário "
        "empregados emprega trabalhadores colaboradores",
        "inhabitant inhabitants population habitantes população residents people pessoas",
        "hold holds held seats seat capacity accommodate accommodates capacidade lugares comporta",
        "build builds built construct constructed construction construído construída construção",
        "buy buys bought purchase purchased acquire acquires acquired comprou compra adquiriu",
        "sell sells sold sales sale vendeu vende venda vendas vendido vendidos",
        "earn earns earned revenue revenues turnover receita receitas faturamento faturou",
        "profit profits lucro lucros income",
        "spend spends spent spending gastou gasto gastos",
        "leave leaves left depart departs departed parte partiu saiu sai",
        "arrive arrives arrived chega chegou",
        "win wins won venceu ganhou vence",
        "meet meets met meeting reunião reuniu reuniram",
        "year yearly annual annually anual anuais anualmente",
        "month monthly mensal mensais mensalmente",
        "week weekly semanal semanalmente",
        "day daily diário diária diariamente",
        "power potência motor",
        "warranty guarantee garantia",
        "version versão release",
        "telephone phone telefone call tel",
        "email e-mail mail write",
    )
    for form in group.split()
}
_ENDINGS = re.compile(
    r"(?:ingly|edly|amente|mente|acoes|acao|icoes|icao|ados|adas|idos|idas|ado|ada|ido|ida|aram|"
    r"eram|iram|ando|endo|indo|ing|ied|ies|ed|es|s|ou|eu|iu|ar|er|ir|os|as|oes|ao|y|e|a|o)$"
)
_DOUBLED = re.compile(r"([bdfglmnprtz])\1$")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_HARD = re.compile(r"(?<=[.!?…])[\"”’)*_\]]*\s+(?=[\"“‘(*_\[\-•#]*[^\sa-zà-ÿ])|\n+|;\s")
_SOFT = re.compile(
    r",\s(?:(?:and|but|while|whereas|e|mas|enquanto|which|que)\s)?"
    r"|\s(?:and|but|while|whereas|then|e|mas|enquanto)\s|\s[–—-]\s|:\s|\(|\)",
    re.IGNORECASE,
)
_LINE = re.compile(r"[^\n]+")
_PAIRS = re.compile(r"[^:;|\n]{1,60}:\s[^;\n]{1,80};\s[^:;\n]{1,40}:\s")
REACH = 600
"""How many characters to each side of a figure may say what it is about."""

_DEFAULT = re.compile(
    r"[(\[]?(?:defaults?(?:\sis|\sto|\svalue)?|the\sdefault\sis|(?:valor\s)?padrão|o\spadrão\sé)[\s:=]",
    re.IGNORECASE,
)
"""A sentence that continues the one before it: it does not say what it is the default of."""
_BAR = re.compile(r"\|")
_QUALIFIERS = frozenset(("date", "year", "ordinal", "identifier", "version"))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return what the forms of one word share ("opened", "opens"; "sancionada", "sancionou")."""
    lowered = word.lower().removesuffix("'s").removesuffix("’s")
    lowered = _SYNONYMS.get(lowered, lowered)
    plain = "".join(
        character
        for character in unicodedata.normalize("NFD", lowered)
        if not unicodedata.combining(character)
    )
    if len(plain) < 4:
        return plain
    cut = _ENDINGS.sub("", plain)
    return _DOUBLED.sub(r"\1", cut) if len(cut) >= 3 else plain


class Passage:
    """A text, its figures, its content words and the clauses they stand in.

    Attributes:
        text: The text.
        figures: Its figures, in order.
        words: Its content words, in order; figures that qualify others (dates, ranks, names) stand
            among them.
        stems: The stems of all its words.
    """

    def __init__(self, text: str, figures: tuple[Figure, ...]) -> None:
        self.text = text
        self.figures = figures
        self._figure_starts = [figure.start for figure in figures]
        self.words = tuple(sorted(self._read(), key=lambda word: word.start))
        self._word_starts = [word.start for word in self.words]
        self.stems = frozenset(word.stem for word in self.words)
        self._hard = self._hard_bounds()
        self._bounds = self._soft_bounds()

    def _read(self) -> Iterable[Word]:
        for found in _WORD.finditer(self.text):
            raw = found[0]
            if raw.lower() in _STOP_WORDS or self._splits_figure(*found.span()):
                continue
            initial = self._opens_sentence(found.start())
            yield Word(stem(raw), found.start(), found.end(), raw[0].isupper() and not initial)
        for figure in self.figures:
            if figure.kind in _QUALIFIERS:
                name = f"#{figure.kind} {figure.unit} {figure.value}"
                yield Word(name, figure.start, figure.end)

    def _opens_sentence(self, start: int) -> bool:
        before = self.text[max(0, start - 4) : start].rstrip(" \"“‘'(*_#>-•|")
        return not before or before[-1] in ".!?:;\n"

    def _hard_bounds(self) -> list[int]:
        lines = _LINE.finditer(self.text)
        rows = [line.span() for line in lines if _PAIRS.match(self.text, line.start())]
        row_starts = [start for start, _ in rows]
        bounds = [0]
        for found in _HARD.finditer(self.text):
            index = bisect_right(row_starts, found.start()) - 1
            in_row = index >= 0 and found.end() <= rows[index][1]
            inside = in_row and found[0][0] == ";"
            inside = inside or bool(_DEFAULT.match(self.text, found.end()))
            if not inside and not self._splits_figure(found.start(), found.end()):
                bounds.append(found.end())
        return [*bounds, len(self.text)]

    def _splits_figure(self, start: int, end: int) -> bool:
        index = bisect_left(self._figure_starts, end) - 1
        return index >= 0 and start < self.figures[index].end

    def _soft_bounds(self) -> list[int]:
        """Split sentences between figures, so that each part speaks of its own ones."""
        bounds = list(self._hard)
        kinds: set[str] = set()
        for low, high in pairwise(self.figures):
            kinds.add(low.kind)
            if self.sentence(low.start) != self.sentence(high.start):
                kinds = set()
                continue
            link = _SOFT.search(self.text, low.end, high.start)
            introduces = kinds <= _QUALIFIERS - {high.kind}
            if link and not introduces and self.words_in((low.end, high.start), low):
                bounds.append(link.end())
                kinds = set()
        return sorted(bounds)

    def without_figures(self) -> str:
        """Return the text with its figures blotted out."""
        pieces, end = [], 0
        for figure in self.figures:
            pieces.append(self.text[end : figure.start])
            pieces.append("#")
            end = figure.end
        return "".join([*pieces, self.text[end:]])

    def sentence(self, position: int) -> tuple[int, int]:
        """Return the sentence, line or table row that ``position`` is in."""
        return _part(self._hard, position)

    def clause(self, position: int) -> tuple[int, int]:
        """Return the part of the sentence that ``position`` is in, at most `REACH` to each side."""
        start, end = _part(self._bounds, position)
        return max(start, position - REACH), min(end, position + REACH)

    def words_in(self, span: tuple[int, int], figure: Figure) -> tuple[Word, ...]:
        """Return the content words of a span, those of ``figure`` left out."""
        low = bisect_left(self._word_starts, span[0])
        high = bisect_left(self._word_starts, span[1])
        return tuple(
            word for word in self.words[low:high] if not figure.start <= word.start < figure.end
        )

    def heading(self, figure: Figure) -> tuple[Word, ...]:
        """Return the words above ``figure`` in the first row of its table; nothing elsewhere."""
        start, end = self.sentence(figure.start)
        column = self.text.count("|", start, figure.start)
        if not column or self.text.count("|", start, end) < 2:
            return ()
        top = self._table_start(start)
        first, last = self.sentence(top)
        cells = [found.start() for found in _BAR.finditer(self.text, first, last)]
        if top == start or column > len(cells):
            return ()
        right = cells[column] if column < len(cells) else last
        return self.words_in((cells[column - 1], right), figure)

    def _table_start(self, start: int) -> int:
        """Return where the first of the rows above starts."""
        while start:
            above, _ = self.sentence(start - 1)
            if self.text.count("|", above, start) < 2:
                break
            start = above
        return start

    def neighbours(self, figure: Figure) -> tuple[tuple[Figure, Figure], ...]:
        """Return ``figure`` paired with the figure before it and with the one after it."""
        return tuple(pairwise(self.figures_near(figure)))

    def figures_near(self, figure: Figure) -> tuple[Figure, ...]:
        """Return the figure before ``figure``, itself, and the figure after it."""
        index = bisect_left(self._figure_starts, figure.start)
        return self.figures[max(0, index - 1) : index + 2]

    def nouns(self, figure: Figure) -> frozenset[str]:
        """Return the stems of what is counted: the words that follow the figure directly."""
        stems: list[str] = []
        end = figure.end
        first = bisect_left(self._word_starts, end)
        for word in self.words[first : first + 3]:
            if self.text[end : word.start].strip(' *_`"“-\u00a0'):
                break
            stems.append(word.stem)
            end = word.end
        return frozenset(stems)


def _part(bounds: list[int], position: int) -> tuple[int, int]:
    index = bisect_right(bounds, position)
    index = min(max(index, 1), len(bounds) - 1)
    return bounds[index - 1], bounds[index]
