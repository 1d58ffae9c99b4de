from __future__ import annotations

import json
from typing import get_args

import pytest

from planner.sql.result_names import ResultType
from tests.golden.result_forms.recording import CELLS, RECORD, forms, parameters

WRITTEN = json.loads(RECORD.read_text())


@pytest.mark.parametrize("kind", CELLS)
def test_a_result_type_has_the_forms_that_it_had_before(kind: ResultType) -> None:
    assert forms(kind) == WRITTEN["types"][kind]


@pytest.mark.parametrize("oid", WRITTEN["parameters"])
def test_a_parameter_is_read_as_it_was_before(oid: str) -> None:
    assert parameters(int(oid)) == WRITTEN["parameters"][oid]


def test_every_result_type_is_recorded() -> None:
    assert set(WRITTEN["types"]) == set(CELLS) == set(get_args(ResultType))
