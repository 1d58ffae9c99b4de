"""Dates as people write them, and lists that no table holds, over the tables of `tests.golden.collected`."""

from __future__ import annotations

DATES = (
    "SELECT date_part('year', age(coalesce(shipped_date, DATE '2024-12-31'), order_date)) AS years, count(*) "
    "FROM orders GROUP BY years",
    "SELECT make_date(2024, m, 1) AS d, n FROM (SELECT extract(month FROM order_date)::int AS m, count(*) AS n "
    "FROM orders GROUP BY 1) AS t",
    "SELECT date_bin('15 minutes', occurred_at, TIMESTAMP '2024-01-01') AS slot, count(*) FROM events "
    "WHERE occurred_at >= '2024-01-01' AND occurred_at < '2024-01-03' GROUP BY 1 ORDER BY 1",
    "SELECT date_bin('7 days'::interval, occurred_at, '2024-01-01'::timestamp) AS wk, count(*) FROM "
    "events GROUP BY 1",
    "SELECT make_date(extract(year FROM order_date)::int, extract(month FROM order_date)::int, 1) AS m, "
    "count(*) FROM orders GROUP BY 1 ORDER BY 1",
    "SELECT make_date(date_part('year', order_date)::int, 1, 1) AS y, sum(freight) FROM orders GROUP BY 1",
    "SELECT to_char(order_date, 'TMDay') AS weekday, count(*) FROM orders GROUP BY 1",
    "SELECT to_char(order_date, 'TMMonth') AS m, count(*) FROM orders GROUP BY 1",
    "SELECT extract(year FROM order_date) || '-Q' || extract(quarter FROM order_date) AS q, count(*) FROM "
    "orders GROUP BY 1",
    "SELECT CAST(extract(year FROM order_date) || '-' || extract(month FROM order_date) || '-01' AS date) "
    "AS m, count(*) FROM orders GROUP BY 1",
    "SELECT to_date(to_char(order_date, 'YYYY-MM') || '-01', 'YYYY-MM-DD') AS m, count(*) FROM orders GROUP BY 1",
    "SELECT to_date(to_char(order_date, 'YYYYMM'), 'YYYYMM') AS m, count(*) FROM orders GROUP BY 1",
    "SELECT to_timestamp(floor(extract(epoch FROM occurred_at) / 3600) * 3600) AS h, count(*) FROM events "
    "WHERE occurred_at >= '2024-01-01' AND occurred_at < '2024-01-03' GROUP BY 1",
    "SELECT to_timestamp(floor((extract('epoch' from occurred_at) / 600 )) * 600) AT TIME ZONE 'UTC' as "
    "interval_alias, count(*) FROM events WHERE occurred_at BETWEEN '2024-01-01' AND '2024-01-02' GROUP "
    "BY interval_alias",
    "SELECT count(*) FROM orders WHERE age(shipped_date, order_date) > interval '30 days'",
    "SELECT count(*) FROM orders WHERE shipped_date::timestamp - order_date::timestamp > interval '7 days'",
    "SELECT count(*) FROM events WHERE occurred_at > now() - interval '1 year 6 months'",
    "SELECT count(*) FROM orders WHERE (order_date, shipped_date) OVERLAPS (DATE '2024-01-01', DATE '2024-02-01')",
    "SELECT count(*) FROM admissions WHERE (admitted_on, interval '10 days') OVERLAPS (DATE '2024-01-01', "
    "DATE '2024-02-01')",
    "SELECT count(*) FROM orders WHERE isfinite(shipped_date)",
    "SELECT date_trunc('hour', occurred_at) + interval '15 min' * floor(date_part('minute', occurred_at) "
    "/ 15) AS q, count(*) FROM events WHERE occurred_at >= '2024-01-01' AND occurred_at < '2024-01-03' "
    "GROUP BY 1",
    "SELECT date_trunc('hour', occurred_at) + (((date_part('minute', occurred_at)::integer / 30::integer) "
    "* 30::integer) || ' minutes')::interval AS half, count(*) FROM events WHERE occurred_at >= "
    "'2024-01-01' AND occurred_at < '2024-01-03' GROUP BY 1",
    "SELECT (date_trunc('month', order_date) + interval '1 month - 1 day')::date AS eom, count(*) FROM "
    "orders GROUP BY 1",
    "SELECT to_char(occurred_at, 'HH24:00') AS h, count(*) FROM events GROUP BY 1",
    "SELECT count(*) FROM orders WHERE order_date = to_date('31/01/2024', 'DD/MM/YYYY')",
    "SELECT count(*) FROM orders WHERE order_date >= to_date('20240131', 'YYYYMMDD')",
    "SELECT count(*) FROM events WHERE occurred_at::time BETWEEN '09:00' AND '17:00'",
    "SELECT concat(extract(year FROM order_date), '-', lpad(extract(month FROM order_date)::text, 2, "
    "'0')) AS ym, count(*) FROM orders GROUP BY 1",
    "SELECT avg(extract(days FROM shipped_date::timestamp - order_date::timestamp)) FROM orders",
    "SELECT avg(date_part('day', shipped_date::timestamp - order_date::timestamp) * 24 + "
    "date_part('hour', shipped_date::timestamp - order_date::timestamp)) FROM orders",
    "SELECT to_char(order_date, 'WW') AS w, count(*) FROM orders GROUP BY 1",
    "SELECT to_char(order_date, 'D') AS w, count(*) FROM orders GROUP BY 1",
    "SELECT date_bin('7 days'::interval, occurred_at, '2024-01-03'::timestamp) AS wk, count(*) FROM "
    "events GROUP BY 1",
    "SELECT date_bin('2 weeks', order_date::timestamp, TIMESTAMP '2030-01-01') AS wk, count(*) FROM "
    "orders GROUP BY 1",
    "SELECT date_bin('90 minutes', occurred_at, '2024-01-01'::timestamp) AS wk, count(*) FROM events "
    "WHERE occurred_at < '2024-01-20' GROUP BY 1",
    "SELECT sum(extract(hour FROM shipped_date::timestamp - occurred_at) * 100 + extract(minute FROM "
    "shipped_date::timestamp - occurred_at)), sum(extract(second FROM shipped_date::timestamp - "
    "occurred_at)) FROM orders o JOIN events e ON o.customer_id = e.customer_id WHERE o.order_id < 20",
    "SELECT sum(extract(hour FROM age(occurred_at, signed_up_at))), sum(extract(minute FROM "
    "age(occurred_at, signed_up_at))), sum(extract(second FROM age(occurred_at, signed_up_at))), "
    "sum(extract(epoch FROM age(occurred_at, signed_up_at)) / 3600) FROM customers c JOIN events e USING "
    "(customer_id)",
    "SELECT count(*) FROM customers c JOIN events e USING (customer_id) WHERE age(occurred_at, "
    "signed_up_at) > interval '3 months 2 days'",
    "SELECT count(*) FROM customers c JOIN events e USING (customer_id) WHERE occurred_at - signed_up_at "
    "BETWEEN interval '10 days' AND interval '1 month 3 hours'",
    "SELECT count(*) FROM orders WHERE (order_date, shipped_date) OVERLAPS (DATE '2024-03-01', INTERVAL '1 month')",
    "SELECT count(*) FROM orders WHERE NOT (shipped_date, order_date) OVERLAPS (DATE '2024-03-01', DATE "
    "'2024-02-01')",
    "SELECT count(*) FROM orders WHERE ((order_date, shipped_date) OVERLAPS (shipped_date, DATE "
    "'2024-02-01')) IS NULL",
    "SELECT count(*) FROM orders WHERE order_date + (order_id % 5) * INTERVAL '1 day' > shipped_date",
    "SELECT count(*) FROM orders WHERE order_date + (order_id || ' days')::interval > '2024-06-01'",
    "SELECT count(*) FROM events WHERE occurred_at - make_interval(hours => event_id % 7) > '2024-03-01'",
    "SELECT to_char(order_date, 'TMDay, DDD D WW') AS x, count(*) FROM orders WHERE order_date < "
    "'2023-02-10' GROUP BY 1",
    "SELECT to_char(order_date, 'FMday FMMONTH TMmon') AS x, count(*) FROM orders WHERE order_date < "
    "'2023-02-10' GROUP BY 1",
    "SELECT to_char(occurred_at, 'YYYY-MM-DD HH24:00:00') AS x, count(*) FROM events WHERE occurred_at < "
    "'2024-01-05' GROUP BY 1",
    "SELECT make_date(extract(year FROM order_date)::int, extract(month FROM order_date)::int + 1, 31) AS "
    "x, count(*) FROM orders WHERE extract(month FROM order_date) IN (2, 4, 11) GROUP BY 1",
    "SELECT occurred_at::time > '12:00', count(*) FROM events GROUP BY 1",
    "SELECT count(*) FROM events WHERE to_date(to_char(occurred_at, 'DD/MM/YYYY'), 'DD/MM/YYYY') < '2024-03-01'",
    "SELECT count(*) FROM events WHERE CAST(to_char(occurred_at, 'YYYY-MM-DD') AS date) < '2024-03-01'",
    "SELECT count(*) FROM events WHERE isfinite(occurred_at)",
    "SELECT date_trunc('hour', occurred_at) - interval '15 min' * floor(date_part('minute', occurred_at) "
    "/ 15) AS q, count(*) FROM events WHERE occurred_at >= '2024-01-01' AND occurred_at < '2024-01-03' "
    "GROUP BY 1",
    "SELECT extract(days FROM shipped_date::timestamp - order_date::timestamp) AS d, count(*) FROM orders "
    "WHERE order_date > '2024-11-01' AND shipped_date < '2025-01-01' GROUP BY 1",
    "SELECT sum(date_part('years', birth_date)), sum(date_part('mons', birth_date)), "
    "sum(date_part('weeks', birth_date)) FROM patients",
    "SELECT avg(shipped_date::timestamp - order_date) FROM orders",
    "SELECT channel, extract(epoch FROM avg(shipped_date::timestamp - order_date)) / 86400 AS days FROM orders "
    "GROUP BY 1",
    "SELECT channel, extract(epoch FROM sum(shipped_date - order_date::timestamp) / count(shipped_date)) / 3600 AS "
    "passed FROM orders GROUP BY 1 HAVING avg(shipped_date - order_date::timestamp) > INTERVAL '1 hour' "
    "ORDER BY passed DESC",
    "SELECT round(extract(epoch FROM sum(shipped_date - order_date::timestamp) FILTER (WHERE order_date > "
    "'2024-01-01')) / 3600) FROM orders",
    "SELECT avg(CASE WHEN order_id % 2 = 0 THEN shipped_date::timestamp - order_date ELSE INTERVAL '36 hours' END) "
    "FROM orders",
    "SELECT avg(coalesce(shipped_date::timestamp - order_date, INTERVAL '2 days 12 hours')) FROM orders",
    "SELECT count(*) FROM (SELECT shipped_date::timestamp - order_date AS passed FROM orders) AS t "
    "WHERE passed > INTERVAL '2 days 12 hours' AND extract(epoch FROM passed) < 864000",
    "SELECT count(*) FROM orders WHERE shipped_date::timestamp - order_date IN (INTERVAL '3 days', '120 hours')",
    "SELECT count(*) FROM orders WHERE (shipped_date::timestamp - order_date) + INTERVAL '1 day' BETWEEN "
    "INTERVAL '1 day' AND INTERVAL '1 year'",
    "SELECT avg(greatest(least(shipped_date::timestamp - order_date, INTERVAL '5 days'), INTERVAL '1 day')) "
    "FROM orders",
    "SELECT channel, extract(epoch FROM date_trunc('hour', avg(shipped_date - order_date::timestamp))) / 3600, "
    "rank() OVER (ORDER BY avg(shipped_date - order_date::timestamp)) FROM orders GROUP BY 1",
    "SELECT count(*) FROM (SELECT customer_id, min(date_trunc('week', order_date)) AS first, "
    "max(order_date::timestamp) AS last FROM orders GROUP BY 1) AS t WHERE last - first < INTERVAL '100 days'",
    "SELECT week, count(*) FROM (SELECT customer_id, date_trunc('week', order_date) AS week, min(date_trunc('week', "
    "order_date)) OVER (PARTITION BY customer_id) AS first FROM orders) AS t WHERE week = first AND week IS NOT NULL "
    "GROUP BY 1",
    "SELECT order_week + interval '7 days' AS after, count(*) FROM (SELECT date_trunc('week', order_date) AS "
    "order_week FROM orders) AS t GROUP BY 1",
)
"""Over private rows."""

