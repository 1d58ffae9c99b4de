"""Unit tests of planner/policy/, one file per module or group of modules."""
