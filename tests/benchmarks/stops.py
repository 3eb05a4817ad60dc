"""How long a search goes on after it was stopped: until it says so, and until its last call of the model has ended.

A real service with a real endpoint. At a random call of the search, with every fourth stop at a random request for a new
text, the model becomes slow: it answers after 0.2 to 5 seconds, and hangs at one call in ten. Up to two seconds later
(while the writer still writes, at every fourth stop) the search is stopped. The endpoint notices when each call was answered, or given up.

Run ``python tests/benchmarks/stops.py`` for the seconds on SQLite; see ``--help`` for PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.prompt_world.model import PURPOSE, WorldModel
from benchmarks.prompt_world.world import draw_world
from support.answering_model import serving
from support.optimizing_caller import Caller
from support.postgres_cluster import cluster
from support.searching import SMALL, world_prompt
from support.service_process import ServiceProcess, wait_until
from support.worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.prompt_world.world import World
    from support.stub_endpoint import Asked, Say

SLOWEST, FASTEST = 5.0, 0.2
PAUSE_SECONDS = 2.0
HANGS = 0.1
# Without any call for so long after the last one, nothing more is to come: a worker looks for stops twice a second.
QUIET_SECONDS = 1.5


class SlowingModel(WorldModel):
    """Answers at once until it was asked so often, and slowly from then on.

    Attributes
    ----------
    calls
        Every request of the search since ``quicken``. Issues of logged conversations are named beside it.
    """

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world)
        self.calls: list[Asked] = []
        self.is_slow = threading.Event()
        self._chance = chance
        self._gate = threading.Event()
        self._purpose: str | None = None
        self._enough = 0

    def quicken(self, enough: int | None = None, *, purpose: str | None = None) -> None:
        """Count from here on, and become slow at a request: of any purpose, or of one."""
        self._gate.set()
        self.forget()
        self.calls = []
        self._enough, self._purpose = sys.maxsize if enough is None else enough, purpose
        self._gate = threading.Event()
        self.is_slow.clear()

    def __call__(self, asked: Asked) -> Say:
        say = super().__call__(asked)
        if asked.body is None or asked.headers[PURPOSE] == "issues":
            return say
        self.calls.append(asked)
        count = self.asked.total() if self._purpose is None else self.asked[self._purpose]
        if count >= self._enough:
            self.is_slow.set()
        if self.is_slow.is_set():
            say.delay = self._chance.uniform(FASTEST, SLOWEST)
            say.hang = self._gate if self._chance.random() < HANGS else None
        return say


@dataclass(frozen=True)
class Stop:
    """One stop, in seconds from its request.

    Attributes
    ----------
    answered, stopped, last_ended
        When it was answered, when the state was seen to have changed, and when the last call had ended.
    under_way
        Calls at the moment of the request, by purpose.
    later
        Calls that began after the answer.
    status
        State of the search afterwards.
    """

    answered: float
    stopped: float
    last_ended: float
    under_way: dict[str, int]
    later: int
    status: str


class Stopping:
    """Searches of one prompt, stopped one after the other."""

    def __init__(self, caller: Caller, model: SlowingModel, chance: random.Random) -> None:
        self._caller = caller
        self._model = model
        self._chance = chance
        caller.settings(**SMALL)
        self._prompt_id = world_prompt(caller, model.world)

    def calls(self) -> Counter[str]:
        """Return the calls of a whole search, by purpose."""
        self._model.quicken()
        self._caller.ended(self._start(), seconds=300)
        return Counter(self._model.asked)

    def stops(self, count: int) -> Iterator[Stop]:
        """Stop searches at random moments."""
        whole = self.calls()
        print(json.dumps({"callsOfAWholeSearch": whole}), flush=True)
        for number in range(count):
            purpose = None if number % 4 else "reflection"
            most = whole.total() if purpose is None else whole[purpose]
            self._model.quicken(self._chance.randint(1, most), purpose=purpose)
            yield self._stop(pause=FASTEST if purpose else PAUSE_SECONDS)

    def _start(self) -> str:
        made = self._caller.start(self._prompt_id, mode="exploratory", variantCount=3, search="on")
        return str(made["id"])

    def _stop(self, *, pause: float) -> Stop:
        model, caller = self._model, self._caller
        optimization_id = self._start()
        assert model.is_slow.wait(120), "the search ended before its moment came"
        time.sleep(self._chance.uniform(0.0, pause))
        begun = time.monotonic()
        under_way = Counter(one.headers[PURPOSE] for one in list(model.calls) if one.ended is None)
        caller.ask("POST", f"/optimizations/{optimization_id}/stop")
        answered = time.monotonic()
        wait_until(
            lambda: caller.get(optimization_id)["status"] != "running", what="it says that it was stopped"
        )
        stopped = time.monotonic()

        def is_over() -> bool:
            ends = [one.ended for one in list(model.calls)]
            return None not in ends and time.monotonic() - max(*ends, answered) > QUIET_SECONDS

        wait_until(is_over, what="its last call ends")
        return Stop(
            answered=answered - begun,
            stopped=stopped - begun,
            last_ended=max(0.0, *(one.ended - begun for one in model.calls)),
            under_way=dict(under_way),
            later=sum(one.begun > answered for one in model.calls),
            status=caller.get(optimization_id)["status"],
        )


def measure(database: str, *, count: int, seed: int) -> list[Stop]:
    """Stop ``count`` searches of one service.

    Parameters
    ----------
    database
        ``sqlite``, ``postgresql``, or ``workers``: PostgreSQL, with the work in another process than the requests.
    """
    chance = random.Random(seed)
    model = SlowingModel(draw_world("additive", 3), chance)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        env = stack.enter_context(serving(model))
        url = None if database == "sqlite" else stack.enter_context(cluster())
        options = ["--no-worker"] if database == "workers" else []
        service = ServiceProcess(folder / "data", env=env, database=url, options=options).start()
        stack.callback(service.stop)
        if database == "workers":
            worker = WorkerProcess(str(url), folder / "worker.log", env).start()
            stack.callback(worker.stop)
        caller = Caller(service)
        stack.callback(caller.close)
        found = []
        for one in Stopping(caller, model, chance).stops(count):
            print(json.dumps(vars(one)), flush=True)
            found.append(one)
        model.quicken()
    return found


def spread(seconds: Sequence[float]) -> str:
    """Return the least, the median and the most."""
    return f"{min(seconds):.2f} / {median(seconds):.2f} / {max(seconds):.2f} s"


def main() -> None:
    """Print each stop, and the least, median and most seconds of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "workers"], default="sqlite")
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = measure(given.database, count=given.stops, seed=given.seed)
    calls = sum((Counter(one.under_way) for one in found), Counter())
    print(
        f"{given.database}: {len(found)} stops with {calls.total()} calls under way {dict(calls)}; "
        f"answered {spread([one.answered for one in found])}, stopped {spread([one.stopped for one in found])}, "
        f"last call ended {spread([one.last_ended for one in found])}, begun after the answer "
        f"{sum(one.later for one in found)}, states {dict(Counter(one.status for one in found))}"
    )


if __name__ == "__main__":
    main()
