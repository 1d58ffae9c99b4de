"""What the programs share: which function answers which question, with which bounds it is tried, how that is said.

Of the standard library alone, as each program runs where its library is: `python PROGRAM FOLDER SETTINGS`, where the
folder holds a CSV per table, and SETTINGS is JSON: `epsilon`, `draws`, the names of `questions`, and the `truths`,
which a custodian knows who chooses bounds after a look at the rows. A question's function takes its bounds by name:
what stands there is what somebody types in by hand. Its lines, and those of what it uses in the same file, are
counted by tests/benchmarks/comparison/program_text.py.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from itertools import product
from pathlib import Path
from statistics import median

_ONLY_COUNTED = len(sys.argv) < 3
FOLDER = Path(sys.argv[1] if not _ONLY_COUNTED else ".")
SETTINGS = json.loads(sys.argv[2]) if not _ONLY_COUNTED else {}
EPSILON = SETTINGS.get("epsilon", 1.0)
DELTA = 1e-9  # where a library cannot do without
PILOT, FINALISTS = 5, 1
PILOT_S, FINAL_S, MOST = 2.0, 20.0, 41  # more draws than are asked for, as long as they take no longer

_WARDS = ("Cardiology", "Geriatrics", "Maternity", "Neurology", "Oncology", "Surgery")
WARDS = [list(_WARDS)]
SEGMENTS = [["building", "furniture", "household", "machinery"]]
BANDS = [list(range(10))]
ROWS = (5, 20, 50, 200)
COSTS = (1_000.0, 3_000.0, 10_000.0)
PRICES = (3_000.0, 6_000.0)
_ASKED = {}


def question(name, **bounds):
    """The decorated function answers once, by a number or numbers by key; `bounds` is what is tried, by argument."""

    def register(answer):
        _ASKED[name] = answer, bounds
        return answer

    return register


def refused(name, why):
    """A question that the library has no words for."""
    _ASKED[name] = why, {}


def rows(table, **types):
    """A table as dictionaries, with what makes numbers of some columns."""
    with (FOLDER / f"{table}.csv").open() as file:
        return [row | {column: make(row[column]) for column, make in types.items()} for row in csv.DictReader(file)]


def run():
    """Answer what is asked, in the order of the settings."""
    for name in SETTINGS["questions"]:
        answer, bounds = _ASKED.get(name, ("the comparison has no program for it", {}))
        try:
            if isinstance(answer, str):
                raise RuntimeError(answer)
            tries = [dict(zip(bounds, chosen, strict=True)) for chosen in product(*bounds.values())]
            for chosen in _finalists(name, answer, tries):
                _say(name, chosen, *_drawn(answer, chosen, SETTINGS["draws"], MOST, FINAL_S))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            why = " ".join(str(error).split())[:160] or type(error).__name__
            print(json.dumps({"question": name, "refused": why}), flush=True)


def _finalists(name, answer, tries):
    """The bounds with which a few answers are best; what raises is no choice, unless everything does."""
    if len(tries) == 1 or "bounds" in SETTINGS:
        wanted = SETTINGS.get("bounds", {}).get(name)
        return [one for one in tries if wanted in (None, _words(one))]
    errors, failures = [], []
    for place, chosen in enumerate(tries):
        try:
            found, _ = _drawn(answer, chosen, 1, PILOT, PILOT_S)
            errors.append((median(_error(name, one) for one in found), place))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failures.append(error)
    if not errors:
        raise failures[0]
    return [tries[place] for _, place in sorted(errors)[:FINALISTS]]


def _error(name, answer):
    truth = SETTINGS["truths"][name]
    return sum(abs(answer.get(key, 0.0) - truth.get(key, 0.0)) for key in answer.keys() | truth.keys())


def _drawn(answer, chosen, least, most, within_s):
    found, seconds = [], []
    while len(found) < least or (len(found) < most and sum(seconds) < within_s):
        started = time.perf_counter()
        said = answer(**chosen)
        seconds.append(time.perf_counter() - started)
        by_key = said if isinstance(said, dict) else {"": said}
        found.append({str(key): float(value) for key, value in by_key.items()})
    return found, seconds


def _words(chosen):
    return ", ".join(f"{name} {len(one) if isinstance(one, list) else f'{one:g}'}" for name, one in chosen.items())


def _say(name, chosen, answers, seconds):
    said = {"question": name, "bounds": _words(chosen), "answers": answers, "seconds": seconds}
    print(json.dumps(said), flush=True)
