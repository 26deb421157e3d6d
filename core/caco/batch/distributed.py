"""Chunks checked by the actors of a Ray cluster, with Ray Data."""

from __future__ import annotations

import logging
import math
import os
import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caco.batch.checker import BatchValidator
from caco.batch.engines import Checker, Rows
from caco.batch.rows import Outcome, Row, chunks
from caco.errors import CacoError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["RayEngine"]

BLOCK_BYTES = 1
"""Bytes from which Ray closes a block: each chunk is one, so that no actor waits for its next."""
STORE_BYTES = 256 << 20
"""Shared memory of a cluster that is started for the run; rows only pass through it."""


@dataclass(frozen=True)
class RayEngine:
    """Checks chunks on Ray: each actor loads the model once.

    Rows are read in one process on this machine and handed on in small blocks; a chunk whose actor
    dies is given to another. What comes back is in the order of the rows.

    Attributes:
        actors: How many there are.
        cpus_per_actor: CPUs that Ray reserves for each; a fraction lets them share one.
        gpus_per_actor: The same for GPUs.
        chunk_rows: Rows in a chunk, at most.
        address: Of the cluster ("auto", "ray://host:10001"). None: what the environment variable
            RAY_ADDRESS says, else one on this machine for this run alone.
    """

    actors: int = 2
    cpus_per_actor: float = 1.0
    gpus_per_actor: float = 0.0
    chunk_rows: int = 32
    address: str | None = None

    def __post_init__(self) -> None:
        for name in ("actors", "chunk_rows"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{name} must be a positive int, not {value!r}")
        for name in ("cpus_per_actor", "gpus_per_actor"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of at least 0, not {value!r}")

    def run(
        self, rows: Rows, skipped: Iterable[Row], validator: BatchValidator, check: Checker
    ) -> Iterator[list[Outcome]]:
        """Yield what became of the rows; see `caco.batch.engines.Engine`.

        Raises:
            MissingExtraError: Ray is not installed.
            ValueError: The cluster has too few CPUs or GPUs for one actor.
            CacoError: The check failed for all rows alike, or Ray did.

        What reading the rows raises surfaces too.
        """
        try:
            # Before the import: Ray would report its use over the network, and on the terminal
            # speak of things that concern Ray Data and not its users.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
            import ray
            import ray.data
        except ImportError as error:
            raise MissingExtraError("The engine ray", "ray") from error
        with self._cluster(ray), _settings(ray):
            dataset = self._dataset(ray, rows, validator, check)
            try:
                for block in dataset.iter_batches(
                    batch_size=None, batch_format="numpy", prefetch_batches=0
                ):
                    for found in map(pickle.loads, block["outcomes"]):
                        if isinstance(found, Exception):
                            raise found
                        yield found
            except ray.exceptions.RayError as error:
                raise CacoError(f"Ray: {error}") from error

    def _dataset(
        self, ray: ModuleType, rows: Rows, validator: BatchValidator, check: Checker
    ) -> Any:  # noqa: ANN401 (a ray.data.Dataset)
        here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
        task = ray.cloudpickle.dumps((rows, self.chunk_rows))
        source = ray.data.from_items([{"task": task}], override_num_blocks=1)
        read = source.map_batches(
            _read, batch_size=None, batch_format="numpy", num_cpus=0, label_selector=here
        )
        return read.map_batches(
            _Actor,
            fn_constructor_kwargs={"work": ray.cloudpickle.dumps((validator, check))},
            batch_size=1,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=self.actors),
            num_cpus=self.cpus_per_actor,
            num_gpus=self.gpus_per_actor,
        )

    @contextmanager
    def _cluster(self, ray: ModuleType) -> Iterator[None]:
        """Connect to the cluster, or start one on this machine's loopback address."""
        if ray.is_initialized():
            yield
            return
        address = self.address or os.environ.get("RAY_ADDRESS")
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address is None:
            cpus = max(os.cpu_count() or 1, math.ceil(self.actors * self.cpus_per_actor))
            options |= {
                "num_cpus": cpus,
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
                "_node_ip_address": "127.0.0.1",
            }
        ray.init(address=address or "local", **options)
        try:
            if address is None and ray.cluster_resources().get("GPU", 0) < self.gpus_per_actor:
                raise ValueError(
                    f"an actor wants {self.gpus_per_actor} GPUs, and this machine has "
                    f"{ray.cluster_resources().get('GPU', 0):.0f}"
                )
            yield
        finally:
            ray.shutdown()


@contextmanager
def _settings(ray: ModuleType) -> Iterator[None]:
    """Keep the order of rows, and keep Ray's own messages off the terminal."""
    context = ray.data.DataContext.get_current()
    before = (
        context.execution_options.preserve_order,
        context.enable_progress_bars,
        context.target_max_block_size,
    )
    logger = logging.getLogger("ray.data")
    level = logger.level
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    context.target_max_block_size = BLOCK_BYTES
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ray\.data\.")
            yield
    finally:
        logger.setLevel(level)
        (
            context.execution_options.preserve_order,
            context.enable_progress_bars,
            context.target_max_block_size,
        ) = before


def _read(batch: Mapping[str, Any]) -> Iterator[dict[str, list[bytes]]]:
    """Yield the chunks of the rows that the one cell of a batch describes, a chunk a cell.

    The last one is what broke the rows off, if something did.
    """
    rows, chunk_rows = pickle.loads(batch["task"][0])
    try:
        for chunk in chunks(rows(), chunk_rows):
            yield {"chunk": [pickle.dumps(chunk)]}
    except (CacoError, OSError, ValueError) as error:
        yield {"chunk": [pickle.dumps(error)]}


class _Actor:
    """Checks chunks in a process of its own; the model is loaded at the first.

    An error that concerns all rows stands for the outcomes: raised here, it would reach the user as
    Ray's account of it.

    Args:
        work: The validator and how to use it, pickled.
    """

    def __init__(self, work: bytes) -> None:
        self._validator, self._check = pickle.loads(work)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        found = [self._checked(pickle.loads(chunk)) for chunk in batch["chunk"]]
        return {"outcomes": [pickle.dumps(outcomes) for outcomes in found]}

    def _checked(self, chunk: list[Row] | Exception) -> list[Outcome] | Exception:
        if isinstance(chunk, Exception):
            return chunk
        try:
            found: list[Outcome] = self._check(self._validator, chunk)
        except CacoError as error:
            return error
        return found
