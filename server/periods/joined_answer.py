"""Answers of several versions, and of what is open, as one: each group's values from where it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.backends.columns import Domain
from server.periods.kept_parts import Group, Split, values_at


def joined(
    domain: Domain, split: Split, fresh: Released | None, places: Sequence[int], *, selected: bool
) -> Released:
    """Take each group from its part: post-processing, value by value; nothing is added up or averaged.

    Args:
      domain: the question's public groups, in order.
      split: which are kept, and where; each value of the time keys is in one part at most.
      fresh: what was measured of the others.
      places: of the time keys.
      selected: are groups shown by a release? Those that no part shows are withheld then.
    """
    sources = [*(part.released for part in split.parts), *(() if fresh is None else (fresh,))]
    source_of = {values: number for number, part in enumerate(split.parts) for values in part.values}
    source_of |= dict.fromkeys(split.fresh, len(split.parts))
    offsets = np.cumsum([0, *(len(one.domain) for one in sources)])
    row_of: list[dict[Group, int]] = [{group: row for row, group in enumerate(one.domain.groups)} for one in sources]
    shown, rows = [], []
    for place, group in enumerate(domain.groups):
        number = source_of[values_at(group, places)]
        row = row_of[number].get(group)
        assert row is not None or selected, "every group was measured"
        if row is not None:
            shown.append(place)
            rows.append(int(offsets[number]) + row)
    taken = np.array(rows, np.intp)
    noisy = tuple(_joined(one, taken) for one in zip(*(source.noisy for source in sources), strict=True))
    if not selected:
        return Released(domain, noisy)
    return Released(domain.only(np.array(shown, np.intp), len(domain) - len(shown)), noisy)


def _joined(noisy: Sequence[NoisyAnswer], rows: NDArray[np.intp]) -> NoisyAnswer:
    """One release of the question, from that of each part.

    They are of one mechanism and cover the same. `noise` is said of the last part, which is the one that was measured
    now: of others it may be another kind, which no interval here depends on.
    """
    assert len({one.covers for one in noisy}) == 1, "one mechanism covers one thing"

    def taken(name: str) -> NDArray[np.float64]:
        every: NDArray[np.float64] = np.concatenate([getattr(one, name) for one in noisy])
        return every[rows]

    return replace(
        noisy[-1],
        values=taken("values"),
        tau=taken("tau"),
        noise_scale=taken("noise_scale"),
        low=taken("low"),
        high=taken("high"),
        signal=taken("signal"),
        confidence=min(one.confidence for one in noisy),
    )
