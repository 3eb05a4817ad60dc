"""What an optimizer's run in a world came to, and the table over many worlds."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from benchmarks.prompt_world.engines import run_engine
from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.vocabulary import SEED_LINES
from benchmarks.prompt_world.world import draw_world
from benchmarks.tables import markdown
from support.stub_endpoint import StubEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.prompt_world.world import World

__all__ = ["Measured", "copied_words", "lost_lines", "measure", "table"]

RUN: Final = 5
# A named prompt is right or harmful when it is this many points better or worse than the original.
POINTS_THAT_COUNT: Final = 1.0
_WORD: Final = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one optimizer in one world.

    Attributes
    ----------
    gain
        True points of what was named; 0 when nothing was.
    copied
        Words that the named prompt repeats from conversations.
    lost
        Lines of the seed prompt that hold a placeholder, rule or number and are missing in the named one.
    causal
        Whether the named prompt is worse without the edit that is said to be worth most; ``None`` where none is named.
    """

    family: str
    seed: int
    engine: str
    mode: str
    gain: float
    named: bool
    told_headroom: bool
    conversations: int
    tokens: int
    copied: tuple[str, ...]
    lost: tuple[str, ...]
    seconds: float
    causal: bool | None = None

    @property
    def right(self) -> bool:
        """Whether what was named is better."""
        return self.named and self.gain >= POINTS_THAT_COUNT

    @property
    def harmful(self) -> bool:
        """Whether what was named is worse."""
        return self.named and self.gain <= -POINTS_THAT_COUNT


def measure(family: str, seed: int, engine: str, mode: str) -> Measured:
    """Run an optimizer in a world, with an endpoint of its own."""
    started = time.monotonic()
    world = draw_world(family, seed)
    model = WorldModel(world)
    endpoint = StubEndpoint(model)
    try:
        named = run_engine(engine, world, model, endpoint, mode=mode, seed=seed)
    finally:
        endpoint.close()
    said = [text for one in world.log for _, text in one.messages] + sorted(model.heard)
    return Measured(
        family=family,
        seed=seed,
        engine=engine,
        mode=mode,
        gain=world.gain(named.text),
        named=named.text is not None,
        told_headroom=named.told_headroom,
        conversations=model.conversations,
        tokens=model.tokens,
        copied=() if named.text is None else copied_words(named.text, said, own=world.seed_prompt),
        lost=() if named.text is None else lost_lines(named.text, world),
        seconds=time.monotonic() - started,
        causal=None
        if named.without_cause is None
        else world.gain(named.without_cause) < world.gain(named.text),
    )


def copied_words(text: str, said: Iterable[str], *, own: str = "") -> tuple[str, ...]:
    """Return the runs of five words that a text repeats from what was said and that its owner did not write."""
    wanted = _runs(text) - _runs(own)
    found: set[str] = set()
    for one in said:
        found |= wanted & _runs(one)
    return tuple(sorted(found))


def lost_lines(text: str, world: World) -> tuple[str, ...]:
    """Return the lines of the seed prompt with a placeholder, a rule or a number that a text no longer has."""
    bound = [line for line in SEED_LINES if "{{" in line or "Never" in line or any(map(str.isdigit, line))]
    return tuple(line for line in bound if line in world.seed_prompt and line not in text)


def table(measured: Sequence[Measured]) -> str:
    """Return a Markdown table with one row a family, mode and engine."""
    head = (
        "family", "mode", "engine", "worlds", "gain (± SE)", "names", "right", "harmful", "conversations", "tokens",
        "told headroom", "copied", "lost", "cause", "seconds",
    )  # fmt: skip
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for one in measured:
        groups.setdefault((one.family, one.mode, one.engine), []).append(one)
    return "\n".join(markdown(head, (_row(key, group) for key, group in groups.items())))


def _row(key: tuple[str, str, str], group: Sequence[Measured]) -> tuple[str, ...]:
    gains = [one.gain for one in group]
    error = f" ± {stdev(gains) / len(gains) ** 0.5:.1f}" if len(gains) > 1 else ""
    return (
        *key,
        str(len(group)),
        f"{fmean(gains):.1f}{error}",
        *(_share(getattr(one, name) for one in group) for name in ("named", "right", "harmful")),
        f"{fmean(one.conversations for one in group):.0f}",
        f"{fmean(one.tokens for one in group) / 1000:.0f}k",
        _share(one.told_headroom for one in group),
        _share(bool(one.copied) for one in group),
        _share(bool(one.lost) for one in group),
        _share(one.causal for one in group if one.causal is not None),
        f"{fmean(one.seconds for one in group):.0f}",
    )


def _share(of: Iterable[bool]) -> str:
    values = list(of)
    return f"{sum(values)} of {len(values)}"


def _runs(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
