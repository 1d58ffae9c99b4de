-- Articles on product analytics: cohorts, retention, funnels, active users, RFM, experiments, baskets.

-- [ana01] size of sign-up cohorts
WITH cohorts AS (
  SELECT customer_id, DATE_TRUNC('month', signed_up_at)::date AS cohort_month
  FROM customers
  WHERE signed_up_at IS NOT NULL
)
SELECT cohort_month, COUNT(*) AS cohort_size FROM cohorts GROUP BY cohort_month ORDER BY cohort_month;

-- [ana02] retention by sign-up cohort and months since
with cohorts as (
  select customer_id, date_trunc('month', signed_up_at) as cohort_month from customers
),
activity as (
  select customer_id, date_trunc('month', occurred_at) as active_month from events group by 1, 2
)
select
  c.cohort_month,
  (extract(year from a.active_month) - extract(year from c.cohort_month)) * 12
    + (extract(month from a.active_month) - extract(month from c.cohort_month)) as month_number,
  count(distinct c.customer_id) as active_users
from cohorts c
join activity a on a.customer_id = c.customer_id
where a.active_month >= c.cohort_month
group by 1, 2
order by 1, 2;

-- [ana03] retention from the first order
WITH first_orders AS (
  SELECT customer_id, DATE_TRUNC('month', MIN(order_date))::DATE AS cohort_month
  FROM orders
  GROUP BY customer_id
)
SELECT f.cohort_month, DATE_TRUNC('month', o.order_date)::DATE AS order_month, COUNT(DISTINCT o.customer_id) AS customers
FROM first_orders f
JOIN orders o ON o.customer_id = f.customer_id
GROUP BY 1, 2
ORDER BY 1, 2;

-- [ana04] day-one retention
SELECT
  a.occurred_at::date AS day,
  COUNT(DISTINCT a.customer_id) AS active_users,
  COUNT(DISTINCT b.customer_id) AS retained_users,
  COUNT(DISTINCT b.customer_id)::float / COUNT(DISTINCT a.customer_id) AS retention
FROM events a
LEFT JOIN events b ON a.customer_id = b.customer_id AND a.occurred_at::date = b.occurred_at::date - 1
GROUP BY 1
ORDER BY 1;

-- [ana05] churned customers a month
WITH monthly_activity AS (
  SELECT DISTINCT date_trunc('month', occurred_at) AS month, customer_id FROM events
)
SELECT last_month.month + interval '1 month' AS month, count(DISTINCT last_month.customer_id)
FROM monthly_activity last_month
LEFT JOIN monthly_activity this_month
  ON this_month.customer_id = last_month.customer_id
  AND this_month.month = last_month.month + interval '1 month'
WHERE this_month.customer_id IS NULL
GROUP BY 1;

-- [ana06] daily active users
SELECT occurred_at::date AS day, COUNT(DISTINCT customer_id) AS dau FROM events GROUP BY 1 ORDER BY 1;

-- [ana07] monthly active users
SELECT date_trunc('month', occurred_at) AS month, COUNT(DISTINCT customer_id) AS mau
FROM events
WHERE customer_id IS NOT NULL
GROUP BY date_trunc('month', occurred_at)
ORDER BY 1;

-- [ana08] daily over monthly actives
WITH dau AS (
  SELECT date_trunc('day', occurred_at) AS day, count(DISTINCT customer_id) AS dau FROM events GROUP BY 1
)
SELECT avg(dau) AS avg_dau,
       (SELECT count(DISTINCT customer_id) FROM events WHERE occurred_at >= '2024-03-01' AND occurred_at < '2024-04-01') AS mau
FROM dau
WHERE day >= '2024-03-01' AND day < '2024-04-01';

-- [ana09] a seven-day moving average of daily actives
WITH daily AS (
  SELECT occurred_at::date AS day, COUNT(DISTINCT customer_id) AS dau FROM events GROUP BY 1
)
SELECT day, dau, AVG(dau) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS dau_7d
FROM daily
ORDER BY day;

-- [ana10] rolling thirty-day actives for every day
SELECT d.day, (SELECT COUNT(DISTINCT e.customer_id) FROM events e
               WHERE e.occurred_at >= d.day - INTERVAL '29 days' AND e.occurred_at < d.day + INTERVAL '1 day') AS mau
FROM (SELECT DISTINCT occurred_at::date AS day FROM events) d
ORDER BY d.day;

