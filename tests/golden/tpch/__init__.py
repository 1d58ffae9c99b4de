"""The 22 queries of TPC-H: what the planner makes of each."""
