"""Insights come soon after the log request, and a slow or dead judge holds nothing up."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.service_process import wait_until
from support.wire import Wire

JUDGEMENT = {
    "sentiment": "positive",
    "sentimentScore": 0.8,
    "taskCompleted": True,
    "quality": 90,
    "topics": ["greeting"],
    "summary": "They greet each other.",
    "issues": [],
}


@contextmanager
def model_that_waits():
    """A chat-completions endpoint that answers nothing until it is let go; gives its address and the event."""
    go = threading.Event()
    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self._send({"object": "list", "data": [{"id": "slow-model", "object": "model"}]})

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.set()
            go.wait(timeout=60)
            message = {"role": "assistant", "content": json.dumps(JUDGEMENT)}
            self._send(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "model": "slow-model",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
                }
            )

        def _send(self, body):
            raw = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", go, asked
    finally:
        go.set()
        server.shutdown()
        thread.join(timeout=30)
        server.server_close()


def test_insights_are_there_soon_after_the_log_request(wire):
    prompt_id = wire.add_prompt()
    conversation = wire.log(prompt_id)
    wait_until(
        lambda: wire.ask("GET", f"/conversations/{conversation}/insights").status == 200,
        what="insights of one conversation",
        seconds=10,
    )
    row = wire.get(f"/conversations/{conversation}")
    assert (row["hasInsights"], row["insightsError"]) == (True, None)
    assert row["insights"]["conversationId"] == conversation


def test_a_slow_judge_holds_nothing_up_and_its_insights_come_in_the_end(start_service):
    with model_that_waits() as (address, go, asked):
        running = start_service(
            env={"PROMPTLIFT_LLM_BASE_URL": address, "PROMPTLIFT_LLM_MODEL": "slow-model"}
        )
        wire = Wire(running.base_url, running.key)
        prompt_id = wire.add_prompt(llmModel="slow-model")
        wire.log(prompt_id)
        assert asked.wait(timeout=30)
        # The judge waits, and everything else goes on.
        ids = [wire.log(prompt_id) for _ in range(30)]
        assert wire.get(f"/conversations/{ids[0]}")["insights"] is None
        assert wire.get("/conversations?hasInsights=true")["pagination"]["total"] == 0
        assert wire.get(f"/prompts/{prompt_id}/insights")["summary"]["totalConversations"] == 31
        go.set()
        wire.wait_for_insights(prompt_id)
        view = wire.get(f"/conversations/{ids[0]}/insights")
        assert {**view, **JUDGEMENT} == view
        assert view["analyser"] == "llm:slow-model"
        assert wire.get("/usage")["tokens"] == {"used": 31 * 12, "limit": None}