-- [ana11] a funnel by steps, each counted alone
WITH funnel_steps AS (
  SELECT event_type, COUNT(DISTINCT customer_id) AS users
  FROM events
  WHERE event_type IN ('page_view', 'add_to_cart', 'purchase')
  GROUP BY event_type
),
ordered_funnel AS (
  SELECT event_type, users,
         CASE event_type WHEN 'page_view' THEN 1 WHEN 'add_to_cart' THEN 2 WHEN 'purchase' THEN 3 END AS step_num
  FROM funnel_steps
)
SELECT step_num, event_type AS step, users,
       ROUND(100.0 * users / FIRST_VALUE(users) OVER (ORDER BY step_num), 1) AS pct_of_top,
       ROUND(100.0 * users / NULLIF(LAG(users) OVER (ORDER BY step_num), 0), 1) AS step_conversion_pct
FROM ordered_funnel
ORDER BY step_num;

-- [ana12] a funnel of united steps
SELECT 'step1_visit' AS step, COUNT(DISTINCT customer_id) AS users
FROM events WHERE event_type = 'page_view' AND occurred_at >= '2024-01-01' AND occurred_at < '2024-02-01'
UNION ALL
SELECT 'step2_cart', COUNT(DISTINCT customer_id)
FROM events WHERE event_type = 'add_to_cart' AND occurred_at >= '2024-01-01' AND occurred_at < '2024-02-01'
UNION ALL
SELECT 'step3_purchase', COUNT(DISTINCT customer_id)
FROM events WHERE event_type = 'purchase' AND occurred_at >= '2024-01-01' AND occurred_at < '2024-02-01';

-- [ana13] a funnel in the order of the steps
WITH step_1 AS (
  SELECT customer_id, MIN(occurred_at) AS t1 FROM events WHERE event_type = 'page_view' GROUP BY customer_id
), step_2 AS (
  SELECT e.customer_id, MIN(e.occurred_at) AS t2
  FROM events e JOIN step_1 s ON s.customer_id = e.customer_id
  WHERE e.event_type = 'add_to_cart' AND e.occurred_at > s.t1
  GROUP BY e.customer_id
)
SELECT (SELECT COUNT(*) FROM step_1) AS viewed, (SELECT COUNT(*) FROM step_2) AS added;

-- [ana14] a funnel of conditional distinct counts
SELECT
  COUNT(DISTINCT CASE WHEN event_type = 'page_view' THEN customer_id END) AS visitors,
  COUNT(DISTINCT CASE WHEN event_type = 'add_to_cart' THEN customer_id END) AS carts,
  COUNT(DISTINCT CASE WHEN event_type = 'purchase' THEN customer_id END) AS buyers
FROM events;

-- [ana15] a funnel by joins
SELECT COUNT(DISTINCT v.customer_id) AS viewed, COUNT(DISTINCT p.customer_id) AS bought,
       ROUND(100.0 * COUNT(DISTINCT p.customer_id) / COUNT(DISTINCT v.customer_id), 1) AS pct
FROM events v
LEFT JOIN events p ON p.customer_id = v.customer_id AND p.event_type = 'purchase' AND p.occurred_at > v.occurred_at
WHERE v.event_type = 'page_view';

-- [ana16] recency, frequency and money of every customer
SELECT customer_id, MAX(order_date) AS last_order_date, COUNT(*) AS frequency, SUM(freight) AS monetary
FROM orders
GROUP BY customer_id;

-- [ana17] how many customers are in every RFM class
WITH rfm AS (
  SELECT customer_id, NTILE(4) OVER (ORDER BY MAX(order_date)) AS r, NTILE(4) OVER (ORDER BY COUNT(*)) AS f
  FROM orders
  GROUP BY customer_id
)
SELECT r, f, COUNT(*) FROM rfm GROUP BY r, f ORDER BY r, f;

-- [ana18] orders per customer as a histogram
SELECT order_cnt, COUNT(DISTINCT customer_id) AS customer_cnt
FROM (SELECT customer_id, COUNT(DISTINCT order_id) AS order_cnt FROM orders GROUP BY customer_id) s
GROUP BY order_cnt
ORDER BY order_cnt;

-- [ana19] a histogram by width_bucket
SELECT WIDTH_BUCKET(freight, 0, 100, 10) AS bucket, COUNT(*) AS orders
FROM orders
WHERE status = 'shipped'
GROUP BY bucket
ORDER BY bucket;

-- [ana20] average order value
SELECT SUM(i.quantity * i.unit_price * (1 - i.discount)) / COUNT(DISTINCT i.order_id) AS aov FROM order_items i;

-- [ana21] average revenue per customer and year
SELECT EXTRACT(YEAR FROM o.order_date)::int AS year,
       SUM(i.quantity * i.unit_price) / NULLIF(COUNT(DISTINCT o.customer_id), 0) AS arpu
