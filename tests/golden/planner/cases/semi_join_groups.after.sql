SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  EXISTS(
    SELECT
      1
    FROM (
      SELECT
        "lineitem_0"."l_orderkey" AS "k1",
        CAST(CAST(SUM(
          CAST(FLOOR(
            CASE
              WHEN "lineitem_0"."l_quantity" <> 'NaN'
              THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
            END * CAST(100 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
          ) AS BIGINT)
        ) AS DOUBLE PRECISION) / CAST(100 AS DOUBLE PRECISION) AS DOUBLE PRECISION) AS "a2"
      FROM "public"."lineitem" AS "lineitem_0"
      LEFT JOIN "public"."orders" AS "orders_1"
        ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
      WHERE
        "orders_1"."o_orderkey" IS NOT NULL
      GROUP BY
        1
    ) AS "t_0_s0"
    WHERE
      "orders_0"."o_orderkey" = "t_0_s0"."k1" AND "t_0_s0"."a2" > 150
  )
GROUP BY
  1;
