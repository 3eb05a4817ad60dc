"""Labels of people: kept by the service, read as a table, and read from exports of other tools."""

from __future__ import annotations

import getpass
import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.api.group import given
from promptlift.client.reads.optimizations import not_offered
from promptlift.errors import NotFound, TranscriptError
from promptlift.schema import endpoints
from promptlift.workspace.session import Room, frames

if TYPE_CHECKING:
    import os

    import pandas as pd

    Row = dict[str, Any]

# Notes can be long, and a body is bounded.
_AT_ONCE: Final = 100
# Metadata of an imported conversation that name what other tools rate.
_RATED: Final = ("traceIds", "spanIds")


class Labels(Room):
    """What people say of conversations: ``lift.labels()`` is the table.

    The embedded service keeps labels. With another one, keep the table in a file of your own: ``labels=`` takes tables.
    """

    def __call__(
        self,
        prompt_id: str | None = None,
        *,
        question: str | None = None,
        labeller: str | None = None,
        draw_id: str | None = None,
        optimization_id: str | None = None,
    ) -> pd.DataFrame:
        """Return the labels that are kept, one row per answer: what ``labels=`` takes wherever numbers are corrected.

        Parameters
        ----------
        prompt_id
            Name or id of a prompt: only labels of its conversations.
        question, labeller, draw_id
            Only answers to this question, of this person, or of this draw (``analysis.label_plan``).
        optimization_id
            Only labels of the simulated conversations of this optimization.

        Returns
        -------
        DataFrame
            conversation_id, prompt_id, question, value, labeller, labelled_at (UTC), chance, draw_id, optimization_id,
            label_id; newest first.

        Examples
        --------
        >>> analysis.completion(df, by="prompt", labels=lift.labels())  # doctest: +SKIP
        """
        prompt_id = self._names.id_of_filter(prompt_id)
        filters = {
            "prompt_id": prompt_id, "question": question, "labeller": labeller, "draw_id": draw_id,
            "optimization_id": optimization_id,
        }  # fmt: skip
        return self._offered("labels", endpoints.LABELS_LIST, asked=filters)

    def read(self, file: str | os.PathLike[str], prompt_id: str, *, name: str | None = None) -> pd.DataFrame:
        """Read the labels that another tool exported to a file; :meth:`add` keeps them.

        They have no chance with which their conversations were drawn: where every conversation has one, they are the outcome
        that ``labels=`` shows; where only some have, they measure a judge (``analysis.judge_agreement``) and correct nothing.

        Parameters
        ----------
        file
            Scores of Langfuse, annotations of Phoenix or feedback of LangSmith. A label is matched with a conversation of the
            prompt by the session or thread that it rates, which is the ``source_id``, else by the trace or the span. Of several
            labels of one conversation the last one of the file counts.
        prompt_id
            Name or id of the prompt that the conversations were imported for.
        name
            Which rating to read, by the tool's name for it; ``None`` takes every yes or no and every sentiment.

        Returns
        -------
        DataFrame
            One row for each labelled conversation, with ``conversation_id``, and ``task_completed`` or ``sentiment`` or both.

        Raises
        ------
        TranscriptError
            When the file holds no labels, none of that name, or none of a conversation of the prompt.
        """
        import pandas as pd  # noqa: PLC0415  loaded on first use

        from promptlift.transcripts import read_labels  # noqa: PLC0415

        labels = read_labels(file, name=name)
        known = self._ids_by_source(prompt_id)
        rows: dict[str, dict[str, Any]] = {}
        for label in labels:
            found = next((known[target] for target in label.targets if target in known), None)
            if found is None:
                continue
            row = rows.setdefault(found, {"conversation_id": found})
            row |= given(task_completed=label.task_completed, sentiment=label.sentiment)
        if not rows:
            raise TranscriptError(
                f"None of the {len(labels)} labels is of a conversation of {prompt_id!r}. Import the traces that they rate "
                "first, into that prompt."
            )
        types = {"conversation_id": "str", "task_completed": "boolean", "sentiment": "str"}
        frame = pd.DataFrame(list(rows.values()))
        return frame.astype({column: types[column] for column in frame.columns})

    def add(
        self,
        labels: Any,
        *,
        labeller: str | None = None,
        chance: float | None = None,
    ) -> pd.DataFrame:
        """Keep labels of conversations; the same ones twice are kept once.

        What the same person said before of the same question is replaced. A chance or a draw that was known stays where the
        table does not say another.

        Parameters
        ----------
        labels
            A table with one row per answer: conversation_id, question, value, and perhaps labeller, labelled_at, chance and
            draw_id, such as ``plan.assign(value=answers)``. Or with a column for each question, such as ``browser.labels``
            or ``lift.labels.read(file, prompt)``. An answer of yes or no may be true or false. Empty ones are left out.
        labeller
            Who answered, where the table does not say; by default the name of the user of this computer.
        chance
            The chance with which each conversation was drawn, where the table does not say and it is the same for all. Leave it
            out for conversations that were picked by hand, by low confidence or by search.

        Returns
        -------
        DataFrame
            The labels as they are kept, as ``lift.labels()`` gives them.

        Raises
        ------
        FrameError
            When a column is missing.
        ConfigError
            When an answer, a chance or a labeller cannot be used.
        ApiError
            ``ValidationError`` when a conversation is not there, ``NotFound`` when the service keeps no labels.

        Examples
        --------
        >>> lift.labels.add(plan.assign(value=answers), labeller="ann")  # doctest: +SKIP
        """
        from promptlift.analysis.label_tables import label_records  # noqa: PLC0415  logging needs no tables

        rows = label_records(labels, labeller=labeller or self.labeller, chance=chance)
        table: pd.DataFrame = frames().labels_table(self._keep(rows))[0]
        table.attrs["promptlift"] = {"table": "labels", "rows": len(table)}
        return table

    def remove(self, conversation_id: str, question: str, *, labeller: str | None = None) -> None:
        """Take back what a person said of a conversation.

        Parameters
        ----------
        conversation_id, question
            The conversation, and the question that was answered.
        labeller
            Who answered; by default the name of the user of this computer.
        """
        answer = {"conversation_id": conversation_id, "question": question, "value": None}
        self._keep([{**answer, "labeller": labeller or self.labeller}])

    @property
    def labeller(self) -> str:
        """Name of the labeller if none is given: the user of this computer."""
        try:
            return getpass.getuser() or "unnamed"
        except (OSError, KeyError, ImportError):  # a container may have none
            return "unnamed"

    def _keep(self, labels: list[Row]) -> list[Row]:
        """Send labels, a hundred at a time, and return those that are kept."""
        kept: list[Row] = []
        for start in range(0, len(labels), _AT_ONCE):
            try:
                answer = self.client.labels.create(labels[start : start + _AT_ONCE])
            except NotFound as error:
                raise not_offered(error, "labels.create") from None
            kept += [one.to_wire() for one in answer.data if one is not None]
        return kept

    def _ids_by_source(self, prompt_id: str) -> dict[str, str]:
        """Return the ids of the conversations of a prompt by what the source calls them, their traces and their spans."""
        table = self._lift.conversations(prompt_id, content=True)
        known: dict[str, str] = {}
        for row in table[["conversation_id", "source_id", "content"]].itertuples(index=False):
            if isinstance(row.content, str) and any(f'"{name}"' in row.content for name in _RATED):
                metadata = json.loads(row.content).get("metadata") or {}
                for name in _RATED:
                    ids = metadata.get(name)
                    known |= {str(one): row.conversation_id for one in (ids if isinstance(ids, list) else [])}
            if isinstance(row.source_id, str):
                known[row.source_id] = row.conversation_id
        return known
