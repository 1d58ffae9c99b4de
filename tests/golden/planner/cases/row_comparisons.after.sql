SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                CASE
                  WHEN (
                    "orders_0"."o_orderstatus" <> 'F'
                  )
                  OR (
                    "orders_0"."o_orderpriority" <> '5-LOW'
                  )
                  THEN CAST(1 AS DOUBLE PRECISION)
                  ELSE CAST(0 AS DOUBLE PRECISION)
                END
              ) * 1073741824 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w1"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
WHERE
  NOT (
    (
      (
        "customer_1"."c_mktsegment" = 'BUILDING'
      )
      AND (
        "customer_1"."c_custkey" = 1
      )
    )
    OR (
      (
        "customer_1"."c_mktsegment" = 'MACHINERY'
      )
      AND (
        "customer_1"."c_custkey" = 4
      )
    )
  )
  AND (
    (
      (
        "orders_0"."o_orderstatus" = 'F'
      )
      AND (
        "orders_0"."o_orderpriority" = '1-URGENT'
      )
    )
    OR (
      (
        "orders_0"."o_orderstatus" = 'O'
      )
      AND (
        "orders_0"."o_orderpriority" = '5-LOW'
      )
    )
    OR (
      (
        "orders_0"."o_orderstatus" = 'F'
      )
      AND (
        "orders_0"."o_orderpriority" = '5-LOW'
      )
    )
  )
  AND (
    (
      "orders_0"."o_orderdate" > CAST('1994-01-31' AS DATE)
    )
    OR (
      (
        "orders_0"."o_orderdate" = CAST('1994-01-31' AS DATE)
      )
      AND (
        "orders_0"."o_orderkey" >= 3000
      )
    )
  )
GROUP BY
  1;
