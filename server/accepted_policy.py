"""Which policy is in force: accepted in the ledger by its hash, kept beside the policy file by its text.

A policy file that changes is accepted by itself only where nothing gets weaker (`planner.weakening`); otherwise the
custodian confirms it, once, and the ledger says who did, why, and what is weaker.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planner.errors import PolicyInvalid
from planner.policy import Policy, parse_policy
from planner.weakening import weakenings
from server.errors import ConfigurationInvalid, PolicyWeakened
from server.ledger.analyst import Act

_UNKNOWN = "the policy before is not known any more, so anything may be weaker"


class Acceptances(Protocol):
    """The part of a ledger that remembers policies."""

    def accepted_policy(self) -> str | None:
        """The hash of the policy that was last accepted, or None."""
        ...

    def accept_policy(self, policy_hash: str, weakens: Sequence[str], act: Act) -> None:
        """Record that a policy is in force from now on."""
        ...


@dataclass(frozen=True)
class PolicyFile:
    """A policy and the text it was read from."""

    path: Path
    text: str
    policy: Policy

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
        return self.path.with_suffix(".accepted.toml")


def weaker_than_accepted(file: PolicyFile, accepted: str | None) -> tuple[str, ...]:
    """What would be weaker than under the policy in force; nothing for the first policy, or the same one."""
    if accepted is None or accepted == file.policy.hash:
        return ()
    before = _kept(file.copy)
    return weakenings(before, file.policy) if before is not None and before.hash == accepted else (_UNKNOWN,)


def accept(file: PolicyFile, ledger: Acceptances, act: Act, confirmed: str | None = None) -> tuple[str, ...]:
    """Put a policy in force, if it is no weaker or its hash has been confirmed.

    Args:
      file: the policy as it is now.
      ledger: knows which policy was accepted last.
      act: who does it.
      confirmed: the hash of the policy that the custodian has confirmed.
    Returns: what is weaker than before.
    Raises: PolicyWeakened, with the list and the hash to confirm; the policy before stays in force.
    """
    accepted = ledger.accepted_policy()
    weaker = weaker_than_accepted(file, accepted)
    if weaker and confirmed != file.policy.hash:
        raise PolicyWeakened(
            "The policy protects less than the one in force:\n" + "\n".join(weaker),
            hint=f"Confirm it with: noisegate policy accept {file.path.name} (its hash is {file.policy.hash})",
        )
    if accepted != file.policy.hash:
        ledger.accept_policy(file.policy.hash, weaker, act)
    _keep(file)
    return weaker


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
            temporary.write_text(file.text, encoding="utf-8")
            temporary.replace(file.copy)
    except (OSError, UnicodeDecodeError):
        temporary.unlink(missing_ok=True)
