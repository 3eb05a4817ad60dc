"""Settings of the documentation site; ``build.py`` beside this file lays the sources out and builds it."""

# ruff: noqa: INP001  no package
from __future__ import annotations

import os

import promptlift

project = "promptlift"
author = "The promptlift maintainers"
copyright = author  # noqa: A001  Sphinx calls it so
version = release = promptlift.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
root_doc = "index"
exclude_patterns = ["_build", "**/data"]
templates_path = ["_templates"]

# Notebooks: run while the site is built, or shown as they were run before the checks compared their outputs.
nb_execution_mode = "force"
if os.environ.get("DOCS_NOTEBOOKS") == "stored":
    nb_execution_excludepatterns = [
        "walk/*.ipynb"
    ]  # the gallery is run all the same: nothing of it is stored
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_merge_streams = True
# A widget needs a script of another host; its static fallback does not.
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The reference is made of the docstrings: numpydoc, with types in the annotations.
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {
    "exclude-members": "model_config, model_fields, model_computed_fields, model_post_init"
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries = False
# A short name in an annotation may be both a type of the API and the widget that shows it.
suppress_warnings = ["ref.python"]

html_theme = "pydata_sphinx_theme"
html_title = f"promptlift {release}"
html_static_path = ["_static"]
html_css_files = ["promptlift.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
