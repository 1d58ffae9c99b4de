"""Which policy is in force: accepted in the ledger by its hash, kept beside the policy file by its text.

A policy file that changes is accepted by itself only where nothing gets weaker (`planner.policy.weakening`);
otherwise the custodian confirms it, once, and the ledger says who did, why, and what is weaker. So it is with the
database: a foreign key that somebody has dropped there protects nobody any more, whatever the policy names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from planner.errors import PolicyInvalid
from planner.policy.ownership import ownership
from planner.policy.policy import Policy, parse_policy
from planner.policy.weakening import weakenings
from planner.schema import Schema
from server.errors import ConfigurationInvalid, PolicyWeakened
from server.ledger.analyst import Act
from server.policy.policy_texts import accepted_copy, copy_before

_UNKNOWN = "the policy before is not known any more, so anything may be weaker"


class Acceptances(Protocol):
    """The part of a ledger that remembers policies."""

    def accepted_policy(self) -> str | None:
        """The hash of the policy that was last accepted, or None."""
        ...

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """What made rows people's own then; None where that was not noted."""
        ...

    def accept_policy(
        self,
        policy_hash: str,
        ownership: Sequence[str],
        weakens: Sequence[str],
        act: Act,
        acknowledged: Sequence[str] = (),
    ) -> None:
        """Record that a policy is in force from now on, with the rows that are known to be counted less.

        Args:
          policy_hash, ownership, weakens, act, acknowledged: as of `Ledger.accept_policy`.
        """
        ...


@dataclass(frozen=True)
class PolicyFile:
    """A policy and the text it was read from."""

    path: Path
    text: str
    policy: Policy

    def ownership(self, schema: Schema) -> tuple[str, ...]:
        """What makes rows people's own, in a database of this schema."""
        return ownership(schema, self.policy).paths()

    @classmethod
    def read(cls, path: Path) -> PolicyFile:
        """Raises: ConfigurationInvalid when there is no such file, PolicyInvalid when it contradicts itself."""
        if not path.is_file():
            hint = "noisegate policy init writes a first one"
            raise ConfigurationInvalid(f"there is no policy at {path}", hint=hint)
        text = path.read_text(encoding="utf-8")
        return cls(path, text, parse_policy(text))

    @property
    def copy(self) -> Path:
        """Where the text of the accepted policy is kept."""
        return accepted_copy(self.path)


def read_policy(path: Path) -> Policy:
    """The policy of a file.

    Raises: ConfigurationInvalid when there is no such file, PolicyInvalid when it contradicts itself.
    """
    return PolicyFile.read(path).policy


@dataclass(frozen=True)
class Change:
    """From what is in force to a policy as it is now, in the database as it is now.

    Attributes:
      file: the policy.
      ownership: what makes rows people's own.
      weaker: in what less is protected.
      lost: the part of it that the database has lost, and not the policy's text alone.
      is_new: does the ledger have to hear of it?
    """

    file: PolicyFile
    ownership: tuple[str, ...]
    weaker: tuple[str, ...]
    lost: tuple[str, ...]
    is_new: bool

    @classmethod
    def to(cls, file: PolicyFile, schema: Schema, ledger: Acceptances) -> Change:
        """To this policy, in a database of this schema."""
        accepted, before, now = ledger.accepted_policy(), ledger.accepted_ownership(), file.ownership(schema)
        lost = tuple(f"{path}, no longer" for path in before or () if path not in now)
        weaker = (*_weaker_than_accepted(file, accepted), *lost)
        return cls(file, now, weaker, lost, accepted != file.policy.hash or before != now)

    @property
    def hash(self) -> str:
        """What a custodian confirms: the policy's hash, and another one where the database has lost something."""
        words = [self.file.policy.hash, *self.lost]
        return sha256("\n".join(words).encode()).hexdigest() if self.lost else self.file.policy.hash


def accept(change: Change, ledger: Acceptances, act: Act, confirmed: str | None = None) -> tuple[str, ...]:
    """Put a policy in force, if it is no weaker or its hash has been confirmed.

    Args:
      change: to the policy as it is now.
      ledger: knows which policy was accepted last.
      act: who does it.
      confirmed: the hash of the change that the custodian has confirmed.
    Returns: what is weaker than before.
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
    """Let a policy be used only where it protects as much as the one in force. Raises: PolicyWeakened."""
    if change.weaker:
        raise PolicyWeakened(
            "The policy protects less than the one in force:\n" + "\n".join(change.weaker),
            hint=f"Confirm it with: noisegate policy accept {change.file.path.name} --reason WHY"
            f" (its hash is {change.hash})",
        )


def _weaker_than_accepted(file: PolicyFile, accepted: str | None) -> tuple[str, ...]:
    """What the text makes weaker than it was in force; nothing for the first policy, or the same one."""
    if accepted is None or accepted == file.policy.hash:
        return ()
    before = _kept(file.copy)
    return weakenings(before, file.policy) if before is not None and before.hash == accepted else (_UNKNOWN,)


def _kept(copy: Path) -> Policy | None:
    """The policy of the copy; None where there is none that can be read."""
    try:
        return parse_policy(copy.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PolicyInvalid):
        return None


def _keep(file: PolicyFile) -> None:
    """Write the copy, whole or not at all. Without one the next change has to be confirmed: no reason to stop."""
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
