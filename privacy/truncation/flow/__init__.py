"""Programs whose tuples have at most two members, exactly: a maximum flow in integers."""
