"""Pattern counts over one edge table."""
