-- Eight panels, written in the style in which Grafana sends its queries to PostgreSQL: with the macros already
-- expanded ($__timeFilter, $__timeGroup, $__unixEpochFilter, $__timeFrom), moments in UTC with a Z.

-- panel: orders a day, $__timeGroupAlias(created_at, '1d') and $__timeFilter(created_at)
SELECT
  floor(extract(epoch from created_at)/86400)*86400 AS "time",
  count(*) AS "orders"
FROM orders
WHERE
  created_at BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-31T23:59:59.999Z'
GROUP BY 1
ORDER BY 1;

-- panel: revenue by state, $__timeGroup(created_at, '7d')
SELECT
  floor(extract(epoch from o.created_at)/604800)*604800 AS "time",
  p.state AS metric,
  sum(total) AS "revenue"
FROM orders o JOIN people p ON p.id = o.user_id
WHERE
  o.created_at BETWEEN '2024-01-01T00:00:00Z' AND '2024-03-31T23:59:59.999Z'
GROUP BY 1, 2
ORDER BY 1, 2;

-- panel: one number
SELECT count(*) AS "value" FROM orders WHERE created_at BETWEEN '2023-01-01T00:00:00Z' AND '2024-12-31T23:59:59Z' LIMIT 1;

-- panel: by the epoch, $__unixEpochFilter(extract(epoch from created_at))
SELECT count(*) AS "value" FROM orders
WHERE extract(epoch from created_at) >= 1704067200 AND extract(epoch from created_at) <= 1711929599;

-- panel: $__timeFrom() and $__timeTo()
SELECT
  date_trunc('month', created_at) AS "time",
  avg(total) AS "mean"
FROM orders
WHERE created_at >= '2024-01-01T00:00:00Z' AND created_at < '2024-07-01T00:00:00Z'
GROUP BY "time"
ORDER BY "time";

-- panel: by to_timestamp
SELECT
  date_trunc('day', created_at) AS "time",
  count(*) AS "orders"
FROM orders
WHERE created_at >= to_timestamp(1704067200) AND created_at < to_timestamp(1705276800)
GROUP BY 1
ORDER BY 1;

-- panel: a table
SELECT
  source AS "Source",
  state AS "State",
  count(*) AS "People"
FROM people
WHERE state IN ('CA','NY') AND source IN ('Google','Organic')
GROUP BY 1,2
ORDER BY 3 DESC
LIMIT 50;

-- panel: a variable's values
SELECT DISTINCT state FROM people ORDER BY 1;
