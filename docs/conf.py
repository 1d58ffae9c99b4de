"""Sphinx: Markdown by MyST, the plain theme that comes with it, and nothing from the network."""

import re
import tomllib
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Noisegate"
project_copyright = "2026, the Noisegate authors"
version = release = _PROJECT["version"]
extensions = ["myst_parser"]
exclude_patterns = ["README.md", "_build"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"description": "SQL answers that protect people", "fixed_sidebar": True}
html_show_sourcelink = False
html_copy_source = False


def _files_beside(app: object, name: str, source: list[str]) -> None:
    """A link to a file outside of this folder becomes one to a copy of it, so that pages need no checkout."""
    source[0] = re.sub(r"\[([^\]`]+)\]\((\.\./[^)#]+)(?:#[^)]*)?\)", r"{download}`\1 <\2>`", source[0])


def setup(app: Any) -> None:
    """Sphinx's hook."""
    app.connect("source-read", _files_beside)
    app.add_lexer("ipython", TextLexer)  # cells with magics, which are no Python
