"""Unit tests of planner/binding/, one file per module or group of modules."""