FROM orders o
JOIN order_items i ON i.order_id = o.order_id
GROUP BY 1
ORDER BY 1;

-- [ana22] repeat buyers
SELECT COUNT(*) FILTER (WHERE n > 1) * 1.0 / COUNT(*) AS repeat_rate
FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) t;

-- [ana23] the median order
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY freight) AS median_freight FROM orders;

-- [ana24] quartiles of time by device
SELECT device,
       percentile_cont(0.25) WITHIN GROUP (ORDER BY duration_ms) AS p25,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95
FROM events
GROUP BY device;

-- [ana25] conversion by variant
SELECT
  a.variant,
  COUNT(DISTINCT a.customer_id) AS users,
  COUNT(DISTINCT o.customer_id) AS conversions,
  ROUND(COUNT(DISTINCT o.customer_id)::numeric / COUNT(DISTINCT a.customer_id), 4) AS conversion_rate
FROM assignments a
LEFT JOIN orders o ON o.customer_id = a.customer_id
  AND o.order_date BETWEEN a.assigned_on AND a.assigned_on + 7
WHERE a.experiment = 'checkout_redesign'
GROUP BY a.variant
ORDER BY a.variant;

-- [ana26] conversion by a flag
SELECT variant, COUNT(*) AS total_users, SUM(CASE WHEN converted THEN 1 ELSE 0 END) AS conversions,
       ROUND(100.0 * AVG(CASE WHEN converted THEN 1 ELSE 0 END), 2) AS conversion_rate_pct
FROM assignments
GROUP BY variant
ORDER BY variant;

-- [ana27] the standard error of a rate
SELECT variant, AVG(converted::int) AS p, STDDEV(converted::int) / SQRT(COUNT(*)) AS se FROM assignments GROUP BY variant;

-- [ana28] products bought together
SELECT a.product_id AS product_a, b.product_id AS product_b, COUNT(*) AS frequency
FROM order_items a
JOIN order_items b ON a.order_id = b.order_id AND a.product_id < b.product_id
GROUP BY a.product_id, b.product_id
ORDER BY frequency DESC;

-- [ana29] sessions and bounces by source
SELECT source, COUNT(*) AS sessions, SUM(CASE WHEN pages = 1 THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS bounce_rate
FROM (SELECT session_id, source, COUNT(*) AS pages FROM events WHERE event_type = 'page_view' GROUP BY session_id, source) s
GROUP BY source;

-- [ana30] sessions a day by device
SELECT device, COUNT(DISTINCT session_id) AS sessions, COUNT(DISTINCT customer_id) AS users
FROM events
WHERE occurred_at::date = DATE '2024-03-15'
GROUP BY device;

-- [ana31] the time between one order and the next
SELECT AVG(order_date - previous_date) AS avg_gap
FROM (SELECT customer_id, order_date, LAG(order_date) OVER (PARTITION BY customer_id ORDER BY order_date) AS previous_date
      FROM orders) t
WHERE previous_date IS NOT NULL;

-- [ana32] new against returning buyers a month
SELECT DATE_TRUNC('month', o.order_date) AS month,
       COUNT(DISTINCT CASE WHEN DATE_TRUNC('month', o.order_date) = DATE_TRUNC('month', c.signed_up_at) THEN o.customer_id END) AS new_buyers,
       COUNT(DISTINCT CASE WHEN o.order_date > c.signed_up_at THEN o.customer_id END) AS returning_buyers
FROM orders o JOIN customers c ON c.customer_id = o.customer_id
GROUP BY 1
ORDER BY 1;

-- [ana33] year over year by quarter
SELECT EXTRACT(QUARTER FROM order_date) AS quarter,
       SUM(CASE WHEN EXTRACT(YEAR FROM order_date) = 2023 THEN freight ELSE 0 END) AS y2023,
       SUM(CASE WHEN EXTRACT(YEAR FROM order_date) = 2024 THEN freight ELSE 0 END) AS y2024
FROM orders
GROUP BY 1
ORDER BY 1;

-- [ana34] orders by day of the week
SELECT to_char(order_date, 'Day') AS weekday, EXTRACT(ISODOW FROM order_date) AS n, COUNT(*)
FROM orders
GROUP BY 1, 2
ORDER BY 2;

-- [ana35] active in two months running
SELECT COUNT(*) FROM (
  SELECT customer_id FROM events WHERE occurred_at >= '2024-02-01' AND occurred_at < '2024-03-01'
  INTERSECT
  SELECT customer_id FROM events WHERE occurred_at >= '2024-03-01' AND occurred_at < '2024-04-01'
) both_months;
