"""How long it takes, and how much memory, to learn from labels and to judge conversations again.

``python -m pytest -m benchmark tests/benchmarks/test_learned_speed.py -s`` prints the figures. No test asserts a time.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from threading import Event

import pytest

import promptlift
from promptlift.local import wait_for_insights
from support.service_process import ServiceProcess
from support.shared_data import load, needs_shared

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600), needs_shared]

LABELS = 100
MB = 1024.0


def core_seconds(pid: int) -> float:
    """Return the processor time of a process, however busy the machine is."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> tuple[float, float]:
    """Return the resident memory of a process and its peak in megabytes; the peak begins anew."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {
        name: int(rest.split()[0]) / MB
        for name, _, rest in (one.partition(":") for one in lines)
        if name[:2] == "Vm"
    }
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return found["VmRSS"], found["VmHWM"]


def test_ten_thousand_conversations_are_learned_and_judged_again_in_the_memory_of_two_thousand(tmp_path):
    known = [
        one
        for name in ("uss-sgd", "taubench-airline")
        for one in load(name)
        if one["truth"]["taskCompleted"] is not None
    ]
    peaks = []
    for size in (2_000, 10_000):
        service = ServiceProcess(tmp_path / f"{size}").start()
        try:
            peaks.append(learned(service, list(itertools.islice(itertools.cycle(known), size))))
        finally:
            service.stop()
    assert peaks[1] < peaks[0] + 50.0


def learned(service: ServiceProcess, rows: list[dict]) -> float:
    """Log conversations, learn from the labels of some, judge all again; return by how much the memory rose at most."""
    pid = service.pid
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.create_prompt("Many", "You help.", llm_model="gpt-4o").id
        records = [
            {"messages": row["messages"], "source_id": f"s{at}", "status": row["status"]}
            for at, row in enumerate(rows)
        ]
        lift.log(records, prompt_id=prompt)
        wait_for_insights(lift, [prompt], progress=False)
        table = lift.conversations(prompt).set_index("source_id")["conversation_id"]
        labels = [
            {"conversation_id": table[f"s{at}"], "completed": rows[at]["truth"]["taskCompleted"]}
            for at in range(LABELS)
        ]
        (before, _), start = memory(pid), core_seconds(pid)
        found = lift.client.prompts.learn(prompt, labels=labels)
        learning = core_seconds(pid)
        _, peak_learning = memory(pid)
        # Asked seldom: each question costs the service some of the time that is measured.
        while lift.client.prompts.status(prompt).insights.again:
            Event().wait(2.0)
        ended = core_seconds(pid)
        after, peak = memory(pid)
        bases = set(lift.conversations(prompt, insights=True)["basis"].astype("str"))
    print(
        f"\n{len(rows):,} conversations: learned in {learning - start:.1f} s of a core, judged again in {ended - learning:.1f} s; "
        f"memory {before:.0f} MB before, {peak_learning:.0f} at most while learning, {peak:.0f} while judging, {after:.0f} after"
    )
    assert found.judges
    assert bases == {"learned"}
    return max(peak_learning, peak) - before
