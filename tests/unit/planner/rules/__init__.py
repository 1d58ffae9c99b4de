"""Unit tests of planner/rules/, one file per module or group of modules."""
