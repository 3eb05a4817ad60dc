"""Labelling simulated conversations of both arms blind: the browser of the draw takes the place of the review."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from promptlift.errors import PromptliftError
from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.review.labelled import DRAWN, plan_of, size_of_draw
from promptlift.widgets.tree import h
from promptlift.widgets.tree_widget import TreeWidget, explain_failure, push

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Nodes
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["BlindLabelling"]


class BlindLabelling(TreeWidget):
    """The part of a review that draws conversations of both arms and has them labelled.

    While the draw is labelled the tree of the review is empty, because a front end has all of the tree, also what it does
    not show.
    """

    # The browser of the draw that is being labelled.
    _drawn: ConversationBrowser | None = None
    # Whether a draw was left, so that the focus goes back to the review.
    _returned = False

    _lift: Workspace
    _id: str
    _review: Review
    _switched: dict[str, set[str]]

    def label_draw(
        self, n: int = DRAWN, *, seed: int = 0, labels: Any = None, labeller: str | None = None
    ) -> ConversationBrowser:
        """Draw simulated conversations of both arms at random, to label them blind.

        The button on the card of a tested variant does the same in the place of the review. Labels correct the measured lift
        (``analysis.corrected_lift``); Refresh shows on the winner's card what they say.

        Parameters
        ----------
        n
            Conversations, half of each arm.
        seed
            Another number is another draw; the same one continues what was labelled.
        labels
            Where the labels are kept, as of :class:`~promptlift.widgets.ConversationBrowser`; by default by the workspace.
        labeller
            Who labels; by default the user of this computer.

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
        plan = plan_of(self._lift, self._id, n, seed)
        kept = self._lift if labels is None else labels
        return ConversationBrowser(plan, labels=kept, labeller=labeller)

    @abstractmethod
    def _refresh(self) -> None:
        """Read the review again and show it."""

    def _labelling_actions(self) -> Mapping[str, Callable[[Event], None]]:
        """Return the only actions while a draw is labelled: any other could bring back what is to stay unseen."""
        return {"leave": lambda _: self._leave_draw()}

    def _labelling(self, drawn: ConversationBrowser) -> Nodes:
        """Return the draw, and the way back."""
        # The last label can still be changed, so a person says when a draw is done.
        done = drawn.left == 0
        words = "All labelled: see what the labels say" if done else "Back to the review"
        back = push(words, "leave", f".plw-leave{'.plw-confirm' if done else ''}")
        hidden = "Prompt, variant and the judge's verdict stay hidden until you go back."
        otherwise = "This notebook cannot show the conversations here. Go back, and run review.label_draw() in a cell of its own."
        top = h(
            "div.plw-top",
            h("b", "Conversations of both arms, blind"),
            h("span.plw-soft", hidden),
            h("span.plw-buttons", back),
        )
        return [h("div.plw-drawn", top, drawn.slot(otherwise, ".plw-list"), reveal=True, key=drawn.model_id)]

    def _open_draw(self) -> None:
        """Show the draw in place of the review; one that was begun is continued."""
        self._drawn = self.label_draw(size_of_draw(self._review))
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
                f"Some labels are not kept yet. Try again; running the cell again leaves without them. {explain_failure(error)}",
                "bad",
            )
            return
        self._drawn, self._returned = None, True
        try:
            self._refresh()
        except PromptliftError as error:
            self._notify(
                f"What you see is from before the labels. {explain_failure(error)} Press Refresh.", "bad"
            )
        drawn.close()
