"""Labelling simulated conversations of both arms blind: the browser of the draw takes the place of the review."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import anywidget

from promptlift.errors import PromptliftError
from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.commands import CommandWidget, explain_failure
from promptlift.widgets.review.labelled import DRAWN, plan_of, size_of_draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.commands import Command
    from promptlift.widgets.review.reading import Review
    from promptlift.workspace import Workspace

__all__ = ["BlindLabelling"]


class BlindLabelling(CommandWidget):
    """The part of a review that draws conversations of both arms and has them labelled.

    While the draw is labelled the review is empty: its state has verdicts, prompts and variants, and a front end holds all
    of the state, also what it does not show.
    """

    # The browser of the draw that is being labelled.
    _drawn = anywidget.WidgetTrait().tag(sync=True)

    _lift: Workspace
    _id: str
    _review: Review

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
    def _empty(self) -> None:
        """Take everything out of the state that the front end gets."""

    @abstractmethod
    def _refresh(self) -> None:
        """Read the review again and show it."""

    @abstractmethod
    def _update(self) -> None:
        """Show the review as it was read last."""

    def _labelling_handlers(self) -> Mapping[str, Callable[[Command], None]]:
        """Return the only commands while a draw is labelled: any other could bring back what is to stay unseen."""
        return {"leave": lambda _: self._leave_draw()}

    def _open_draw(self) -> None:
        """Show the draw in place of the review; one that was begun is gone on with."""
        drawn = self.label_draw(size_of_draw(self._review))
        with self.hold_sync():
            self._close_dialog()
            self._notify("")
            self._empty()
            self._drawn = drawn

    def _leave_draw(self) -> None:
        """Show the review again, with what the labels say of it."""
        drawn: ConversationBrowser | None = self._drawn
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
        with self.hold_sync():
            self._drawn = None
            try:
                self._refresh()
            except PromptliftError as error:
                self._update()
                self._notify(
                    f"What you see is from before the labels. {explain_failure(error)} Press Refresh.", "bad"
                )
        drawn.close()
