"""The stage-1 detector as an Apify Actor: ``python -m caco.actor``; needs the package ``apify``.

The input has ``model_output`` and perhaps ``context``; one record a run goes to the default
dataset, in the form of `caco.signals.SignalReport.to_dict`. The schemas are in ``.actor/``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from caco.errors import MissingExtraError
from caco.signals import detect_signals

__all__ = ["main", "record"]

_FIELDS = ("model_output", "context")


def record(given: object) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        given: The run's input.

    Raises:
        ValueError: It is not of the form that the input's schema asks for.
    """
    if not isinstance(given, Mapping) or not given.get("model_output"):
        raise ValueError("the input needs a 'model_output'")
    unknown = sorted(set(given) - set(_FIELDS))
    if unknown:
        raise ValueError(f"the input has unknown fields {unknown}; it may have {list(_FIELDS)}")
    for name in _FIELDS:
        if not isinstance(given.get(name), (str, type(None))):
            raise ValueError(f"{name!r} must be a text")
    return detect_signals(given["model_output"], given.get("context")).to_dict()


async def main() -> None:
    """Run the Actor once; a wrong input fails the run, with the reason as its status.

    Raises:
        MissingExtraError: The SDK is not installed.
    """
    try:
        from apify import Actor
    except ImportError as error:
        raise MissingExtraError("The Apify Actor", "actor") from error

    async with Actor:
        try:
            found = record(await Actor.get_input())
        except ValueError as error:
            await Actor.fail(exit_code=1, status_message=str(error))
        else:
            await Actor.push_data(found)


if __name__ == "__main__":
    asyncio.run(main())
