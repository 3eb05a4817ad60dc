"""How long it takes to learn from labels and to judge 10,000 conversations again.

``taskset -c 0 python -m pytest -m benchmark tests/benchmarks/test_learned_speed.py -s`` prints the figures. No test asserts a time.
"""

from __future__ import annotations

import itertools
import time

import pandas as pd
import pytest

import promptlift
from promptlift.local import wait_for_insights
from support.shared_data import load, needs_shared

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800), needs_shared]

ROWS = 10_000


def test_ten_thousand_conversations_are_learned_and_judged_again(tmp_path):
    known = [
        one
        for name in ("taubench-airline", "uss-sgd")
        for one in load(name)
        if one["truth"]["taskCompleted"] is not None
    ]
    rows = list(itertools.islice(itertools.cycle(known), ROWS))
    with promptlift.local(tmp_path) as lift:
        prompt = lift.create_prompt("Many", "You help.", llm_model="gpt-4o").id
        records = [
            {"messages": row["messages"], "source_id": f"s{at}", "status": row["status"]}
            for at, row in enumerate(rows)
        ]
        began = time.perf_counter()
        lift.log(records, prompt_id=prompt)
        wait_for_insights(lift, [prompt], progress=False)
        judged = time.perf_counter()
        table = lift.conversations(prompt).set_index("source_id")["conversation_id"]
        labels = pd.DataFrame(
            {
                "conversation_id": [table[f"s{at}"] for at in range(100)],
                "task_completed": [one["truth"]["taskCompleted"] for one in rows[:100]],
            }
        )
        start = time.perf_counter()
        found = lift.client.prompts.learn(
            prompt,
            labels=[
                {"conversation_id": one, "completed": bool(done)}
                for one, done in labels.itertuples(index=False)
            ],
        )
        learned = time.perf_counter()
        lift._wait_for_verdicts(prompt)
        ended = time.perf_counter()
        after = lift.conversations(prompt, insights=True)
    print(f"\nlogged and judged by the word list: {judged - began:.1f} s")
    print(f"learned: {learned - start:.1f} s, judged again: {ended - learned:.1f} s; {found}")
    assert set(after["basis"].astype("str")) == {"learned" if found.judges else "words"}
