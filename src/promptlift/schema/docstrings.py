"""Docstrings of the fields of models, read from the source when the API or a table is described."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


def docstring(model: type[BaseModel], field: str) -> str:
    """Return the docstring of a field; empty if it has none, or if the source is not there."""
    for owner in model.__mro__:
        if field in inspect.get_annotations(owner):
            return _docstrings(owner.__module__).get((owner.__qualname__, field), "")
    return ""


@cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """Return the docstrings of the fields of all classes of a module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    return {
        (owner.name, field.target.id): inspect.cleandoc(text.value.value)
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        for field, text in pairwise(owner.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
