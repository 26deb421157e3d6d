"""Units, currencies and calendar words, English and Portuguese, with what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

__all__ = ["CURRENCIES", "MONTHS", "ORDINALS", "WEEKDAYS", "Unit", "find_unit"]


@dataclass(frozen=True)
class Unit:
    """A unit of measurement: ``base`` is its dimension's base unit, ``factor`` how many of it."""

    base: str
    factor: Fraction
    offset: Fraction = Fraction(0)

    def convert(self, number: Fraction) -> Fraction:
        """Return ``number`` of this unit in the base unit."""
        return number * self.factor + self.offset


def _table(rows: str) -> dict[str, Unit]:
    """Read lines ``base factor name name …`` (an underscore stands for a space)."""
    units = {}
    for row in rows.strip().splitlines():
        base, factor, *names = row.split()
        for name in names:
            units[name.replace("_", " ")] = Unit(base.replace("_", " "), Fraction(factor))
    return units


# Symbols keep their case: "Mb" is not "MB", "m" is not "M".
_SYMBOLS = _table("""
g 1 g
g 1000 kg Kg KG
g 1/1000 mg
g 1/1000000 µg μg mcg ug
g 1000000 t
g 45359237/100000 lb lbs
g 45359237/1600000 oz
m 1 m
m 1000 km Km KM
m 1/100 cm
m 1/1000 mm
m 1/1000000 µm μm
m 1/1000000000 nm
m 3048/10000 ft
m 254/10000 ″
m 9144/10000 yd
m2 1 m² m2
m2 1000000 km² km2
m2 10000 ha
m3 1 m³ m3
L 1 L l
L 1/1000 ml mL ML
L 1/100 cl cL
L 1/10 dl dL
s 1 s sec secs seg
s 60 min mins
s 3600 h hr hrs
s 1/1000 ms
W 1 W w
W 1000 kW KW kw
W 1000000 MW
W 1000000000 GW
W 1/1000 mW
V 1 V v
V 1000 kV
V 1/1000 mV
A 1/1000 mA
Ah 1 Ah
Ah 1/1000 mAh
Wh 1 Wh
Wh 1000 kWh
Wh 1000000 MWh
Wh 1000000000 GWh
J 1 J
J 1000 kJ
kcal 1 kcal
Hz 1 Hz
Hz 1000 kHz
Hz 1000000 MHz
Hz 1000000000 GHz
B 1000 KB kB
B 1000000 MB
B 1000000000 GB
B 1000000000000 TB
B 1000000000000000 PB
B 1024 KiB
B 1048576 MiB
B 1073741824 GiB
bit/s 1000 kbps Kbps kbit/s
bit/s 1000000 Mbps Mbit/s Mb/s
bit/s 1000000000 Gbps Gbit/s Gb/s
B/s 1000000 MB/s
Pa 1 Pa
Pa 1000 kPa
Pa 1000000 MPa
Pa 100 hPa mbar
Pa 100000 bar
psi 1 psi
mmHg 1 mmHg
m/s 1 m/s
m/s 1000/3600 km/h kmh kph
m/s 1609344/3600000 mph
g/L 1 g/L g/l
g/L 1/100 mg/dL mg/dl
g/L 1/1000 mg/L mg/l
g/L 1 mg/mL mg/ml
g/g 1/1000000 mg/kg
rpm 1 rpm RPM
dB 1 dB
lm 1 lm
hp 1 hp HP
cv 1 cv CV
pixel 1000000 MP Mpx
pixel 1 px
ppm 1 ppm
N 1 N
Nm 1 Nm
""")

_WORDS = _table("""
g 1 gram grams gramme grammes grama gramas
g 1000 kilogram kilograms kilogramme kilogrammes kilo kilos quilo quilos quilograma quilogramas
g 1/1000 milligram milligrams milligramme milligrammes miligrama miligramas
g 1/1000000 microgram micrograms microgramme microgrammes micrograma microgramas
g 1000000 tonne tonnes tonelada toneladas metric_ton metric_tons
short_ton 1 ton tons
g 45359237/100000 pound pounds libra libras
g 45359237/1600000 ounce ounces onça onças
m 1 metre metres meter meters metro metros
m 1000 kilometre kilometres kilometer kilometers quilômetro quilômetros quilómetro quilómetros
m 1000 quilometro quilometros
m 1/100 centimetre centimetres centimeter centimeters centímetro centímetros
m 1/1000 millimetre millimetres millimeter millimeters milímetro milímetros
m 1609344/1000 mile miles milha milhas
m 3048/10000 foot feet pés
m 254/10000 inch inches polegada polegadas
m 9144/10000 yard yards jarda jardas
m2 1 square_metre square_metres square_meter square_meters metro_quadrado metros_quadrados
m2 1000000 square_kilometre square_kilometres square_kilometer square_kilometers
m2 1000000 quilômetro_quadrado quilômetros_quadrados
m2 10000 hectare hectares
m2 40468564224/10000000 acre acres
m2 9290304/100000000 square_foot square_feet
m3 1 cubic_metre cubic_metres cubic_meter cubic_meters metro_cúbico metros_cúbicos
L 1 litre litres liter liters litro litros
L 1/1000 millilitre millilitres milliliter milliliters mililitro mililitros
US_gallon 1 gallon gallons galão galões
s 1 second seconds segundo segundos
s 60 minute minutes minuto minutos
s 3600 hour hours hora horas
s 86400 day days dia dias calendar_day calendar_days dia_corrido dias_corridos
s 604800 week weeks semana semanas
s 1209600 fortnight fortnights
s 1/1000 millisecond milliseconds milissegundo milissegundos
working_day 1 working_day working_days business_day business_days dia_útil dias_úteis
working_day 1 dia_util dias_uteis
month 1 month months mês meses calendar_month calendar_months
month 3 trimestre trimestres
month 6 semestre semestres
month 12 year years ano anos
month 120 decade decades década décadas
month 1200 centuries séculos
W 1 watt watts
W 1000 kilowatt kilowatts quilowatt quilowatts
W 1000000 megawatt megawatts
W 1000000000 gigawatt gigawatts
V 1 volt volts
A 1 amp amps ampere amperes ampère ampères
Wh 1000 kilowatt-hour kilowatt-hours
hp 1 horsepower
cv 1 cavalo-vapor cavalos-vapor
J 1 joule joules
kcal 1 calorie calories caloria calorias kilocalorie kilocalories quilocaloria quilocalorias
Hz 1 hertz
Hz 1000000 megahertz
Hz 1000000000 gigahertz
B 1 byte bytes
B 1000 kilobyte kilobytes
B 1000000 megabyte megabytes
B 1000000000 gigabyte gigabytes
B 1000000000000 terabyte terabytes
pixel 1000000 megapixel megapixels
pixel 1 pixel pixels
lm 1 lumen lumens
dB 1 decibel decibels decibéis
""")

