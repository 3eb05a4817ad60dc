from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# The foreign service of the client's tests serves here too; test folders are not packages.
if "foreign_service" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "foreign_service", Path(__file__).parents[1] / "client" / "foreign_service.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["foreign_service"] = module
    spec.loader.exec_module(module)
