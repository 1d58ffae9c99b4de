"""Unit tests of planner/sql/, one file per module or group of modules."""
