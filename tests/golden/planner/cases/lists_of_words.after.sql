SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("t_1"."e2" AS TEXT) AS "k0",
  CAST("orders_0"."o_orderpriority" AS TEXT) AS "k1",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN (
  SELECT
    "orders_0"."o_orderkey" AS "k1",
    UNNEST(STRING_TO_ARRAY(NULLIF("orders_0"."o_comment", ''), ' ')) AS "e2"
  FROM "public"."orders" AS "orders_0"
) AS "t_1"
  ON "orders_0"."o_orderkey" = "t_1"."k1"
WHERE
  "orders_0"."o_orderpriority" IN ('1-URGENT', '5-LOW')
  AND "t_1"."e2" IN ('deposits', 'furiously', 'the');

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("t_1"."e2" AS TEXT) AS "k0",
  CAST("orders_0"."o_orderpriority" AS TEXT) AS "k1",
  CAST("orders_0"."o_custkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN (
  SELECT
    "orders_0"."o_orderkey" AS "k1",
    UNNEST(STRING_TO_ARRAY(NULLIF("orders_0"."o_comment", ''), ' ')) AS "e2"
  FROM "public"."orders" AS "orders_0"
) AS "t_1"
  ON "orders_0"."o_orderkey" = "t_1"."k1"
WHERE
  "orders_0"."o_orderpriority" IN ('1-URGENT', '5-LOW')
  AND "t_1"."e2" IN ('deposits', 'furiously', 'the')
GROUP BY
  1,
  2,
  3,
  4;

