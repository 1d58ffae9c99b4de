"""Unit tests of planner/postprocessing/, one file per module or group of modules."""
