"""JupyterLab in a real browser: a server over a folder of the test, the service beside it, Chromium in front.

``lab`` starts them once for all tests of a folder, with one page and one kernel, which has imported everything after the
first notebook; ``lab.open(cells)`` opens a notebook made of code in place of the last one, and the notebook it gives is
run, clicked and typed in. ``chromium`` alone opens files. Everything is skipped, with a reason, where Chromium or
playwright is missing. ``PROMPTLIFT_SCREENSHOTS=folder`` keeps the pictures.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.service_process import ServiceProcess, clean_environment, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

MILLISECONDS = 60_000
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": True, "windowingMode": "none"},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"
SIZE = {"width": 1300, "height": 1000}
# What a notebook leaves in the kernel: names, widgets, figures, and how many cells it ran.
FORGET = """
import sys
get_ipython().run_line_magic("reset", "-f")
import sys
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
if "matplotlib.pyplot" in sys.modules:
    sys.modules["matplotlib.pyplot"].close("all")
    sys.modules["matplotlib"].rcdefaults()
get_ipython().execution_count = 1
"""


def executable() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def reason_to_skip() -> str | None:
    if executable() is None:
        return "Chromium is not on this machine"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the Python package playwright is not installed"
    return None


# What ends when the tests of the folder end: the event loop of the browser would be in the way of other tests.
OPENED = ExitStack()
# Read before the tests drop the developer's settings.
PICTURES = os.environ.get("PROMPTLIFT_SCREENSHOTS")


def take_picture(page: Page, name: str) -> None:
    """Keep what is seen, where a folder for pictures is named: each costs as much as a click and its answer."""
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(PICTURES, f"{name}.png"))


@pytest.fixture(scope="package")
def chromium() -> Browser:
    """A headless browser."""
    reason = reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    playwright = OPENED.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
    OPENED.callback(browser.close)
    return browser


@dataclass
class Notebook:
    """An open notebook: what a person sees of it and does in it."""

    page: Page
    path: Path
    errors: list[str] = field(default_factory=list)
    received: int = 0
    # Every message that the kernel and the browser sent each other.
    frames: list[bytes] = field(default_factory=list)

    def run_all(self) -> None:
        """Run > Run All Cells, and wait until everything has run."""
        before = self.page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").all_inner_texts()
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        # A menu takes a click only for the item that it knows to be under the pointer.
        item = self.page.locator('.lm-Menu-item[data-command="runmenu:run-all"]')
        item.hover()
        self.page.locator('.lm-Menu-item.lm-mod-active[data-command="runmenu:run-all"]').click()
        item.wait_for(state="hidden")
        self.page.wait_for_function(
            """before => {
                const cells = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')];
                const now = cells.map(cell => cell.textContent.trim());
                return now.every((text, at) => /^\\[\\d+\\]:?$/.test(text) && text !== before[at]);
            }""",
            arg=before,
            timeout=MILLISECONDS * 2,
        )
        self.page.wait_for_selector(IDLE, timeout=MILLISECONDS)

    def restart(self) -> None:
        """Restart the kernel and clear the outputs, as Kernel > Restart Kernel and Clear Outputs does after its question."""
        self.page.evaluate(
            """async () => {
                const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
                await kernel.restart();
                await kernel.info;
            }"""
        )
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session?.kernel?.status === 'idle'"
        )
        # The new kernel counts from 1 again: without this, a cell that has run looks like one that has not.
        self.command("notebook:clear-all-cell-outputs")

    def cell(self, number: int) -> Locator:
        """A code cell, counted from 0."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def evaluate(self, code: str, *, wait: bool = True) -> str:
        """Run code in the notebook's kernel, beside its cells, and give what it printed."""
        printed: str = self.page.evaluate(
            """async ([code, wait]) => {
                const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
                const parts = [];
                const asked = kernel.requestExecute({code});
                asked.onIOPub = message => {
                    const {text, evalue} = message.content;
                    if (message.header.msg_type === 'stream') parts.push(text);
                    if (message.header.msg_type === 'error') parts.push(`failed: ${evalue}`);
                };
                if (wait) await asked.done;
                return parts.join('').trim();
            }""",
            [code, wait],
        )
        return printed

    def command(self, name: str, **arguments: Any) -> None:
        """Run a command of JupyterLab, such as ``apputils:change-theme``."""
        self.page.evaluate(
            "([name, given]) => window.jupyterapp.commands.execute(name, given)", [name, arguments]
        )

    def problems(self) -> list[str]:
        """Errors of the page, also those that it only writes to the console, and outputs on stderr."""
        stderr = self.page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
        return [*self.errors, *stderr]

    def save(self) -> None:
        """Save the notebook, and wait until it is on the disk."""
        before = self.path.stat().st_mtime_ns
        self.command("docmanager:save")
        wait_until(lambda: self.path.stat().st_mtime_ns != before, what="the notebook is saved", seconds=30)

    def screenshot(self, name: str) -> None:
        """Take a picture of what is seen."""
        take_picture(self.page, name)


