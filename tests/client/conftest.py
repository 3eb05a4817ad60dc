from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# Tests are not packages; the services are modules beside them that other folders use as well.
for name in ("foreign_service", "lying_service"):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
