"""What a question's parameters and columns are, before any value is bound; free, and reads structure only."""

from __future__ import annotations

from collections.abc import Sequence

from planner.describe import Description, describe
from planner.expand_views import expanded
from planner.parsing.explain import explained
from planner.parsing.parse import private_select, read_of
from planner.policy.policy import Policy
from planner.public.route import check_public, names_private_table
from planner.released_expression import is_noisy
from planner.schema import Schema
from server.explain.explanation_text import EXPLANATION
from server.query import ResultColumn, StatementShape


def statement_shape(
    sql: str,
    schema: Schema,
    policy: Policy,
    search_path: Sequence[str] | None = None,
    given: Sequence[str | None] = (),
) -> StatementShape:
    """Parameters and columns of a question.

    Args:
      search_path: where tables without a schema are looked for; None: as the policy says.
      given: the types that the client says its parameters have; None for what it leaves open.
    Raises: PlannerError as `parse` and `bind` do.
    """
    asked = explained(sql)
    found = _described(sql if asked is None else asked.sql, schema, policy, search_path, given)
    if asked is not None:
        return StatementShape(found.parameters, EXPLANATION, (False,))
    columns = tuple(ResultColumn(one.name, one.type) for one in found.outputs)
    return StatementShape(found.parameters, columns, tuple(map(is_noisy, found.outputs)))


def _described(
    sql: str, schema: Schema, policy: Policy, search_path: Sequence[str] | None, given: Sequence[str | None]
) -> Description:
    statement = expanded(read_of(sql, policy.name), schema, policy, search_path)
    if names_private_table(statement.tree, schema, policy, search_path):
        return describe(private_select(statement), schema, policy, search_path, given)
    check_public(statement)
    return describe(statement.tree, schema, policy, search_path, given)
