"""What the programs share: the rows, and the best of some bounds; of the standard library alone, as each has its own.

Run as `python PROGRAM FOLDER EPSILON DRAWS` over `patient.csv` and `visit.csv`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from statistics import mean, median, stdev

FOLDER, EPSILON, DRAWS = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
DELTA = 1e-9  # where a library cannot do without
ROWS = (5, 10, 20, 50, 100, 200)  # of a patient, at most
COSTS = (1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0)
PILOT = 2


def visits():
    """Pairs of a patient and a cost."""
    with (FOLDER / "visit.csv").open() as file:
        return [(int(row["patient_id"]), float(row["cost"])) for row in csv.DictReader(file)]


def numbers():
    """Pairs of a patient and a number of visits, for those without any, too: made beforehand, from a table of n."""
    with (FOLDER / "patient.csv").open() as file:
        patients = [int(row["patient_id"]) for row in csv.DictReader(file)]
    counts = Counter(patient for patient, _ in visits())
    return [(patient, float(counts[patient])) for patient in patients]


def truths():
    """By question."""
    costs = [cost for _, cost in visits()]
    return {
        "count of visits": float(len(costs)),
        "average cost": mean(costs),
        "median cost": median(costs),
        "spread of cost": stdev(costs),
        "visits per patient": mean(n for _, n in numbers()),
    }


def best(question, tries, draws=DRAWS, pilot=PILOT, finalists=2):
    """Print the answers with the bounds whose pilot answers are best: a custodian's who has looked at the rows.

    Args:
      question: one of `truths`.
      tries: what answers once, by the words for its bounds; what raises counts as refused.
      finalists: how many bounds are tried at length.
    """
    errors, refusals = {}, []
    for bounds, answer in tries.items():
        try:
            errors[bounds] = median(abs(answer() - TRUTHS[question]) for _ in range(pilot))
        except Exception as error:
            refusals.append(" ".join(str(error).split())[:120] or type(error).__name__)
    if not errors:
        refused(question, refusals[0])
        return
    chosen = sorted(errors, key=errors.get)[:finalists]
    for bounds in chosen:
        values = [float(tries[bounds]()) for _ in range(draws)]
        print(json.dumps({"question": question, "bounds": bounds, "values": values}), flush=True)


def refused(question, why):
    """Print why there is no answer."""
    print(json.dumps({"question": question, "refused": why}), flush=True)


TRUTHS = truths()
