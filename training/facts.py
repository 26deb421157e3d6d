"""A bank of facts about invented things: statements and questions in English and Portuguese.

Every attribute has several statements per language with ``{e}`` for the thing and ``{v}`` for the
value, a question, and a column name for tables, so one fact can be told in many ways, in either
language, and the claim need not share a template with the document.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import names
import values as v
from values import Maker, Value


@dataclass(frozen=True)
class Attribute:
    """One attribute of a kind of thing.

    Attributes:
        make: Draws a right value and wrong ones.
        key: Column name per language.
        says: Statements per language.
        asks: Questions per language.
    """

    make: Maker
    key: dict[str, str]
    says: dict[str, list[str]]
    asks: dict[str, list[str]]


@dataclass(frozen=True)
class Kind:
    """A kind of thing: how it is named and what can be said of it."""

    noun: dict[str, str]
    name: Callable[[random.Random], str]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True)
class Fact:
    """One attribute of one thing, with its right and its wrong values."""

    thing: str
    attribute: Attribute
    value: Value
    wrong: list[Value]


def _attribute(make: Maker, key: str, en: str, pt: str, asks: str) -> Attribute:
    key_en, key_pt = key.split("=")
    ask_en, ask_pt = asks.split("=")
    return Attribute(
        make,
        {"en": key_en, "pt": key_pt},
        {"en": en.split("|"), "pt": pt.split("|")},
        {"en": ask_en.split("|"), "pt": ask_pt.split("|")},
    )


_A = _attribute

FIRM = (
    _A(
        v.year,
        "Founded=Fundação",
        "{e} was founded {v}.|{e} was set up {v}.|The company {e} started out {v}.|"
        "Founded {v}, {e} is a private company.",
        "A {e} foi fundada {v}.|A empresa {e} surgiu {v}.|A fundação da {e} ocorreu {v}.|"
        "Criada {v}, a {e} é uma empresa privada.",
        "When was {e} founded?|What year did {e} start?=Quando a {e} foi fundada?|"
        "Em que ano surgiu a {e}?",
    ),
    _A(
        v.where,
        "Headquarters=Sede",
        "{e} is headquartered in {v}.|{e} has its head office in {v}.|"
        "The headquarters of {e} are in {v}.|{v} is home to the headquarters of {e}.",
        "A {e} tem sede em {v}.|A sede da {e} fica em {v}.|"
        "O escritório central da {e} está em {v}.|A empresa {e} está sediada em {v}.",
        "Where is {e} based?|Where are the headquarters of {e}?=Onde fica a sede da {e}?",
    ),
    _A(
        v.who,
        "Chief executive=Presidente",
        "{v} is the chief executive of {e}.|{e} is led by {v}.|The CEO of {e} is {v}.|"
        "{v} runs {e}.",
        "{v} preside a {e}.|A {e} é dirigida por {v}.|Quem comanda a {e} é {v}.|"
        "A presidência da {e} está com {v}.",
        "Who leads {e}?|Who is the CEO of {e}?=Quem dirige a {e}?|Quem preside a {e}?",
    ),
    _A(
        v.big(True),
        "Revenue=Receita",
        "{e} had revenue of {v}.|Revenue at {e} came to {v}.|{e} took in {v} over the year.|"
        "Sales of {v} were reported by {e}.",
        "A {e} teve receita de {v}.|A receita da {e} chegou a {v}.|A {e} faturou {v} no ano.|"
        "O faturamento da {e} foi de {v}.",
        "How much revenue did {e} have?=Quanto a {e} faturou?",
    ),
    _A(
        v.count(2, 60000),
        "Employees=Funcionários",
        "{e} employs {v} people.|{e} has {v} employees.|The workforce of {e} numbers {v}.|"
        "{v} people work for {e}.",
        "A {e} emprega {v} funcionários.|A {e} tem {v} funcionários.|"
        "O quadro da {e} é de {v} empregados.|Trabalham na {e} {v} funcionários.",
        "How many people work at {e}?=Quantos funcionários tem a {e}?",
    ),
    _A(
        v.percent,
        "Market share=Participação de mercado",
        "{e} holds {v} of the market.|The market share of {e} is {v}.|"
        "{e} has a market share of {v}.",
        "A {e} detém {v} do mercado.|A participação de mercado da {e} é de {v}.|"
        "A fatia de mercado da {e} é de {v}.",
        "What is the market share of {e}?=Qual é a participação de mercado da {e}?",
    ),
    _A(
        v.email,
        "E-mail=E-mail",
        "You can write to {e} at {v}.|The e-mail address of {e} is {v}.|Contact {e} at {v}.",
        "Escreva para a {e} em {v}.|O e-mail da {e} é {v}.|O contato da {e} é {v}.",
        "What is the e-mail address of {e}?=Qual é o e-mail da {e}?",
    ),
    _A(
        v.phone,
        "Phone=Telefone",
        "The phone number of {e} is {v}.|Call {e} on {v}.|{e} can be reached by phone at {v}.",
        "O telefone da {e} é {v}.|Ligue para a {e} no número {v}.|A {e} atende pelo telefone {v}.",
        "What is the phone number of {e}?=Qual é o telefone da {e}?",
    ),
    _A(
        v.words(
            "steel=aço",
            "cement=cimento",
            "toys=brinquedos",
            "furniture=móveis",
            "bicycles=bicicletas",
            "cheese=queijo",
            "paint=tinta",
            "tyres=pneus",
            "shoes=sapatos",
            "glass=vidro",
            "batteries=baterias",
            "chocolate=chocolate",
        ),
        "Main product=Produto principal",
        "{e} mainly makes {v}.|The main product of {e} is {v}.|"
        "{e} earns most of its money from {v}.",
        "A {e} fabrica principalmente {v}.|O principal produto da {e} é {v}.|"
        "A maior parte da renda da {e} vem de {v}.",
        "What does {e} mainly make?=O que a {e} fabrica principalmente?",
    ),
)

PRODUCT = (
    _A(
        v.measure("weight"),
        "Weight=Peso",
        "The {e} weighs {v}.|The weight of the {e} is {v}.|"
        "At {v}, the {e} is easy to compare with its rivals.",
        "O {e} pesa {v}.|O peso do {e} é de {v}.|O {e} tem {v} de peso.",
        "How much does the {e} weigh?=Quanto pesa o {e}?",
    ),
    _A(
        v.measure("time"),
        "Battery life=Autonomia",
        "The battery of the {e} lasts {v}.|The {e} runs for {v} on one charge.|"
        "On a full charge the {e} works for {v}.",
        "A bateria do {e} dura {v}.|O {e} funciona por {v} com uma carga.|"
        "Com carga completa, o {e} opera durante {v}.",
        "How long does the battery of the {e} last?=Quanto dura a bateria do {e}?",
    ),
    _A(
        v.big(True),
        "Development cost=Custo de desenvolvimento",
        "Developing the {e} cost {v}.|The {e} was developed at a cost of {v}.|"
        "{v} went into the development of the {e}.",
        "O desenvolvimento do {e} custou {v}.|Foram gastos {v} para desenvolver o {e}.|"
        "O {e} foi desenvolvido ao custo de {v}.",
        "How much did developing the {e} cost?=Quanto custou desenvolver o {e}?",
    ),
    _A(
        v.measure("data"),
        "Storage=Armazenamento",
        "The {e} comes with {v} of storage.|The {e} stores up to {v}.|"
        "The storage of the {e} is {v}.",
        "O {e} vem com {v} de armazenamento.|O {e} guarda até {v}.|"
        "O armazenamento do {e} é de {v}.",
        "How much storage does the {e} have?=Quanto armazenamento tem o {e}?",
    ),
    _A(
        v.date,
        "Released=Lançamento",
        "The {e} was released {v}.|The {e} went on sale {v}.|Sales of the {e} began {v}.",
        "O {e} foi lançado {v}.|O {e} começou a ser vendido {v}.|As vendas do {e} começaram {v}.",
        "When was the {e} released?=Quando o {e} foi lançado?",
    ),
    _A(
        v.words(
            "black=preto",
            "white=branco",
            "red=vermelho",
            "blue=azul",
            "green=verde",
            "grey=cinza",
            "yellow=amarelo",
            "orange=laranja",
        ),
        "Colour=Cor",
        "The {e} is sold in {v} only.|The only colour of the {e} is {v}.|"
        "The {e} comes in {v} and no other colour.",
        "O {e} só é vendido na cor {v}.|A única cor do {e} é {v}.|O {e} vem apenas em {v}.",
        "What colour is the {e} sold in?=Em que cor o {e} é vendido?",
    ),
    _A(
        v.count(2, 9),
        "Ports=Portas",
        "The {e} has {v} ports.|There are {v} ports on the {e}.|The {e} offers {v} ports.",
        "O {e} tem {v} conectores.|Há {v} conectores no {e}.|O {e} oferece {v} conectores.",
        "How many ports does the {e} have?=Quantos conectores tem o {e}?",
    ),
    _A(
        v.measure("span"),
        "Warranty=Garantia",
        "The {e} has a warranty of {v}.|The warranty of the {e} runs for {v}.|"
        "The {e} is guaranteed for {v}.",
        "O {e} tem garantia de {v}.|A garantia do {e} é de {v}.|O {e} é garantido por {v}.",
        "How long is the warranty of the {e}?=De quanto tempo é a garantia do {e}?",
    ),
    _A(
        v.measure("power"),
        "Power=Potência",
        "The {e} draws {v}.|The power of the {e} is {v}.|The {e} is rated at {v}.",
        "O {e} consome {v}.|A potência do {e} é de {v}.|O {e} tem potência de {v}.",
        "What is the power of the {e}?=Qual é a potência do {e}?",
    ),
    _A(
        v.code(),
        "Part number=Número da peça",
        "The part number of the {e} is {v}.|Order the {e} under {v}.|"
        "The {e} carries the part number {v}.",
        "O número de peça do {e} é {v}.|Peça o {e} pelo código {v}.|O código do {e} é {v}.",
        "What is the part number of the {e}?=Qual é o código do {e}?",
    ),
)

PERSON = (
    _A(
        v.date,
        "Born=Nascimento",
        "{e} was born {v}.|The birth of {e} took place {v}.",
        "{e} nasceu {v}.|O nascimento de {e} ocorreu {v}.",
        "When was {e} born?=Quando nasceu {e}?",
    ),
    _A(
        v.where,
        "Birthplace=Naturalidade",
        "{e} was born in {v}.|{e} is a native of {v}.|{e} comes from {v}.|"
        "The birthplace of {e} is {v}.",
        "{e} nasceu em {v}.|{e} é natural de {v}.|{e} vem de {v}.|A cidade natal de {e} é {v}.",
        "Where was {e} born?|Where does {e} come from?=Onde nasceu {e}?|De onde vem {e}?",
    ),
    _A(
        v.which_firm,
        "Employer=Empregador",
        "{e} works for {v}.|{e} is employed by {v}.|{v} employs {e}.",
        "{e} trabalha para {v}.|{v} emprega {e}.|O empregador de {e} é {v}.",
        "Who does {e} work for?=Para quem {e} trabalha?",
    ),
    _A(
        v.count(2, 60),
        "Books=Livros",
        "{e} has written {v} books.|{e} is the author of {v} books.|{v} books were written by {e}.",
        "{e} escreveu {v} livros.|{e} é responsável pela autoria de {v} livros.|"
        "Há {v} livros escritos por {e}.",
        "How many books has {e} written?=Quantos livros {e} escreveu?",
    ),
    _A(
        v.words(
            "chemistry=química",
            "history=história",
            "law=direito",
            "music=música",
            "medicine=medicina",
            "architecture=arquitetura",
            "physics=física",
            "economics=economia",
            "philosophy=filosofia",
            "biology=biologia",
            "geology=geologia",
            "nursing=enfermagem",
        ),
        "Studies=Formação",
        "{e} studied {v} at university.|At university {e} took a degree in {v}.|"
        "{e} graduated in {v}.",
        "{e} estudou {v} na universidade.|{e} tem diploma em {v}.|{e} se formou em {v}.",
        "What did {e} study?=O que {e} estudou?",
    ),
    _A(
        v.words(
            "violin=violino",
            "piano=piano",
            "cello=violoncelo",
            "flute=flauta",
            "guitar=violão",
            "trumpet=trompete",
            "harp=harpa",
        ),
        "Instrument=Instrumento",
        "{e} plays the {v}.|The instrument {e} plays is the {v}.",
        "{e} toca {v}.|O instrumento que {e} toca é o {v}.",
        "What instrument does {e} play?=Que instrumento {e} toca?",
    ),
    _A(
        v.year,
        "Retired=Aposentadoria",
        "{e} retired {v}.|The retirement of {e} came {v}.|{e} stopped working {v}.",
        "{e} se aposentou {v}.|A aposentadoria de {e} veio {v}.|{e} parou de trabalhar {v}.",
        "When did {e} retire?=Quando {e} se aposentou?",
    ),
)

TOWN = (
    _A(
        v.big(False),
        "Population=População",
        "{e} has a population of {v}.|The population of {e} is {v}.|"
        "The number of people living in {e} is {v}.",
        "{e} tem uma população de {v}.|A população de {e} é de {v}.|"
        "O número de habitantes de {e} é {v}.",
        "What is the population of {e}?=Qual é a população de {e}?",
    ),
    _A(
        v.who,
        "Mayor=Prefeito",
        "The mayor of {e} is {v}.|{v} is the mayor of {e}.|{v} governs {e}.",
        "A prefeitura de {e} é ocupada por {v}.|{v} governa {e}.|Quem governa {e} é {v}.",
        "Who is the mayor of {e}?=Quem governa {e}?",
    ),
    _A(
        v.measure("distance"),
        "Distance to the coast=Distância da costa",
        "{e} lies {v} from the coast.|It is {v} from {e} to the coast.|"
        "The distance between {e} and the coast is {v}.",
        "{e} fica a {v} da costa.|São {v} de {e} até a costa.|"
        "A distância entre {e} e a costa é de {v}.",
        "How far is {e} from the coast?=A que distância da costa fica {e}?",
    ),
    _A(
        v.year,
        "Railway=Ferrovia",
        "The railway reached {e} {v}.|{e} got its railway {v}.|"
        "{e} was connected to the railway {v}.",
        "A ferrovia chegou a {e} {v}.|{e} ganhou sua ferrovia {v}.|{e} foi ligada à ferrovia {v}.",
        "When did the railway reach {e}?=Quando a ferrovia chegou a {e}?",
    ),
    _A(
        v.count(2, 40, True),
        "Schools=Escolas",
        "{e} has {v} schools.|There are {v} schools in {e}.|{v} schools operate in {e}.",
        "{e} tem {v} escolas.|Há {v} escolas em {e}.|Funcionam {v} escolas em {e}.",
        "How many schools are there in {e}?=Quantas escolas há em {e}?",
    ),
    _A(
        v.weekday,
        "Market day=Dia de feira",
        "The market of {e} takes place {v}.|In {e} the market is held {v}.|"
        "{e} holds its market {v}.",
        "A feira de {e} acontece {v}.|Em {e} a feira é realizada {v}.|{e} realiza sua feira {v}.",
        "On which day does {e} hold its market?=Em que dia acontece a feira de {e}?",
    ),
)

EVENT = (
    _A(
        v.date,
        "Date=Data",
        "The {e} took place {v}.|The {e} was held {v}.|It was {v} that the {e} happened.",
        "O {e} aconteceu {v}.|O {e} foi realizado {v}.|O {e} ocorreu {v}.",
        "When did the {e} take place?=Quando aconteceu o {e}?",
    ),
    _A(
        v.where,
        "Place=Local",
        "The {e} was hosted by {v}.|{v} hosted the {e}.|The {e} was held in {v}.",
        "O {e} foi sediado em {v}.|{v} sediou o {e}.|O {e} ocorreu em {v}.",
        "Where was the {e} held?=Onde ocorreu o {e}?",
    ),
    _A(
        v.count(20, 90000, True),
        "Attendance=Público",
        "The {e} drew {v} people.|{v} people came to the {e}.|Attendance at the {e} was {v}.",
        "O {e} atraiu {v} pessoas.|Foram ao {e} {v} pessoas.|Compareceram ao {e} {v} pessoas.",
        "How many people came to the {e}?=Quantas pessoas foram ao {e}?",
    ),
    _A(
        v.who,
        "Organiser=Organização",
        "The {e} was organised by {v}.|{v} organised the {e}.|The organiser of the {e} was {v}.",
        "O {e} foi organizado por {v}.|{v} organizou o {e}.|A organização do {e} coube a {v}.",
        "Who organised the {e}?=Quem organizou o {e}?",
    ),
    _A(
        v.clock,
        "Start=Início",
        "The {e} starts {v}.|The {e} begins {v}.|Doors of the {e} open {v}.",
        "O {e} começa {v}.|O {e} tem início {v}.|As portas do {e} abrem {v}.",
        "What time does the {e} start?=A que horas começa o {e}?",
    ),
)

MEDICINE = (
    _A(
        v.measure("dose"),
        "Daily dose=Dose diária",
        "The daily dose of {e} is {v}.|Adults take {v} of {e} a day.|{e} is given at {v} per day.",
        "A dose diária de {e} é de {v}.|Adultos tomam {v} de {e} por dia.|"
        "O {e} é dado na dose de {v} por dia.",
        "What is the daily dose of {e}?=Qual é a dose diária de {e}?",
    ),
    _A(
        v.measure("time"),
        "Interval=Intervalo",
        "{e} is taken every {v}.|The interval between doses of {e} is {v}.|"
        "Leave {v} between two doses of {e}.",
        "O {e} é tomado a cada {v}.|O intervalo entre as doses de {e} é de {v}.|"
        "Espere {v} entre duas doses de {e}.",
        "How often is {e} taken?=Com que intervalo se toma {e}?",
    ),
    _A(
        v.which_firm,
        "Maker=Fabricante",
        "{e} is made by {v}.|{v} manufactures {e}.|The manufacturer of {e} is {v}.",
        "O {e} é produzido por {v}.|{v} fabrica o {e}.|O fabricante do {e} é {v}.",
        "Who makes {e}?=Quem fabrica o {e}?",
    ),
    _A(
        v.percent,
        "Response=Resposta",
        "{v} of patients responded to {e}.|The response rate of {e} was {v}.|"
        "{e} helped {v} of the patients.",
        "{v} dos pacientes responderam ao {e}.|A taxa de resposta do {e} foi de {v}.|"
        "O {e} ajudou {v} dos pacientes.",
        "What share of patients responded to {e}?=Que parcela dos pacientes respondeu ao {e}?",
    ),
    _A(
        v.words(
            "headache=dor de cabeça",
            "nausea=náusea",
            "dizziness=tontura",
            "fever=febre",
            "rash=erupção na pele",
            "fatigue=cansaço",
            "insomnia=insônia",
            "dry mouth=boca seca",
        ),
        "Most common side effect=Efeito colateral mais comum",
        "The most common side effect of {e} is {v}.|{e} most often causes {v}.|"
        "Of all side effects of {e}, {v} is the most frequent.",
        "O efeito colateral mais comum do {e} é {v}.|O {e} causa com mais frequência {v}.|"
        "Entre os efeitos do {e}, o mais frequente é {v}.",
        "What is the most common side effect of {e}?=Qual é o efeito colateral mais comum do {e}?",
    ),
    _A(
        v.measure("volume"),
        "Bottle size=Tamanho do frasco",
        "A bottle of {e} contains {v}.|{e} is sold in bottles of {v}.|The bottle of {e} holds {v}.",
        "Um frasco de {e} contém {v}.|O {e} é vendido em frascos de {v}.|O frasco de {e} tem {v}.",
        "How much does a bottle of {e} contain?=Quanto contém um frasco de {e}?",
    ),
)

SOFTWARE = (
    _A(
        v.version,
        "Latest version=Última versão",
        "The latest version of {e} is {v}.|{e} is now at version {v}.|"
        "The newest release of {e} is {v}.",
        "A última versão do {e} é a {v}.|O {e} está agora na versão {v}.|"
        "A versão mais nova do {e} é a {v}.",
        "What is the latest version of {e}?=Qual é a última versão do {e}?",
    ),
    _A(
        v.flag,
        "Option to turn off the cache=Opção para desligar o cache",
        "Use {v} to turn off the cache of {e}.|The cache of {e} is turned off with {v}.|"
        "{e} stops caching when run with {v}.",
        "Use {v} para desligar o cache do {e}.|O cache do {e} é desligado com {v}.|"
        "O {e} deixa de usar cache quando rodado com {v}.",
        "How do I turn off the cache of {e}?=Como desligo o cache do {e}?",
    ),
    _A(
        v.port,
        "Port=Porta",
        "{e} listens on port {v}.|The default port of {e} is {v}.|By default {e} uses port {v}.",
        "O {e} escuta na porta {v}.|A porta padrão do {e} é {v}.|"
        "Por padrão, o {e} usa a porta {v}.",
        "Which port does {e} use?=Que porta o {e} usa?",
    ),
    _A(
        v.measure("time"),
        "Timeout=Tempo limite",
        "{e} gives up after {v}.|The timeout of {e} is {v}.|Requests to {e} time out after {v}.",
        "O {e} desiste depois de {v}.|O tempo limite do {e} é de {v}.|"
        "As requisições ao {e} expiram depois de {v}.",
        "What is the timeout of {e}?=Qual é o tempo limite do {e}?",
    ),
    _A(
        v.words(
            "Python=Python",
            "Rust=Rust",
            "Java=Java",
            "Go=Go",
            "C++=C++",
            "Ruby=Ruby",
            "Kotlin=Kotlin",
            "Swift=Swift",
        ),
        "Language=Linguagem",
        "{e} is written in {v}.|{v} is the language {e} is written in.|The code of {e} is {v}.",
        "O {e} é escrito em {v}.|A linguagem do {e} é {v}.|O código do {e} é em {v}.",
        "What language is {e} written in?=Em que linguagem o {e} é escrito?",
    ),
    _A(
        v.measure("data"),
        "Memory needed=Memória necessária",
        "{e} needs {v} of memory.|At least {v} of memory is required by {e}.|"
        "The memory requirement of {e} is {v}.",
        "O {e} precisa de {v} de memória.|O {e} exige pelo menos {v} de memória.|"
        "A exigência de memória do {e} é de {v}.",
        "How much memory does {e} need?=De quanta memória o {e} precisa?",
    ),
    _A(
        v.code("ERR-"),
        "Error for a full disk=Erro de disco cheio",
        "{e} reports {v} when the disk is full.|A full disk makes {e} return {v}.|"
        "In {e}, {v} means that the disk is full.",
        "O {e} informa {v} quando o disco está cheio.|Com o disco cheio, o {e} devolve {v}.|"
        "No {e}, {v} significa disco cheio.",
        "Which error does {e} report when the disk is full?=Que erro o {e} informa quando o "
        "disco está cheio?",
    ),
)

BUILDING = (
    _A(
        v.measure("distance"),
        "Length=Comprimento",
        "The {e} is {v} long.|The length of the {e} is {v}.|The {e} stretches over {v}.",
        "O {e} tem {v} de comprimento.|O comprimento do {e} é de {v}.|O {e} se estende por {v}.",
        "How long is the {e}?=Qual é o comprimento do {e}?",
    ),
    _A(
        v.count(3, 90),
        "Lamps=Postes",
        "The {e} has {v} lamps.|{v} lamps light the {e}.|There are {v} lamps on the {e}.",
        "O {e} tem {v} postes de luz.|Iluminam o {e} {v} postes de luz.|"
        "Há {v} postes de luz no {e}.",
        "How many lamps does the {e} have?=Quantos postes de luz tem o {e}?",
    ),
    _A(
        v.who,
        "Architect=Projeto",
        "The {e} was designed by {v}.|{v} designed the {e}.|The architect of the {e} was {v}.",
        "O {e} foi projetado por {v}.|{v} projetou o {e}.|O projeto do {e} é de {v}.",
        "Who designed the {e}?=Quem projetou o {e}?",
    ),
    _A(
        v.year,
        "Opened=Inauguração",
        "The {e} opened {v}.|The {e} was inaugurated {v}.|The opening of the {e} took place {v}.",
        "O {e} foi inaugurado {v}.|O {e} abriu {v}.|A inauguração do {e} ocorreu {v}.",
        "When did the {e} open?=Quando o {e} foi inaugurado?",
    ),
    _A(
        v.big(True),
        "Cost=Custo",
        "The {e} cost {v}.|{v} was spent on the {e}.|The bill for the {e} came to {v}.",
        "O {e} custou {v}.|Foram gastos {v} no {e}.|A conta do {e} chegou a {v}.",
        "How much did the {e} cost?=Quanto custou o {e}?",
    ),
    _A(
        v.words(
            "stone=pedra",
            "steel=aço",
            "wood=madeira",
            "concrete=concreto",
            "brick=tijolo",
            "iron=ferro",
        ),
        "Material=Material",
        "The {e} is built of {v}.|The {e} is made of {v}.|{v} is the material of the {e}.",
        "O {e} é feito de {v}.|O {e} foi construído em {v}.|O material do {e} é {v}.",
        "What is the {e} made of?=De que é feito o {e}?",
    ),
)

RULE = (
    _A(
        v.count(2, 90),
        "Days of leave=Dias de férias",
        "Staff at {e} get {v} days of leave a year.|{e} grants {v} days of annual leave.|"
        "Each year employees of {e} are entitled to {v} days off.",
        "Quem trabalha na {e} tem {v} dias de férias por ano.|"
        "A {e} concede {v} dias de férias anuais.|"
        "Por ano, os empregados da {e} têm direito a {v} dias de férias.",
        "How many days of leave do staff at {e} get?=Quantos dias de férias tem quem trabalha na "
        "{e}?",
    ),
    _A(
        v.measure("span"),
        "Return period=Prazo de devolução",
        "Customers of {e} may return goods within {v}.|{e} accepts returns for {v}.|"
        "The return period at {e} is {v}.",
        "Clientes da {e} podem devolver produtos em até {v}.|"
        "A {e} aceita devoluções durante {v}.|O prazo de devolução da {e} é de {v}.",
        "How long do customers of {e} have to return goods?=Qual é o prazo de devolução da {e}?",
    ),
    _A(
        v.percent,
        "Late fee=Multa por atraso",
        "{e} charges {v} for late payment.|The late fee at {e} is {v}.|"
        "A late payment to {e} costs {v} more.",
        "A {e} cobra {v} por atraso no pagamento.|A multa por atraso na {e} é de {v}.|"
        "Pagar a {e} com atraso custa {v} a mais.",
        "What does {e} charge for late payment?=Quanto a {e} cobra por atraso?",
    ),
    _A(
        v.clock,
        "Opening time=Abertura",
        "{e} opens {v}.|The doors of {e} open {v}.|Opening at {e} is {v}.",
        "A {e} abre {v}.|As portas da {e} abrem {v}.|A abertura da {e} é {v}.",
        "When does {e} open?=A que horas abre a {e}?",
    ),
    _A(
        v.weekday,
        "Closed=Fechamento",
        "{e} is closed {v} only.|The only closing day of {e} comes {v}.|"
        "The one day when {e} does not open falls {v}.",
        "A {e} só fecha {v}.|O único dia de folga da {e} cai {v}.|A {e} só deixa de abrir {v}.",
        "On which day is {e} closed?=Em que dia a {e} fecha?",
    ),
)


def _event_name(rng: random.Random) -> str:
    return f"{rng.choice(['Festival', 'Forum', 'Rally', 'Open', 'Expo'])} {names.syllables(rng, 2)}"


def _structure_name(rng: random.Random) -> str:
    kind = rng.choice(["Viaduct", "Aqueduct", "Pier", "Museum", "Hotel"])
    return f"{kind} {names.syllables(rng, 2)}"


def _drug_name(rng: random.Random) -> str:
    return names.syllables(rng, 2) + rng.choice(["xin", "mab", "prol", "zine", "vir", "tol", "dex"])


KINDS = (
    Kind({"en": "company", "pt": "empresa"}, names.firm, FIRM),
    Kind({"en": "device", "pt": "aparelho"}, names.product, PRODUCT),
    Kind({"en": "person", "pt": "pessoa"}, lambda r: names.person(r).name, PERSON),
    Kind({"en": "town", "pt": "cidade"}, names.place, TOWN),
    Kind({"en": "event", "pt": "evento"}, _event_name, EVENT),
    Kind({"en": "medicine", "pt": "remédio"}, _drug_name, MEDICINE),
    Kind({"en": "program", "pt": "programa"}, lambda r: names.syllables(r, 2), SOFTWARE),
    Kind({"en": "structure", "pt": "obra"}, _structure_name, BUILDING),
    Kind({"en": "company", "pt": "empresa"}, names.firm, RULE),
)


def things(rng: random.Random, kind: Kind, count: int) -> list[str]:
    """Names of different things of a kind, sometimes alike but for the last part."""
    first = kind.name(rng)
    if (
        " " in first
        and count > 1
        and kind.attributes in (PRODUCT, EVENT, BUILDING)
        and rng.random() < 0.6
    ):
        return [first, *names.family(rng, first, count - 1)]
    if count > 1 and kind.attributes in (SOFTWARE, MEDICINE) and rng.random() < 0.4:
        return [first, *names.family(rng, f"{first} 1", count - 1)]
    found = [first]
    while len(found) < count:
        new = kind.name(rng)
        if new not in found:
            found.append(new)
    return found


def fact(rng: random.Random, thing: str, attribute: Attribute) -> Fact:
    """Draw a value of an attribute for a thing."""
    value, wrong = attribute.make(rng)
    while not wrong:
        value, wrong = attribute.make(rng)
    return Fact(thing, attribute, value, wrong)


def capital(text: str) -> str:
    """The same text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def say(
    rng: random.Random,
    told: Fact,
    language: str,
    value: Value | None = None,
    avoid: str = "",
    coarse: bool = False,
) -> tuple[str, str, str]:
    """A statement of a fact.

    Args:
        rng: Source of chance.
        told: The fact.
        language: Language of the statement.
        value: Another value to put in its place.
        avoid: A template not to use again.
        coarse: Allow less exact forms.

    Returns:
        The sentence, the template and the form of the value.
    """
    templates = [t for t in told.attribute.says[language] if t != avoid]
    template = rng.choice(templates)
    chosen = value or told.value
    forms = chosen.forms[language]
    if coarse and chosen.coarse and rng.random() < 0.4:
        forms = chosen.coarse[language]
    form = rng.choice(forms)
    sentence = capital(template.format(e=told.thing, v=form)).replace("..", ".")
    return sentence, template, form


def cell(rng: random.Random, value: Value, language: str) -> str:
    """A value as it stands in a table."""
    return rng.choice((value.bare or value.forms)[language])
