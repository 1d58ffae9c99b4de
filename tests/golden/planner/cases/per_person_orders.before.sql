SELECT avg(n) AS orders_of_a_customer, count(*) AS customers
FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey HAVING count(*) > 1) AS per_customer
