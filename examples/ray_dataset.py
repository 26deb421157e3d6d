"""A Ray dataset: actors that load the model once each.

``caco batch --engine ray`` does this for files, with bad rows set aside and runs that go on after a
kill.
"""

from __future__ import annotations

import ray
from answers import ANSWERS

import caco


def check(dataset: ray.data.Dataset, actors: int = 2) -> ray.data.Dataset:
    """Return the dataset with the verdicts beside it."""
    return dataset.map_batches(
        caco.BatchValidator,
        fn_constructor_kwargs={"threads": 1},
        batch_size=64,
        compute=ray.data.ActorPoolStrategy(size=actors),
        num_cpus=1,
    )


if __name__ == "__main__":
    rows = [dict(zip(ANSWERS, row, strict=True)) for row in zip(*ANSWERS.values(), strict=True)]
    print(check(ray.data.from_items(rows)).to_pandas()[["id", "verdict", "score", "cts"]])
