"""The lexicon judge in its own process, so that judging and answering requests use two processors.

Both sides exchange lines of JSON over the child's standard input and output. The child starts with the first waiting conversations, and ends when its input does, even if the parent was
killed.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from promptlift.errors import TranscriptError
from promptlift.service.insights.judge import (
    JudgeFailed,
    Judgement,
    JudgeRequest,
    JudgeUnavailable,
    OneByOne,
)
from promptlift.service.insights.lexicon.judge import LexiconJudge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.insights.judge import Outcome


_LOG = logging.getLogger(__name__)
# A batch takes a few seconds at worst; a child that is silent for longer than this is broken.
ANSWER_SECONDS: Final = 60.0
# Incoming requests have priority where processors are scarce.
_NICENESS: Final = 10


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why there is no judgement."""

    message: str
    unreadable: bool

    def error(self) -> JudgeFailed | TranscriptError:
        return TranscriptError(self.message) if self.unreadable else JudgeFailed(self.message)


# Without the organization, which the word list does not use.
_REQUESTS: Final = TypeAdapter(list[tuple[str, str, str | None, str | None]])
_ANSWERS: Final = TypeAdapter(list[Judgement | _Failed])


class LexiconProcess:
    """Judge conversations with the lexicon in a child process; safe from several threads.

    Parameters
    ----------
    module
        Module for the child to run; tests run a child that ends early.
    """

    analyser: Final = LexiconJudge.analyser

    def __init__(self, module: str = __name__) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False

    def judge_all(self, requests: Sequence[JudgeRequest]) -> list[Outcome]:
        """Judge conversations in their order; see ``Judge`` for what each outcome means.

        A conversation on which the child crashes is judged once more, alone in a new child, and fails if that
        crashes too.
        """
        if not requests:
            return []
        outcomes = self._ask(requests)
        if outcomes is not None:
            return outcomes
        if len(requests) > 1:
            return [outcome for request in requests for outcome in self.judge_all([request])]
        return self._ask(requests) or [JudgeFailed("The built-in analyser crashed on this conversation.")]

    def close(self) -> None:
        """End the child; nothing is judged afterwards."""
        with self._lock:
            self._closed = True
            self._end_child()

    def _ask(self, requests: Sequence[JudgeRequest]) -> list[Outcome] | None:
        """Send one batch and read its answer; ``None`` when the child ended instead."""
        asked = _REQUESTS.dump_json(
            [(one.conversation_id, one.content, one.objective, one.exclusions) for one in requests]
        )
        with self._lock:
            if self._closed:
                return [JudgeFailed("The service is ending.")] * len(requests)
            try:
                child = self._child = self._child or _start(self._module)
            except OSError as error:
                return [JudgeUnavailable(f"The built-in analyser cannot be started: {error}")] * len(requests)
            assert child.stdin is not None  # noqa: S101 - both are pipes
            assert child.stdout is not None  # noqa: S101
            watch = threading.Timer(ANSWER_SECONDS, child.kill)
            watch.daemon = True
            watch.start()
            try:
                child.stdin.write(asked + b"\n")
                child.stdin.flush()
                answer = child.stdout.readline()
            except OSError:
                answer = b""
            finally:
                watch.cancel()
            if not answer.endswith(b"\n"):
                _LOG.warning("the built-in analyser's process ended early (exit code %s)", child.poll())
                self._end_child()
                return None
        found = _ANSWERS.validate_json(answer)
        return [one.error() if isinstance(one, _Failed) else one for one in found]

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                assert pipe is not None  # noqa: S101 - both are pipes
                pipe.close()
        child.kill()
        child.wait()


def _start(module: str) -> subprocess.Popen[bytes]:
    # The child finds the same packages as this process, however this process found them.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(  # noqa: S603 - this interpreter and this module
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )


def serve(judge: LexiconJudge) -> None:
    """Answer lines until the input ends; the child's side."""
    batch = OneByOne(judge)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.nice(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not get between the answers
    for asked in sys.stdin.buffer:
        outcomes = batch.judge_all([JudgeRequest(*one) for one in _REQUESTS.validate_json(asked)])
        sent = [
            one if isinstance(one, Judgement) else _Failed(str(one), isinstance(one, TranscriptError))
            for one in outcomes
        ]
        try:
            answers.write(_ANSWERS.dump_json(sent, exclude_unset=True) + b"\n")
            answers.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    serve(LexiconJudge())
