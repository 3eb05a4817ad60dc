"""Reviews and actions in a small file beside the notebook, for services that keep none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.workspace.notebook_file import NotebookFile

if TYPE_CHECKING:
    Row = dict[str, Any]

FILE_NAME: Final = "promptlift-review.json"


class ReviewFile(NotebookFile):
    """Reviews and actions of one service. The file has the texts of prompts."""

    name = FILE_NAME
    title = "review file"
    parts = {"reviews": dict, "actions": list}  # noqa: RUF012 - a constant of the class

    def reviews(self, optimization_id: str) -> dict[str, Row]:
        """Return the reviews of an optimization by variant."""
        found: dict[str, Row] = self._read()["reviews"].get(optimization_id, {})
        return found

    def actions(self) -> list[Row]:
        """Return all actions, newest first."""
        return list(reversed(self._read()["actions"]))

    def update_review(self, optimization_id: str, variant_id: str, changes: Row) -> Row:
        """Update the review of a variant and return it."""

        def change(part: Row) -> Row:
            reviews = part["reviews"].setdefault(optimization_id, {})
            row: Row = reviews.setdefault(
                variant_id, {"variantId": variant_id, "verdict": None, "note": None}
            )
            row.update(changes)
            return dict(row)

        changed: Row = self._change(change)
        return changed

    def add(self, row: Row) -> None:
        """Add an action."""
        self._change(lambda part: part["actions"].append(row))

    def amend(self, action_id: str, changes: Row | None) -> None:
        """Update an action, or remove it when `changes` is None."""

        def change(part: Row) -> None:
            for row in part["actions"]:
                if row["id"] == action_id and changes is not None:
                    row.update(changes)
            if changes is None:
                part["actions"] = [row for row in part["actions"] if row["id"] != action_id]

        self._change(change)
