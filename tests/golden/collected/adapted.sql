-- Questions put otherwise, so that they are answered: what an analyst writes instead, and what differs.

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
