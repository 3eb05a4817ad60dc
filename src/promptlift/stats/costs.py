"""What an arm costs by its tokens and a price, and which of several is the cheapest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Cheapest", "TokenUse", "cheapest_arm", "cost_per_completed", "cost_per_conversation"]

_PRICED_TOKENS = 1_000_000


class TokenUse(NamedTuple):
    """Mean tokens of a conversation that a model read and wrote, and whether they are an estimate."""

    read: float
    written: float
    estimated: bool = False


class Cheapest(NamedTuple):
    """The cheapest arm, by its price, or by its tokens where some arm has no price."""

    arm: int
    basis: Literal["price", "tokens"]


def cost_per_conversation(tokens: TokenUse | None, price: Mapping[str, float] | None) -> float | None:
    """Return the cost of a conversation.

    Parameters
    ----------
    tokens
        Of a conversation; ``None`` where nothing is known.
    price
        ``input`` and ``output``: the price of a million tokens that the model reads and writes.

    Returns
    -------
    float or None
        In the currency of the price; ``None`` where tokens or price are unknown.

    Examples
    --------
    >>> cost_per_conversation(TokenUse(4_000, 500), {"input": 2.5, "output": 10.0})
    0.015
    """
    if tokens is None or price is None:
        return None
    return (tokens.read * price["input"] + tokens.written * price["output"]) / _PRICED_TOKENS


def cost_per_completed(cost: float | None, rate: float | None) -> float | None:
    """Return the cost for every completed task; ``None`` where it is unknown or nothing was completed."""
    return cost / rate if cost is not None and rate else None


def cheapest_arm(
    arms: Iterable[int], tokens: Mapping[int, TokenUse | None], costs: Mapping[int, float | None]
) -> Cheapest | None:
    """Return the cheapest of some arms: the first of them where several cost the same.

    Prices decide where every one of these arms has one. Otherwise the number of tokens does, which says little about
    different models: the result names the basis.
    """
    used = {arm: use for arm in arms if (use := tokens[arm]) is not None}
    if not used:
        return None
    priced = {arm: cost for arm in used if (cost := costs[arm]) is not None}
    if len(priced) == len(used):
        return Cheapest(min(priced, key=priced.__getitem__), "price")
    return Cheapest(min(used, key=lambda arm: used[arm].read + used[arm].written), "tokens")
