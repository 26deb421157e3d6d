"""Word lists, English and Portuguese: abbreviations, verbs, and what is said around the claims.

Data only; `caco.text` and `caco.extractor` say what it means. All words are in lower case, with
straight apostrophes and without the final full stop.
"""

from __future__ import annotations

import re

__all__ = [
    "AGREEMENT",
    "AMBIGUOUS_ABBREVIATIONS",
    "ANY_VERB",
    "CAPITAL_ENDS",
    "CAPITAL_GOES_ON",
    "DECLINING",
    "DECLINING_PREFIX",
    "EFFECTS",
    "FILLER",
    "FINITE_FORM",
    "GENERIC_HEADERS",
    "GENERIC_LEAD",
    "IDENTITY_KEYS",
    "LANGUAGES",
    "NEXT_STEPS",
    "NUMBERED",
    "OFFERS",
    "OPEN_ABBREVIATIONS",
    "OPEN_LEAD",
    "SHORT_ANSWERS",
    "SOURCE_LIST",
    "STARTERS",
    "TAG_QUESTION",
    "TITLES",
    "VERBS",
    "resolve_language",
]

LANGUAGES = ("english", "portuguese")
"""The canonical names of the supported languages."""

_ALIASES = {
    "english": "english",
    "en": "english",
    "en-us": "english",
    "en-gb": "english",
    "portuguese": "portuguese",
    "pt": "portuguese",
    "pt-br": "portuguese",
    "pt-pt": "portuguese",
}


def resolve_language(code: str) -> str:
    """Return the canonical name of a language.

    Args:
        code: "english" or "portuguese", or an alias ("en", "pt", "pt-br", "pt_BR"); case and
            surrounding blanks do not matter.

    Raises:
        ValueError: The language is not supported, or ``code`` is not a str; the message names
            those that are.
    """
    name = _ALIASES.get(code.strip().lower().replace("_", "-")) if isinstance(code, str) else None
    if name is None:
        raise ValueError(
            f"language {code!r} is not supported; choose one of {', '.join(LANGUAGES)} "
            "(or an alias: en, pt, pt-br)"
        )
    return name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- abbreviations -------------------------------------------------------------------------------

TITLES = _words(
    """
    mr mrs ms dr drs prof profs rev hon gen col capt lt sgt maj cmdr gov sen messrs mt sr sra srs
    sras srta dra dras profa profas exmo exma ilmo ilma eng enga arq adv e.g i.e cf viz vs approx
    incl esp resp al p.ex av trav sto sta núm tel ref obs aprox ca
    """
)
"""After these a sentence never ends."""

OPEN_ABBREVIATIONS = _words(
    """
    inc ltd co corp llc plc bros jr u.s u.k u.n e.u u.s.a p.m a.m etc ph.d m.d b.a m.a b.sc m.sc d.c
    l.a n.y j.d st ave blvd rd dept univ assn est min max avg hr hrs ft sq lb lbs oz yr yrs ltda cia
    s.a e.u.a a.c d.c adm depto edif esq apt apto tb fl s.p.a s.l
    """
)
"""A sentence may end after these: the next word decides."""

CAPITAL_ENDS = _words("p.m a.m etc min max hr hrs ft lb lbs oz yr yrs")
"""A capital letter after these starts a sentence…"""