for _names in ("°C", "ºC", "degrees Celsius", "degree Celsius", "graus Celsius", "grau Celsius"):
    _SYMBOLS[_names] = Unit("°C", Fraction(1))
for _names in ("°F", "ºF", "degrees Fahrenheit", "graus Fahrenheit"):
    _SYMBOLS[_names] = Unit("°C", Fraction(5, 9), Fraction(-160, 9))
_SYMBOLS["°"] = _SYMBOLS["degrees"] = _SYMBOLS["degree"] = Unit("degree", Fraction(1))
_SYMBOLS["graus"] = _SYMBOLS["grau"] = Unit("degree", Fraction(1))
_WORDS = {name.lower(): unit for name, unit in _WORDS.items()}


def find_unit(name: str) -> Unit | None:
    """Return the unit that a symbol or a word (any case, one or two words) stands for, or None."""
    return _SYMBOLS.get(name) or (_WORDS.get(name.lower()) if len(name) > 2 else None)


CURRENCIES: Mapping[str, str] = MappingProxyType(
    {
        "r$": "BRL", "us$": "USD", "u$": "USD", "$": "USD", "a$": "AUD", "au$": "AUD",
        "c$": "CAD", "ca$": "CAD", "hk$": "HKD", "nz$": "NZD", "€": "EUR", "£": "GBP",
        "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "usd": "USD", "eur": "EUR",
        "gbp": "GBP", "brl": "BRL", "jpy": "JPY", "chf": "CHF", "cad": "CAD", "aud": "AUD",
        "inr": "INR", "cny": "CNY", "dollar": "USD", "dollars": "USD", "dólar": "USD",
        "dólares": "USD", "dolar": "USD", "dolares": "USD", "euro": "EUR", "euros": "EUR",
        "reais": "BRL", "real": "BRL", "sterling": "GBP", "yen": "JPY", "iene": "JPY",
        "ienes": "JPY", "rupee": "INR", "rupees": "INR", "rupias": "INR", "franc": "CHF",
        "francs": "CHF", "francos": "CHF", "peso": "peso", "pesos": "peso", "cent": "cent",
        "cents": "cent", "centavo": "cent", "centavos": "cent", "yuan": "CNY",
    }
)  # fmt: skip
"""Symbol, code or word in lower case → currency."""


def _numbered(names: str, first: int = 1) -> dict[str, int]:
    """Number the lines of ``names`` from ``first`` on; all names of one line share its number."""
    lines = enumerate(names.strip().splitlines(), first)
    return {name: number for number, line in lines for name in line.split()}


MONTHS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "": _numbered("""
january janeiro
february fevereiro
march março
april abril
may maio
june junho
july julho
august agosto
september setembro
october outubro
november novembro
december dezembro
"""),
        "english": _numbered("jan\nfeb\nmar\napr\nmay\njun\njul\naug\nsep sept\noct\nnov\ndec"),
        "portuguese": _numbered("jan\nfev\nmar\nabr\nmai\njun\njul\nago\nset\nout\nnov\ndez"),
    }
)
"""Full names under "", abbreviations (words of the other language among them) by language."""

WEEKDAYS: Mapping[str, int] = MappingProxyType(
    _numbered("""
monday mondays segunda-feira segundas-feiras
tuesday tuesdays terça-feira terças-feiras
wednesday wednesdays quarta-feira quartas-feiras
thursday thursdays quinta-feira quintas-feiras
friday fridays sexta-feira sextas-feiras
saturday saturdays sábado sábados
sunday sundays domingo domingos
""", 0)
)  # fmt: skip
"""Name in lower case → 0 (Monday) to 6 (Sunday)."""

ORDINALS: Mapping[str, int] = MappingProxyType(
    _numbered("""
first primeiro primeira primeiros primeiras
second segunda segundo
third terceiro terceira
fourth quarta
fifth quinto quinta
sixth sexto sexta
seventh sétimo sétima
eighth oitavo oitava
ninth nono nona
tenth décimo décima
eleventh
twelfth
""")
)
"""Ordinal in lower case → rank; Portuguese "quarto" is left out: it is a room more often."""
