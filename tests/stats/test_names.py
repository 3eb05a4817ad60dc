"""Names of the room: loaded on first use, all there, none twice."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from promptlift import stats


def test_every_name_is_there_and_listed():
    assert len(set(stats.__all__)) == len(stats.__all__)
    assert dir(stats) == sorted(stats.__all__)
    # What an analyst can keep in mind.
    assert len(stats.__all__) <= 14
    for module in pkgutil.iter_modules(stats.__path__):
        importlib.import_module(f"promptlift.stats.{module.name}")
    assert not [name for name in stats.__all__ if inspect.ismodule(getattr(stats, name))]
    with pytest.raises(AttributeError, match="has no attribute 'p_hacking'"):
        _ = stats.p_hacking


@pytest.mark.slow
def test_rates_and_deciding_what_runs_next_need_no_scipy():
    code = (
        "import sys, promptlift.stats as s; s.Experiment(3).next_pass(); s.wilson(1, 2); "
        "print({'scipy', 'pandas', 'sqlalchemy', 'httpx'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
