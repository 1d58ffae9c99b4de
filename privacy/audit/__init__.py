"""Black-box audits: a lower bound on epsilon from outputs alone."""
