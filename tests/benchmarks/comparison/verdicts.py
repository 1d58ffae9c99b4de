"""What is made of answers: relative errors, the best of some bounds, whether a person who goes moves them too far."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, median, variance

_FAR = 0.5
_MANY_ROWS = 10
_APART = 7

Answer = Mapping[str, float]
"""By key of the group, the value; one without groups has the key ''."""


@dataclass(frozen=True)
class Answered:
    """What a system released of a question with one choice of bounds.

    Attributes:
      bounds: in words; '' where nobody chose any.
      answers: one per release.
      seconds: of each release.
    """

    bounds: str
    answers: tuple[Answer, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Said:
    """What a library's program said.

    Attributes:
      answered: by question, what was released with each choice of bounds that came to the last round.
      refused: by question, why there is no answer, in the library's words.
      failed: why the program came to no end; '' where it did.
    """

    answered: Mapping[str, Sequence[Answered]]
    refused: Mapping[str, str]
    failed: str = ""


def as_answer(rows: Iterable[Sequence[object]]) -> Answer:
    """Rows of one value, or of a key and a value; what is missing is no number."""
    found: dict[str, float] = {}
    for row in rows:
        key = str(row[0]) if len(row) > 1 else ""
        value = row[-1]
        found[key] = float("nan") if value is None else float(str(value))
    return found


def cells(rows: Iterable[Sequence[object]], keys: int) -> dict[str, float]:
    """By group and place of the column, the numbers of an answer whose first `keys` columns name the group."""
    return {
        f"{' '.join(map(str, row[:keys]))}|{place}": float("nan") if value is None else float(str(value))
        for row in rows
        for place, value in enumerate(row[keys:])
    }


def cell_error(answer: Answer, truth: Answer) -> float:
    """The median relative error of the true answer's cells; a cell that is not shown counts as 0."""
    errors = (abs(answer.get(key, 0.0) / value - 1) for key, value in truth.items())
    return median(error if error == error else float("inf") for error in errors)


def relative_error(answer: Answer, truth: Answer) -> float:
    """The absolute errors of all groups together, of the sum of what is true; a group that is not shown counts as 0.

    Groups that are not true count with what they say. What is no number is infinitely wrong.
    """
    apart = sum(abs(answer.get(key, 0.0) - truth.get(key, 0.0)) for key in answer.keys() | truth.keys())
    error = apart / sum(abs(value) for value in truth.values())
    return error if error == error else float("inf")


def median_error(answered: Answered, truth: Answer) -> float:
    """Of the releases with these bounds. Raises: StatisticsError without any."""
    return median(relative_error(answer, truth) for answer in answered.answers)


def ratio(error: float, best: float, truth: Answer) -> float:
    """One relative error of another, either of which counts as at least one unit: whole counts are often exact."""
    least = 1 / sum(abs(value) for value in truth.values())
    return max(error, least) / max(best, least)


def best_of_bounds(tried: Iterable[Answered], truth: Answer) -> tuple[float, Answered] | None:
    """The bounds that make the median error least, and that error: a custodian's who looked; None for no answer."""
    errors = [(median_error(one, truth), place, one) for place, one in enumerate(tried) if one.answers]
    if not errors:
        return None
    error, _, best = min(errors)
    return error, best


def moved(with_them: Sequence[Answer], without: Sequence[Answer]) -> float:
    """How far the middle of the released values goes with one person; over all groups."""
    keys = {key for answer in (*with_them, *without) for key in answer}
    return sum(abs(_middle(with_them, key) - _middle(without, key)) for key in keys)


def _middle(answers: Sequence[Answer], key: str) -> float:
    return median(answer.get(key, 0.0) for answer in answers)


def likely_ratio(with_them: Sequence[Answer], without: Sequence[Answer]) -> tuple[int, int]:
    """How many answers with the person, and how many without, lie above the threshold that tells them apart best.

    Epsilon-differential privacy bounds the ratio of the two chances by e^epsilon.
    """
    up, down = ([sum(answer.values()) for answer in answers] for answers in (with_them, without))
    best = max(
        up + down, key=lambda place: sum(x >= place for x in up) * len(down) - sum(x >= place for x in down) * len(up)
    )
    return sum(x >= best for x in up), sum(x >= best for x in down)


@dataclass(frozen=True)
class Verdict:
    """What a library makes of a question.

    Attributes:
      kind: "answers", "silently wrong", "refuses" or "fails".
      words: why; '' for an answer.
      error: relative, the median with the best bounds.
      times: of an answer that is silently wrong, how many times too far it moves, or is off.
    """

    kind: str
    words: str = ""
    error: float = float("inf")
    times: float = 0.0


