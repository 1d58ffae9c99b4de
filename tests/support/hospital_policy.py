"""A policy for the generated hospital, before its dirt is acknowledged."""

from __future__ import annotations

HOSPITAL_POLICY = """
name = "hospital"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
patient = "id"
[[foreign_keys]]
table = "visit"
columns = ["doctor_id"]
references = "doctor"
key = ["id"]
owning = false
[[foreign_keys]]
table = "lab_result"
columns = ["patient_id"]
references = "patient"
key = ["id"]
#results
[tables.patient]
[tables.visit]
#visits
[tables.diagnosis]
#diagnoses
[tables.lab_result]
#nobodys
[tables.prescription]
[tables.ward]
public = true
[tables.icd]
public = true
[tables.doctor]
public = true
"""
"""Every table lies in `public`. The comments are places to write more: `with_settings`."""


def with_settings(**settings: str) -> str:
    """The policy with lines in the places that its comments name."""
    text = HOSPITAL_POLICY
    for place, line in settings.items():
        assert f"#{place}\n" in text
        text = text.replace(f"#{place}\n", f"{line}\n")
    return text
