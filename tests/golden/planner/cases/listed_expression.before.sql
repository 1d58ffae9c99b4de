SELECT left(c.c_phone, 2) AS country, count(*)
FROM customer c JOIN orders o ON c.c_custkey = o.o_custkey
WHERE left(c.c_phone, 2) IN ('13', '31')
GROUP BY left(c.c_phone, 2)
