"""The overview in a notebook shows the service's aggregates while the rows are read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pytest

from promptlift import plots
from promptlift.plots.prompt_overview import PREVIEW_FROM
from promptlift.schema.insights import PromptInsightsView
from support.sentences import PLOTS
from support.synthetic_tables import conversations


class Kernel:
    """Stands in for a notebook's kernel: keeps what is shown and what it is changed to."""

    def __init__(self) -> None:
        self.kernel = object()
        self.log: list[Any] = []

    def display(self, figure: Any, *, display_id: bool) -> Kernel:
        assert display_id
        self.log.append(("shown", [text.get_text() for text in figure.texts]))
        return self

    def update(self, data: Any, *, raw: bool) -> None:
        assert raw
        self.log.append(("changed", data))


class Source:
    """A workspace with one prompt of so many conversations."""

    def __init__(self, total: int, kernel: Kernel) -> None:
        self._total, self._kernel = total, kernel

    def prompt_insights(self, prompt_id: str, days: str = "30") -> PromptInsightsView:
        assert days == "all"
        counts = {"totalConversations": self._total, "completedConversations": 1, "abandonedConversations": 0}
        metrics = {
            "taskCompletion": {"rate": 50.0, "trend": None},
            "sentiment": {"average": 0.1, "distribution": {"positive": 1, "neutral": 0, "negative": 0}},
        }
        return PromptInsightsView.from_wire(
            {
                "promptId": prompt_id,
                "period": {"days": "all"},
                "summary": {**counts, "completionRate": 100.0},
                "metrics": metrics,
            }
        )

    def conversations(self, *, prompt_id: str, insights: bool) -> Any:
        self._kernel.log.append(("read", prompt_id, insights))
        return conversations(0)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    import IPython
    import IPython.display

    plt.switch_backend("agg")  # before the stand-in: a first use of pyplot would register with a real shell
    made = Kernel()
    monkeypatch.setattr(IPython, "get_ipython", lambda: made)
    monkeypatch.setattr(IPython.display, "display", made.display)
    return made


def test_a_large_prompt_shows_its_aggregates_until_the_rows_are_read(kernel: Kernel) -> None:
    figure = plots.prompt_overview(Source(PREVIEW_FROM, kernel), "p1")
    assert [entry[0] for entry in kernel.log] == ["shown", "read", "changed"]
    assert any(PLOTS["conversations are loading"] in text for text in kernel.log[0][1])
    assert kernel.log[2][1] == {"text/plain": ""}
    assert plt.get_fignums() == [figure.number]
    plt.close(figure)


def test_a_small_prompt_shows_nothing_before(kernel: Kernel) -> None:
    plt.close(plots.prompt_overview(Source(PREVIEW_FROM - 1, kernel), "p1"))
    assert [entry[0] for entry in kernel.log] == ["read"]


def test_the_preview_is_taken_back_when_the_read_fails(kernel: Kernel) -> None:
    source = Source(PREVIEW_FROM, kernel)
    source.conversations = lambda **_: 1 / 0  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        plots.prompt_overview(source, "p1")
    assert kernel.log[-1] == ("changed", {"text/plain": ""})


def test_a_script_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", SimpleNamespace)
    made = Kernel()
    plt.close(plots.prompt_overview(Source(10**6, made), "p1"))
    assert [entry[0] for entry in made.log] == ["read"]
