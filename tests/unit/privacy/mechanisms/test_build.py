from __future__ import annotations

import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.build import measurement
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.r2t import R2T


def test_makes_mechanisms_by_name() -> None:
    assert measurement("fixed", 0.5, 2, 0.01) == Fixed(0.5, 2, 0.01)
    assert measurement("gem", 0.5, 2, 0.01) == Gem(0.5, 2, 0.01)
    assert measurement("r2t", 0.5, None, 0.01, 64.0) == R2T(0.5, 64.0, None, 0.01)


@pytest.mark.parametrize("name", ["r2t", "GEM", ""])
def test_refuses_what_it_cannot_make(name: str) -> None:
    with pytest.raises(InvalidParameter):
        measurement(name, 1.0)
