"""What is computed from released values: select list, HAVING, ORDER BY, an outer SELECT."""
