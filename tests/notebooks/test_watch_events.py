"""``lift.events.watch()`` in a live kernel: events arrive while it waits, and the stop button ends it."""

from __future__ import annotations

import queue
import re

import pytest
from jupyter_client.manager import start_new_kernel

from support.service_process import wait_until
from support.wire import Wire

SETUP = """
import promptlift
lift = promptlift.connect({url!r}, {key!r}, progress=False)
"""


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


class Cell:
    """A cell that runs, and what it has shown so far, as a notebook keeps it."""

    def __init__(self, client, code):
        self.client = client
        self.outputs = []
        self.displays = {}
        self.done = False
        self.id = client.execute(code)

    def read(self):
        """Take what came; whether the cell has ended."""
        while not self.done:
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                break
            if message["parent_header"].get("msg_id") != self.id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status":
                self.done = content["execution_state"] == "idle"
            elif kind == "update_display_data":
                self.displays[content["transient"]["display_id"]]["data"] = content["data"]
            elif kind in ("display_data", "stream", "error", "execute_result"):
                self.outputs.append(content)
                if kind == "display_data" and "display_id" in content.get("transient", {}):
                    self.displays[content["transient"]["display_id"]] = content
        return self.done

    def text(self):
        self.read()
        return "\n".join(
            str(one.get("text") or one.get("data", {}).get("text/html") or one.get("data") or one)
            for one in self.outputs
        )


def run(client, code):
    cell = Cell(client, code)
    wait_until(cell.read, what="the cell has ended", seconds=60)
    return cell


def test_events_appear_while_it_waits_and_the_stop_button_ends_it(service, kernel):
    manager, client = kernel
    wire = Wire(service.base_url, service.key)
    assert "Error" not in run(client, SETUP.format(url=service.base_url, key=service.key)).text()
    watching = Cell(client, "lift.events.watch(every=0.2)")
    wait_until(lambda: "Waiting for events" in watching.text(), what="it says that it waits", seconds=60)
    prompt_id = wire.add_prompt()
    conversation = wire.log(prompt_id)
    wait_until(lambda: "insights.generated" in watching.text(), what="the events are shown", seconds=60)
    # While the cell runs there is one table, which grew, and no word of waiting.
    assert len(watching.outputs) == 1
    assert conversation in watching.text()
    assert "Waiting" not in watching.text()
    assert not watching.done
    manager.interrupt_kernel()
    wait_until(watching.read, what="the stop button ends the cell", seconds=60)
    # Not a traceback, and the table only once: as the result of the cell.
    said, result = watching.outputs
    assert said["data"]["text/plain"] == "2 events came while this was watching."
    rows = re.findall("conversation.created|insights.generated", result["data"]["text/html"])
    assert rows == ["insights.generated", "conversation.created"]
    quiet = run(client, "lift.events.watch(['prompt.deleted'], seconds=1, every=0.2);")
    assert [one["data"]["text/plain"] for one in quiet.outputs] == ["No event came while this was watching."]