WITH "contributions" AS (
  SELECT
    CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
    CAST("t_1"."e2" AS TEXT) AS "k0",
    CAST("orders_0"."o_orderpriority" AS TEXT) AS "k1",
    CAST("orders_0"."o_custkey" AS BIGINT) AS "v",
    MAX(CAST(1073741824 AS BIGINT)) AS "w0"
  FROM "public"."orders" AS "orders_0"
  INNER JOIN (
    SELECT
      "orders_0"."o_orderkey" AS "k1",
      UNNEST(STRING_TO_ARRAY(NULLIF("orders_0"."o_comment", ''), ' ')) AS "e2"
    FROM "public"."orders" AS "orders_0"
  ) AS "t_1"
    ON "orders_0"."o_orderkey" = "t_1"."k1"
  WHERE
    "orders_0"."o_orderpriority" IN ('1-URGENT', '5-LOW')
    AND "t_1"."e2" IN ('deposits', 'furiously', 'the')
  GROUP BY
    1,
    2,
    3,
    4
), "each" AS (
  SELECT
    "o0",
    "k0",
    "k1",
    "w0"
  FROM "contributions"
  WHERE
    NOT "o0" IS NULL
), "totals" AS (
  SELECT
    "o0",
    0 AS "i",
    CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "l"
  FROM "each"
  GROUP BY
    1
), "norms" AS (
  SELECT
    "o0",
    "i",
    "l",
    CASE
      WHEN "l" <= 99516539731968
      THEN CASE
        WHEN "l" <= 462782726144
        THEN CASE
          WHEN "l" <= 28991029248
          THEN CASE
            WHEN "l" <= 7516192768
            THEN CASE
              WHEN "l" <= 3221225472
              THEN CASE
                WHEN "l" <= 1073741824
                THEN 0
                ELSE CASE WHEN "l" <= 2147483648 THEN 1 ELSE 2 END
              END
              ELSE CASE
                WHEN "l" <= 5368709120
                THEN CASE WHEN "l" <= 4294967296 THEN 3 ELSE 4 END
                ELSE CASE WHEN "l" <= 6442450944 THEN 5 ELSE 6 END
              END
            END
            ELSE CASE
              WHEN "l" <= 13958643712
              THEN CASE
                WHEN "l" <= 10737418240
                THEN CASE WHEN "l" <= 8589934592 THEN 7 ELSE 8 END
                ELSE CASE WHEN "l" <= 11811160064 THEN 9 ELSE 10 END
              END
              ELSE CASE
                WHEN "l" <= 20401094656
                THEN CASE WHEN "l" <= 17179869184 THEN 11 ELSE 12 END
                ELSE CASE WHEN "l" <= 24696061952 THEN 13 ELSE 14 END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 115964116992
            THEN CASE
              WHEN "l" <= 57982058496
              THEN CASE
                WHEN "l" <= 40802189312
                THEN CASE WHEN "l" <= 34359738368 THEN 15 ELSE 16 END
                ELSE CASE WHEN "l" <= 48318382080 THEN 17 ELSE 18 END
              END
              ELSE CASE
                WHEN "l" <= 81604378624
                THEN CASE WHEN "l" <= 68719476736 THEN 19 ELSE 20 END
                ELSE CASE WHEN "l" <= 97710505984 THEN 21 ELSE 22 END
              END
            END
            ELSE CASE
              WHEN "l" <= 230854492160
              THEN CASE
                WHEN "l" <= 163208757248
                THEN CASE WHEN "l" <= 137438953472 THEN 23 ELSE 24 END
                ELSE CASE WHEN "l" <= 194347270144 THEN 25 ELSE 26 END
              END
              ELSE CASE
                WHEN "l" <= 326417514496
                THEN CASE WHEN "l" <= 274877906944 THEN 27 ELSE 28 END
                ELSE CASE WHEN "l" <= 388694540288 THEN 29 ELSE 30 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 6220186386432
          THEN CASE
            WHEN "l" <= 1554778161152
            THEN CASE
              WHEN "l" <= 777389080576
              THEN CASE
                WHEN "l" <= 549755813888
                THEN 31
                ELSE CASE WHEN "l" <= 653908770816 THEN 32 ELSE 33 END
              END
              ELSE CASE
                WHEN "l" <= 1099511627776
                THEN CASE WHEN "l" <= 924491710464 THEN 34 ELSE 35 END
                ELSE CASE WHEN "l" <= 1307817541632 THEN 36 ELSE 37 END
              END
            END
            ELSE CASE
              WHEN "l" <= 3109556322304
              THEN CASE
                WHEN "l" <= 2199023255552
                THEN CASE WHEN "l" <= 1848983420928 THEN 38 ELSE 39 END
                ELSE CASE WHEN "l" <= 2614561341440 THEN 40 ELSE 41 END
              END
              ELSE CASE
                WHEN "l" <= 4398046511104
                THEN CASE WHEN "l" <= 3697966841856 THEN 42 ELSE 43 END
                ELSE CASE WHEN "l" <= 5230196424704 THEN 44 ELSE 45 END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 24878598062080
            THEN CASE
              WHEN "l" <= 12439299031040
              THEN CASE
                WHEN "l" <= 8796093022208
                THEN CASE WHEN "l" <= 7397007425536 THEN 46 ELSE 47 END
                ELSE CASE WHEN "l" <= 10460392849408 THEN 48 ELSE 49 END
              END
              ELSE CASE
                WHEN "l" <= 17592186044416
                THEN CASE WHEN "l" <= 14792941109248 THEN 50 ELSE 51 END
                ELSE CASE WHEN "l" <= 20920785698816 THEN 52 ELSE 53 END
              END
            END
            ELSE CASE
              WHEN "l" <= 49758269865984
              THEN CASE
                WHEN "l" <= 35184372088832
                THEN CASE WHEN "l" <= 29585882218496 THEN 54 ELSE 55 END
                ELSE CASE WHEN "l" <= 41841571397632 THEN 56 ELSE 57 END
              END
              ELSE CASE
                WHEN "l" <= 70368744177664
                THEN CASE WHEN "l" <= 59172838178816 THEN 58 ELSE 59 END
                ELSE CASE WHEN "l" <= 83683142795264 THEN 60 ELSE 61 END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "l" <= 21422851269591040
        THEN CASE
          WHEN "l" <= 1338928137240576
          THEN CASE
            WHEN "l" <= 334732571181056
            THEN CASE
              WHEN "l" <= 167366285590528
              THEN CASE
                WHEN "l" <= 118345676357632
                THEN 62
                ELSE CASE WHEN "l" <= 140737488355328 THEN 63 ELSE 64 END
              END
              ELSE CASE
                WHEN "l" <= 236691352715264
                THEN CASE WHEN "l" <= 199033079463936 THEN 65 ELSE 66 END
                ELSE CASE WHEN "l" <= 281474976710656 THEN 67 ELSE 68 END
              END
            END
            ELSE CASE
              WHEN "l" <= 669464068620288
              THEN CASE
                WHEN "l" <= 473382705430528
                THEN CASE WHEN "l" <= 398066158927872 THEN 69 ELSE 70 END
                ELSE CASE WHEN "l" <= 562949953421312 THEN 71 ELSE 72 END
              END
              ELSE CASE
                WHEN "l" <= 946765410861056
                THEN CASE WHEN "l" <= 796131244113920 THEN 73 ELSE 74 END
                ELSE CASE WHEN "l" <= 1125899906842624 THEN 75 ELSE 76 END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 5355712548962304
            THEN CASE
              WHEN "l" <= 2677856274481152
              THEN CASE
                WHEN "l" <= 1893530821722112
                THEN CASE WHEN "l" <= 1592262488227840 THEN 77 ELSE 78 END
                ELSE CASE WHEN "l" <= 2251799813685248 THEN 79 ELSE 80 END
              END
              ELSE CASE
                WHEN "l" <= 3787060569702400
                THEN CASE WHEN "l" <= 3184526050197504 THEN 81 ELSE 82 END
                ELSE CASE WHEN "l" <= 4503599627370496 THEN 83 ELSE 84 END
              END
            END
            ELSE CASE
              WHEN "l" <= 10711425097924608
              THEN CASE
                WHEN "l" <= 7574121139404800
                THEN CASE WHEN "l" <= 6369052100395008 THEN 85 ELSE 86 END
                ELSE CASE WHEN "l" <= 9007199254740992 THEN 87 ELSE 88 END
              END
              ELSE CASE
                WHEN "l" <= 15148243352551424
                THEN CASE WHEN "l" <= 12738103127048192 THEN 89 ELSE 90 END
                ELSE CASE WHEN "l" <= 18014398509481984 THEN 91 ELSE 92 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 342765613871005696
          THEN CASE
            WHEN "l" <= 85691404004622336
            THEN CASE
              WHEN "l" <= 42845701465440256
              THEN CASE
                WHEN "l" <= 30296486705102848
                THEN CASE WHEN "l" <= 25476206254096384 THEN 93 ELSE 94 END
                ELSE CASE WHEN "l" <= 36028797018963968 THEN 95 ELSE 96 END
              END
              ELSE CASE
                WHEN "l" <= 60592972336463872
                THEN CASE WHEN "l" <= 50952413581934592 THEN 97 ELSE 98 END
                ELSE CASE WHEN "l" <= 72057594037927936 THEN 99 ELSE 100 END
              END
            END
            ELSE CASE
              WHEN "l" <= 171382806935502848
              THEN CASE
                WHEN "l" <= 121185944672927744
                THEN CASE WHEN "l" <= 101904827163869184 THEN 101 ELSE 102 END
                ELSE CASE WHEN "l" <= 144115188075855872 THEN 103 ELSE 104 END
              END
              ELSE CASE
                WHEN "l" <= 242371890419597312
                THEN CASE WHEN "l" <= 203809653253996544 THEN 105 ELSE 106 END
                ELSE CASE WHEN "l" <= 288230376151711744 THEN 107 ELSE 108 END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 1371062456557764608
            THEN CASE
              WHEN "l" <= 685531227742011392
              THEN CASE
                WHEN "l" <= 484743779765452800
                THEN CASE WHEN "l" <= 407619306507993088 THEN 109 ELSE 110 END
                ELSE CASE WHEN "l" <= 576460752303423488 THEN 111 ELSE 112 END
              END
              ELSE CASE
                WHEN "l" <= 969487560604647424
                THEN CASE WHEN "l" <= 815238614089728000 THEN 113 ELSE 114 END
                ELSE CASE WHEN "l" <= 1152921504606846976 THEN 115 ELSE 116 END
              END
            END
            ELSE CASE
              WHEN "l" <= 2742124913115529216
              THEN CASE
                WHEN "l" <= 1938975120135553024
                THEN CASE WHEN "l" <= 1630477228179456000 THEN 117 ELSE 118 END
                ELSE CASE WHEN "l" <= 2305843009213693952 THEN 119 ELSE 120 END
              END
              ELSE CASE
                WHEN "l" <= 3877950241344847872
                THEN CASE WHEN "l" <= 3260954456358912000 THEN 121 ELSE 122 END
                ELSE CASE WHEN "l" <= 4611686018427387904 THEN 123 ELSE 124 END
              END
            END
          END
        END
      END
    END AS "b"
  FROM "totals"
  WHERE
    "l" > 0 AND "l" < 4611686018427387904
)
SELECT
  "k0",
  "k1",
  "i",
  "b",
  0 AS "n",
  CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s",
  CAST(LEAST(
    SUM(
      CAST(FLOOR(CAST("w0" AS DOUBLE PRECISION) / CAST("l" AS DOUBLE PRECISION) * 1073741824) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "r"
FROM "each"
JOIN "norms"
  USING ("o0")
GROUP BY
  1,
  2,
  3,
  4
UNION ALL
SELECT
  NULL AS "k0",
  NULL AS "k1",
  "i" + 1 AS "i",
  "b",
  COUNT(*) AS "n",
  CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS "s",
  0 AS "r"
FROM "norms"
GROUP BY
  3,
  4;

SELECT DISTINCT
  CAST("t_1"."e2" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS TEXT) AS "e2"
  FROM (VALUES
    ('deposits'),
    ('furiously'),
    ('the')) AS "v0"("v")
) AS "t_1"
WHERE
  "t_1"."e2" IN ('deposits', 'furiously', 'the')
ORDER BY
  1
LIMIT 100001;

SELECT DISTINCT
  CAST("orders_0"."o_orderpriority" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS CHAR(15)) AS "o_orderpriority"
  FROM (VALUES
    ('1-URGENT'),
    ('5-LOW')) AS "v0"("v")
) AS "orders_0"
WHERE
  "orders_0"."o_orderpriority" IN ('1-URGENT', '5-LOW')
ORDER BY
  1
LIMIT 100001;