def verdict(name: str, truth: Answer, said: Said, without: Said) -> Verdict:
    """Of one question: an answer, one to something else, one that does not protect, or none.

    Args:
      said: of all rows.
      without: of the rows without a person, for questions whose rows belong to several; empty for others.
    """
    best = best_of_bounds(said.answered.get(name, ()), truth)
    if best is None:
        if name in said.refused:
            return Verdict("refuses", f"refuses: {said.refused[name]}")
        return Verdict("fails", f"fails: {said.failed or 'no answer'}")
    error, answered = best
    off = steadily_off(answered, truth)
    if off:
        return Verdict("silently wrong", "every answer is off by more than half of the truth; times", error, off)
    exact = told_exactly(answered, truth)
    if exact:
        return Verdict("silently wrong", "the exact truth, without noise; share of the answers", error, exact)
    gone = best_of_bounds(without.answered.get(name, ()), truth)
    if gone is not None:
        times = times_too_far(answered, gone[1])
        if times > 1:
            words = "when one person goes the answer moves by more than anybody may; times the bound"
            return Verdict("silently wrong", words, error, times)
    return Verdict("answers", error=error)


def steadily_off(answered: Answered, truth: Answer) -> float:
    """How far the middle of answers of one value is off, of the truth, where not one is near it; else 0.

    Noise alone, however large, brings some of several answers nearer: what is steadily wrong answers something else.
    """
    errors = [relative_error(answer, truth) for answer in answered.answers]
    middle = abs(_middle(answered.answers, "") - truth.get("", 0.0)) / abs(truth.get("", 1.0))
    return middle if set(truth) == {""} and min(errors) > _FAR and middle > _FAR else 0.0


def told_exactly(answered: Answered, truth: Answer) -> float:
    """The share of answers of one value that are the truth itself, where noise would hardly ever leave it; else 0.

    A library that holds its answers below a number that it takes from the rows says that number whenever noise goes
    beyond it. With noise for ten rows or more a whole number is met in one of twenty releases at most.
    """
    rows = _rows(answered)
    if set(truth) != {""} or rows < _MANY_ROWS:
        return 0.0
    share = mean(float(answer.get("", 0.0) == truth[""]) for answer in answered.answers)
    return share if share * len(answered.answers) >= max(3, len(answered.answers) / 5) else 0.0


def _rows(answered: Answered) -> float:
    """How many rows of a person the chosen bounds name; 1 where none does."""
    chosen = re.search(r"\brows (\d+)", answered.bounds)
    return float(chosen[1]) if chosen else 1.0


def times_too_far(answered: Answered, gone: Answered) -> float:
    """How many times the claimed bound the answers move with one person; 0 unless that is sure.

    The bound named rows is how many rows one person may have, and what noise is for. It is sure where the first seven
    of each side lie wholly apart, which under epsilon-differential privacy at epsilon 1 has a chance of at most 0.54
    to the power of 7, or where the means lie apart by more than the bound and four standard errors.
    """
    rows = _rows(answered)
    with_them, without = answered.answers[:_APART], gone.answers[:_APART]
    up, down = likely_ratio(with_them, without)
    apart = up == len(with_them) and down == 0
    apart |= _mean_move(answered.answers, gone.answers) > rows
    return moved(answered.answers, gone.answers) / rows if apart else 0.0


def _mean_move(with_them: Sequence[Answer], without: Sequence[Answer]) -> float:
    """How far the means lie apart at least: four standard errors less than they do, of seven answers or more each."""
    sides = [[sum(answer.values()) for answer in answers] for answers in (with_them, without)]
    if min(map(len, sides)) < _APART:
        return 0.0
    error = sqrt(sum(variance(side) / len(side) for side in sides))
    return abs(mean(sides[0]) - mean(sides[1])) - 4 * error


def declared_bounds(policy: str, columns: Iterable[str]) -> tuple[int, int]:
    """How many ranges, and how many lists of keys, a policy declares for these columns."""
    declared = [line for line in policy.splitlines() for column in columns if line.startswith(f"{column} =")]
    return sum("range" in line for line in declared), sum("domain" in line for line in declared)


_OF_A_PERSON = {"global_sensitivity", "groups_per_unit", "rows_per_unit", "rows_are_units", "fanout", "depth"}


def contribution_bounds(policy: str) -> int:
    """How many settings of a policy say how much one person may add, by the names that policies have for them."""

    def found(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            yield from (name for name in part if name in _OF_A_PERSON)
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        for one in inner:
            yield from found(one)

    return len(list(found(tomllib.loads(policy))))
