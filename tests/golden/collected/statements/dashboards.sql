-- What Metabase, Superset, Tableau, Looker, Cube, Grafana, Power BI and Redash write.

-- [bi01] Metabase: rows a month
SELECT
  DATE_TRUNC('month', "public"."orders"."order_date") AS "order_date",
  COUNT(*) AS "count"
FROM
  "public"."orders"
GROUP BY
  DATE_TRUNC('month', "public"."orders"."order_date")
ORDER BY
  DATE_TRUNC('month', "public"."orders"."order_date") ASC;

-- [bi02] Metabase: a column bucketed by day
SELECT
  CAST("public"."events"."occurred_at" AS date) AS "occurred_at",
  COUNT(*) AS "count"
FROM "public"."events"
GROUP BY CAST("public"."events"."occurred_at" AS date)
ORDER BY CAST("public"."events"."occurred_at" AS date) ASC
LIMIT 1048575;

-- [bi03] Metabase: numeric bins
SELECT ((floor((("public"."orders"."freight" - 0.0) / 10.0)) * 10.0) + 0.0) AS "freight", count(*) AS "count"
FROM "public"."orders"
GROUP BY ((floor((("public"."orders"."freight" - 0.0) / 10.0)) * 10.0) + 0.0)
ORDER BY ((floor((("public"."orders"."freight" - 0.0) / 10.0)) * 10.0) + 0.0) ASC;

-- [bi04] Metabase: a joined column, a filter and a sum
SELECT "Customers"."country" AS "Customers__country", SUM("public"."orders"."freight") AS "sum"
FROM "public"."orders"
LEFT JOIN "public"."customers" AS "Customers" ON "public"."orders"."customer_id" = "Customers"."customer_id"
WHERE "public"."orders"."status" <> 'cancelled' OR "public"."orders"."status" IS NULL
GROUP BY "Customers"."country"
ORDER BY "sum" DESC, "Customers"."country" ASC;

-- [bi05] Metabase: a question on a question
SELECT AVG("source"."count") AS "avg"
FROM (
  SELECT DATE_TRUNC('month', "public"."orders"."order_date") AS "order_date", COUNT(*) AS "count"
  FROM "public"."orders"
  GROUP BY DATE_TRUNC('month', "public"."orders"."order_date")
) AS "source";

-- [bi06] Metabase: hour of the day
SELECT CAST(extract(hour from "public"."events"."occurred_at") AS integer) AS "occurred_at", COUNT(*) AS "count"
FROM "public"."events"
GROUP BY CAST(extract(hour from "public"."events"."occurred_at") AS integer)
ORDER BY CAST(extract(hour from "public"."events"."occurred_at") AS integer) ASC;

-- [bi07] Metabase: the last thirty days
SELECT COUNT(DISTINCT "public"."events"."customer_id") AS "count"
FROM "public"."events"
WHERE "public"."events"."occurred_at" >= CAST((NOW() + (INTERVAL '-30 day')) AS date)
  AND "public"."events"."occurred_at" < CAST(NOW() AS date);

-- [bi08] Superset: a time series of a metric
SELECT DATE_TRUNC('week', order_date) AS __timestamp, COUNT(*) AS count
FROM public.orders
WHERE order_date >= TO_DATE('2024-01-01', 'YYYY-MM-DD') AND order_date < TO_DATE('2025-01-01', 'YYYY-MM-DD')
GROUP BY DATE_TRUNC('week', order_date)
ORDER BY count DESC
LIMIT 10000;

-- [bi09] Superset: a series limit, by a join with the largest groups
SELECT DATE_TRUNC('month', order_date) AS __timestamp, payment_method AS payment_method, SUM(freight) AS "SUM(freight)"
FROM public.orders
JOIN (
  SELECT payment_method AS payment_method__, SUM(freight) AS mme_inner__
  FROM public.orders
  GROUP BY payment_method
  ORDER BY mme_inner__ DESC
  LIMIT 3
) AS anon_1 ON payment_method = payment_method__
GROUP BY payment_method, DATE_TRUNC('month', order_date)
ORDER BY "SUM(freight)" DESC
LIMIT 10000;

