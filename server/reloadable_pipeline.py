"""The pipeline under the policy in force; a reload puts another one in its place between two requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from planner.errors import PlannerError
from server.errors import ConfigurationInvalid, PolicyRejected, UnsafeRole
from server.ledger.analyst import Act
from server.pipeline import Pipeline
from server.policy.accepted_policy import PolicyChanges

Watch = Callable[[Pipeline], None]
"""Is told of the pipeline after a reload; what it raises is its own."""

Renew = Callable[[Pipeline, Act, str | None], tuple[Pipeline, tuple[str, ...]]]
"""Reads the policy anew: from the pipeline before, who asks and the confirmed hash to the next and what is weaker.
Raises where the policy before must stay."""


@dataclass(frozen=True)
class PolicyInForce:
    """What a reload has done.

    Attributes:
      name: of the dataset.
      hash: of the policy in force.
      changed: is it another one than before?
      weaker: in what it protects less than the one before.
    """

    name: str
    hash: str
    changed: bool
    weaker: tuple[str, ...] = ()


class ReloadablePipeline:
    """Hands out the pipeline under the policy in force; every method may be called from any thread.

    Whoever answers a request takes `current` once and asks that: the request keeps the policy under which it began,
    and the next one has the new policy.
    """

    def __init__(
        self, pipeline: Pipeline, renew: Renew, changes: Callable[[], PolicyChanges] = PolicyChanges
    ) -> None:
        self._current = pipeline
        self._renew = renew
        self._changes = changes
        self._reloading = threading.Lock()
        self._watching: list[Watch] = []

    @property
    def current(self) -> Pipeline:
        """The pipeline that the next request gets."""
        return self._current

    def changes(self) -> PolicyChanges:
        """What changed in the policy's text: since the one before, and what a reload would take over."""
        return self._changes()

    def watch(self, watch: Watch) -> None:
        """Tell somebody of every reload from now on, one after the other and before the next."""
        self._watching.append(watch)

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        """Read the policy and the catalog anew.

        Args:
          act: who asks for it, and why.
          confirmed: the hash of a weaker policy that the custodian has confirmed.
        Raises: PolicyWeakened, PolicyRejected (it is invalid, or does not fit the database), BackendUnavailable and
          LedgerUnavailable; then nothing has changed.
        """
        with self._reloading:
            before = self._current
            try:
                self._current, weaker = self._renew(before, act, confirmed)
            except (PlannerError, ConfigurationInvalid, UnsafeRole) as error:
                raise PolicyRejected(
                    f"The policy before stays in force, since the new one cannot be: {error.message}", hint=error.hint
                ) from error
            for watch in self._watching:
                watch(self._current)
            policy = self._current.policy
            return PolicyInForce(policy.name, policy.hash, policy.hash != before.policy.hash, weaker)
