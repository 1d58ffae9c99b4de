"""Which policy is in force: accepted in the ledger by its hash. Its text, and the lines that changed.

The text is kept beside the policy file. A changed file is accepted by itself only if nothing gets weaker
(`planner.policy.weakening`). Otherwise the administrator confirms it once, and the ledger records who did, why, and
what is weaker. The same holds for the database: without a foreign key that somebody has dropped there, fewer rows
have an owner, whatever the policy names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

from planner.errors import PolicyInvalid
from planner.policy.ownership import ownership
from planner.policy.policy import Policy, parse_policy
from planner.policy.weakening import weakenings
from planner.schema import Schema
from server.errors import ConfigurationInvalid, PolicyWeakened
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger

_SETTING = re.compile(r"""^(.*?(?:url|password|key_file|secret|\\u)[\w-]*["']?\s*=).*$""", re.IGNORECASE)
"""A line with the place of something that only the proxy may open, or whose name is written with escapes."""

_WORDS = re.compile(r"://|passw|secret|token|credential|sslkey", re.IGNORECASE)
"""Words of secrets anywhere in a line, comments included: an old address may be left there."""

_QUOTES = ('"""', "'''")

_NOT_SHOWN = "(not shown)"

_MOST_LINES = 2_000


@dataclass(frozen=True)
class PolicyChanges:
    """Unified diffs, a line each, without file names; empty if nothing changed or the text is unknown.

    Attributes:
      last: from the policy accepted before to the one accepted last.
      pending: from that one to the file as it is now, which a reload would accept.
    """

    last: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


def accepted_copy(policy: Path) -> Path:
    """The file beside the policy with the text accepted last."""
    return policy.with_suffix(".accepted.toml")


def copy_before(policy: Path) -> Path:
    """The file with the text accepted before that."""
    return policy.with_suffix(".accepted-before.toml")


def policy_changes(policy: Path) -> PolicyChanges:
    """What changed, for administrators and auditors.

    Addresses of databases, names of key files, and lines with a word of secrets are left out.
    """
    before, accepted, now = (_lines(path) for path in (copy_before(policy), accepted_copy(policy), policy))
    return PolicyChanges(tuple(_differences(before, accepted)), tuple(_differences(accepted, now)))


def _lines(path: Path) -> list[str] | None:
    try:
        return list(_shown(path.read_text(encoding="utf-8").split("\n")))  # a text may hold what else ends lines
    except (OSError, UnicodeDecodeError):
        return None


def _shown(lines: Iterable[str]) -> Iterator[str]:
    """The lines without secrets. A secret's text over several lines is left out to its end."""
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


_UNKNOWN = "the copy of the policy in force is missing or was edited, so any setting may protect less; check them all"


@dataclass(frozen=True)
class PolicyFile:
    """A policy and the text it was read from."""

    path: Path
    text: str
    policy: Policy

    @classmethod
    def read(cls, path: Path) -> PolicyFile:
        """Raises: ConfigurationInvalid without a file, PolicyInvalid if it contradicts itself."""
        if not path.is_file():
            hint = "write one with noisegate policy init"
            raise ConfigurationInvalid(f"there is no policy at {path}", hint=hint)
        text = path.read_text(encoding="utf-8")
        return cls(path, text, parse_policy(text))

    @property
    def copy(self) -> Path:
        """The file with the accepted text."""
        return accepted_copy(self.path)


def read_policy(path: Path) -> Policy:
    """The policy of a file. Raises: as `PolicyFile.read`."""
    return PolicyFile.read(path).policy


@dataclass(frozen=True)
class Change:
    """From what is in force to a policy as it is now, with the database as it is now.

    Attributes:
      weaker: what is protected less.
      lost: the part of it that comes from the database rather than the policy's text.
      is_new: does the ledger have to record it?
    """

    file: PolicyFile
    ownership: tuple[str, ...]
    weaker: tuple[str, ...]
    lost: tuple[str, ...]
    is_new: bool

    @classmethod
    def to(cls, file: PolicyFile, schema: Schema, ledger: Ledger) -> Change:
        """To this policy, in a database with this schema."""
        accepted, before = ledger.accepted_policy(), ledger.accepted_ownership()
        now = ownership(schema, file.policy).paths()
        lost = tuple(f"{path}, no longer" for path in before or () if path not in now)
        weaker = (*_weaker_than_accepted(file, accepted), *lost)
        return cls(file, now, weaker, lost, accepted != file.policy.hash or before != now)

    @property
    def hash(self) -> str:
        """What an administrator confirms: the policy's hash, or another one if the database has lost something."""
        words = [self.file.policy.hash, *self.lost]
        return sha256("\n".join(words).encode()).hexdigest() if self.lost else self.file.policy.hash


def accept(change: Change, ledger: Ledger, act: Act, confirmed: str | None = None) -> tuple[str, ...]:
    """Put a policy in force if it is not weaker, or its hash has been confirmed; returns what is weaker.

    Raises: PolicyWeakened, with the list and the hash to confirm; the policy before stays in force.
    """
    if confirmed != change.hash:
        refuse_weaker(change)
    if change.is_new:
        policy = change.file.policy
        ledger.accept_policy(policy.hash, change.ownership, change.weaker, act, policy.acknowledged)
    _keep(change.file)
    return change.weaker


def refuse_weaker(change: Change) -> None:
    """Refuse a policy that protects less than the one in force. Raises: PolicyWeakened."""
    if change.weaker:
        raise PolicyWeakened(
            "The policy protects less than the one in force:\n" + "\n".join(change.weaker),
            hint=f"Confirm it with: noisegate policy accept {change.file.path.name} --reason WHY"
            f" (its hash is {change.hash})",
        )


def _weaker_than_accepted(file: PolicyFile, accepted: str | None) -> tuple[str, ...]:
    """What the text makes weaker; nothing for the first policy, or the same one."""
    if accepted is None or accepted == file.policy.hash:
        return ()
    before = _kept(file.copy)
    return weakenings(before, file.policy) if before is not None and before.hash == accepted else (_UNKNOWN,)


def _kept(copy: Path) -> Policy | None:
    try:
        return parse_policy(copy.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PolicyInvalid):
        return None


def _keep(file: PolicyFile) -> None:
    """Write the copy, whole or not at all; a failure only means that the next change has to be confirmed."""
    temporary = file.copy.with_name(f".{file.copy.name}.{os.getpid()}")
    try:
        if not file.copy.is_file() or file.copy.read_text(encoding="utf-8") != file.text:
            temporary.touch(mode=0o600)
            temporary.write_text(file.text, encoding="utf-8")
            temporary.chmod(0o600 | (file.path.stat().st_mode & 0o666))  # who may not read the policy reads no copy
            if file.copy.is_file():
                file.copy.replace(copy_before(file.path))
            temporary.replace(file.copy)
    except (OSError, UnicodeDecodeError):
        temporary.unlink(missing_ok=True)
