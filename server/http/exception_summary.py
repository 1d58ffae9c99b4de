"""What a log may say of an exception: its kinds and places, never its text, which can quote a private value."""

from __future__ import annotations

import traceback

_FRAMES = 5
_CAUSES = 5


def exception_summary(error: BaseException) -> dict[str, object]:
    """The kinds of an error and its causes, outermost first, and the innermost frames of the outermost one."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < _CAUSES:
        kinds.append(f"{type(cause).__module__}.{type(cause).__qualname__}")
        cause = cause.__cause__ or cause.__context__
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"kinds": kinds, "places": places}
