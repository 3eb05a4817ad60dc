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

    def calibration(self, *, window: Any = None, level: float = 0.95) -> pd.DataFrame:
        """Compare what simulations let expect of every applied variant with what production shows. Offered by the embedded service.

        Production is compared before and after the apply; or, where a variant ran side by side with the text that it was to
        improve (``lift.live``), by its newest experiment, which says more.

        Parameters
        ----------
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
        import pandas as pd  # noqa: PLC0415  takes its time to load

        from promptlift import analysis  # noqa: PLC0415  the same

        pairs: list[pd.DataFrame] = []
        live: list[pd.DataFrame] = []
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
            live.append(self._side_by_side(prompt_id, variants, versions))
        if not pairs:
            raise ConfigError(
                "No variant was applied yet, so there is no change in production to compare with."
            )
        return analysis.calibration(pairs, live=pd.concat(live))

    def _side_by_side(self, prompt_id: str, variants: pd.DataFrame, versions: pd.DataFrame) -> pd.DataFrame:
        """Return the variants in experiments with the original of their optimization, newest experiment first."""
        import pandas as pd  # noqa: PLC0415  takes its time to load

        from promptlift.analysis.versions import DIFFERENCE  # noqa: PLC0415  the same

        texts = versions.set_index("version_id")["content"]
        originals = variants[variants["is_original"]].set_index("optimization_id")["content"]
        original_of = variants.set_index("variant_id")["optimization_id"].map(originals)
        rows = [
            (arm.variant_id, one.estimate, one.low, one.high)
            for listed in self.client.prompts.experiments(prompt_id, limit=100).data
            for arm in self.client.experiments.get(listed.id).arms
            if (one := arm.difference) is not None
            and arm.verdict is not None
            and original_of.get(arm.variant_id) == texts.get(listed.arms[0].version_id)
        ]
        found = pd.DataFrame(rows, columns=["variant_id", *DIFFERENCE])
        return found.astype(dict.fromkeys(DIFFERENCE, "float64"))
