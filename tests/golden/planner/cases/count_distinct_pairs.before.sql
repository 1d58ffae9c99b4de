SELECT count(DISTINCT (o_orderpriority, o_clerk)), count(DISTINCT (o_orderstatus, o_orderdate)) FROM orders
