"""Unit tests of planner/sensitivity/, one file per module or group of modules."""
