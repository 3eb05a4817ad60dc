"""Build the documentation site: ``python notebooks/docs/build.py [OUT]``. A warning is an error.

The sources are this folder and the notebooks beside it. They are laid out in a temporary folder, with the pages of
the API reference written from the package, so that a build leaves nothing behind but the site.
"""

# ruff: noqa: INP001, T201  a script that prints
from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build
from sphinx.util.inventory import InventoryFile

HERE = Path(__file__).resolve().parent
NOTEBOOKS = HERE.parent
SCRIPTS = {"build.py", "make_pictures.py", "reference.py"}


def lay_out(source: Path) -> None:
    """Copy the sources and the notebooks, and write the reference."""
    skipped = shutil.ignore_patterns("__pycache__", ".*", *SCRIPTS)
    shutil.copytree(HERE, source, ignore=skipped)
    walk = source / "walk"
    walk.mkdir(exist_ok=True)
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        shutil.copyfile(notebook, walk / notebook.name)
    shutil.copytree(NOTEBOOKS / "data", walk / "data")
    sys.path.insert(0, str(HERE))
    import reference  # noqa: PLC0415  beside this file

    reference.write_pages(source)


def missing_names(site: Path) -> list[str]:
    """Public names that the built site does not have."""
    import reference  # noqa: PLC0415  beside this file

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    known = {name for kind in inventory.data if kind.startswith("py:") for name in inventory.data[kind]}
    return sorted(reference.every_public_name() - known)


def build(out: Path, *, notebooks: str) -> int:
    """Build the site and give the exit code."""
    os.environ["DOCS_NOTEBOOKS"] = notebooks
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="promptlift-docs-") as folder:
        source = Path(folder, "source")
        lay_out(source)
        # The notebook that begins with what is there finds nothing of whoever builds the site.
        os.environ["PROMPTLIFT_DATA"] = str(Path(folder, "data"))
        code = sphinx_build(
            [
                "-b",
                "html",
                "-q",
                "-W",
                "--keep-going",
                "-d",
                str(Path(folder, "doctrees")),
                str(source),
                str(out),
            ]
        )
    if code:
        return code
    missing = missing_names(out)
    if missing:
        print(f"not in the API reference: {', '.join(missing)}")
        return 1
    print(f"documentation: {out / 'index.html'}, built in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("out", nargs="?", type=Path, default=NOTEBOOKS.parent / "build" / "docs")
    parser.add_argument(
        "--stored", action="store_true", help="show the notebooks as they are stored instead of running them"
    )
    given = parser.parse_args()
    sys.exit(build(given.out.resolve(), notebooks="stored" if given.stored else "run"))
