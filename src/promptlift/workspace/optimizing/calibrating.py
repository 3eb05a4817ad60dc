"""What simulations were worth: the changes that they let expect, beside those in production."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimizing.optimizations import Optimizing
from promptlift.workspace.prompts import Prompts

if TYPE_CHECKING:
    import pandas as pd


class Calibrating(Optimizing, ConversationTables, Prompts):
    """Simulations compared with production."""

    def calibration(self, *, live: Any = None, window: Any = None, level: float = 0.95) -> pd.DataFrame:
        """Compare what simulations let expect of every applied variant with what production shows. Offered by the embedded service.

        Parameters
        ----------
        live
            The ``table`` of a ``lift.live``, or several together: versions side by side on real users say more than before and
            after.
        window
            The longest time before and after an apply that counts, such as ``"30D"``.
        level
            Coverage of the intervals.

        Returns
        -------
        DataFrame
            One row per apply, of all prompts: ``prompt_id`` and the columns of :func:`promptlift.analysis.calibration`. From five
            on, ``attrs["promptlift"]`` has the line: ``kept``, and ``sentence``.

        Raises
        ------
        ConfigError
            No variant was applied yet.

        Examples
        --------
        >>> pairs = lift.calibration()  # doctest: +SKIP
        >>> pairs.attrs["promptlift"]["sentence"]  # doctest: +SKIP
        'Of 6 applied variants, production showed 71 % of the change that simulations let expect (40 to 102 %).'
        """
        from promptlift import analysis  # noqa: PLC0415  tables take their time to load

        pairs = []
        for prompt_id in self.optimizations()["prompt_id"].dropna().unique():
            versions = self.versions(prompt_id)
            if not versions["origin"].isin(("applied", "auto_deployed")).any():
                continue
            variants = self.variants(prompt_id=prompt_id)
            read = self.conversations(prompt_id, insights=True)
            found = analysis.simulated_vs_production(
                variants[~variants["rehearsal"].fillna(value=False).astype(bool)],
                read,
                versions=versions,
                window=window,
                level=level,
            )
            found.insert(0, "prompt_id", prompt_id)
            pairs.append(found)
        if not pairs:
            raise ConfigError(
                "No variant was applied yet, so there is no change in production to compare with."
            )
        return analysis.calibration(pairs, live=live)