@dataclass
class Lab:
    """A running JupyterLab and the service that its kernels reach."""

    base_url: str
    token: str
    folder: Path
    service: ServiceProcess
    browser: Browser
    # What the page shows now.
    shown: Notebook | None = None

    def write(self, cells: Sequence[str], name: str) -> Path:
        """Write a notebook of code cells without outputs."""
        import nbformat

        book = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(code) for code in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        path = self.folder / name
        nbformat.write(book, path)
        return path

    def open(self, cells: Sequence[str] | None = None, *, name: str, anew: bool = False) -> Notebook:
        """Open a notebook in place of the last: one of code cells that is written here, or one that lies in the folder.

        With ``anew`` in a page of its own, whose panels no notebook before has moved.
        """
        if anew and self.shown is not None:
            (session,) = self._ask("api/sessions")
            self.shown.page.close()
            self._ask(f"api/sessions/{session['id']}", "DELETE")
            self.shown = None
        path = self.folder / name if cells is None else self.write(cells, name)
        if self.shown is None:
            page = self._new_page()
            page.goto(f"{self.base_url}lab/tree/{name}?token={self.token}&reset")
        else:
            page = self.put_away(name)
            page.evaluate("path => { window.jupyterapp.commands.execute('docmanager:open', {path}); }", name)
        notebook = self.shown = Notebook(page, path)
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.wait_for_selector(IDLE)
        # The page says "idle" before its kernel has answered, and drops what is run until then.
        page.wait_for_function(
            """async () => {
                const context = window.jupyterapp?.shell.currentWidget?.context?.sessionContext;
                if (!context) return false;
                await context.ready;
                const kernel = context.session?.kernel;
                if (!kernel || kernel.connectionStatus !== 'connected') return false;
                await kernel.info;
                return kernel.status === 'idle';
            }"""
        )
        return notebook

    def _new_page(self) -> Page:
        page = self.browser.new_page(viewport=SIZE)
        page.set_default_timeout(MILLISECONDS)

        def keep(payload: Any, *, received: bool) -> None:
            if self.shown is not None:
                frame = payload if isinstance(payload, bytes) else payload.encode()
                self.shown.frames.append(frame)
                self.shown.received += len(frame) if received else 0

        def listen(channel: Any) -> None:
            channel.on("framereceived", partial(keep, received=True))
            channel.on("framesent", partial(keep, received=False))

        page.on("websocket", listen)
        page.on("pageerror", lambda error: self.shown and self.shown.errors.append(str(error)))
        page.on("console", self._keep_error)
        return page

    def _keep_error(self, message: ConsoleMessage) -> None:
        if self.shown is not None and message.type == "error":
            self.shown.errors.append(f"console: {message.text}")

    def see_last(self) -> None:
        """Keep what was seen last, for whoever asks why a test failed."""
        if self.shown is not None:
            self.shown.screenshot(f"end-of-{self.shown.path.stem}")
            self.shown = None

    def put_away(self, name: str) -> Page:
        """Close the notebook that is shown, and leave its kernel, as good as new, to one with another name."""
        assert self.shown is not None
        page = self.shown.page
        # What was seen last, for whoever asks why a test failed.
        self.shown.screenshot(f"end-of-{self.shown.path.stem}")
        self.shown.evaluate(FORGET)
        (session,) = self._ask("api/sessions")
        self._ask(f"api/sessions/{session['id']}", "PATCH", {"path": name, "name": name, "type": "notebook"})
        page.evaluate(
            """() => {
                const shown = window.jupyterapp.shell.currentWidget;
                shown.context.model.dirty = false;
                shown.dispose();
            }"""
        )
        self.shown = None
        page.set_viewport_size(SIZE)
        return page

    def _ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.base_url}{path}",
            method=method,
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@pytest.fixture(scope="package")
def lab(
    chromium: Browser, service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    """JupyterLab over a temporary folder."""
    pytest.importorskip("jupyterlab", reason="the extra lab is not installed")
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    environment = clean_environment(
        {
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_TOKEN": token,
            "PROMPTLIFT_BASE_URL": service.base_url,
            "PROMPTLIFT_API_KEY": service.key,
            "PROMPTLIFT_DATA": str(home / "promptlift"),
        }
    )
    command = [
        *(
            sys.executable,
            "-m",
            "jupyterlab",
            str(folder),
            "--no-browser",
            f"--port={port}",
            "--ip=127.0.0.1",
        ),
        *("--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", "--expose-app-in-browser"),
        *("--LabApp.news_url=", "--LabApp.extension_manager=readonly"),
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]
    with (home / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    lab = Lab(f"http://127.0.0.1:{port}/", token, folder, service, chromium)

    def ready() -> bool:
        assert process.poll() is None, (home / "lab.log").read_text()
        with suppress(OSError):
            return bool(lab._ask("api/status"))
        return False

    try:
        wait_until(ready, what="JupyterLab answers")
        OPENED.callback(lab.see_last)
        yield lab
    finally:
        # Its kernels are of its group, and end with it.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=20)
