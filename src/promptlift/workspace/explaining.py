"""What users ask, and why conversations fail, in one call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimizing.run import VariantTables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from promptlift.analysis.atlas import Atlas
    from promptlift.workspace.conversations import Time


class Explaining(VariantTables, ConversationTables):
    """Topics and failing endings that are found in conversations."""

    def atlas(
        self,
        prompt: str | Sequence[str] | None = None,
        *,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        level: float = 0.95,
    ) -> Atlas:
        """Find what users ask: topics in the words of the conversations, with shares and outcomes.

        Parameters
        ----------
        prompt
            A prompt's name or id, or several; all conversations of the account when it is left out.
        since, until, where
            Only these conversations, as for :meth:`conversations`.
        level
            Coverage of each interval.

        Returns
        -------
        Atlas
            As of ``analysis.atlas``: ``.sentence``, ``.table``, ``.assignments``, ``.changes(window="7D")``.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        FrameError
            When ``where`` names a column that there is not.
        ConfigError
            When ``since``, ``until`` or ``where`` cannot be used, or the snapshot has no transcripts.

        Warns
        -----
        NothingMatchesWarning
            A filter or period matches no conversation; the message says what there is.

        Examples
        --------
        >>> lift.atlas("Support assistant").changes(window="7D")  # doctest: +SKIP
        """
        from promptlift import analysis  # noqa: PLC0415  pandas takes its time to load

        table = self.conversations(prompt, since=since, until=until, where=where, insights=True, content=True)
        return analysis.atlas(table, level=level)

    def why(
        self,
        prompt: str | Sequence[str] | None = None,
        *,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        labels: Any = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Find the endings that fail more often than others of the same topic, in the words of the conversations.

        This needs outcomes, labels or a judge that labels prove; otherwise unusual endings are listed, and the summary says how
        to find out what fails.

        Parameters
        ----------
        prompt, since, until, where
            As for :meth:`atlas`, which raises and warns likewise.
        labels
            Labels of people, such as ``lift.labels()``: if given, they are the outcome, and conversations without a label are left out.
        level
            Coverage of each interval; ``1 - level`` bounds the chance that any ending is named falsely.

        Returns
        -------
        DataFrame
            As of ``analysis.why``: one row per ending, with share, contrast, quotations and, of a single prompt, what its
            optimizations tried against it; ``attrs["promptlift"]`` has a
            ``summary`` and in ``sentences`` what each row shows.

        Examples
        --------
        >>> lift.why("Support assistant").attrs["promptlift"]["summary"]  # doctest: +SKIP
        """
        from promptlift import analysis  # noqa: PLC0415  as above

        table = self.conversations(prompt, since=since, until=until, where=where, insights=True, content=True)
        edits = self._table_of_variants("edits", None, prompt) if isinstance(prompt, str) else None
        return analysis.why(table, labels=labels, edits=edits, level=level)
