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
