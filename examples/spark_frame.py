"""A Spark frame: ``mapInPandas`` hands over one pandas frame after the other.

The validator is sent to the executors without a model; each of their Python processes loads it
once, at its first batch. caco must be installed there.
"""

from __future__ import annotations

from answers import ANSWERS
from pyspark.sql import DataFrame, SparkSession

import caco

COLUMNS = "id string, response string, context array<string>"


def check(frame: DataFrame) -> DataFrame:
    """Return the frame with the verdicts beside it."""
    validator = caco.BatchValidator(threads=1)
    return frame.mapInPandas(validator.frames, f"{COLUMNS}, {validator.result_schema}")


if __name__ == "__main__":
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    rows = list(zip(*ANSWERS.values(), strict=True))
    check(spark.createDataFrame(rows, COLUMNS)).select("id", "verdict", "score", "cts").show()