-- [bi10] Superset: a virtual data set
SELECT country AS country, COUNT(*) AS count
FROM (
  SELECT c.country, o.order_id, o.freight
  FROM customers c JOIN orders o ON o.customer_id = c.customer_id
  WHERE o.status = 'shipped'
) AS virtual_table
GROUP BY country
ORDER BY count DESC
LIMIT 1000;

-- [bi11] Superset: a big number with a trend
SELECT DATE_TRUNC('day', occurred_at) AS __timestamp, COUNT(DISTINCT customer_id) AS "COUNT_DISTINCT(customer_id)"
FROM public.events
WHERE occurred_at >= TO_TIMESTAMP('2024-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND occurred_at < TO_TIMESTAMP('2024-04-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', occurred_at)
LIMIT 50000;

-- [bi12] Superset: a box plot
SELECT device AS device, DATE_TRUNC('day', occurred_at) AS __timestamp, AVG(duration_ms) AS "AVG(duration_ms)"
FROM public.events
GROUP BY device, DATE_TRUNC('day', occurred_at)
ORDER BY "AVG(duration_ms)" DESC
LIMIT 10000;

-- [bi13] Tableau: sum by year and a dimension
SELECT "orders"."ship_country" AS "ship_country",
  SUM("orders"."freight") AS "sum:freight:ok",
  DATE_TRUNC( 'YEAR', CAST("orders"."order_date" AS TIMESTAMP) ) AS "tyr:order_date:ok"
FROM "public"."orders" "orders"
GROUP BY 1, 3;

-- [bi14] Tableau: the number of rows, if there are any
SELECT SUM(1) AS "sum:Number of Records:ok" FROM "public"."events" "events" HAVING (COUNT(1) > 0);

-- [bi15] Tableau: distinct customers by part of the date
SELECT CAST(EXTRACT(YEAR FROM "orders"."order_date") AS INTEGER) AS "yr:order_date:ok",
  COUNT(DISTINCT "orders"."customer_id") AS "ctd:customer_id:ok"
FROM "public"."orders" "orders"
GROUP BY 1;

-- [bi16] Tableau: a level of detail per customer
SELECT "t0"."orders_per_customer" AS "Orders per customer", COUNT(DISTINCT "t0"."customer_id") AS "ctd:customer_id:ok"
FROM (
  SELECT "orders"."customer_id" AS "customer_id", COUNT("orders"."order_id") AS "orders_per_customer"
  FROM "public"."orders" "orders"
  GROUP BY 1
) "t0"
GROUP BY 1;

-- [bi17] Tableau: a context filter by the top groups
SELECT "orders"."ship_country" AS "ship_country", COUNT(1) AS "cnt:orders:ok"
FROM "public"."orders" "orders"
INNER JOIN (
  SELECT "orders"."ship_country" AS "ship_country", COUNT(1) AS "x__alias__0"
  FROM "public"."orders" "orders"
  GROUP BY 1
  ORDER BY 2 DESC, 1 ASC
  LIMIT 5
) "t0" ON ("orders"."ship_country" = "t0"."ship_country")
GROUP BY 1;

-- [bi18] Looker: a measure over a joined view
SELECT
  customers.country  AS "customers.country",
  COUNT(DISTINCT orders.order_id ) AS "orders.count",
  COALESCE(SUM(order_items.quantity * order_items.unit_price ), 0) AS "order_items.total_revenue"
FROM public.order_items AS order_items
LEFT JOIN public.orders AS orders ON order_items.order_id = orders.order_id
LEFT JOIN public.customers AS customers ON orders.customer_id = customers.customer_id
GROUP BY 1
ORDER BY 3 DESC
LIMIT 500;

-- [bi19] Looker: a month as text
SELECT
  TO_CHAR(DATE_TRUNC('month', orders.order_date ), 'YYYY-MM') AS "orders.created_month",
  COUNT(*) AS "orders.count"
FROM public.orders AS orders
WHERE ((( orders.order_date ) >= ((DATE '2024-01-01')) AND ( orders.order_date ) < ((DATE '2024-07-01'))))
GROUP BY (DATE_TRUNC('month', orders.order_date ))
ORDER BY 1 DESC
LIMIT 500;

-- [bi20] Looker: a symmetric sum of the one side of a fan-out
SELECT
  customers.country AS "customers.country",
  COALESCE(SUM(order_items.quantity), 0) AS "order_items.quantity",
  COALESCE(SUM(DISTINCT orders.freight), 0) AS "orders.total_freight"
FROM orders
LEFT JOIN order_items ON order_items.order_id = orders.order_id
LEFT JOIN customers ON orders.customer_id = customers.customer_id
GROUP BY 1;

-- [bi21] Looker: a yes/no dimension
SELECT CASE WHEN orders.status = 'cancelled' THEN 'Yes' ELSE 'No' END AS "orders.is_cancelled", COUNT(*) AS "orders.count"
FROM public.orders AS orders
GROUP BY 1
ORDER BY 2 DESC
LIMIT 500;

-- [bi22] Looker: tiers
SELECT
  CASE
    WHEN orders.freight < 10 THEN 'Below 10'
    WHEN orders.freight >= 10 AND orders.freight < 50 THEN '10 to 49'
    WHEN orders.freight >= 50 THEN '50 or Above'
    ELSE 'Undefined'
  END AS "orders.freight_tier",
  AVG(orders.freight) AS "orders.average_freight"
FROM public.orders AS orders
GROUP BY 1;

-- [bi23] Cube: time dimension and two measures
SELECT "orders".status "orders__status",
  date_trunc('day', ("orders".order_date::timestamptz AT TIME ZONE 'UTC')) "orders__created_at_day",
  count("orders".order_id) "orders__count", sum("orders".freight) "orders__total_freight"
FROM public.orders AS "orders"
WHERE ("orders".order_date >= '2024-01-01'::date AND "orders".order_date <= '2024-01-31'::date)
GROUP BY 1, 2
ORDER BY 2 ASC
LIMIT 10000;

-- [bi24] Cube: a conditional sum by month
SELECT "public"."orders"."channel" AS "channel",
  SUM(CASE WHEN DATE_TRUNC('month', "public"."orders"."order_date") BETWEEN DATE '2024-02-01' AND DATE '2024-03-01'
      THEN "public"."orders"."freight" ELSE 0.0 END) AS "tst2"
FROM "public"."orders"
GROUP BY "public"."orders"."channel"
ORDER BY "public"."orders"."channel" ASC;

-- [bi25] Grafana: events by minute
SELECT
  date_trunc('minute', occurred_at) AS "time",
  event_type AS metric,
  count(*) AS value
FROM events
WHERE occurred_at BETWEEN '2024-03-01T00:00:00Z' AND '2024-03-02T00:00:00Z'
GROUP BY 1, 2
ORDER BY 1, 2;

-- [bi26] Grafana: five-minute buckets of epoch seconds
SELECT floor(extract(epoch from occurred_at)/300)*300 AS "time", avg(duration_ms) AS "value"
FROM events
WHERE occurred_at >= '2024-03-01' AND occurred_at < '2024-03-02'
GROUP BY 1
ORDER BY 1;

-- [bi27] Power BI: a sum by a column, rows without it left out
select "_"."ship_country", sum("_"."freight") as "C1"
from "public"."orders" "_"
where not "_"."ship_country" is null
group by "_"."ship_country"
limit 1000001;

-- [bi28] Power BI: a cell of a table
select "rows"."country" as "country", count("rows"."customer_id") as "C1"
from (
    select "_"."customer_id", "_"."country"
    from "public"."customers" "_"
    where "_"."plan" = 'pro' and "_"."plan" is not null
) "rows"
group by "country";

-- [bi29] Redash: month over month
SELECT date_trunc('month', order_date) AS month,
       count(*) AS orders,
       count(*) - lag(count(*)) OVER (ORDER BY date_trunc('month', order_date)) AS change
FROM orders
GROUP BY 1
ORDER BY 1;

-- [bi30] any tool: a preview of a table
SELECT * FROM "public"."orders" ORDER BY "order_date" DESC LIMIT 100;
