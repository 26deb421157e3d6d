"""A Hugging Face dataset: the validator is what ``map`` calls with each batch.

With ``num_proc`` each process loads the model once, at its first batch.
"""

from __future__ import annotations

from answers import ANSWERS
from datasets import Dataset

import caco


def check(dataset: Dataset, processes: int | None = None) -> Dataset:
    """Return the dataset with the verdicts beside it."""
    validator = caco.BatchValidator(threads=1 if processes else None)
    return dataset.map(validator, batched=True, batch_size=100, num_proc=processes)


if __name__ == "__main__":
    print(check(Dataset.from_dict(ANSWERS)).to_pandas()[["id", "verdict", "score", "cts"]])
