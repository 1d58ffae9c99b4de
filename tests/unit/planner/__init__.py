"""Unit tests of planner/, one file per module or group of modules."""
