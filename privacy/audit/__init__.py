"""Black-box audits: lower bounds on epsilon and delta from outputs alone."""
