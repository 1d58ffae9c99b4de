"""Unit tests of planner/binding/answer/, one file per module or group of modules."""
