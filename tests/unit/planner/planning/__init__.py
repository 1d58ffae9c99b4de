"""Unit tests of planner/planning/, one file per module or group of modules."""