LISTS = (
    "VALUES (1, 2), (3, 4)",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, name)",
    "SELECT generate_series(1, 10)",
    "WITH RECURSIVE dates AS (SELECT DATE '2024-01-01' AS d UNION ALL SELECT d + 1 FROM dates WHERE d < "
    "'2024-01-31') SELECT * FROM dates",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT sum(i) FROM n",
    "WITH months AS (SELECT generate_series('2024-01-01'::date, '2024-12-01'::date, '1 "
    "month'::interval)::date AS m) SELECT m FROM months",
    "SELECT unnest(ARRAY[1, 2, 3])",
    "SELECT * FROM unnest(ARRAY['a', 'b']) AS t(x)",
    "SELECT generate_series(1, 3) * 2 AS x",
    "SELECT generate_series('2024-01-31'::date, '2024-06-01', '1 month')::date AS x",
    "WITH RECURSIVE m AS (SELECT DATE '2024-01-31' AS d UNION ALL SELECT (d + INTERVAL '1 month')::date "
    "FROM m WHERE d < DATE '2024-12-01') SELECT to_char(d, 'YYYY-MM') FROM m",
    "WITH RECURSIVE m AS (SELECT TIMESTAMP '2024-01-31' AS d UNION ALL SELECT d + INTERVAL '1 hour' FROM "
    "m WHERE d + INTERVAL '1 hour' <= '2024-02-02') SELECT count(*), max(d) FROM m",
    "WITH RECURSIVE n AS (SELECT 5 AS x UNION ALL SELECT x + 3 FROM n WHERE x < 3) SELECT x FROM n",
    "WITH RECURSIVE n AS (SELECT 5 AS x UNION ALL SELECT x + 3 FROM n WHERE x <= 20) SELECT x FROM n",
    "VALUES (1, 'a'), (2, NULL) ORDER BY 1 DESC",
    "SELECT x FROM unnest(ARRAY['a', 'b']) AS x",
    "SELECT 1 AS a UNION VALUES (1), (2)",
    "SELECT unnest(ARRAY[3, 1, 2]) AS x ORDER BY x",
)
"""Without a table: free."""
