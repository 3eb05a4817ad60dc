"""``promptlift lab``: JupyterLab on a copy of the notebooks, with the embedded service."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

import promptlift
from promptlift.atomic_write import atomic_write
from promptlift.cli.options import Data  # noqa: TC001  typer reads the annotations
from promptlift.errors import ConfigError, MissingExtra

FIRST: Final = "00-your-data.ipynb"
"""The notebook that JupyterLab opens first."""


def lab(
    *,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Folder for your copies of the notebooks.")
    ] = Path("promptlift-notebooks"),
    data: Data = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open JupyterLab on a copy of the notebooks, with the embedded service running."""
    from promptlift.local import DataFolder, ServiceUse  # noqa: PLC0415  help starts nothing
    from promptlift.local.privacy import warn_when_open  # noqa: PLC0415

    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtra("JupyterLab", "lab")
    warn_when_open(folder)
    for copied in copy_notebooks(folder):
        sys.stdout.write(f"Copied {copied}\n")
    use = ServiceUse(DataFolder(data))
    sys.stdout.write(f"The service is at {use.base_url}; its data are in {use.folder.path}\n")
    sys.stdout.flush()
    environment = {
        **os.environ,
        "PROMPTLIFT_BASE_URL": use.base_url,
        "PROMPTLIFT_API_KEY": use.folder.key(),
        "PROMPTLIFT_DATA": str(use.folder.path),
    }
    command = [sys.executable, "-m", "jupyterlab", str(folder), *([] if browser else ["--no-browser"])]
    command.append(f"--LabApp.default_url=/lab/tree/{FIRST}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container the only user is root. JupyterLab listens on loopback and requires its token.
        command.append("--allow-root")
    process = subprocess.Popen(command, env=environment)  # noqa: S603  our own interpreter and arguments
    try:
        code = _wait(process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        use.end()
    raise typer.Exit(code)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for JupyterLab, which handles the first Ctrl-C itself; the second one ends both."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait()


def copy_notebooks(folder: Path) -> list[Path]:
    """Copy the notebooks, without their outputs, and their data; existing files are never overwritten.

    Parameters
    ----------
    folder
        Destination; created if missing.

    Returns
    -------
    list[Path]
        The files that were copied.
    """
    source = notebooks_folder()
    copied = []
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        part = file.relative_to(source)
        # In a source tree this folder also contains the sources of the documentation site and files for
        # tests.
        if part.parts[0] in ("docs", "conftest.py") or any(name.startswith(".") for name in part.parts):
            continue
        to = folder / part
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            content = file.read_bytes()
            atomic_write(to, _without_outputs(content) if to.suffix == ".ipynb" else content)
            copied.append(to)
    return copied


def _without_outputs(notebook: bytes) -> bytes:
    """Return a notebook without the results that are stored in it, which are of the sample conversations."""
    book = json.loads(notebook)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return json.dumps(book, ensure_ascii=False, indent=1).encode()


def notebooks_folder() -> Path:
    """Return the folder of the notebooks: inside the package if installed, otherwise in the source tree."""
    package = Path(promptlift.__file__).parent
    for folder in (package / "notebooks", package.parents[1] / "notebooks"):
        if (folder / FIRST).exists():
            return folder
    raise ConfigError("This installation has no notebooks. Reinstall promptlift.")
