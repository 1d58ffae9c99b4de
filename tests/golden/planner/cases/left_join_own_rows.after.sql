SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_3"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "orders_1"."o_orderkey" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CASE
                WHEN "lineitem_2"."l_quantity" <> 'NaN'
                THEN CAST(LEAST(GREATEST(CAST("lineitem_2"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
              END * 21474800 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w2"
FROM "public"."customer" AS "customer_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_custkey" = "customer_0"."c_custkey"
  AND "orders_1"."o_orderstatus" = 'F'
LEFT JOIN "public"."lineitem" AS "lineitem_2"
  ON "lineitem_2"."l_orderkey" = "orders_1"."o_orderkey"
INNER JOIN "public"."nation" AS "nation_3"
  ON "customer_0"."c_nationkey" = "nation_3"."n_nationkey"
GROUP BY
  1,
  2;

SELECT DISTINCT
  CAST("nation_3"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_3"
ORDER BY
  1
LIMIT 100001;
