"""Labelling simulated conversations of both arms blind: the browser of the draw takes the place of the review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.analysis.corrected_lift import simulated_label_plan
from promptlift.analysis.reading import facts_of
from promptlift.errors import ConfigError, PromptliftError
from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.review.deciding import Deciding
from promptlift.widgets.tree import h
from promptlift.widgets.tree_widget import explain_failure, push

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from promptlift.widgets.tree import Nodes
    from promptlift.widgets.tree_widget import Event

__all__ = ["BlindLabelling"]

_DRAWN: Final = 80
_OTHER_DRAW: Final = (
    "There are labels of another draw, and labels of two draws correct nothing together. Continue that one in a cell: "
    "review.label_draw(n, seed=…), with the numbers that it was drawn with."
)


class BlindLabelling(Deciding):
    """The part of a review that draws conversations of both arms and has them labelled.

    While the draw is labelled the tree of the review is empty, because a front end has all of the tree, including what it
    does not show.
    """

    # The browser of the draw that is being labelled.
    _drawn: ConversationBrowser | None = None
    # Whether a draw was left, so that the focus goes back to the review.
    _returned = False

    def label_draw(self, n: int = _DRAWN, *, seed: int = 0) -> ConversationBrowser:
        """Draw simulated conversations of both arms at random, to label them blind.

        The button on the card of a tested variant does the same in the place of the review. Labels correct the measured lift
        (``analysis.corrected_lift``); Refresh shows on the winner's card what they say.

        Parameters
        ----------
        n
            Conversations, half of each arm.
        seed
            Another number is another draw; the same one continues what was labelled.

        Returns
        -------
        ConversationBrowser
            The browser of the draw.

        Raises
        ------
        PromptliftError
            When the conversations cannot be read, or none were held to confirm a variant.

        Examples
        --------
        >>> review.label_draw()  # doctest: +SKIP
        """
        plan = _plan(self._lift.optimizations[self._id].simulations(content=True), n, seed)
        return ConversationBrowser(plan, labels=self._lift)

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        # While a draw is labelled, any other action could bring back what is to stay unseen.
        if self._drawn is not None:
            return {"leave": lambda _: self._leave_draw()}
        return {**super()._actions(), "label": lambda _: self._open_draw()}

    def _labelling(self, drawn: ConversationBrowser) -> Nodes:
        """Return the draw, and the way back."""
        # The last label can still be changed, so a person says when a draw is done.
        words, marked = (
            ("Back to the review", "")
            if drawn.left
            else ("All labelled: see what the labels say", ".plw-confirm")
        )
        top = h(
            "div.plw-top",
            h("b", "Conversations of both arms, blind"),
            h("span.plw-soft", "Prompt, variant and the judge's verdict stay hidden until you go back."),
            h("span.plw-buttons", push(words, "leave", f".plw-leave{marked}")),
        )
        otherwise = "This notebook cannot show the conversations here. Go back, and run review.label_draw() in a cell of its own."
        return [h("div.plw-drawn", top, drawn.slot(otherwise, ".plw-list"), reveal=True, key=drawn.model_id)]

    def _open_draw(self) -> None:
        """Show the draw in place of the review; one that was begun is continued."""
        self._drawn = self.label_draw(self._size_of_draw())
        self._drawn.observe(lambda _: self._show(), "_labelling")
        self._switched = {}
        self._close_dialog()
        self._notify("")

    def _leave_draw(self) -> None:
        """Show the review again, with what the labels say of it."""
        drawn = self._drawn
        if drawn is None:
            return
        try:
            drawn.save()
        except PromptliftError as error:
            self._notify(
                "Some labels are not saved yet. Try again, or run the cell again to leave without them. "
                f"{explain_failure(error)}",
                "bad",
            )
            return
        self._drawn, self._returned = None, True
        try:
            self._refresh()
        except PromptliftError as error:
            words = f"What you see is from before the labels. {explain_failure(error)} Press Refresh."
            self._notify(words, "bad")
        drawn.close()

    def _size_of_draw(self) -> int:
        """Return how many conversations to draw: as many as the draw whose labels are there, to continue it."""
        labels, simulations = self._review.labels, self._review.simulations
        if labels is None or simulations is None:
            return _DRAWN
        begun = labels[labels["draw_id"].notna() & labels["chance"].notna()]
        if begun.empty:
            return _DRAWN
        # The chance of each says how many of the pairs were drawn.
        pairs: int = facts_of(_plan(simulations, _DRAWN))["n_pairs"]
        size = 2 * round(float(begun["chance"].iloc[0]) * pairs)
        if _plan(simulations, size)["draw_id"].iloc[0] != begun["draw_id"].iloc[0]:
            raise ConfigError(_OTHER_DRAW)
        return size


def _plan(simulations: pd.DataFrame, n: int, seed: int = 0) -> pd.DataFrame:
    try:
        return simulated_label_plan(simulations, n=n, seed=seed)
    except ValueError as error:
        raise ConfigError(f"There is nothing to label yet. {error}") from error
