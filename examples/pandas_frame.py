"""A pandas frame: call the validator with it."""

from __future__ import annotations

import pandas as pd
from answers import ANSWERS

import caco


def check(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the verdicts beside it."""
    return caco.BatchValidator()(frame)


if __name__ == "__main__":
    print(check(pd.DataFrame(ANSWERS))[["id", "verdict", "score", "cts"]])
