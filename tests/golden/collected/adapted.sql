-- Questions put otherwise, so that they are answered: what an analyst writes instead, and what differs.

-- [ana35] Two conditions on one person are two semi-joins.
SELECT COUNT(*) FROM customers c
WHERE c.customer_id IN (SELECT customer_id FROM events WHERE occurred_at >= '2024-02-01' AND occurred_at < '2024-03-01')
  AND c.customer_id IN (SELECT customer_id FROM events WHERE occurred_at >= '2024-03-01' AND occurred_at < '2024-04-01');

