"""What users ask, and why conversations fail, in one call each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import NotFound
from promptlift.words.names import one_line
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimizing.run import VariantTables
from promptlift.workspace.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from promptlift.analysis.atlas import Atlas
    from promptlift.schema.topics import Topic
    from promptlift.workspace.conversations import Time

# Columns of a quotation in a text; a page has all of it.
_QUOTED_CHARS: Final = 100


@dataclass(frozen=True, repr=False)
class Endings:
    """Endings of conversations that fail more often than others of the same topic, with quotations.

    Attributes
    ----------
    table
        The table of ``analysis.why``.
    """

    table: pd.DataFrame

    @property
    def sentence(self) -> str:
        """How many endings were found, and which share of the failures have them."""
        return str(self.table.attrs["promptlift"]["summary"])

    def _named(self) -> Iterator[tuple[str, list[str]]]:
        """Yield what each row shows, and its quotations."""
        sentences = self.table.attrs["promptlift"]["sentences"]
        return zip(sentences, self.table["quotations"], strict=True)

    def __str__(self) -> str:
        lines = [self.sentence]
        for sentence, quotations in self._named():
            lines += [f"- {sentence}", *(f"    “{one_line(text, _QUOTED_CHARS)}”" for text in quotations)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from promptlift.display import static_html as page  # noqa: PLC0415  as below

        parts = [
            page.element("li", sentence, *(page.element("blockquote", f"“{text}”") for text in quotations))
            for sentence, quotations in self._named()
        ]
        return str(page.root(page.paragraph(page.element("b", self.sentence)), page.element("ul", *parts)))


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

        Of one prompt that no model judges they are the topics that the service keeps, by the numbers of :meth:`topics` and with
        the names that people gave them. Otherwise conversations are grouped here and now.

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
            As of ``analysis.atlas``: ``.sentence``, ``.table``, ``.assignments``, ``.changes(window="7D")``; kept topics have no
            ``borderline`` conversations.

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

        kept = self._kept_topics(prompt) if isinstance(prompt, str) else None
        table = self.conversations(prompt, since=since, until=until, where=where, insights=True, content=True)
        by_words = table["analyser"].dropna().eq("lexicon").all()
        if kept is None or not by_words or not table["topics"].map(len).any():
            return analysis.atlas(table, level=level)
        from promptlift.analysis.atlas.topics import kept_atlas  # noqa: PLC0415  as above

        return kept_atlas(table, kept, level=level)

    def _kept_topics(self, prompt: str) -> Sequence[Topic]:
        """Return the topics of a prompt, once its conversations have them; a snapshot has only their names."""
        try:
            return Topics(self, self._names.known_id(prompt)).known
        except NotFound:
            return ()

    def why(
        self,
        prompt: str | Sequence[str] | None = None,
        *,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        labels: Any = None,
        level: float = 0.95,
    ) -> Endings:
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
        Endings
            ``.sentence``, and ``.table`` as of ``analysis.why``: one row per ending, with share, contrast, quotations and, of a
            single prompt, what its optimizations tried against it.

        Examples
        --------
        >>> lift.why("Support assistant").sentence  # doctest: +SKIP
        """
        from promptlift import analysis  # noqa: PLC0415  as above

        table = self.conversations(prompt, since=since, until=until, where=where, insights=True, content=True)
        edits = self._table_of_variants("edits", None, prompt) if isinstance(prompt, str) else None
        return Endings(analysis.why(table, labels=labels, edits=edits, level=level))
