SELECT sum(LEAST(GREATEST(o_totalprice, 0), 100000)) AS total, avg(GREATEST(LEAST(o_shippriority, 5), 0.5)) AS priority
FROM orders
