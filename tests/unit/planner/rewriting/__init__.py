"""Unit tests of planner/rewriting/, one file per module or group of modules."""
