from __future__ import annotations

import json
from typing import get_args

from planner.sql.sql_types import ResultType
from tests.golden.result_forms.recording import CELLS, RECORD, forms, parameters

WRITTEN = json.loads(RECORD.read_text())


def test_a_result_type_has_the_forms_that_it_had_before() -> None:
    for kind in CELLS:
        assert forms(kind) == WRITTEN["types"][kind]


def test_a_parameter_is_read_as_it_was_before() -> None:
    for oid in WRITTEN["parameters"]:
        assert parameters(int(oid)) == WRITTEN["parameters"][oid]


def test_every_result_type_is_recorded() -> None:
    assert set(WRITTEN["types"]) == set(CELLS) == set(get_args(ResultType))
