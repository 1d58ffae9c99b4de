"""Unit tests of planner/parsing/, one file per module or group of modules."""
