"""A program that writes one file with a tool's own library, without a network: ``writing_libraries.py LIBRARY FOLDER``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

# Run as a program, it finds the tests' shared modules one floor up.
sys.path.insert(0, str(Path(__file__).parents[1]))

from support.http_server import HttpServer

SYSTEM = 'You are "kind".\n\tAlways answer in {language}.  '
QUESTION = "Where is my parcel?"
ANSWER = "It arrives tomorrow, no later than 18:00."
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "find", "arguments": '{"q": 1}'},
}


def main(library: str, folder: Path) -> None:
    """Write with one library; the result is ``FOLDER/written.*``."""
    {"mlflow": with_mlflow, "inspect": with_inspect, "phoenix": with_phoenix}[library](folder)


def with_mlflow(folder: Path) -> None:
    """Two turns of one session, and a tool that fails."""
    os.environ["MLFLOW_TRACKING_URI"] = (folder / "mlruns").as_uri()
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow
    from mlflow.entities import SpanType

    mlflow.set_experiment("shop")

    def answer(messages: list[dict[str, Any]], said: str) -> str:
        with mlflow.start_span("support", span_type=SpanType.CHAIN) as root:
            root.set_inputs({"question": messages[-1]["content"]})
            mlflow.update_current_trace(
                tags={"channel": "web"},
                metadata={"mlflow.trace.session": "s-1", "mlflow.trace.user": "u-1"},
            )
            try:
                with mlflow.start_span("find", span_type=SpanType.TOOL) as tool:
                    tool.set_inputs({"q": 1})
                    _fail()
            except LookupError:
                pass
            with mlflow.start_span("completions", span_type=SpanType.CHAT_MODEL) as span:
                span.set_inputs({"model": "gpt-4o", "messages": messages})
                span.set_outputs(
                    {
                        "model": "gpt-4o-2024-08-06",
                        "choices": [{"index": 0, "message": {"role": "assistant", "content": said}}],
                    }
                )
                span.set_attribute(
                    "mlflow.chat.tokenUsage", {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
                )
            root.set_outputs(said)
        return str(mlflow.get_last_active_trace_id())

    first = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    more = [*first, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "Thanks, great!"}]
    ids = [answer(first, ANSWER), answer(more, "You are welcome.")]
    mlflow.flush_trace_async_logging()
    lines = [mlflow.get_trace(one).to_json() for one in ids]
    (folder / "written.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fail() -> None:
    raise LookupError("not found")


def with_inspect(folder: Path) -> None:
    """An evaluation of two samples with a tool, in Inspect's packed form."""
    os.environ["INSPECT_LOG_DIR"] = str(folder)
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import Tool, tool

    @tool
    def find() -> Tool:
        async def execute(q: int) -> str:
            """Find a parcel.

            Args:
                q: its number
            """
            return f"parcel {q}"

        return execute

    usage = ModelUsage(input_tokens=9, output_tokens=2, total_tokens=11)
    called = ModelOutput.for_tool_call("mockllm/model", "find", {"q": 1})
    answered = ModelOutput.from_content("mockllm/model", ANSWER)
    called.usage = answered.usage = usage
    # Braces of a template of Inspect are doubled, so that the model gets the text as it stands here.
    system = system_message(SYSTEM.replace("{", "{{").replace("}", "}}"))
    samples = [
        Sample(input=QUESTION, target="tomorrow", metadata={"channel": "web"}, id=f"s{number}")
        for number in (1, 2)
    ]
    task = Task(dataset=samples, solver=[system, use_tools(find()), generate()], scorer=includes())
    model = get_model("mockllm/model", custom_outputs=[called, answered] * 2)
    (log,) = evaluate(task, model=model, display="none", max_samples=1)
    Path(log.location).rename(folder / "written.eval")


def with_phoenix(folder: Path) -> None:
    """Spans as Phoenix's client reads them: from a server that answers what a real Phoenix 20.26 answered."""
    page = Path(__file__).with_name("phoenix_spans.json").read_bytes()

    server = HttpServer(lambda request: request.answer(200, page, {"Content-Type": "application/json"}))
    from phoenix.client import Client

    client = Client(base_url=f"http://127.0.0.1:{server.port}")
    spans = client.spans.get_spans(project_identifier="shop")
    server.close()
    (folder / "written.json").write_text(json.dumps(spans, default=str), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
