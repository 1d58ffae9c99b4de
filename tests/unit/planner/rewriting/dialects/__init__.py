"""Unit tests of planner/rewriting/dialects/, one file per module or group of modules."""
