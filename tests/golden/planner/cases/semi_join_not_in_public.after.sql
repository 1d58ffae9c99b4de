SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CASE
                WHEN "lineitem_0"."l_quantity" <> 'NaN'
                THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
              END * 21474800 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM "public"."part" AS "part_0_s0"
    WHERE
      "lineitem_0"."l_partkey" = "part_0_s0"."p_partkey" AND "part_0_s0"."p_size" > 20
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "public"."nation" AS "nation_0_s1"
    WHERE
      "lineitem_0"."l_linenumber" = "nation_0_s1"."n_nationkey"
      AND "nation_0_s1"."n_name" < 'C'
  )
GROUP BY
  1;
