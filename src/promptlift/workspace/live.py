"""Versions of a prompt side by side on real users: the text for each of them, and what came of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

from promptlift.client.reads.read_list import RowsRead
from promptlift.client.retry import leaves_open
from promptlift.errors import ApiError, ConfigError, NotFound, UnexpectedResponse
from promptlift.schema.experiments import Resolution
from promptlift.workspace.session import Room, Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from promptlift.schema.experiments import LiveExperiment
    from promptlift.schema.model import ApiModel


class Live(Room):
    """Versions of a prompt side by side on real users.

    Attributes
    ----------
    state
        What the service answered last; :meth:`refresh` asks again.
    """

    def __init__(self, lift: Session, state: LiveExperiment) -> None:
        super().__init__(lift)
        self.state = state

    @property
    def id(self) -> str:
        """The id of the experiment."""
        return self.state.id

    @property
    def sentence(self) -> str:
        """The result in words."""
        return self.state.sentence or ""

    @property
    def table(self) -> pd.DataFrame:
        """One row per version: its units, its completion, and its difference from the current version, which holds however often one looks."""
        table = self._table("live", lambda: _rows(self.state.arms))
        table.attrs["promptlift"]["sentence"] = self.sentence
        return table

    def refresh(self) -> Self:
        """Read what was measured until now."""
        self.state = self.client.experiments.get(self.id)
        return self

    def stop(self, reason: str | None = None) -> Self:
        """Stop it: every unit gets the current version from now on."""
        self.state = self.client.experiments.stop(self.id, reason=reason)
        return self

    def apply(self, arm: int | None = None, *, note: str | None = None) -> Self:
        """Make a version current, which ends the experiment.

        Parameters
        ----------
        arm
            Number of the version in :attr:`table`; by default the one that is better than the current version.
        note
            Why, in words; stored with the action.
        """
        self.state = self.client.experiments.apply(self.id, arm=arm, note=note)
        return self

    def __repr__(self) -> str:
        return f"<experiment {self.id}: {self.state.status}. {self.sentence}>"

    def _repr_html_(self) -> str:
        from markupsafe import Markup  # noqa: PLC0415 - for notebooks only

        from promptlift.display.static_html import element, paragraph, root, table  # noqa: PLC0415
        from promptlift.plots import compare  # noqa: PLC0415
        from promptlift.plots.notebook_theme import picture  # noqa: PLC0415
        from promptlift.words.versions import TITLES, in_words  # noqa: PLC0415

        drawn = Markup(picture(lambda ax: compare(self, ax=ax), self.sentence, height=3.4))  # noqa: S704 - escaped there
        shown = table(TITLES, map(in_words, self.state.arms), numbers=(1, 2))
        status = " · ".join(filter(None, (self.state.status.replace("_", " "), self.state.reason)))
        return str(root(paragraph(element("b", self.sentence)), drawn, shown, paragraph(status, soft=True)))


def _rows(models: Sequence[ApiModel]) -> RowsRead:
    return RowsRead([one.to_wire() for one in models], len(models), 1, complete=True)


class Living(Session):
    """Experiments on real users, and the text for each of them."""

    def live(self, prompt: str, weights: Mapping[str, float] | None = None, *, ramp: bool = False) -> Live:
        """Start an experiment, or return one: versions of a prompt side by side on real users.

        From now on :meth:`resolve` gives each unit, such as a user, its version. Offered by the embedded service.

        Parameters
        ----------
        prompt
            Name or id of the prompt; or, without ``weights``, the id of an experiment.
        weights
            Share of the units by version, such as ``{"v2": 0.5}``: by its number, its id, or the id of a variant. The rest
            gets the current version. Without weights, the prompt's newest experiment is returned.
        ramp
            Whether the version is to replace the current one in steps: 5% of the units get it, then 50%, then all. Each step
            follows once no metric is harmed, and as soon as one is, all get the current version again. ``weights`` names one
            version with the weight 1, such as ``{"v2": 1}``.

        Returns
        -------
        Live
            ``table``, ``sentence``, ``stop()``, ``apply()``.

        Raises
        ------
        ValidationError
            Shares that make no experiment, or a version that is not known.
        InvalidState
            The prompt has a running experiment.
        NotFound
            There is no such prompt or experiment.

        Examples
        --------
        >>> lift.live("Support assistant", {"v2": 0.5})  # doctest: +SKIP
        """
        group = self.client.prompts
        if weights is not None:
            started = self._names.call(
                prompt, lambda found: group.experiment(found, weights=weights, ramp=ramp)
            )
            return Live(self, started).refresh()
        if prompt.startswith("exp_"):
            return Live(self, self.client.experiments.get(prompt))
        newest = self._names.call(prompt, lambda found: group.experiments(found, limit=1)).data
        if not newest:
            raise NotFound(
                f'The prompt {prompt!r} has no experiment. lift.live({prompt!r}, {{"v1": 0.5}}) starts one.'
            )
        return Live(self, newest[0]).refresh()

    def resolve(self, prompt: str, unit: str, *, default: str | None = None) -> Resolution:
        """Return the text of a prompt for a unit: always the same version during an experiment.

        While the service is away, the last answer for the prompt serves all units: it has the running experiment with its
        shares and texts. Offered by the embedded service.

        Parameters
        ----------
        prompt
            Name or id of the prompt.
        unit
            The recipient of the text, such as the id of a user or a session. Only its hash is stored.
        default
            The text for an application that starts while the service is away, and has no last answer yet. It is not counted
            in an experiment.

        Returns
        -------
        Resolution
            ``content`` is the text; ``metadata`` is to be logged with the conversation.

        Raises
        ------
        NotFound
            There is no such prompt.
        ConnectionFailed
            The service is away, and there is neither a last answer nor a default.

        Examples
        --------
        >>> given = lift.resolve("Support assistant", "user-7")  # doctest: +SKIP
        >>> lift.log([{"messages": messages, "metadata": given.metadata}], prompt_id=given.prompt_id)  # doctest: +SKIP
        """
        if not unit.strip():
            raise ConfigError(f"unit must be a text that names a user or a session, not {unit!r}")
        last = self._resolved.get(prompt)
        if last is None and default is not None:
            last = Resolution(prompt_id=prompt, content=default)
        if last is not None and self._is_away:
            return last.of(unit)
        asked: Session = self if last is None else self._quick
        known = prompt if last is None else str(last.prompt_id)
        try:
            answer = asked._names.call(  # noqa: SLF001 - a session
                known, lambda found: asked.client.prompts.resolve(found, unit=unit)
            )
        except ApiError as error:
            if last is None or not (leaves_open(error) or isinstance(error, UnexpectedResponse)):
                raise
            self._note_away()
            return last.of(unit)
        self._resolved[prompt] = answer
        return answer

    def calibration(self) -> pd.DataFrame:
        """Compare what simulations let expect of variants with what users show. Offered by the embedded service.

        A variant is compared side by side with the original of its optimization, in its newest experiment (:meth:`live`); or
        else before and after it was applied, which other changes of users and their requests are part of.

        Returns
        -------
        DataFrame
            One row per variant that was simulated and then met users, of all prompts, newest first: ``predicted_expected`` is
            the change that the simulation let expect, ``difference`` the one that users show, in percentage points
            (``frames.describe_columns()`` has every column). ``attrs["promptlift"]["sentence"]`` says what simulations are worth
            here, and from five variants on ``attrs["promptlift"]["kept"]`` is the share of the expected changes that users
            showed, with its 95% interval: the slope of the line through 0.

        Examples
        --------
        >>> pairs = lift.calibration()  # doctest: +SKIP
        >>> pairs.attrs["promptlift"]["sentence"]  # doctest: +SKIP
        'Of 6 variants, production showed 71% of the change that simulations let expect (40% to 102%)'
        """
        found = self.client.experiments.calibration()
        table = self._table("calibration", lambda: _rows(found.data))
        kept = {"kept": (found.share, found.share_low, found.share_high)} if found.share is not None else {}
        table.attrs["promptlift"] |= {"sentence": found.sentence, "level": 0.95, **kept}
        return table

    @cached_property
    def _resolved(self) -> dict[str, Resolution]:
        """The last answer by prompt."""
        return {}
