"""Attacks, membership games, ten thousand histories with faults, a hundred thousand questions to two neighbours.

A part after the other, or those that CASES="attacks;pairs" names, and each is stored by itself. What takes long is
kept in blocks in .noisegate/benchmarks/security until it is whole, and goes on from there (`tests.benchmarks.blocks`:
MINUTES=30 stops it after so long, and stores what there is). PAIRS=20000 asks so many questions, HISTORIES=1000
lives so many, GAMES=200 plays so many: shorter runs, which are stored beside.
"""

from __future__ import annotations

from tests.benchmarks.parts import Parts
from tests.benchmarks.security.attacks import attacks
from tests.benchmarks.security.games import games
from tests.benchmarks.security.histories import histories
from tests.benchmarks.security.pairs import pairs
from tests.benchmarks.security.soak import soak

PARTS: Parts = {
    "attacks": attacks,
    "games": games,
    "histories": histories,
    "pairs": pairs,
    "soak": soak,
}
