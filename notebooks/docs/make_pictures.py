"""Make the pictures of the README and of the site: ``python notebooks/docs/make_pictures.py [NAME …]``.

They show the real thing: the embedded service with the sample conversations, and an optimization of the rehearsal model
with a fixed seed. Dates are fixed too, so a run changes a picture only when what it shows has changed. Pictures of
pages need Chromium.
"""

# ruff: noqa: INP001, T201  a script that prints
from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
from PIL import Image, ImageChops

mpl.use("Agg")

import promptlift
from promptlift import plots, report, widgets
from promptlift.local import log_samples, wait_for_insights

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from promptlift.workspace import Workspace

PICTURES: Final = Path(__file__).resolve().parent / "pictures"
BYTES: Final = 150_000
COLOURS: Final = 96
ENDING: Final = date(2026, 11, 1)
SEED: Final = 21
NOW: Final = datetime(2026, 11, 2, 6, tzinfo=UTC)
PAGE: Final = "<!doctype html><meta charset=utf-8><style>body { font: 15px sans-serif; margin: 16px }</style>"
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")


class Scene:
    """What all pictures are taken of.

    Parameters
    ----------
    lift
        A workspace on an empty service.
    """

    def __init__(self, lift: Workspace) -> None:
        self.lift = lift
        self.prompts = log_samples(lift, ending=ENDING)
        wait_for_insights(lift, self.prompts.values(), progress=False)
        self.old, self.new = self.prompts.values()

    @cached_property
    def conversations(self) -> pd.DataFrame:
        """All sample conversations with their insights and the name of their prompt."""
        df = self.lift.conversations(insights=True)
        names = {prompt_id: name for name, prompt_id in self.prompts.items()}
        return df.assign(prompt=df["prompt_id"].map(names)).sort_values("started_at", ignore_index=True)

    @cached_property
    def optimization_id(self) -> str:
        """A rehearsed optimization of the old version."""
        return self.lift.optimize(self.old, mode="validation", variants=3, seed=SEED).id


def overview(scene: Scene) -> bytes:
    """Draw the one-glance figure."""
    return drawn(plots.prompt_overview(scene.lift, scene.new))


def trend(scene: Scene) -> bytes:
    """Completion by week of both versions."""
    return of_axes(plots.completion_trend(scene.conversations, freq="W", by="prompt"))


def issues(scene: Scene) -> bytes:
    """Draw what goes wrong, in both versions."""
    return of_axes(plots.issues(scene.conversations, by="prompt", top=6))


def variant_lift(scene: Scene) -> bytes:
    """Draw the variants of an optimization with their lift."""
    return of_axes(plots.variant_lift(scene.lift.variants(scene.optimization_id)))


def variant_confidence(scene: Scene) -> bytes:
    """Draw the confidence of the finalist, pass by pass."""
    return of_axes(plots.variant_confidence(scene.lift.variants(scene.optimization_id)))


def where_it_differs(scene: Scene) -> bytes:
    """Where the finalist differs from the original."""
    return of_axes(plots.where_it_differs(scene.lift.optimizations[scene.optimization_id].simulations()))


def report_page(scene: Scene) -> bytes:
    """Photograph the top of a report, as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        page = report.write(
            scene.lift,
            [scene.old, scene.new],
            Path(folder, "report.html"),
            clock=lambda: NOW,
            title="Help desk",
        )
        return photographed(page, width=1000, height=1250)


def review_page(scene: Scene) -> bytes:
    """Photograph the top of a review, as an exported notebook shows it."""
    review = widgets.VariantReview(scene.lift, scene.optimization_id)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "review.html")
        page.write_text(f"{PAGE}{review._repr_html_()}", encoding="utf-8")
        return photographed(page, width=1000, height=1250)


PAGES: Final = {"report": report_page, "review": review_page}
FIGURES: Final[dict[str, Callable[[Scene], bytes]]] = {
    "overview": overview,
    "trend": trend,
    "issues": issues,
    "variant-lift": variant_lift,
    "variant-confidence": variant_confidence,
    "where-it-differs": where_it_differs,
}


def of_axes(axes: object) -> bytes:
    """Return the picture of the figure that axes lie in."""
    return drawn(axes.figure)  # type: ignore[attr-defined]


def drawn(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    out = io.BytesIO()
    figure.savefig(
        out, format="png", dpi=110, bbox_inches="tight", facecolor="white", metadata={"Software": None}
    )
    return out.getvalue()


def photographed(page: Path, *, width: int, height: int) -> bytes:
    """Return a picture of a page in Chromium, without the blank rest below."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        raise SystemExit(
            f"Pictures of pages need one of {', '.join(CHROMIUM)}. Name other pictures to leave them out."
        )
    picture = page.with_suffix(".png")
    subprocess.run(  # noqa: S603  a browser of this machine on a page of ours
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            f"--screenshot={picture}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return picture.read_bytes()


def small(picture: bytes) -> bytes:
    """Return the same picture with a palette, without blank borders."""
    with Image.open(io.BytesIO(picture)) as image:
        whole = image.convert("RGB")
    edge = ImageChops.difference(whole, Image.new("RGB", whole.size, "white")).getbbox()
    if edge is not None:
        left, top, right, bottom = edge
        width, height = whole.size
        whole = whole.crop(
            (max(left - 8, 0), max(top - 8, 0), min(right + 8, width), min(bottom + 8, height))
        )
    out = io.BytesIO()
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(out, format="PNG", optimize=True)
    return out.getvalue()


def make(names: list[str]) -> None:
    """Take the pictures and store them."""
    # The report first: it would show the optimization that other pictures make.
    known = {**PAGES, **FIGURES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"There is no picture {', '.join(unknown)}; there are {', '.join(known)}.")
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="promptlift-pictures-") as folder,
        promptlift.local(folder, progress=False) as lift,
    ):
        scene = Scene(lift)
        for name in names or known:
            picture = small(known[name](scene))
            if len(picture) > BYTES:
                raise SystemExit(f"{name}.png has {len(picture)} bytes, more than {BYTES}.")
            (PICTURES / f"{name}.png").write_bytes(picture)
            print(f"{name}.png: {len(picture)} bytes")


if __name__ == "__main__":
    make(sys.argv[1:])
