-- Twelve charts of a dashboard, written in the style in which Metabase writes its queries for PostgreSQL: every name
-- quoted and qualified, joins LEFT with the foreign key's name in the alias, a question on a question as "source".

-- chart: orders by month
SELECT
  DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at",
  COUNT(*) AS "count"
FROM
  "public"."orders"
GROUP BY
  DATE_TRUNC('month', "public"."orders"."created_at")
ORDER BY
  DATE_TRUNC('month', "public"."orders"."created_at") ASC;

-- chart: revenue by week, weeks from Sunday on
SELECT
  (
    DATE_TRUNC(
      'week',
      ("public"."orders"."created_at" + INTERVAL '1 day')
    ) + INTERVAL '-1 day'
  ) AS "created_at",
  SUM("public"."orders"."total") AS "sum"
FROM
  "public"."orders"
WHERE
  (
    "public"."orders"."created_at" >= timestamp with time zone '2023-01-01 00:00:00.000Z'
  )
  AND (
    "public"."orders"."created_at" < timestamp with time zone '2024-01-01 00:00:00.000Z'
  )
GROUP BY
  (
    DATE_TRUNC(
      'week',
      ("public"."orders"."created_at" + INTERVAL '1 day')
    ) + INTERVAL '-1 day'
  )
ORDER BY
  (
    DATE_TRUNC(
      'week',
      ("public"."orders"."created_at" + INTERVAL '1 day')
    ) + INTERVAL '-1 day'
  ) ASC;

-- chart: orders by day
SELECT
  CAST("public"."orders"."created_at" AS date) AS "created_at",
  COUNT(*) AS "count"
FROM
  "public"."orders"
WHERE
  (
    "public"."orders"."created_at" >= timestamp with time zone '2024-02-01 00:00:00.000+01:00'
  )
  AND (
    "public"."orders"."created_at" < timestamp with time zone '2024-03-01 00:00:00.000+01:00'
  )
GROUP BY
  CAST("public"."orders"."created_at" AS date)
ORDER BY
  CAST("public"."orders"."created_at" AS date) ASC;

-- chart: orders by state
SELECT
  "People - User"."state" AS "People - User__state",
  COUNT(*) AS "count"
FROM
  "public"."orders"
  LEFT JOIN "public"."people" AS "People - User" ON "public"."orders"."user_id" = "People - User"."id"
GROUP BY
  "People - User"."state"
ORDER BY
  "count" DESC,
  "People - User"."state" ASC;

-- chart: average rating and revenue by category
SELECT
  "Products"."category" AS "Products__category",
  AVG("Products"."rating") AS "avg",
  SUM("public"."orders"."total") AS "sum"
FROM
  "public"."orders"
  LEFT JOIN "public"."products" AS "Products" ON "public"."orders"."product_id" = "Products"."id"
GROUP BY
  "Products"."category"
ORDER BY
  "Products"."category" ASC;

-- chart: totals in bins of ten
SELECT
  FLOOR((("public"."orders"."total" - 0) / 10)) * 10 AS "total",
  COUNT(*) AS "count"
FROM
  "public"."orders"
GROUP BY
  FLOOR((("public"."orders"."total" - 0) / 10)) * 10
ORDER BY
  FLOOR((("public"."orders"."total" - 0) / 10)) * 10 ASC;

-- chart: share of discounted orders
SELECT
  SUM(
    CASE
      WHEN "public"."orders"."discount" > 0 THEN 1
      ELSE 0.0
    END
  ) / COUNT(*) AS "share"
FROM
  "public"."orders";

-- chart: buyers of this year and the last
SELECT
  COUNT(DISTINCT "public"."orders"."user_id") AS "count"
FROM
  "public"."orders"
WHERE
  (
    "public"."orders"."created_at" >= DATE_TRUNC('year', (NOW() + INTERVAL '-4 year'))
  )
  AND (
    "public"."orders"."created_at" < DATE_TRUNC('year', (NOW() + INTERVAL '1 year'))
  );

-- chart: a question on a question with a custom column
SELECT
  "source"."People - User__source" AS "People - User__source",
  SUM("source"."Net") AS "sum"
FROM
  (
    SELECT
      "public"."orders"."id" AS "id",
      "public"."orders"."quantity" AS "quantity",
      "public"."orders"."total" AS "total",
      (
        "public"."orders"."total" - "public"."orders"."tax"
      ) AS "Net",
      "People - User"."source" AS "People - User__source"
    FROM
      "public"."orders"
      LEFT JOIN "public"."people" AS "People - User" ON "public"."orders"."user_id" = "People - User"."id"
    WHERE
      "public"."orders"."paid" = TRUE
  ) AS "source"
GROUP BY
  "source"."People - User__source"
ORDER BY
  "source"."People - User__source" ASC
LIMIT
  1048575;

-- chart: states with more than a hundred orders
SELECT
  "source"."state" AS "state",
  "source"."count" AS "count"
FROM
  (
    SELECT
      "public"."people"."state" AS "state",
      COUNT(*) AS "count"
    FROM
      "public"."people"
    GROUP BY
      "public"."people"."state"
    ORDER BY
      "public"."people"."state" ASC
  ) AS "source"
WHERE
  "source"."count" > 100
LIMIT
  2000;

-- chart: people by year of birth in chosen states
SELECT
  CAST(
    EXTRACT(
      year
      FROM
        "public"."people"."birth_date"
    ) AS integer
  ) AS "birth_date",
  COUNT(*) AS "count"
FROM
  "public"."people"
WHERE
  (
    ("public"."people"."state" = 'CA')
    OR ("public"."people"."state" = 'NY')
  )
  AND (
    ("public"."people"."source" <> 'Google')
    OR ("public"."people"."source" IS NULL)
  )
GROUP BY
  CAST(
    EXTRACT(
      year
      FROM
        "public"."people"."birth_date"
    ) AS integer
  )
ORDER BY
  "birth_date" ASC;

-- chart: the largest order
SELECT
  MAX("public"."orders"."total") AS "max"
FROM
  "public"."orders";
