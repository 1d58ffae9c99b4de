-- Questions put otherwise, so that they are answered: what an analyst writes instead, and what differs.

-- [exe14] The last day of orders is known, and written as a literal.
SELECT ship_country, AVG(freight) AS average_freight
FROM orders
WHERE order_date >= DATE '2024-12-31' - INTERVAL '1 year'
GROUP BY ship_country
ORDER BY average_freight DESC
LIMIT 3;

-- [exe27] The average is a question of its own; its released answer, here rounded, is a literal in this one.
SELECT COUNT(*) FROM employees WHERE salary > 6000;

-- [ana35] Two conditions on one person are two semi-joins.
SELECT COUNT(*) FROM customers c
WHERE c.customer_id IN (SELECT customer_id FROM events WHERE occurred_at >= '2024-02-01' AND occurred_at < '2024-03-01')
  AND c.customer_id IN (SELECT customer_id FROM events WHERE occurred_at >= '2024-03-01' AND occurred_at < '2024-04-01');

-- [ana18] A count per customer has no bound that is public: more than twenty are one group.
SELECT LEAST(order_cnt, 20) AS order_cnt, COUNT(DISTINCT customer_id) AS customer_cnt
FROM (SELECT customer_id, COUNT(DISTINCT order_id) AS order_cnt FROM orders GROUP BY customer_id) s
GROUP BY 1
ORDER BY order_cnt;

-- [bi16] The same, as Tableau writes it.
SELECT LEAST("t0"."orders_per_customer", 20) AS "Orders per customer",
  COUNT(DISTINCT "t0"."customer_id") AS "ctd:customer_id:ok"
FROM (
  SELECT "orders"."customer_id" AS "customer_id", COUNT("orders"."order_id") AS "orders_per_customer"
  FROM "public"."orders" "orders"
  GROUP BY 1
) "t0"
GROUP BY 1;
