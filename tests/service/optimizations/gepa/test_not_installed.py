"""Without the extra the engine is refused, and the service says how to get it."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.errors import ValidationError
from support.optimizing_caller import Caller
from support.service_process import ServiceProcess

INSTALL = 'pip install "promptlift[gepa]"'


@pytest.fixture
def service(tmp_path):
    """A service in whose Python there is no GEPA."""
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['gepa'] = None\n")
    running = ServiceProcess(tmp_path / "data", env={"PYTHONPATH": str(tmp_path)}).start()
    yield running
    running.stop()


def test_the_answer_says_how_to_install_it(service):
    caller = Caller(service)
    prompt_id = caller.prompt()
    said = caller.start(prompt_id, engine="gepa", expect=400)["error"]
    caller.close()
    assert said["code"] == "VALIDATION_ERROR"
    assert INSTALL in said["message"]
    assert INSTALL in said["details"]["engine"]
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        with pytest.raises(ValidationError, match=r"promptlift\[gepa\]"):
            lift.optimize(prompt_id, engine="gepa")
        assert lift.optimize(prompt_id, seed=7).status == "completed"
