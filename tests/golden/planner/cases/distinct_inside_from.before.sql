SELECT count(*), count(DISTINCT o_clerk) FROM (SELECT DISTINCT o_orderpriority, o_clerk FROM orders) AS pairs
