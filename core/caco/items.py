"""The forms in which a batch of answers may come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caco.evidence import Context

__all__ = ["BatchItem", "batch_items"]

BatchItem = Mapping[str, object] | tuple[str, Context]
"""A mapping with ``response``, ``context``, perhaps ``prompt``; or a (response, context) pair."""


def batch_items(
    items: Iterable[BatchItem] | Sequence[str] | None,
    context: Context,
    contexts: Sequence[Context] | None,
    responses: Sequence[str] | None,
) -> list[tuple[object, object, object]]:
    """Return (response, context, prompt) for each item of a batch, in whatever form it came."""
    shared = context is not None or contexts is not None
    if items is not None and responses is not None:
        raise ValueError("give items or responses, not both")
    if responses is None and shared:
        responses = items  # type: ignore[assignment]
    if responses is not None:
        if not shared:
            raise ValueError("responses need context= or contexts=")
        if isinstance(responses, (str, bytes)):
            raise TypeError("responses must be a sequence of str, not a single text")
        return _paired(list(responses), context, contexts)
    if items is None:
        raise ValueError("give items, or responses with context= or contexts=")
    if isinstance(items, (str, bytes, Mapping)):
        raise TypeError(f"items must be a sequence of items, not a {type(items).__name__}")
    return [_unpacked(item, position) for position, item in enumerate(items)]


def _unpacked(item: object, position: int) -> tuple[object, object, object]:
    if isinstance(item, Mapping):
        missing = {"response", "context"} - set(item)
        if missing:
            raise ValueError(
                f"item {position} lacks {sorted(missing)}; it has {sorted(map(str, item))}"
            )
        return item["response"], item["context"], item.get("prompt")
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return item[0], item[1], None
    raise TypeError(
        f"item {position} must be a mapping with 'response' and 'context' or a "
        f"(response, context) pair, not {type(item).__name__}"
    )


def _paired(
    responses: Sequence[str], context: Context, contexts: Sequence[Context] | None
) -> list[tuple[object, object, object]]:
    if contexts is None:
        return [(response, context, None) for response in responses]
    if len(contexts) != len(responses):
        raise ValueError(f"{len(responses)} responses, but {len(contexts)} contexts")
    return [(response, own, None) for response, own in zip(responses, contexts, strict=True)]
