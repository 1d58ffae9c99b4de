"""The pipeline under the policy in force. A reload replaces it between two requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import PlannerError
from server.errors import ConfigurationInvalid, InvalidRequest, PolicyRejected, UnsafeRole
from server.ledger.analyst import Act
from server.pipeline import Pipeline
from server.policy.accepted_policy import PolicyChanges

if TYPE_CHECKING:  # DuckDB is an extra
    from server.practice import Practice

Watch = Callable[[Pipeline], None]
"""Called with the new pipeline after a reload; its errors are its own."""

Renew = Callable[[Pipeline, Act, str | None], tuple[Pipeline, tuple[str, ...]]]
"""Reads the policy again. From the old pipeline, the act and the confirmed hash it makes the new pipeline and the
list of weaker protections. It raises if the old policy must stay.
"""


@dataclass(frozen=True)
class PolicyInForce:
    """The result of a reload.

    Attributes:
      name: of the dataset.
      hash: of the policy in force.
      changed: is it another policy than before?
      weaker: what it protects less than the policy before.
    """

    name: str
    hash: str
    changed: bool
    weaker: tuple[str, ...] = ()


class ReloadablePipeline:
    """Gives out the pipeline under the policy in force. Any thread may call its methods.

    A request takes `current` once, so it keeps the policy under which it began.
    """

    def __init__(
        self, pipeline: Pipeline, renew: Renew, changes: Callable[[], PolicyChanges] = PolicyChanges
    ) -> None:
        self._current = pipeline
        self._renew = renew
        self._changes = changes
        self._reloading = threading.Lock()
        self._watching: list[Watch] = []
        self._practising = threading.Lock()
        self._practice: Practice | None = None

    @property
    def current(self) -> Pipeline:
        """The pipeline for the next request."""
        return self._current

    def practice(self, analyst: str) -> ReloadablePipeline:
        """The practice pipeline of the policy in force, for one analyst; a reload does not change it.

        Raises: InvalidRequest without DuckDB; as `Practice.of`.
        Cost: the first call under a policy draws the rows, for a second or two.
        """
        try:
            from server.practice import Practice
        except ImportError as error:  # DuckDB is an extra
            hint = "the administrator installs noisegate[duckdb]"
            raise InvalidRequest("this proxy has no practice database", hint=hint) from error
        with self._practising:
            if self._practice is None or self._practice.real is not self._current:
                self._practice = Practice(self._current)
            practice = self._practice
        return ReloadablePipeline(practice.of(analyst), self._renew)

    def changes(self) -> PolicyChanges:
        """The changes of the policy's text: since the one before, and what a reload would apply."""
        return self._changes()

    def watch(self, watch: Watch) -> None:
        """Call `watch` after every reload from now on, one after the other."""
        self._watching.append(watch)

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        """Read the policy and the catalog again.

        Args:
          confirmed: the hash of a weaker policy that the administrator has confirmed.
        Raises: PolicyWeakened, PolicyRejected (invalid, or it does not fit the database), BackendUnavailable and
          LedgerUnavailable; nothing has changed then.
        """
        with self._reloading:
            before = self._current
            try:
                self._current, weaker = self._renew(before, act, confirmed)
            except (PlannerError, ConfigurationInvalid, UnsafeRole) as error:
                raise PolicyRejected(
                    f"The old policy stays in force, because the new one is rejected: {error.message}",
                    hint=error.hint,
                ) from error
            for watch in self._watching:
                watch(self._current)
            policy = self._current.policy
            return PolicyInForce(policy.name, policy.hash, policy.hash != before.policy.hash, weaker)
