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
              CAST(CAST(EXTRACT(MONTH FROM AGE(
                CAST(CASE
                  WHEN "lineitem_0"."l_receiptdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "lineitem_0"."l_receiptdate"
                END AS TIMESTAMP),
                CAST(CASE
                  WHEN "lineitem_0"."l_shipdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "lineitem_0"."l_shipdate"
                END AS TIMESTAMP)
              )) AS DECIMAL) AS DOUBLE PRECISION) * 97612893 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN EXTRACT(EPOCH FROM (
          CAST(CASE
            WHEN "lineitem_0"."l_receiptdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_receiptdate"
          END AS TIMESTAMP) - CAST(CASE
            WHEN "lineitem_0"."l_shipdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_shipdate"
          END AS TIMESTAMP)
        )) > CAST(20 AS DECIMAL) * 86400
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w1",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN EXTRACT(EPOCH FROM (
          CAST(CASE
            WHEN "lineitem_0"."l_receiptdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_receiptdate"
          END AS TIMESTAMP) - CAST(CASE
            WHEN "lineitem_0"."l_shipdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_shipdate"
          END AS TIMESTAMP)
        )) <= 129600
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w2",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN CAST(EXTRACT(DAY FROM (
          CAST(CASE
            WHEN "lineitem_0"."l_receiptdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_receiptdate"
          END AS TIMESTAMP) - CAST(CASE
            WHEN "lineitem_0"."l_commitdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "lineitem_0"."l_commitdate"
          END AS TIMESTAMP)
        )) AS DECIMAL) < -5
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w3",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN CASE
          WHEN "lineitem_0"."l_shipdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
          THEN "lineitem_0"."l_shipdate"
        END + CASE
          WHEN "lineitem_0"."l_linenumber" BETWEEN (
            -1000000
          ) AND 1000000
          THEN CAST("lineitem_0"."l_linenumber" AS INT)
        END < "lineitem_0"."l_commitdate"
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w4",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                -CAST(CAST(EXTRACT(MONTH FROM AGE(
                  CAST(CASE
                    WHEN "lineitem_0"."l_receiptdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                    THEN "lineitem_0"."l_receiptdate"
                  END AS TIMESTAMP),
                  CAST(CASE
                    WHEN "lineitem_0"."l_shipdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                    THEN "lineitem_0"."l_shipdate"
                  END AS TIMESTAMP)
                )) AS DECIMAL) AS DOUBLE PRECISION)
              ) * 97612893 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w5"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "lineitem_0"."l_shipdate" >= CAST('1995-01-01' AS DATE)
  AND "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1;
