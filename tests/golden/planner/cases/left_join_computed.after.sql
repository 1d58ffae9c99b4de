SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN NOT (
          DATE_TRUNC(
            'MONTH',
            CAST(CASE
              WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
              THEN "orders_1"."o_orderdate"
            END AS TIMESTAMP)
          ) IS NULL
        )
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_orderstatus" = 'F'
  AND "orders_1"."o_custkey" = "orders_0"."o_custkey"
  AND DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_1"."o_orderdate"
    END AS TIMESTAMP)
  ) = DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) + INTERVAL '1 MONTH'
GROUP BY
  1;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_0"."o_custkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_orderstatus" = 'F'
  AND "orders_1"."o_custkey" = "orders_0"."o_custkey"
  AND DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_1"."o_orderdate"
    END AS TIMESTAMP)
  ) = DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) + INTERVAL '1 MONTH'
GROUP BY
  1,
  2;

WITH "values" AS (
  SELECT
    CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
    CAST("orders_0"."o_custkey" AS BIGINT) AS "v",
    MAX(CAST(1073741824 AS BIGINT)) AS "w0"
  FROM "public"."orders" AS "orders_0"
  LEFT JOIN "public"."orders" AS "orders_1"
    ON "orders_1"."o_orderstatus" = 'F'
    AND "orders_1"."o_custkey" = "orders_0"."o_custkey"
    AND DATE_TRUNC(
      'MONTH',
      CAST(CASE
        WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_1"."o_orderdate"
      END AS TIMESTAMP)
    ) = DATE_TRUNC(
      'MONTH',
      CAST(CASE
        WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_0"."o_orderdate"
      END AS TIMESTAMP)
    ) + INTERVAL '1 MONTH'
  GROUP BY
    1,
    2
), "loads" AS (
  SELECT
    "o0",
    CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
  FROM "values"
  WHERE
    "w0" > 0
  GROUP BY
    1
)
SELECT
  0 AS "i",
  CASE
    WHEN "w0" <= 68719476736
    THEN CASE
      WHEN "w0" <= 4194304
      THEN CASE
        WHEN "w0" <= 32768
        THEN CASE
          WHEN "w0" <= 4096
          THEN CASE WHEN "w0" <= 1024 THEN 0 ELSE CASE WHEN "w0" <= 2048 THEN 1 ELSE 2 END END
          ELSE CASE WHEN "w0" <= 8192 THEN 3 ELSE CASE WHEN "w0" <= 16384 THEN 4 ELSE 5 END END
        END
        ELSE CASE
          WHEN "w0" <= 262144
          THEN CASE WHEN "w0" <= 65536 THEN 6 ELSE CASE WHEN "w0" <= 131072 THEN 7 ELSE 8 END END
          ELSE CASE
            WHEN "w0" <= 1048576
            THEN CASE WHEN "w0" <= 524288 THEN 9 ELSE 10 END
            ELSE CASE WHEN "w0" <= 2097152 THEN 11 ELSE 12 END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 536870912
        THEN CASE
          WHEN "w0" <= 33554432
          THEN CASE
            WHEN "w0" <= 8388608
            THEN 13
            ELSE CASE WHEN "w0" <= 16777216 THEN 14 ELSE 15 END
          END
          ELSE CASE
            WHEN "w0" <= 134217728
            THEN CASE WHEN "w0" <= 67108864 THEN 16 ELSE 17 END
            ELSE CASE WHEN "w0" <= 268435456 THEN 18 ELSE 19 END
          END
        END
        ELSE CASE
          WHEN "w0" <= 4294967296
          THEN CASE
            WHEN "w0" <= 1073741824
            THEN 20
            ELSE CASE WHEN "w0" <= 2147483648 THEN 21 ELSE 22 END
          END
          ELSE CASE
            WHEN "w0" <= 17179869184
            THEN CASE WHEN "w0" <= 8589934592 THEN 23 ELSE 24 END
            ELSE CASE WHEN "w0" <= 34359738368 THEN 25 ELSE 26 END
          END
        END
      END
    END
    ELSE CASE
      WHEN "w0" <= 562949953421312
      THEN CASE
        WHEN "w0" <= 4398046511104
        THEN CASE
          WHEN "w0" <= 549755813888
          THEN CASE
            WHEN "w0" <= 137438953472
            THEN 27
            ELSE CASE WHEN "w0" <= 274877906944 THEN 28 ELSE 29 END
          END
          ELSE CASE
            WHEN "w0" <= 1099511627776
            THEN 30
            ELSE CASE WHEN "w0" <= 2199023255552 THEN 31 ELSE 32 END
          END
        END
        ELSE CASE
          WHEN "w0" <= 35184372088832
          THEN CASE
            WHEN "w0" <= 8796093022208
            THEN 33
            ELSE CASE WHEN "w0" <= 17592186044416 THEN 34 ELSE 35 END
          END
          ELSE CASE
            WHEN "w0" <= 140737488355328
            THEN CASE WHEN "w0" <= 70368744177664 THEN 36 ELSE 37 END
            ELSE CASE WHEN "w0" <= 281474976710656 THEN 38 ELSE 39 END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 72057594037927936
        THEN CASE
          WHEN "w0" <= 4503599627370496
          THEN CASE
            WHEN "w0" <= 1125899906842624
            THEN 40
            ELSE CASE WHEN "w0" <= 2251799813685248 THEN 41 ELSE 42 END
          END
          ELSE CASE
            WHEN "w0" <= 18014398509481984
            THEN CASE WHEN "w0" <= 9007199254740992 THEN 43 ELSE 44 END
            ELSE CASE WHEN "w0" <= 36028797018963968 THEN 45 ELSE 46 END
          END
        END
        ELSE CASE
          WHEN "w0" <= 576460752303423488
          THEN CASE
            WHEN "w0" <= 144115188075855872
            THEN 47
            ELSE CASE WHEN "w0" <= 288230376151711744 THEN 48 ELSE 49 END
          END
          ELSE CASE
            WHEN "w0" <= 2305843009213693952
            THEN CASE WHEN "w0" <= 1152921504606846976 THEN 50 ELSE 51 END
            ELSE CASE WHEN "w0" <= 4611686018427387904 THEN 52 ELSE 53 END
          END
        END
      END
    END
  END AS "b",
  COUNT(*) AS "n",
  CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s"
FROM "loads"
WHERE
  NOT "o0" IS NULL AND "w0" > 0
GROUP BY
  2;
