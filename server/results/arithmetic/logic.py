"""Conditions in three values, and choices between columns."""

from __future__ import annotations

import numpy as np

from server.results.arithmetic.column import Column, Flags, column, null_column, together, truth


def equal(left: Column, right: Column) -> Column:
    """left = right, per group, NULL where either is."""
    overlap = (left.low <= right.high) & (right.low <= left.high)
    same = (left.low == left.high) & (right.low == right.high) & (left.low == right.low)
    return _compared(left, right, left.value == right.value, overlap, ~same)


def less(left: Column, right: Column) -> Column:
    """left < right, per group, NULL where either is."""
    return _compared(left, right, left.value < right.value, left.low < right.high, left.high >= right.low)


def negated(operand: Column) -> Column:
    """NOT operand, per group; NULL stays NULL."""
    known = operand.may_be_known
    return column(
        value=np.where(operand.null, 0.0, 1.0 - operand.value),
        null=operand.null,
        low=np.where(known, 1.0 - operand.high, np.inf),
        high=np.where(known, 1.0 - operand.low, -np.inf),
        may_be_null=operand.may_be_null,
    )


def both(*operands: Column) -> Column:
    """AND: false where one is false, else NULL where one is NULL."""
    result = operands[0]
    for other in operands[1:]:
        false = _is_false(result) | _is_false(other)
        result = truth(
            value=_is_true(result) & _is_true(other),
            null=(result.null | other.null) & ~false,
            may_be_true=_may_be_true(result) & _may_be_true(other),
            may_be_false=_may_be_false(result) | _may_be_false(other),
            may_be_null=result.may_be_null | other.may_be_null,
        )
    return result


def either(*operands: Column) -> Column:
    """OR of conditions, per group: true where one is, NULL where none is true and one is NULL."""
    return negated(both(*map(negated, operands)))


def is_null(operand: Column) -> Column:
    """operand IS NULL, per group; never NULL itself."""
    never = np.zeros(len(operand), np.bool_)
    return truth(operand.null, never, operand.may_be_null, operand.may_be_known, never)


def case(*arguments: Column) -> Column:
    """CASE: condition, value, condition, value, ..., default."""
    chooser = _Chooser(len(arguments[0]))
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        chooser.choose(
            value,
            where=_is_true(condition),
            possibly=_may_be_true(condition),
            else_possibly=_may_be_false(condition) | condition.may_be_null,
        )
    return chooser.otherwise(arguments[-1])


def coalesce(*operands: Column) -> Column:
    """The first that is not NULL."""
    chooser = _Chooser(len(operands[0]))
    for operand in operands:
        chooser.choose(
            _if_known(operand),
            where=~operand.null,
            possibly=operand.may_be_known,
            else_possibly=operand.may_be_null,
        )
    return chooser.otherwise(null_column(len(operands[0])))


def nullif(left: Column, right: Column) -> Column:
    """NULL where left = right, else left."""
    same = equal(left, right)
    always = ~_may_be_false(same) & ~same.may_be_null
    return column(
        value=left.value,
        null=left.null | _is_true(same),
        low=np.where(always, np.inf, left.low),
        high=np.where(always, -np.inf, left.high),
        may_be_null=left.may_be_null | _may_be_true(same),
    )


class _Chooser:
    """Takes each group's value from the first choice that applies, and its interval from all that may."""

    def __init__(self, n_groups: int) -> None:
        self._open = np.ones(n_groups, np.bool_)
        self._reachable = np.ones(n_groups, np.bool_)
        self._result = null_column(n_groups)
        self._may_be_null = np.zeros(n_groups, np.bool_)

    def choose(self, value: Column, *, where: Flags, possibly: Flags, else_possibly: Flags) -> None:
        """Offer a value to the groups that have none yet."""
        taken, may = self._open & where, self._reachable & possibly
        result = self._result
        self._may_be_null |= may & value.may_be_null
        self._result = Column(
            value=np.where(taken, value.value, result.value),
            null=np.where(taken, value.null, result.null),
            low=np.where(may, np.minimum(result.low, value.low), result.low),
            high=np.where(may, np.maximum(result.high, value.high), result.high),
            may_be_null=self._may_be_null,
        )
        self._open &= ~where
        self._reachable &= else_possibly

    def otherwise(self, value: Column) -> Column:
        """The last choice, for all groups that are left."""
        everywhere = np.ones(len(value), np.bool_)
        self.choose(value, where=everywhere, possibly=everywhere, else_possibly=~everywhere)
        last = self._result
        return column(last.value, last.null, last.low, last.high, self._may_be_null)


def _if_known(operand: Column) -> Column:
    """The operand where it is not NULL."""
    never = np.zeros(len(operand), np.bool_)
    return Column(operand.value, never, operand.low, operand.high, never)


def _compared(left: Column, right: Column, value: Flags, may_be_true: Flags, may_be_false: Flags) -> Column:
    null, may_be_null, known = together((left, right))
    return truth(value & ~null, null, may_be_true & known, may_be_false & known, may_be_null)


def _is_true(operand: Column) -> Flags:
    return np.asarray(~operand.null & (operand.value != 0.0))


def _is_false(operand: Column) -> Flags:
    return np.asarray(~operand.null & (operand.value == 0.0))


def _may_be_true(operand: Column) -> Flags:
    return np.asarray(operand.high >= 1.0)  # -inf where it can only be NULL


def _may_be_false(operand: Column) -> Flags:
    return np.asarray(operand.low <= 0.0)
