from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# Tests are not packages; the service is a module beside them that other folders use as well.
if "foreign_service" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "foreign_service", Path(__file__).with_name("foreign_service.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["foreign_service"] = module
    spec.loader.exec_module(module)
