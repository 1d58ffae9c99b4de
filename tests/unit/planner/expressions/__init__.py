"""Unit tests of planner/expressions/, one file per module or group of modules."""
