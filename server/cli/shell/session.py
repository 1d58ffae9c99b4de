"""One analyst's session: its settings, and what is done with a statement."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from server.cli.client.await_answer import answered
from server.cli.client.client import ask, fetch, not_ours
from server.cli.output.answer_view import answer_table, expanded_answer
from server.cli.output.explanation_view import explanation_view
from server.cli.output.terminal import show, tell
from server.http.bodies.answer_body import AnswerBody
from server.http.bodies.budget_body import OutlookBody
from server.http.bodies.schema_body import SchemaBody
from server.query import Explanation

_Body = TypeVar("_Body", bound=BaseModel)
_EXPLAIN = "EXPLAIN"


@dataclass
class Session:
    r"""What the shell knows between two statements.

    Attributes:
      url, key: whom it asks, and as whom; the key is in no repr.
      epsilon: what each question spends; None: the policy's default.
      accuracy: the relative error that each question may have; None: each spends its epsilon.
      nobody_adds_more_than: what one person adds to a group at most, as the analyst says; None: nothing is said.
      timing: say how long a question took.
      expanded: one line per cell instead of one per row.
      last: the last statement that was asked, for `\explain`.
      over: the analyst wants to leave.
    """

    url: str
    key: str
    epsilon: float | None = None
    accuracy: float | None = None
    nobody_adds_more_than: float | None = None
    timing: bool = False
    expanded: bool = False
    last: str = ""
    over: bool = False

    def __repr__(self) -> str:
        return f"Session({self.url!r})"

    @cached_property
    def schema(self) -> SchemaBody:
        """What may be asked; looked up once. Raises: CommandFailed."""
        return self._fetched("/v1/schema", SchemaBody)

    def budget(self) -> OutlookBody:
        """What is left. Raises: CommandFailed."""
        return self._fetched("/v1/budget", OutlookBody)

    def ask(self, statement: str) -> None:
        """Ask a statement and show its answer; EXPLAIN before it only explains. Raises: CommandFailed."""
        words = statement.split(None, 1)
        if len(words) == 2 and words[0].upper() == _EXPLAIN:
            self.explain(words[1])
            return
        self.last = statement
        text = self._timed(lambda: answered(self.url, self.key, self._question(statement), sql=statement))
        try:
            response = AnswerBody.model_validate_json(text).response()
        except ValidationError as error:
            raise not_ours(self.url) from error
        show(expanded_answer(response) if self.expanded else answer_table(response))

    def explain(self, statement: str) -> None:
        """Show what a statement would do and cost; free. Raises: CommandFailed."""
        question = self._question(statement)
        text = self._timed(lambda: ask(self.url, "/v1/explain", self.key, question, sql=statement))
        try:
            explanation = TypeAdapter(Explanation).validate_json(text)
        except ValidationError as error:
            raise not_ours(self.url) from error
        show(explanation_view(explanation))

    def _question(self, statement: str) -> dict[str, object]:
        said = {"max_relative_error": self.accuracy, "nobody_adds_more_than": self.nobody_adds_more_than}
        return {"sql": statement, "epsilon": self.epsilon, **said}

    def _timed(self, work: Callable[[], str]) -> str:
        begun = time.monotonic()
        try:
            return work()
        finally:
            if self.timing:
                tell(f"Time: {time.monotonic() - begun:.3f} s")

    def _fetched(self, path: str, kind: type[_Body]) -> _Body:
        try:
            return kind.model_validate_json(fetch(self.url, path, self.key))
        except ValidationError as error:
            raise not_ours(self.url) from error
