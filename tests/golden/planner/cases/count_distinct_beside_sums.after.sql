SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST("orders_0"."o_clerk" AS TEXT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2,
  3;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST("customer_1"."c_custkey" AS BIGINT) AS "v",
  MAX(
    CAST(CASE WHEN "orders_0"."o_orderpriority" = '1-URGENT' THEN 1073741824 ELSE 0 END AS BIGINT)
  ) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2,
  3;

WITH "values" AS (
  SELECT
    CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
    CAST("nation_2"."n_name" AS TEXT) AS "k0",
    CAST("customer_1"."c_custkey" AS BIGINT) AS "v",
    MAX(
      CAST(CASE WHEN "orders_0"."o_orderpriority" = '1-URGENT' THEN 1073741824 ELSE 0 END AS BIGINT)
    ) AS "w0"
  FROM "public"."orders" AS "orders_0"
  INNER JOIN "public"."customer" AS "customer_1"
    ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
  INNER JOIN "public"."nation" AS "nation_2"
    ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
  GROUP BY
    1,
    2,
    3
), "contributions" AS (
  SELECT
    "o0",
    "k0",
    CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
  FROM "values"
  WHERE
    "w0" > 0
  GROUP BY
    1,
    2
)
SELECT
  "k0",
  0 AS "i",
  CASE
    WHEN "w0" <= 17592186044416
    THEN CASE
      WHEN "w0" <= 34359738368
      THEN CASE
        WHEN "w0" <= 134217728
        THEN CASE
          WHEN "w0" <= 262144
          THEN CASE
            WHEN "w0" <= 8192
            THEN CASE
              WHEN "w0" <= 2048
              THEN CASE WHEN "w0" <= 1024 THEN 0 ELSE 1 END
              ELSE CASE WHEN "w0" <= 4096 THEN 2 ELSE 3 END
            END
            ELSE CASE
              WHEN "w0" <= 32768
              THEN CASE WHEN "w0" <= 16384 THEN 4 ELSE 5 END
              ELSE CASE WHEN "w0" <= 65536 THEN 6 ELSE CASE WHEN "w0" <= 131072 THEN 7 ELSE 8 END END
            END
          END
          ELSE CASE
            WHEN "w0" <= 4194304
            THEN CASE
              WHEN "w0" <= 1048576
              THEN CASE WHEN "w0" <= 524288 THEN 9 ELSE 10 END
              ELSE CASE WHEN "w0" <= 2097152 THEN 11 ELSE 12 END
            END
            ELSE CASE
              WHEN "w0" <= 16777216
              THEN CASE WHEN "w0" <= 8388608 THEN 13 ELSE 14 END
              ELSE CASE
                WHEN "w0" <= 33554432
                THEN 15
                ELSE CASE WHEN "w0" <= 67108864 THEN 16 ELSE 17 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 7516192768
          THEN CASE
            WHEN "w0" <= 2147483648
            THEN CASE
              WHEN "w0" <= 536870912
              THEN CASE WHEN "w0" <= 268435456 THEN 18 ELSE 19 END
              ELSE CASE WHEN "w0" <= 1073741824 THEN 20 ELSE 21 END
            END
            ELSE CASE
              WHEN "w0" <= 4294967296
              THEN CASE WHEN "w0" <= 3221225472 THEN 22 ELSE 23 END
              ELSE CASE
                WHEN "w0" <= 5368709120
                THEN 24
                ELSE CASE WHEN "w0" <= 6442450944 THEN 25 ELSE 26 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 13958643712
            THEN CASE
              WHEN "w0" <= 10737418240
              THEN CASE WHEN "w0" <= 8589934592 THEN 27 ELSE 28 END
              ELSE CASE WHEN "w0" <= 11811160064 THEN 29 ELSE 30 END
            END
            ELSE CASE
              WHEN "w0" <= 20401094656
              THEN CASE WHEN "w0" <= 17179869184 THEN 31 ELSE 32 END
              ELSE CASE
                WHEN "w0" <= 24696061952
                THEN 33
                ELSE CASE WHEN "w0" <= 28991029248 THEN 34 ELSE 35 END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 777389080576
        THEN CASE
          WHEN "w0" <= 163208757248
          THEN CASE
            WHEN "w0" <= 68719476736
            THEN CASE
              WHEN "w0" <= 48318382080
              THEN CASE WHEN "w0" <= 40802189312 THEN 36 ELSE 37 END
              ELSE CASE WHEN "w0" <= 57982058496 THEN 38 ELSE 39 END
            END
            ELSE CASE
              WHEN "w0" <= 97710505984
              THEN CASE WHEN "w0" <= 81604378624 THEN 40 ELSE 41 END
              ELSE CASE
                WHEN "w0" <= 115964116992
                THEN 42
                ELSE CASE WHEN "w0" <= 137438953472 THEN 43 ELSE 44 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 326417514496
            THEN CASE
              WHEN "w0" <= 230854492160
              THEN CASE WHEN "w0" <= 194347270144 THEN 45 ELSE 46 END
              ELSE CASE WHEN "w0" <= 274877906944 THEN 47 ELSE 48 END
            END
            ELSE CASE
              WHEN "w0" <= 462782726144
              THEN CASE WHEN "w0" <= 388694540288 THEN 49 ELSE 50 END
              ELSE CASE
                WHEN "w0" <= 549755813888
                THEN 51
                ELSE CASE WHEN "w0" <= 653908770816 THEN 52 ELSE 53 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 3697966841856
          THEN CASE
            WHEN "w0" <= 1554778161152
            THEN CASE
              WHEN "w0" <= 1099511627776
              THEN CASE WHEN "w0" <= 924491710464 THEN 54 ELSE 55 END
              ELSE CASE WHEN "w0" <= 1307817541632 THEN 56 ELSE 57 END
            END
            ELSE CASE
              WHEN "w0" <= 2199023255552
              THEN CASE WHEN "w0" <= 1848983420928 THEN 58 ELSE 59 END
              ELSE CASE
                WHEN "w0" <= 2614561341440
                THEN 60
                ELSE CASE WHEN "w0" <= 3109556322304 THEN 61 ELSE 62 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 7397007425536
            THEN CASE
              WHEN "w0" <= 5230196424704
              THEN CASE WHEN "w0" <= 4398046511104 THEN 63 ELSE 64 END
              ELSE CASE WHEN "w0" <= 6220186386432 THEN 65 ELSE 66 END
            END
            ELSE CASE
              WHEN "w0" <= 10460392849408
              THEN CASE WHEN "w0" <= 8796093022208 THEN 67 ELSE 68 END
              ELSE CASE
                WHEN "w0" <= 12439299031040
                THEN 69
                ELSE CASE WHEN "w0" <= 14792941109248 THEN 70 ELSE 71 END
              END
            END
          END
        END
      END
    END
    ELSE CASE
      WHEN "w0" <= 9007199254740992
      THEN CASE
        WHEN "w0" <= 398066158927872
        THEN CASE
          WHEN "w0" <= 83683142795264
          THEN CASE
            WHEN "w0" <= 35184372088832
            THEN CASE
              WHEN "w0" <= 24878598062080
              THEN CASE WHEN "w0" <= 20920785698816 THEN 72 ELSE 73 END
              ELSE CASE WHEN "w0" <= 29585882218496 THEN 74 ELSE 75 END
            END
            ELSE CASE
              WHEN "w0" <= 49758269865984
              THEN CASE WHEN "w0" <= 41841571397632 THEN 76 ELSE 77 END
              ELSE CASE
                WHEN "w0" <= 59172838178816
                THEN 78
                ELSE CASE WHEN "w0" <= 70368744177664 THEN 79 ELSE 80 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 167366285590528
            THEN CASE
              WHEN "w0" <= 118345676357632
              THEN CASE WHEN "w0" <= 99516539731968 THEN 81 ELSE 82 END
              ELSE CASE WHEN "w0" <= 140737488355328 THEN 83 ELSE 84 END
            END
            ELSE CASE
              WHEN "w0" <= 236691352715264
              THEN CASE WHEN "w0" <= 199033079463936 THEN 85 ELSE 86 END
              ELSE CASE
                WHEN "w0" <= 281474976710656
                THEN 87
                ELSE CASE WHEN "w0" <= 334732571181056 THEN 88 ELSE 89 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 1893530821722112
          THEN CASE
            WHEN "w0" <= 796131244113920
            THEN CASE
              WHEN "w0" <= 562949953421312
              THEN CASE WHEN "w0" <= 473382705430528 THEN 90 ELSE 91 END
              ELSE CASE WHEN "w0" <= 669464068620288 THEN 92 ELSE 93 END
            END
            ELSE CASE
              WHEN "w0" <= 1125899906842624
              THEN CASE WHEN "w0" <= 946765410861056 THEN 94 ELSE 95 END
              ELSE CASE
                WHEN "w0" <= 1338928137240576
                THEN 96
                ELSE CASE WHEN "w0" <= 1592262488227840 THEN 97 ELSE 98 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 3787060569702400
            THEN CASE
              WHEN "w0" <= 2677856274481152
              THEN CASE WHEN "w0" <= 2251799813685248 THEN 99 ELSE 100 END
              ELSE CASE WHEN "w0" <= 3184526050197504 THEN 101 ELSE 102 END
            END
            ELSE CASE
              WHEN "w0" <= 5355712548962304
              THEN CASE WHEN "w0" <= 4503599627370496 THEN 103 ELSE 104 END
              ELSE CASE
                WHEN "w0" <= 6369052100395008
                THEN 105
                ELSE CASE WHEN "w0" <= 7574121139404800 THEN 106 ELSE 107 END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 203809653253996544
        THEN CASE
          WHEN "w0" <= 42845701465440256
          THEN CASE
            WHEN "w0" <= 18014398509481984
            THEN CASE
              WHEN "w0" <= 12738103127048192
              THEN CASE WHEN "w0" <= 10711425097924608 THEN 108 ELSE 109 END
              ELSE CASE WHEN "w0" <= 15148243352551424 THEN 110 ELSE 111 END
            END
            ELSE CASE
              WHEN "w0" <= 25476206254096384
              THEN CASE WHEN "w0" <= 21422851269591040 THEN 112 ELSE 113 END
              ELSE CASE
                WHEN "w0" <= 30296486705102848
                THEN 114
                ELSE CASE WHEN "w0" <= 36028797018963968 THEN 115 ELSE 116 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 85691404004622336
            THEN CASE
              WHEN "w0" <= 60592972336463872
              THEN CASE WHEN "w0" <= 50952413581934592 THEN 117 ELSE 118 END
              ELSE CASE WHEN "w0" <= 72057594037927936 THEN 119 ELSE 120 END
            END
            ELSE CASE
              WHEN "w0" <= 121185944672927744
              THEN CASE WHEN "w0" <= 101904827163869184 THEN 121 ELSE 122 END
              ELSE CASE
                WHEN "w0" <= 144115188075855872
                THEN 123
                ELSE CASE WHEN "w0" <= 171382806935502848 THEN 124 ELSE 125 END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 969487560604647424
          THEN CASE
            WHEN "w0" <= 407619306507993088
            THEN CASE
              WHEN "w0" <= 288230376151711744
              THEN CASE WHEN "w0" <= 242371890419597312 THEN 126 ELSE 127 END
              ELSE CASE WHEN "w0" <= 342765613871005696 THEN 128 ELSE 129 END
            END
            ELSE CASE
              WHEN "w0" <= 576460752303423488
              THEN CASE WHEN "w0" <= 484743779765452800 THEN 130 ELSE 131 END
              ELSE CASE
                WHEN "w0" <= 685531227742011392
                THEN 132
                ELSE CASE WHEN "w0" <= 815238614089728000 THEN 133 ELSE 134 END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 2305843009213693952
            THEN CASE
              WHEN "w0" <= 1371062456557764608
              THEN CASE WHEN "w0" <= 1152921504606846976 THEN 135 ELSE 136 END
              ELSE CASE
                WHEN "w0" <= 1630477228179456000
                THEN 137
                ELSE CASE WHEN "w0" <= 1938975120135553024 THEN 138 ELSE 139 END
              END
            END
            ELSE CASE
              WHEN "w0" <= 3260954456358912000
              THEN CASE WHEN "w0" <= 2742124913115529216 THEN 140 ELSE 141 END
              ELSE CASE
                WHEN "w0" <= 3877950241344847872
                THEN 142
                ELSE CASE WHEN "w0" <= 4611686018427387904 THEN 143 ELSE 144 END
              END
            END
          END
        END
      END
    END
  END AS "b",
  COUNT(*) AS "n",
  CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s"
FROM "contributions"
WHERE
  NOT "o0" IS NULL AND "w0" > 0
GROUP BY
  1,
  3;

SELECT DISTINCT
  CAST("nation_2"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_2"
ORDER BY
  1
LIMIT 100001;
