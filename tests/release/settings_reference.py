"""`make readme`: the table of docs/http.md of what a question may be asked with, from `server.query.SETTINGS`."""

from __future__ import annotations

from pathlib import Path

from server.query import BOUNDS, SETTINGS, Setting
from tests.release.readme import replaced

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
MARKS = ("<!-- request settings: written by `make readme` -->", "<!-- end of request settings -->")


def _may_be(setting: Setting) -> str:
    if setting.words:
        return ", ".join(f"`{word}`" for word in setting.words)
    return " and ".join(BOUNDS[how].format(end) for how, end in setting.bounds.items())


def written(text: str) -> str:
    """The page with the table as the settings are now."""
    rows = [f"| `{name}` | {_may_be(setting)} | {setting.about} |" for name, setting in SETTINGS.items()]
    return replaced(text, MARKS, "\n".join(["| field | values | purpose |", "| --- | --- | --- |", *rows]))


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
