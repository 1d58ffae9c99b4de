"""Statements that people and programs write, collected from public sources: what the planner makes of each."""