CAPITAL_GOES_ON = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
    est edt pst pdt cst cdt mst mdt gmt utc cet cest bst et pt ct brt eastern pacific central
    """
)
"""…unless it is one of these."""

NUMBERED = _words(
    """
    no nos art arts fig figs eq sec secs ch chap p pp pg vol vols par para ver v ed tab n nº num seç
    cap caps pag pág págs inc parág jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues
    wed thu thur thurs fri sat sun fev abr mai ago set out dez seg ter qua qui sex sáb dom
    """
)
"""These go on when a number follows ("No. 5", "art. 5.º", "Jan. 2020")."""

AMBIGUOUS_ABBREVIATIONS = _words(
    "no nos art arts ch par mar sat sun mon sec cap caps set out ter sex dom inc tab ed para"
)
"""Those of `NUMBERED` that are words too."""

STARTERS = _words(
    """
    the a an this that these those it he she they we you i in on at for by with from to as if when
    while where after before since although though because however there here all some many most
    each every no not only both its his her their our your my what which who how why but and or so
    yet still then thus therefore also during under once until unless between another other others o
    os as um uma uns umas este esta estes estas esse essa esses essas isso isto aquele aquela ele
    ela eles elas nós você em na nas nos ao aos à às para por pelo pela com sem de do da dos das se
    quando enquanto onde após antes desde embora porque porém contudo entretanto também assim então
    há são é foi não sim cada todo toda todos todas seu sua seus suas qual quem como mas e ou já
    """
)
"""Common words: written with a capital, they start a sentence."""

# --- verbs ---------------------------------------------------------------------------------------

VERBS: dict[str, frozenset[str]] = {
    "english": _words(
        """
        is are was were am be been has have had do does did can could will would shall should may
        might must isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't can't
        cannot couldn't won't wouldn't shouldn't mustn't accepts affects allows appears applies asks
        became become becomes began begins belongs bought broke brought built buys calls came causes
        chose closes comes consists contains costs covers created cuts defines depends describes
        drew eats employs ends enters exceeds expires explains falls feels fell fits flies follows
        found fought gave gets gives goes got grew grows happens heard held helps hosts includes
        increases intends joins keeps kept knew knows lacks lasts launches lays leads leaves led
        left lends lets lies lists lives loses lost made maintains makes manages means meets met
        moves needs occurs offers opens operates owns paid pays performs plays prevents produces
        protects prohibits provides publishes raises ran reaches receives reduces remains requires
        returns rises rose runs said sang sat saw says seats seems sees sells sends sent serves sets
        shipped ships shows sits sold speaks specifies spent spoke stands starts states stays stood
        stops supports takes tastes taught tells thinks told took travels turns understood uses
        wants weighs went wins won wore works writes wrote excludes delivers replaces connects
        handles manufactures resides spans varies carries adds arrives achieves announces collects
        decides denies drives establishes extends fills guarantees holds identifies implies
        improves introduces involves prefers qualifies reflects relies removes satisfies selects
        solves spends teaches waives
        """
    ),
    "portuguese": _words(
        """
        é são era eram foi foram fui ser será serão seria está estão estava estavam tem têm tinha
        tinham teve tiveram terá terão há havia houve pode podem podia poderá deve devem deverá vai
        vão ia fica ficam fez fazem faz diz dizem disse disseram dá dão deu veio vem vêm vê viu quer
        querem sabe custa custam pesa pesam mede medem dura duram inclui incluem possui possuem
        oferece oferecem cobre cobrem permite permitem exige exigem precisa precisam abre abrem
        fecha fecham começa começam termina terminam funciona funcionam vale valem vence recebe
        recebem paga pagam usa usam contém contêm serve servem trabalha vive mora nasce ocorre
        ocorrem acontece existe existem continua continuam apresenta apresentam representa
        representam garante garantem chega chegam sai saem pertence pertencem consiste consistem
        depende dependem aceita aceitam atende atendem exclui excluem abrange abrangem proíbe
        proíbem envia enviam entrega entregam leva levam traz trazem vende vendem ganha ganham perde
        perdem mostra mostram produz produzem abriga abrigam
        """
    ),
}
"""Finite verbs that are hardly ever nouns; endings catch the rest."""

ANY_VERB = (VERBS["english"] | VERBS["portuguese"]) - _words("do did era vale ia usa")
"""Verbs of both languages, less the words that mean something else in the other."""

_PLURALS = "|".join(
    """
    accept allow apply belong contain cost cover depend employ end exclude exist expire follow
    include increase keep last make need offer open operate own pay produce protect provide receive
    remain require sell serve ship start support use weigh work
    """.split()
)
FINITE_FORM = re.compile(
    rf"""\b(?:
    (?:\w{{2,}}[^\Ws]s|they|we|people|children)\ (?:only\ |also\ |always\ |never\ |still\ )?
      (?:{_PLURALS})\ (?!of\b|and\b|or\b)(?=\w)
    |(?:the|an?|this|that|its|our|your|his|her|their)\ (?:\w+\ ){{0,2}}\w*[^\Ws]\ \w{{2,}}[^\Wsui]s
      \ (?!(?:of|for|in|on|at|and|or|to|from|with|by|per|as|that|which|who|you|we|i|they|it|not|are
      |were|have|available|above|below|between|about|when|where|if|used|\w+ed|\w+ing)\b)(?=\w)
    |(?!(?:the|an?|its|his|her|their|our|your|any|and|or|newly)\ )\w+\ [a-z]{{2,}}[^\We]ed
      \ (?:in|on|at|from|to|the|an?|its|his|her|their|\d\S*)\b
    |(?:[oa]|uma?|est[ea]|ess[ea]|nossa?o?|seu|sua)\ \w*[^\Ws]
      \ (?!(?:sobre|para|entre|desde|durante|conforme|contra|onde|cuja|a|e|de|que|na|da|pela)\b)
      [a-zà-ÿ]{{2,}}[ae]\ (?:[oa]s?|uma?|seus?|suas?|tod[oa]s?|\d\S*|\w{{3,}}s)
    |\w+\ [a-zà-ÿ]{{2,}}(?:aram|eram|iram|avam|arão|erão|irão|ará|erá|irá
      |[^\Wtrmsn]ou|[bcdlnr]eu|iu)
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Finite verbs that are told by their form and place: "the plans cover", "it opened in"."""

OPEN_LEAD = re.compile(
    r"\b(?:is|are|was|were|includes?|included|has|have|had|contains?|offers?|covers?|requires?"
    r"|needs?|supports?|provides?|to|for|with|of|by|from|in|on|can|must|should|may|will|means"
    r"|é|são|foi|foram|inclui|incluem|tem|têm|possui|possuem|contém|contêm|oferece|oferecem|cobre"
    r"|cobrem|exige|exigem|permite|de|do|da|para|com|por|em|que|pode|podem|deve|devem)$",
    re.IGNORECASE,
)
"""A lead-in that its list items complete ("The kit includes:")."""

GENERIC_LEAD = re.compile(
    r"^(?:(?:the|some|its?|a|as|os|o|os|seus|suas|sua)\s)?(?:key|main|additional|other|important"
    r"|following|principais|outros|outras)?\s?"
    r"(?:features?|points?|details?|steps?|benefits?|highlights?|takeaways?|summary|overview"
    r"|specs|specifications?|notes?|information|answer|conclusion|introduction|características|pontos?"
    r"|detalhes|resumo|passos|etapas|benefícios|visão geral|especificações|observações|notas?"
    r"|informações|resposta|conclusão|introdução)(?:\s(?:principais|importantes))?$",
    re.IGNORECASE,
)
"""Headings and lead-ins that say nothing about the items under them."""

IDENTITY_KEYS = _words(
    """
    name model product title item plan company person city country institution course event nome
    modelo produto título plano empresa pessoa cidade país instituição curso evento
    """
)
"""The first key of a sheet that says what the sheet is about."""

GENERIC_HEADERS = _words(
    """
    property feature field item key attribute spec specification parameter value detail details
    description characteristic information propriedade característica campo chave atributo
    especificação parâmetro valor detalhe detalhes descrição informação
    """
) | {""}
"""Table headers that add nothing to the cells under them."""

# --- what is said around the claims --------------------------------------------------------------

_FLAGS = re.IGNORECASE

SHORT_ANSWERS: dict[str, bool] = {
    **dict.fromkeys(("yes", "yep", "yeah", "correct", "that's correct", "sim", "correto"), True),
    **dict.fromkeys(("no", "nope", "não"), False),
}
"""Bare answers to a yes/no question: True for yes."""

TAG_QUESTION = re.compile(
    r",\s*(?:right|correct|okay|ok|isn't it|aren't they|doesn't it|certo|não é|né|correto)\s*\?$",
    _FLAGS,
)

SOURCE_LIST = re.compile(
    r"^(?:sources?|references?|citations?|bibliography|further reading|fontes?|referências?"
    r"|bibliografia|leitura adicional)(?:\s+(?:used|consulted|consultadas?|utilizadas?))?\s*"
    r"(?:$|[:.]$|:\s)",
    _FLAGS,
)

FILLER = re.compile(
    r"""^(?:
    # greetings
    (?:hi|hello|hey|greetings|dear|olá|oi|prezad[oa]s?|car[oa]s?
      |good\ (?:morning|afternoon|evening)|bom\ dia|boa\ (?:tarde|noite)|welcome|bem-vind[oa]s?)\b
      (?:[\s,]+(?:there|all|everyone|everybody|team|folks|again|back|to\ \w+|friend|sir|madam
        |(?:valued\ )?(?:customer|user|client)s?|a\ tod[oa]s|pessoal|tudo\ bem|tod[oa]s|amig[oa]s?
        |(?:senhor|cliente|usuári)\w*|(?-i:[A-ZÀ-Ý])[\w.]+)){0,3}
    # thanks
    |(?:many\ |muito\ )?(?:thanks(?!\ to\b)|thank\ you|obrigad[oa](?!\ a\b)|agradeço|agradecemos
      |gratos?)\b.{0,90}
    |you(?:'re|\ are)\ welcome|de\ nada|por\ nada|anytime|my\ pleasure
    # yes, no, sure
    |(?:(?:yes|yep|yeah|no|nope|sure(?:\ thing)?|certainly|of\ course|absolutely|definitely|indeed
      |ok(?:ay)?|alright|all\ right|right|correct|exactly|that's\ (?:right|correct)|got\ it
        |perfect
      |great|no\ problem|understood|sim|não|claro(?:\ que\ sim)?|com\ certeza|certo|perfeito|ótimo
      |entendido|entendi|exato|exatamente|correto|isso(?:\ mesmo)?|sem\ problemas?|pois\ não
      |maybe|perhaps|possibly|talvez|it\ depends|depende|i\ (?:think|believe|guess)\ so
        |acho\ que\ sim
      )[\s,.!;-]*)+
    |(?:yes|sure|certainly|of\ course|absolutely|claro|sim)?[\s,!.]*
      (?:i\ can|i'd\ be\ happy\ to|i'll|i\ will|posso|vou)\ (?:help|assist|ajudar)\b.{0,80}
    # praise, hopes, apologies
    |(?:that(?:'s|\ is)\ )?(?:a|an)?\s?(?:great|good|excellent|interesting)\ question.{0,40}
    |(?:essa\ é\ uma\ )?(?:ótima|boa|excelente)\ pergunta.{0,40}
    |(?:i\ )?hope\ (?:this|that|it|the|you)\b.{0,80}|espero\ (?:que|ter)\b.{0,80}
    |(?:i\ apologi[sz]e|(?:my\ )?apologies|(?:i(?:'m|\ am)\ )?(?:so\ |very\ )?sorry|sinto\ muito
      |lamento|desculpe|desculpa|peço\ desculpas?|pedimos\ desculpas?)
      (?:,?\ (?:for|to|about|that|if|pel[oa]s?|por|que|se)\b.{0,100})?
    |i\ (?:fully\ |completely\ )?understand\b(?!.*\bbut\b).{0,80}|entendo\b(?!.*\bmas\b).{0,80}
    # announcing
    |(?:here(?:'s|\ is|\ are)|below\ (?:is|are))\ (?:a|an|the|what|some|your|my|how|more
      |all)\b.{0,80}
    |(?:aqui\ (?:está|estão|vai|vão)|abaixo\ (?:está|estão|segue|seguem)
      |segue(?:m)?(?:\ abaixo)?|eis)
      \ (?:o|a|os|as|um|uma|algumas?|alguns|minha|sua)\ (?:que|resum|respost|informaç|detalh
        |list|pass
      |explicaç|dad|principa|pont|item|itens)\w*.{0,80}
    |(?:let\ me|let's|i'll|i\ will|i'm\ going\ to|deixe-me|vou|vamos)\ (?:now\ )?(?:explain
      |summari[sz]e
      |break|walk|check|look|show|answer|clarify|go\ (?:over|through)|take|list|outline|explicar
        |resumir
      |detalhar|mostrar|responder|esclarecer|listar|verificar|analisar)\b.{0,80}
    |(?:in\ (?:summary|short|conclusion|brief)|to\ (?:summari[sz]e|sum\ up|conclude)|overall
      |em\ (?:resumo|suma|síntese|conclusão)|resumindo|concluindo|para\ (?:resumir|concluir))
    |as\ an?\ (?:ai|artificial|language\ model|assistant)\b.{0,120}
    |como\ (?:uma?\ )?(?:ia|inteligência\ artificial|modelo\ de\ linguagem|assistente)\b.{0,120}
    |i(?:'m|\ am)\ (?:just\ )?an?\ (?:ai|language\ model|virtual|assistant)\b.{0,60}
    # closing
    |(?:best|kind|warm)?\ ?(?:regards|wishes)|sincerely(?:\ yours)?|yours\ (?:truly|sincerely)
      |cheers
    |atenciosamente|cordialmente|abraços?|att|até\ (?:logo|mais|breve)
    |(?:have|tenha)\ (?:a|an|uma?)\ (?:\w+\ ){0,2}(?:day|evening|weekend|week|one|dia|tarde
      |noite|semana)
      .{0,20}
    |good\ luck|boa\ sorte|enjoy|take\ care|goodbye|bye|tchau|see\ you.{0,20}
    )[\s.,:;!…-]*$""",
    _FLAGS | re.VERBOSE,
)
"""Greetings, thanks, announcements, hedges, sign-offs: whole sentences that claim nothing."""

AGREEMENT = re.compile(
    r"""(?:(?:oh|ah|aw|wow|well|yes|yeah|yep|yup|ok|okay|no|hmm|haha|lol|sim|é|nossa|puxa|bem|pois
      |verdade|exatamente|exactly)[\s,.!]*){0,3}
    (?:(?:that|this|it)(?:'s|\ is|\ was)\ (?:(?:really|very|so|pretty|quite|too|all|totally|also
        |certainly|definitely|an?)\ ){0,2}
      (?:true|right|correct|interesting|cool|amazing|great|crazy|funny|nice|good|awesome|impressive
        |insane|wild|neat|weird|strange|sad|surprising|fascinating)
      (?:\ (?:fact|point|thought|question|to\ know|to\ hear|idea)){0,1}
    |i\ (?:(?:totally|completely|fully|do|also|would|have\ to)\ )?agree
      (?:\ with\ (?:you|that|this))?
    |i\ know(?:,?\ right)?|i\ (?:think|guess|suppose)\ so
    |you(?:'re|\ are)\ (?:(?:absolutely|so|totally)\ )?(?:right|correct)
    |exactly|indeed|absolutely|definitely|of\ course|(?:good|great)\ (?:point|question)
    |(?:isso\ )?é\ (?:bem\ |muito\ )?(?:verdade|interessante|legal|incrível|certo|correto)
    |(?:eu\ )?concordo(?:\ com\ (?:você|isso))?|(?:você|o\ senhor|a\ senhora)\ tem\ razão
    |(?:que\ )?interessante|com\ certeza|exatamente|(?:boa|ótima)\ pergunta
    )(?:[\s,]*(?:lol|haha|though|too|também|mesmo))?[\s.!,]*""",
    _FLAGS | re.VERBOSE,
)
"""Agreement or comment, whole sentences; what it agrees with stands elsewhere."""

OFFERS = re.compile(
    r"""\b(?:let\ me\ know|feel\ free\ to\ (?:ask|reach|contact|let|message|write|get)
    |(?:don't|do\ not)\ hesitate|please\ (?:ask|let\ me|feel\ free|reach\ out)
    |(?:i(?:'m|\ am)|we(?:'re|\ are))\ (?:always\ )?(?:here|happy|glad)\ to\ (?:help|assist
      |answer|provide)
    |(?:i|we)(?:'d|\ would)\ be\ (?:happy|glad|pleased)\ to|(?:i'll|i\ will)\ be\ (?:happy
      |glad)\ to
    |(?:i|we)\ can\ (?:also\ )?(?:help|assist)\ you|happy\ to\ help|just\ ask\b|ask\ away
    |would\ you\ like\ (?:me\ )?to|if\ you(?:'d|\ would)\ like,?\ i\ can|anything\ else\ (?:i
      |we)\ can
    |é\ só\ (?:me\ |nos\ )?(?:avisar|perguntar|chamar|dizer|falar|pedir|escrever)
    |(?:me\ avise|avise-me|me\ diga|diga-me|me\ pergunte|pergunte-me|me\ chame)\b
    |(?:fique|sinta-se)\ (?:à\ vontade|livre)\ para\ (?:me\ |nos\ )?(?:pergunt|avis|cham|contat
      |entrar|escrever|tirar)
    |(?:estou|estamos|fico|ficamos|sigo|seguimos)\ (?:aqui\ )?(?:à|a)\ (?:sua\ |total[ ]
      |inteira\ )?disposição
    |estou\ aqui\ para\ (?:te\ )?ajudar|não\ hesite|em\ que\ (?:mais\ )?posso
      |posso\ (?:te\ )?ajudar
    |terei\ prazer\ em|será\ um\ prazer)""",
    _FLAGS | re.VERBOSE,
)
"""Offers of help, wherever in a sentence without figures."""

_DOCUMENTS = r"""(?:
    (?:(?:any|none)\ of\ )?(?:the|these|those|this|your|my|any)?\ ?
    (?:(?:provided|given|available|supplied|retrieved|attached|above|source|reference|context
      |current
      |uploaded|relevant|following)\ ){0,2}
    (?:documents?|documentation|context|texts?|sources?|passages?|excerpts?|materials?|information
      |search\ results|knowledge\ base|snippets?|files?|articles?)
    (?:\ (?:(?:that\ (?:was|were|is|are)\ )?(?:provided|given|supplied|retrieved)|above
      |i\ have(?:\ access\ to)?|available))?
    |(?:nenhum[ao]?\ d)?(?:[oa]s?|est[ea]s?|ess[ea]s?|n[oa]s?|d[oa]s?|pel[oa]s?|nest[ea]s?
      |ness[ea]s?)[ ]
    (?:documentos?|documentação|contexto|textos?|fontes?|trechos?|materia(?:l|is)|informações
      |base\ de\ conhecimento|arquivos?|artigos?)
    (?:\ (?:fornecid|disponibilizad|apresentad|disponíve|consultad|recuperad|enviad|anexad
      |acima)\w*)?
)"""
_SAY = (
    r"(?:contain|mention|include|provide|specify|state|say|give|cover|address|discuss|list"
    r"|indicate"
    r"|have|answer|tell|describe|explain|reveal|offer|disclose|refer|show|clarify)"
)
_DIZER = (
    r"(?:contém|contêm|menciona|informa|inclu(?:i|em)|traz|trazem|especifica|diz|dizem|indica"
    r"|apresenta|fornece|aborda|trata|cita|fala|esclarece|descreve|responde|cobre|cobrem|revela"
    r"|possu(?:i|em)|há|t[eê]m)m?"
)

DECLINING = re.compile(
    rf"""(?:
    # first person, English
    \bi\ (?:really\ |honestly\ )?(?:do\ not|don't)\ (?:actually\ |currently\ )?(?:know
      |have\ (?:the\ |any\ |enough
      \ |sufficient\ |access|that\ |this\ |specific\ |details|information|an\ answer))
    |\b(?:i|we)\ (?:could\ not|couldn't|cannot|can't|can\ not|did\ not|didn't|do\ not|don't
      |was\ unable\ to
      |were\ unable\ to|am\ unable\ to|was\ not\ able\ to|wasn't\ able\ to|am\ not\ able\ to
        |have\ not\ been\ able\ to
      |haven't\ been\ able\ to|have\ not|haven't)\ (?:find|found|locate|located)\b
    |\bi\ (?:could\ not|couldn't|cannot|can't|can\ not|am\ unable\ to|am\ not\ able\ to
      |was\ unable\ to)
      \ (?:answer|determine|confirm|tell|verify|say|provide|help|give|see\ (?:any|that|this))\b
    |\bi'm\ (?:unable|not\ able)\ to\ (?:find|locate|answer|determine|confirm|tell|verify
      |provide|help|give)\b
    |\bi\ (?:do\ not|don't)\ see\ (?:any\ |that\ |this\ )?(?:information|mention|details?
      |reference|answer)\b
    |\bi\ have\ (?:no|not\ enough|insufficient)\ (?:information|idea|knowledge|data|details)\b
    |\bi(?:'m|\ am)\ not\ (?:sure|certain|aware)\b
    |\bwe\ (?:do\ not|don't)\ have\ (?:any\ |enough\ |that\ |this\ )?information\b
    # the documents, English
    |{_DOCUMENTS}\ (?:(?:do|does|did)\ not|don't|doesn't|didn't)\ (?:\w+ly\ |even\ )?{_SAY}\b
    |\bnone\ of\ {_DOCUMENTS}\ {_SAY}s?\b
    |{_DOCUMENTS}\ (?:lacks?|(?:is|are)\ silent|makes?\ no\ mention
      |(?:contains?|has|have|provides?|includes?|gives?|offers?)\ no\ (?:\w+\ )?(?:information
        |mention|details?|data|reference))\b
    |\b(?:there\ is|there\ are|there's|there\ was)\ (?:no|not\ enough|not\ any|insufficient)
      \ (?:\w+\ )?(?:information|details?)\b
    |\bthere(?:'s|\ is)\ no\ (?:\w+\ )?(?:mention|data|reference|indication|evidence
      |record)\b.{{0,150}}
      \ (?:in|within|from)\ {_DOCUMENTS}
    |\b(?:is|are|was|were)(?:\ not|n't)\ (?:\w+ly\ )?(?:mentioned|specified|stated|provided
      |included|given
      |available|found|covered|listed|disclosed|discussed|addressed|present|described|part)
      (?:\ anywhere)?\ (?:in|by|within|of|from)\ {_DOCUMENTS}
    |\b(?:cannot|can't|can\ not|could\ not)\ be\ (?:determined|answered|found|confirmed|verified)
      (?:\ (?:from|in|with|using|based\ on)\ {_DOCUMENTS})
    |\bnot\ (?:in|within|found\ in|mentioned\ in|part\ of)\ {_DOCUMENTS}
    |\b(?:it(?:'s|\ is)|this\ is)\ (?:not\ clear|unclear)\ from\ {_DOCUMENTS}
    |^(?:that|this|the|such)\ (?:information|answer|detail)\ (?:is|was)(?:\ not
      |n't)\ (?:available|provided|included
      |given|present|there)
    |^(?:not\ (?:mentioned|specified|stated|available|provided|found|applicable
      |enough\ information)
      |unknown|unanswerable|n/a|insufficient\ information
      |no\ (?:relevant\ |such\ )?(?:information|answer|documents?|results?|data)
      (?:\ (?:is|was|were))?\ ?(?:found|available|provided|given)?)(?:\ (?:in|by
        |from)\ {_DOCUMENTS})?$
    # first person, Portuguese
    |\bnão\ (?:sei|encontrei|encontramos|localizei|localizamos|achei\ (?:ess|est|nenhum|a\ |o[ ]
      |inform|n[oa]s?\ )
      |disponho|possuo\ (?:inform|ess|dad|acesso|conhec)|tenho\ (?:ess|est|a\ inform
        |inform|acesso
      |dad|como|conhecimento|certeza|detalhe|a\ resposta|nenhuma|uma\ resposta)
      |(?:consigo|consegui|posso|pude|pudemos|conseguimos)\ (?:encontrar|localizar|identificar
        |determinar|responder|achar
      |informar|confirmar|afirmar|ajudar|verificar|fornecer|dizer))
    |\bdesconheço\b
    |\bnão\ (?:foi|é)\ possível\ (?:encontrar|localizar|determinar|identificar|responder|saber
      |confirmar|informar
      |verificar|afirmar)
    # the documents, Portuguese
    |{_DOCUMENTS}\ não\ (?:\w+mente\ )?{_DIZER}\b
    |\bnenhum[ao]?\ d[oa]s\ (?:documentos|textos|fontes|trechos|materiais
      |arquivos)\b.{{0,40}}\ {_DIZER}\b
    |\bnão\ (?:há|existem?|foram?\ encontrad[oa]s?|foi\ encontrad[oa]
      |consta(?:m)?)\ (?:nenhuma?\ |quaisquer\ |qualquer\ )?
      (?:informaç|resposta)\w*
    |\bnão\ (?:há|existem?|foram?\ encontrad[oa]s?|consta(?:m)?)\ (?:nenhuma?[ ]
      |qualquer\ )?(?:menç|dad|detalh|referênci
      |registro)\w*.{{0,150}}\ (?:em\ )?{_DOCUMENTS}
    |\bnão\ (?:(?:é|são|foi|foram|está|estão)\ (?:\w+d[oa]s?|descrit[oa]s?|disponíve(?:l|is)
      |presentes?)|consta(?:m)?
      |aparece(?:m)?|se\ encontra(?:m)?)\ (?:em\ )?{_DOCUMENTS}
    |^(?:(?:ess|est)?a?\ ?informaç(?:ão|ões)\ (?:não\ (?:está\ |foi\ |foram\ )?(?:disponíve\w+
      |encontrad\w+|informad\w+
      |fornecid\w+)|insuficientes?)|não\ (?:informad|mencionad|especificad|encontrad|disponíve)\w*
      |sem\ informaç(?:ão|ões)(?:\ suficientes?)?)(?:\ {_DOCUMENTS})?$
    )""",
    _FLAGS | re.VERBOSE,
)
"""Says that the answer is not known, or not in the documents at hand."""

EFFECTS = re.compile(
    r"\s(?:(?:any|an?|such|nenhuma?|qualquer|quaisquer)\s)?(?:\w+\s)?(?:exclusions?|restrictions?"
    r"|limitations?|exceptions?|prohibitions?|penalt(?:y|ies)|exclus(?:ão|ões)|restriç(?:ão|ões)"
    r"|limitaç(?:ão|ões)|exceç(?:ão|ões)|proibiç(?:ão|ões)|penalidades?)\b",
    _FLAGS,
)
"""What changes a rule by being there: that documents have none of it is a claim about them."""

NEXT_STEPS = re.compile(
    rf"""^(?:please|kindly|por\ favor|i|i'[a-z]+|eu|recomendo|sugiro|consulte|verifique)\b
    |\b(?:you|você|vocês)\ (?:may|might|can|could|should|will|would|pode|podem|deve|poderia)\b
      .{{0,30}}?\ ?(?:check|contact|consult|ask|visit|reach|refer|try|look|find|verify|confirm
      |search|see|call|share|provide|consultar|verificar|contatar|entrar\ em|perguntar|visitar
      |procurar|tentar|confirmar|buscar|ver)\b
    |\b(?:is|are|be|seria|seriam|é|são)\ (?:\w+ly\ )?(?:best|better|advisable|recommended|needed
      |required\ to\ (?:answer|tell|say)|recomendável|melhor|necessári[oa]s?\ para)\b
    |\b(?:information|details?|data|question|answer|informaç\w+|detalhes|dados|pergunta|resposta)
      \ (?:is|are|was|were|would|may|might|é|são|está|estão|foi|seria)\b
    |^{_DOCUMENTS}\ (?:only|just|mainly|primarily|apenas|somente|só)\b(?!.*\b(?:that|que)\b)(?!.*\d)
    |^(?:we|nós)\ (?:looked|searched|reviewed|checked|procuramos|buscamos|verificamos)\b""",
    _FLAGS | re.VERBOSE,
)
"""Said beside "I don't know": where to ask, what was looked at, what is missing."""

DECLINING_PREFIX = re.compile(
    r"""^(?:(?:unfortunately|regrettably|sorry|i(?:'m|\ am)\ (?:so\ |very\ )?sorry|apologies
      |i\ apologi[sz]e|however|but
    |no|yes|well|so|and|hmm|actually|i'm\ afraid|i\ am\ afraid|it\ (?:seems|appears|looks\ like)
      |also|still|at\ this\ time
    |(?:based\ on|according\ to|from|given|in|after\ (?:reviewing|checking|reading)|regarding
      |as\ for|about|from\ what)\b[^.;]{1,120}?
    |infelizmente|desculpe|desculpa|sinto\ muito|lamento|porém|mas|no\ entanto|entretanto|não
      |sim|bem|também|parece|eu
    |(?:com\ base|de\ acordo\ com|segundo|conforme|quanto|sobre|em\ relação|a\ respeito|após
      |n[oa]s?|d[oa]s?)\b[^.;]{1,120}?
    )[\s,:-]*(?:that\ |que\ )?)*$""",
    _FLAGS | re.VERBOSE,
)
"""What may stand before a declining phrase without being a claim of its own."""
