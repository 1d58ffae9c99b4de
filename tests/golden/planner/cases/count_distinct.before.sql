SELECT count(DISTINCT o_clerk) FROM orders
