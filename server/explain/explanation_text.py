"""An explanation as text: the rows of EXPLAIN, and the facts that the command line shows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Literal

from server.lru_cache import LruCache
from server.query import Budget, Explanation, QueryResponse, ResultColumn, privacy_text

EXPLANATION = (ResultColumn("QUERY PLAN", "text"),)
"""The columns of an explanation, named as in PostgreSQL."""

_COLUMNS = 100
_BREAKS = re.compile(r"""(?<!\w)'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<space> +)""")

_SAME_RATIO = 1.001  # a difference that nobody would read


REFUSED = "would be refused"


def explanation_facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Name and value of every fact except the statements; names may repeat."""
    yield from _plan_facts(explanation)
    yield "would charge", would_charge(explanation)
    if explanation.likely_clipped:
        lost = f"about {explanation.likely_clipped:.0%} of the rows, whose intervals do not cover what is clipped"
        yield "likely clipped", lost
    if explanation.cannot_pay is not None:
        yield REFUSED, str(explanation.cannot_pay)
    for label, noise in explanation.expected_noise:
        ratio = noise_ratio(noise)
        if len(noise) == 1:
            ((tau, half_width),) = noise
            yield f"noise of {label}", f"95% within {half_width:,.6g}, for the contribution bound {tau:,.6g}"
            continue
        if ratio is not None:
            yield f"noise of {label}", f"95% within {ratio:,.4g} times the contribution bound that will be chosen"
            continue
        for tau, half_width in by_doubling(noise):
            yield f"noise of {label}", f"95% within {half_width:,.6g} if the contribution bound is {tau:,.6g}"


def _plan_facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    yield "answer", ", ".join(f"{column.name} ({column.type})" for column in explanation.columns)
    if not explanation.privacy_units:
        yield "mechanism", explanation.reason
        return
    for table in explanation.tables:
        left = ", left join" if table.join == "left" else ""
        yield "table", f"{table.table} as {table.alias}{left}{', added to find the owners' if table.added else ''}"
    for condition in explanation.conditions:
        yield "condition", condition.sql + (" (added)" if condition.added else "")
    yield "protects", ", ".join(explanation.privacy_units)
    paths = explanation.ownership or ("",) * len(explanation.owners)
    for owner, path in zip(explanation.owners, paths, strict=True):
        yield "found by", f"{owner} ({path})" if path else owner
    for label, bound in explanation.weight_bounds:
        yield "bound per row", f"{bound:,.6g} for {label}"
    if explanation.tuples_per_unit is not None:
        yield "rows per person", f"at most {explanation.tuples_per_unit:,} by the declared fan-outs"
    for key, source in explanation.group_sources:
        yield "group key", f"{key}: {source}"
    if explanation.group_sources:
        known = explanation.n_groups is not None
        yield "groups", f"{explanation.n_groups:,}, before HAVING and LIMIT" if known else "as many as are selected"
    if explanation.selection is not None:
        yield "groups shown", explanation.selection
    groups = explanation.groups_per_unit
    bounded = "as many as there are" if groups is None else f"at most {groups}"
    yield "groups per person", f"{bounded}: {explanation.groups_reason}" if explanation.groups_reason else bounded
    if explanation.sampling is not None:
        yield "sampling", explanation.sampling
    for label, advice in explanation.sampling_advice:
        yield "sampling of", f"{label}: {advice}"
    if explanation.epsilon_if_fanouts_fail is not None:
        worst = f"epsilon {explanation.epsilon_if_fanouts_fail:.4g} for a person who exceeds the declared fan-outs"
        yield "amplification", f"the sample reduces the noise; without the declared fan-outs, {worst}"
    mechanism, reason = explanation.mechanism, explanation.reason
    yield "mechanism", reason if reason.startswith(mechanism) else f"{mechanism}: {reason}"
    if explanation.reuse is not None:
        yield "reuse", explanation.reuse
    for release in explanation.mechanisms:
        spent = privacy_text(release.epsilon, release.delta)
        yield "release", f"{release.release} by {release.mechanism}, {spent}: {release.reason}"


def explanation_answer(
    explanation: Explanation, form: Literal["text", "json"], budget: Budget, request_id: str
) -> QueryResponse:
    """The answer to EXPLAIN: rows of text, or one document; free and without noise."""
    key = explanation, form
    rows = _SHOWN.get(key) or _SHOWN.put(key, tuple((line,) for line in _shown(explanation, form)))
    columns = [(column.name, column.type) for column in EXPLANATION]
    return QueryResponse.exact(columns, rows, budget, request_id, ())


_SHOWN: LruCache[tuple[Explanation, str], tuple[tuple[str], ...]] = LruCache(64, 8 << 20)


def _shown(explanation: Explanation, form: str) -> Iterator[str]:
    if form == "json":
        yield _document(explanation)
        return
    for line in "\n".join(_lines(explanation)).splitlines():
        yield from broken(line)


def _document(explanation: Explanation) -> str:
    """One plan in PostgreSQL's JSON frame, with the field names of HTTP. NaN and infinities become null."""
    plan = {"Node Type": "Noisegate", **asdict(explanation)}
    return json.dumps([{"Plan": _finite(plan)}], indent=2, ensure_ascii=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def broken(line: str) -> Iterator[str]:
    """Wrap a line at about a hundred columns, with indented continuations, as PostgreSQL shows plans.

    Quoted texts and names are never broken, so that they can be copied; a line may be longer for them.

    >>> list(broken("where: " + "a = 1 AND " * 11 + "b = 2"))[1]
    '  1 AND a = 1 AND b = 2'
    """
    line = line.rstrip()
    before = len(line) - len(line.lstrip())
    indent = " " * (before + 2)
    while len(line) > _COLUMNS and (cut := _cut(line, before)) is not None:
        yield line[:cut].rstrip()
        line = indent + line[cut:].lstrip()
        before = len(indent)
    yield line


def _cut(line: str, before: int) -> int | None:
    """The last place within the width where a line may be broken, else the first place; None if there is none."""
    cut = None
    for found in _BREAKS.finditer(line):
        if not found["space"] or found.start() <= before:
            continue
        if cut is None or found.start() <= _COLUMNS:
            cut = found.start()
        if found.start() >= _COLUMNS:
            break
    return cut


def noise_ratio(noise: Sequence[tuple[float, float]]) -> float | None:
    """The ratio half-width / tau, if it is the same for all (tau, half-width) pairs; otherwise None.

    Noise of whole numbers is whole, so each half-width may differ by the smallest bound.

    >>> noise_ratio([(1.0, 4.0), (2.0, 9.0), (100.0, 428.0)]), noise_ratio([(1.0, 40.0), (100.0, 300.0)])
    (4.28, None)
    """
    known = [(tau, half_width) for tau, half_width in noise if tau > 0]
    if not known:
        return None
    most, widest = max(known)
    ratio, unit = widest / most, min(known)[0]
    near = (abs(half_width - ratio * tau) <= unit + (_SAME_RATIO - 1) * half_width for tau, half_width in known)
    return ratio if all(near) else None


def by_doubling(noise: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The first (tau, half-width) pair, and each whose tau is about twice the one before.

    >>> list(by_doubling([(1.0, 4.0), (1.5, 6.0), (2.0, 9.0), (3.0, 13.0), (4.0, 17.0)]))
    [(1.0, 4.0), (2.0, 9.0), (4.0, 17.0)]
    """
    last = 0.0
    for tau, half_width in noise:
        if tau >= 1.99 * last:
            last = tau
            yield tau, half_width


def would_charge(explanation: Explanation) -> str:
    """The price of the question in words."""
    charge = privacy_text(explanation.epsilon, explanation.delta)
    if explanation.paid:
        return f"nothing: you paid for this answer before, {charge}"
    if explanation.most_epsilon is not None:
        most = privacy_text(explanation.most_epsilon, explanation.most_delta or 0.0)
        return f"up to {most}, of which epsilon {explanation.epsilon:g} is for a first release"
    if explanation.derived:
        return f"nothing (with reuse = never: {charge})"
    if not explanation.charge_epsilon:
        return charge
    charged = privacy_text(explanation.charge_epsilon, explanation.charge_delta or 0.0)
    return charge if charged == charge else f"{charged} (with reuse = never: {charge})"


def _lines(explanation: Explanation) -> Iterator[str]:
    yield from (f"{name}: {value}" for name, value in explanation_facts(explanation))
    yield "statements:"
    yield explanation.rewritten_sql
