"""Cognitive tension: CTS = S x C, how hard an answer presses against what its sources say.

S is the compression strain, C the contradiction magnitude; both, and each of their components, are
in [0, 1].
"""

from caco.tension.compute import Mode, cts, tension_among, tension_of
from caco.tension.fitting import FittedWeights, fit_weights
from caco.tension.parts import CTS, DEFAULT_WEIGHTS, Parts
from caco.tension.satisfaction import unsatisfied_share

__all__ = [
    "CTS",
    "DEFAULT_WEIGHTS",
    "FittedWeights",
    "Mode",
    "Parts",
    "cts",
    "fit_weights",
    "tension_among",
    "tension_of",
    "unsatisfied_share",
]
