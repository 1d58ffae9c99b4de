"""What changed in a policy's text, line by line, for who may read the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

_SETTING = re.compile(r"""^(.*?(?:url|password|key_file|secret|\\u)[\w-]*["']?\s*=).*$""", re.IGNORECASE)
"""A line that says where something lies which a proxy alone opens; or whose name is written by escapes."""

_WORDS = re.compile(r"://|passw|secret|token|credential|sslkey", re.IGNORECASE)
"""What a line may hold wherever it stands: in a comment, too, where an address is left that is no longer in use."""

_QUOTES = ('"""', "'''")

_NOT_SHOWN = "(not shown)"

_MOST_LINES = 2_000


@dataclass(frozen=True)
class PolicyChanges:
    """Unified diffs, a line each, without their file names; empty where nothing changed, or the text is not known.

    Attributes:
      last: from the policy that was accepted before to the one accepted last.
      pending: from that one to the file as it is now, which a reload would take over.
    """

    last: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


def accepted_copy(policy: Path) -> Path:
    """Where the text of the policy that was accepted last is kept, beside its file."""
    return policy.with_suffix(".accepted.toml")


def copy_before(policy: Path) -> Path:
    """Where that of the one before it is kept."""
    return policy.with_suffix(".accepted-before.toml")


def policy_changes(policy: Path) -> PolicyChanges:
    """What changed, for custodians and auditors; addresses of databases and names of key files are left out of it,
    and so is each line with a word of secrets."""
    before, accepted, now = (_lines(path) for path in (copy_before(policy), accepted_copy(policy), policy))
    return PolicyChanges(tuple(_differences(before, accepted)), tuple(_differences(accepted, now)))


def _lines(path: Path) -> list[str] | None:
    try:
        return list(_shown(path.read_text(encoding="utf-8").split("\n")))  # a text may hold what else ends lines
    except (OSError, UnicodeDecodeError):
        return None


def _shown(lines: Iterable[str]) -> Iterator[str]:
    """The lines, without those of secrets: to its end where the text of one goes on over several."""
    open_quote: str | None = None
    for line in lines:
        if open_quote is not None:
            open_quote = None if open_quote in line else open_quote
            yield _NOT_SHOWN
            continue
        setting = _SETTING.match(line)
        if setting is None and _WORDS.search(line) is None:
            yield line
            continue
        yield _NOT_SHOWN if setting is None or _WORDS.search(setting[1]) else f"{setting[1]} {_NOT_SHOWN}"
        open_quote = next((quote for quote in _QUOTES if line.count(quote) % 2), None)


def _differences(before: list[str] | None, after: list[str] | None) -> Iterator[str]:
    if before is None or after is None or max(len(before), len(after)) > _MOST_LINES:
        return
    for number, line in enumerate(unified_diff(before, after, lineterm="", n=2)):
        if number >= 2:  # the names of the files
            yield line
