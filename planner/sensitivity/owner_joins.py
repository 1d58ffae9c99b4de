"""LEFT JOINs to the owners of rows: the inner join wherever a row without its owner is in no answer."""

from __future__ import annotations

from planner.binding.bound_query import BoundQuery
from planner.errors import UnsupportedSQL
from planner.sensitivity.provenance import Provenance


def check_owner_joins(query: BoundQuery, found: Provenance) -> None:
    """Refuse a LEFT JOIN that would lose rows: of a NULL in the foreign key, where somebody else owns the tuple, too.

    A tuple with one owner position has no owner where the key to it is NULL, and is in no answer. With another
    position it is that owner's: `edge LEFT JOIN node ON edge.src = node.id` keeps the edges of dst alone, which the
    inner join leaves out.

    Args:
      query: its LEFT JOINs to owners are entered as inner joins.
      found: the owner positions.
    Raises: UnsupportedSQL.
    """
    for join in query.owner_joins:
        if len(found.owners) > 1:
            key = ", ".join(join.columns)
            message = f"this LEFT JOIN is not supported: rows whose {key} is NULL may belong to others"
            hint = "use an inner JOIN: it leaves these rows out"
            raise UnsupportedSQL(message, hint=hint, position=join.position)
