SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
  CAST("lineitem_0"."l_orderkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
GROUP BY
  1,
  2,
  3;

SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
  CAST("orders_1"."o_orderkey" AS BIGINT) AS "v",
  MAX(
    CAST(CASE WHEN "lineitem_0"."l_quantity" > 40 THEN 1073741824 ELSE 0 END AS BIGINT)
  ) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
GROUP BY
  1,
  2,
  3;

WITH "loads" AS (
  SELECT
    CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
    CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
    CAST("lineitem_0"."l_orderkey" AS BIGINT) AS "v",
    MAX(CAST(1073741824 AS BIGINT)) AS "w0"
  FROM "public"."lineitem" AS "lineitem_0"
  INNER JOIN "public"."orders" AS "orders_1"
    ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
  WHERE
    "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
  GROUP BY
    1,
    2,
    3
), "each" AS (
  SELECT
    "o0",
    "k0",
    "w0"
  FROM "loads"
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
), "lengths" AS (
  SELECT
    "o0",
    "i",
    "l",
    CASE
      WHEN "l" <= 68719476736
      THEN CASE
        WHEN "l" <= 7053950
        THEN CASE
          WHEN "l" <= 77935
          THEN CASE
            WHEN "l" <= 8192
            THEN CASE
              WHEN "l" <= 2435
              THEN CASE
                WHEN "l" <= 1448
                THEN CASE WHEN "l" <= 1024 THEN 0 ELSE CASE WHEN "l" <= 1217 THEN 1 ELSE 2 END END
                ELSE CASE WHEN "l" <= 1722 THEN 3 ELSE CASE WHEN "l" <= 2048 THEN 4 ELSE 5 END END
              END
              ELSE CASE
                WHEN "l" <= 4096
                THEN CASE WHEN "l" <= 2896 THEN 6 ELSE CASE WHEN "l" <= 3444 THEN 7 ELSE 8 END END
                ELSE CASE
                  WHEN "l" <= 5792
                  THEN CASE WHEN "l" <= 4870 THEN 9 ELSE 10 END
                  ELSE CASE WHEN "l" <= 6888 THEN 11 ELSE 12 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 23170
              THEN CASE
                WHEN "l" <= 13777
                THEN CASE WHEN "l" <= 9741 THEN 13 ELSE CASE WHEN "l" <= 11585 THEN 14 ELSE 15 END END
                ELSE CASE WHEN "l" <= 16384 THEN 16 ELSE CASE WHEN "l" <= 19483 THEN 17 ELSE 18 END END
              END
              ELSE CASE
                WHEN "l" <= 38967
                THEN CASE WHEN "l" <= 27554 THEN 19 ELSE CASE WHEN "l" <= 32768 THEN 20 ELSE 21 END END
                ELSE CASE
                  WHEN "l" <= 55108
                  THEN CASE WHEN "l" <= 46340 THEN 22 ELSE 23 END
                  ELSE CASE WHEN "l" <= 65536 THEN 24 ELSE 25 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 741455
            THEN CASE
              WHEN "l" <= 220435
              THEN CASE
                WHEN "l" <= 131072
                THEN CASE WHEN "l" <= 92681 THEN 26 ELSE CASE WHEN "l" <= 110217 THEN 27 ELSE 28 END END
                ELSE CASE WHEN "l" <= 155871 THEN 29 ELSE CASE WHEN "l" <= 185363 THEN 30 ELSE 31 END END
              END
              ELSE CASE
                WHEN "l" <= 370727
                THEN CASE WHEN "l" <= 262144 THEN 32 ELSE CASE WHEN "l" <= 311743 THEN 33 ELSE 34 END END
                ELSE CASE
                  WHEN "l" <= 524288
                  THEN CASE WHEN "l" <= 440871 THEN 35 ELSE 36 END
                  ELSE CASE WHEN "l" <= 623487 THEN 37 ELSE 38 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 2097152
              THEN CASE
                WHEN "l" <= 1246974
                THEN CASE
                  WHEN "l" <= 881743
                  THEN 39
                  ELSE CASE WHEN "l" <= 1048576 THEN 40 ELSE 41 END
                END
                ELSE CASE
                  WHEN "l" <= 1482910
                  THEN 42
                  ELSE CASE WHEN "l" <= 1763487 THEN 43 ELSE 44 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3526975
                THEN CASE
                  WHEN "l" <= 2493948
                  THEN 45
                  ELSE CASE WHEN "l" <= 2965820 THEN 46 ELSE 47 END
                END
                ELSE CASE
                  WHEN "l" <= 4987896
                  THEN CASE WHEN "l" <= 4194304 THEN 48 ELSE 49 END
                  ELSE CASE WHEN "l" <= 5931641 THEN 50 ELSE 51 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 638450708
          THEN CASE
            WHEN "l" <= 67108864
            THEN CASE
              WHEN "l" <= 19951584
              THEN CASE
                WHEN "l" <= 11863283
                THEN CASE
                  WHEN "l" <= 8388608
                  THEN 52
                  ELSE CASE WHEN "l" <= 9975792 THEN 53 ELSE 54 END
                END
                ELSE CASE
                  WHEN "l" <= 14107900
                  THEN 55
                  ELSE CASE WHEN "l" <= 16777216 THEN 56 ELSE 57 END
                END
              END
              ELSE CASE
                WHEN "l" <= 33554432
                THEN CASE
                  WHEN "l" <= 23726566
                  THEN 58
                  ELSE CASE WHEN "l" <= 28215801 THEN 59 ELSE 60 END
                END
                ELSE CASE
                  WHEN "l" <= 47453132
                  THEN CASE WHEN "l" <= 39903169 THEN 61 ELSE 62 END
                  ELSE CASE WHEN "l" <= 56431603 THEN 63 ELSE 64 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 189812531
              THEN CASE
                WHEN "l" <= 112863206
                THEN CASE
                  WHEN "l" <= 79806338
                  THEN 65
                  ELSE CASE WHEN "l" <= 94906265 THEN 66 ELSE 67 END
                END
                ELSE CASE
                  WHEN "l" <= 134217728
                  THEN 68
                  ELSE CASE WHEN "l" <= 159612677 THEN 69 ELSE 70 END
                END
              END
              ELSE CASE
                WHEN "l" <= 319225354
                THEN CASE
                  WHEN "l" <= 225726412
                  THEN 71
                  ELSE CASE WHEN "l" <= 268435456 THEN 72 ELSE 73 END
                END
                ELSE CASE
                  WHEN "l" <= 451452825
                  THEN CASE WHEN "l" <= 379625062 THEN 74 ELSE 75 END
                  ELSE CASE WHEN "l" <= 536870912 THEN 76 ELSE 77 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 6074000999
            THEN CASE
              WHEN "l" <= 1805811301
              THEN CASE
                WHEN "l" <= 1073741824
                THEN CASE
                  WHEN "l" <= 759250124
                  THEN 78
                  ELSE CASE WHEN "l" <= 902905650 THEN 79 ELSE 80 END
                END
                ELSE CASE
                  WHEN "l" <= 1276901416
                  THEN 81
                  ELSE CASE WHEN "l" <= 1518500249 THEN 82 ELSE 83 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3037000499
                THEN CASE
                  WHEN "l" <= 2147483648
                  THEN 84
                  ELSE CASE WHEN "l" <= 2553802833 THEN 85 ELSE 86 END
                END
                ELSE CASE
                  WHEN "l" <= 4294967296
                  THEN CASE WHEN "l" <= 3611622602 THEN 87 ELSE 88 END
                  ELSE CASE WHEN "l" <= 5107605667 THEN 89 ELSE 90 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 20430422668
              THEN CASE
                WHEN "l" <= 10215211334
                THEN CASE
                  WHEN "l" <= 7223245205
                  THEN 91
                  ELSE CASE WHEN "l" <= 8589934592 THEN 92 ELSE 93 END
                END
                ELSE CASE
                  WHEN "l" <= 14446490411
                  THEN CASE WHEN "l" <= 12148001999 THEN 94 ELSE 95 END
                  ELSE CASE WHEN "l" <= 17179869184 THEN 96 ELSE 97 END
                END
              END
              ELSE CASE
                WHEN "l" <= 34359738368
                THEN CASE
                  WHEN "l" <= 24296003999
                  THEN 98
                  ELSE CASE WHEN "l" <= 28892980822 THEN 99 ELSE 100 END
                END
                ELSE CASE
                  WHEN "l" <= 48592007999
                  THEN CASE WHEN "l" <= 40860845336 THEN 101 ELSE 102 END
                  ELSE CASE WHEN "l" <= 57785961645 THEN 103 ELSE 104 END
                END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "l" <= 562949953421312
        THEN CASE
          WHEN "l" <= 6219777023950
          THEN CASE
            WHEN "l" <= 653773525389
            THEN CASE
              WHEN "l" <= 194368031998
              THEN CASE
                WHEN "l" <= 115571923290
                THEN CASE
                  WHEN "l" <= 81721690673
                  THEN 105
                  ELSE CASE WHEN "l" <= 97184015999 THEN 106 ELSE 107 END
                END
                ELSE CASE
                  WHEN "l" <= 137438953472
                  THEN 108
                  ELSE CASE WHEN "l" <= 163443381347 THEN 109 ELSE 110 END
                END
              END
              ELSE CASE
                WHEN "l" <= 326886762694
                THEN CASE
                  WHEN "l" <= 231143846581
                  THEN 111
                  ELSE CASE WHEN "l" <= 274877906944 THEN 112 ELSE 113 END
                END
                ELSE CASE
                  WHEN "l" <= 462287693163
                  THEN CASE WHEN "l" <= 388736063996 THEN 114 ELSE 115 END
                  ELSE CASE WHEN "l" <= 549755813888 THEN 116 ELSE 117 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 1849150772653
              THEN CASE
                WHEN "l" <= 1099511627776
                THEN CASE
                  WHEN "l" <= 777472127993
                  THEN 118
                  ELSE CASE WHEN "l" <= 924575386326 THEN 119 ELSE 120 END
                END
                ELSE CASE
                  WHEN "l" <= 1307547050779
                  THEN 121
                  ELSE CASE WHEN "l" <= 1554944255987 THEN 122 ELSE 123 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3109888511975
                THEN CASE
                  WHEN "l" <= 2199023255552
                  THEN 124
                  ELSE CASE WHEN "l" <= 2615094101558 THEN 125 ELSE 126 END
                END
                ELSE CASE
                  WHEN "l" <= 4398046511104
                  THEN CASE WHEN "l" <= 3698301545306 THEN 127 ELSE 128 END
                  ELSE CASE WHEN "l" <= 5230188203117 THEN 129 ELSE 130 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 59172824724903
            THEN CASE
              WHEN "l" <= 17592186044416
              THEN CASE
                WHEN "l" <= 10460376406235
                THEN CASE
                  WHEN "l" <= 7396603090612
                  THEN 131
                  ELSE CASE WHEN "l" <= 8796093022208 THEN 132 ELSE 133 END
                END
                ELSE CASE
                  WHEN "l" <= 12439554047901
                  THEN 134
                  ELSE CASE WHEN "l" <= 14793206181225 THEN 135 ELSE 136 END
                END
              END
              ELSE CASE
                WHEN "l" <= 29586412362451
                THEN CASE
                  WHEN "l" <= 20920752812471
                  THEN 137
                  ELSE CASE WHEN "l" <= 24879108095803 THEN 138 ELSE 139 END
                END
                ELSE CASE
                  WHEN "l" <= 41841505624942
                  THEN CASE WHEN "l" <= 35184372088832 THEN 140 ELSE 141 END
                  ELSE CASE WHEN "l" <= 49758216191607 THEN 142 ELSE 143 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 167366022499768
              THEN CASE
                WHEN "l" <= 99516432383215
                THEN CASE
                  WHEN "l" <= 70368744177664
                  THEN 144
                  ELSE CASE WHEN "l" <= 83683011249884 THEN 145 ELSE 146 END
                END
                ELSE CASE
                  WHEN "l" <= 118345649449806
                  THEN 147
                  ELSE CASE WHEN "l" <= 140737488355328 THEN 148 ELSE 149 END
                END
              END
              ELSE CASE
                WHEN "l" <= 281474976710656
                THEN CASE
                  WHEN "l" <= 199032864766430
                  THEN 150
                  ELSE CASE WHEN "l" <= 236691298899613 THEN 151 ELSE 152 END
                END
                ELSE CASE
                  WHEN "l" <= 398065729532860
                  THEN CASE WHEN "l" <= 334732044999537 THEN 153 ELSE 154 END
                  ELSE CASE WHEN "l" <= 473382597799226 THEN 155 ELSE 156 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 50952413380206144
          THEN CASE
            WHEN "l" <= 5355712719992592
            THEN CASE
              WHEN "l" <= 1592262918131442
              THEN CASE
                WHEN "l" <= 946765195598453
                THEN CASE
                  WHEN "l" <= 669464089999074
                  THEN 157
                  ELSE CASE WHEN "l" <= 796131459065721 THEN 158 ELSE 159 END
                END
                ELSE CASE
                  WHEN "l" <= 1125899906842624
                  THEN 160
                  ELSE CASE WHEN "l" <= 1338928179998148 THEN 161 ELSE 162 END
                END
              END
              ELSE CASE
                WHEN "l" <= 2677856359996296
                THEN CASE
                  WHEN "l" <= 1893530391196906
                  THEN 163
                  ELSE CASE WHEN "l" <= 2251799813685248 THEN 164 ELSE 165 END
                END
                ELSE CASE
                  WHEN "l" <= 3787060782393812
                  THEN CASE WHEN "l" <= 3184525836262884 THEN 166 ELSE 167 END
                  ELSE CASE WHEN "l" <= 4503599627370496 THEN 168 ELSE 169 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 15148243129575248
              THEN CASE
                WHEN "l" <= 9007199254740992
                THEN CASE
                  WHEN "l" <= 6369051672525768
                  THEN 170
                  ELSE CASE WHEN "l" <= 7574121564787624 THEN 171 ELSE 172 END
                END
                ELSE CASE
                  WHEN "l" <= 10711425439985184
                  THEN 173
                  ELSE CASE WHEN "l" <= 12738103345051536 THEN 174 ELSE 175 END
                END
              END
              ELSE CASE
                WHEN "l" <= 25476206690103072
                THEN CASE
                  WHEN "l" <= 18014398509481984
                  THEN 176
                  ELSE CASE WHEN "l" <= 21422850879970368 THEN 177 ELSE 178 END
                END
                ELSE CASE
                  WHEN "l" <= 36028797018963968
                  THEN CASE WHEN "l" <= 30296486259150496 THEN 179 ELSE 180 END
                  ELSE CASE WHEN "l" <= 42845701759940736 THEN 181 ELSE 182 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 484743780146407936
            THEN CASE
              WHEN "l" <= 144115188075855872
              THEN CASE
                WHEN "l" <= 85691403519881472
                THEN CASE
                  WHEN "l" <= 60592972518300992
                  THEN 183
                  ELSE CASE WHEN "l" <= 72057594037927936 THEN 184 ELSE 185 END
                END
                ELSE CASE
                  WHEN "l" <= 101904826760412288
                  THEN 186
                  ELSE CASE WHEN "l" <= 121185945036601984 THEN 187 ELSE 188 END
                END
              END
              ELSE CASE
                WHEN "l" <= 242371890073203968
                THEN CASE
                  WHEN "l" <= 171382807039762944
                  THEN 189
                  ELSE CASE WHEN "l" <= 203809653520824576 THEN 190 ELSE 191 END
                END
                ELSE CASE
                  WHEN "l" <= 342765614079525888
                  THEN CASE WHEN "l" <= 288230376151711744 THEN 192 ELSE 193 END
                  ELSE CASE WHEN "l" <= 407619307041649152 THEN 194 ELSE 195 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 1630477228166596608
              THEN CASE
                WHEN "l" <= 815238614083298304
                THEN CASE
                  WHEN "l" <= 576460752303423488
                  THEN 196
                  ELSE CASE WHEN "l" <= 685531228159051776 THEN 197 ELSE 198 END
                END
                ELSE CASE
                  WHEN "l" <= 1152921504606846976
                  THEN CASE WHEN "l" <= 969487560292815872 THEN 199 ELSE 200 END
                  ELSE CASE WHEN "l" <= 1371062456318103552 THEN 201 ELSE 202 END
                END
              END
              ELSE CASE
                WHEN "l" <= 2742124912636207104
                THEN CASE
                  WHEN "l" <= 1938975120585631744
                  THEN 203
                  ELSE CASE WHEN "l" <= 2305843009213693952 THEN 204 ELSE 205 END
                END
                ELSE CASE
                  WHEN "l" <= 3877950241171263488
                  THEN CASE WHEN "l" <= 3260954456333193216 THEN 206 ELSE 207 END
                  ELSE CASE WHEN "l" <= 4611686018427387904 THEN 208 ELSE 209 END
                END
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
JOIN "lengths"
  USING ("o0")
GROUP BY
  1,
  2,
  3
UNION ALL
SELECT
  NULL AS "k0",
  "i" + 1 AS "i",
  "b",
  COUNT(*) AS "n",
  CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS "s",
  0 AS "r"
FROM "lengths"
GROUP BY
  2,
  3;

WITH "loads" AS (
  SELECT
    CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
    CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
    CAST("orders_1"."o_orderkey" AS BIGINT) AS "v",
    MAX(
      CAST(CASE WHEN "lineitem_0"."l_quantity" > 40 THEN 1073741824 ELSE 0 END AS BIGINT)
    ) AS "w0"
  FROM "public"."lineitem" AS "lineitem_0"
  INNER JOIN "public"."orders" AS "orders_1"
    ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
  WHERE
    "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
  GROUP BY
    1,
    2,
    3
), "each" AS (
  SELECT
    "o0",
    "k0",
    "w0"
  FROM "loads"
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
), "lengths" AS (
  SELECT
    "o0",
    "i",
    "l",
    CASE
      WHEN "l" <= 68719476736
      THEN CASE
        WHEN "l" <= 7053950
        THEN CASE
          WHEN "l" <= 77935
          THEN CASE
            WHEN "l" <= 8192
            THEN CASE
              WHEN "l" <= 2435
              THEN CASE
                WHEN "l" <= 1448
                THEN CASE WHEN "l" <= 1024 THEN 0 ELSE CASE WHEN "l" <= 1217 THEN 1 ELSE 2 END END
                ELSE CASE WHEN "l" <= 1722 THEN 3 ELSE CASE WHEN "l" <= 2048 THEN 4 ELSE 5 END END
              END
              ELSE CASE
                WHEN "l" <= 4096
                THEN CASE WHEN "l" <= 2896 THEN 6 ELSE CASE WHEN "l" <= 3444 THEN 7 ELSE 8 END END
                ELSE CASE
                  WHEN "l" <= 5792
                  THEN CASE WHEN "l" <= 4870 THEN 9 ELSE 10 END
                  ELSE CASE WHEN "l" <= 6888 THEN 11 ELSE 12 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 23170
              THEN CASE
                WHEN "l" <= 13777
                THEN CASE WHEN "l" <= 9741 THEN 13 ELSE CASE WHEN "l" <= 11585 THEN 14 ELSE 15 END END
                ELSE CASE WHEN "l" <= 16384 THEN 16 ELSE CASE WHEN "l" <= 19483 THEN 17 ELSE 18 END END
              END
              ELSE CASE
                WHEN "l" <= 38967
                THEN CASE WHEN "l" <= 27554 THEN 19 ELSE CASE WHEN "l" <= 32768 THEN 20 ELSE 21 END END
                ELSE CASE
                  WHEN "l" <= 55108
                  THEN CASE WHEN "l" <= 46340 THEN 22 ELSE 23 END
                  ELSE CASE WHEN "l" <= 65536 THEN 24 ELSE 25 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 741455
            THEN CASE
              WHEN "l" <= 220435
              THEN CASE
                WHEN "l" <= 131072
                THEN CASE WHEN "l" <= 92681 THEN 26 ELSE CASE WHEN "l" <= 110217 THEN 27 ELSE 28 END END
                ELSE CASE WHEN "l" <= 155871 THEN 29 ELSE CASE WHEN "l" <= 185363 THEN 30 ELSE 31 END END
              END
              ELSE CASE
                WHEN "l" <= 370727
                THEN CASE WHEN "l" <= 262144 THEN 32 ELSE CASE WHEN "l" <= 311743 THEN 33 ELSE 34 END END
                ELSE CASE
                  WHEN "l" <= 524288
                  THEN CASE WHEN "l" <= 440871 THEN 35 ELSE 36 END
                  ELSE CASE WHEN "l" <= 623487 THEN 37 ELSE 38 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 2097152
              THEN CASE
                WHEN "l" <= 1246974
                THEN CASE
                  WHEN "l" <= 881743
                  THEN 39
                  ELSE CASE WHEN "l" <= 1048576 THEN 40 ELSE 41 END
                END
                ELSE CASE
                  WHEN "l" <= 1482910
                  THEN 42
                  ELSE CASE WHEN "l" <= 1763487 THEN 43 ELSE 44 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3526975
                THEN CASE
                  WHEN "l" <= 2493948
                  THEN 45
                  ELSE CASE WHEN "l" <= 2965820 THEN 46 ELSE 47 END
                END
                ELSE CASE
                  WHEN "l" <= 4987896
                  THEN CASE WHEN "l" <= 4194304 THEN 48 ELSE 49 END
                  ELSE CASE WHEN "l" <= 5931641 THEN 50 ELSE 51 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 638450708
          THEN CASE
            WHEN "l" <= 67108864
            THEN CASE
              WHEN "l" <= 19951584
              THEN CASE
                WHEN "l" <= 11863283
                THEN CASE
                  WHEN "l" <= 8388608
                  THEN 52
                  ELSE CASE WHEN "l" <= 9975792 THEN 53 ELSE 54 END
                END
                ELSE CASE
                  WHEN "l" <= 14107900
                  THEN 55
                  ELSE CASE WHEN "l" <= 16777216 THEN 56 ELSE 57 END
                END
              END
              ELSE CASE
                WHEN "l" <= 33554432
                THEN CASE
                  WHEN "l" <= 23726566
                  THEN 58
                  ELSE CASE WHEN "l" <= 28215801 THEN 59 ELSE 60 END
                END
                ELSE CASE
                  WHEN "l" <= 47453132
                  THEN CASE WHEN "l" <= 39903169 THEN 61 ELSE 62 END
                  ELSE CASE WHEN "l" <= 56431603 THEN 63 ELSE 64 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 189812531
              THEN CASE
                WHEN "l" <= 112863206
                THEN CASE
                  WHEN "l" <= 79806338
                  THEN 65
                  ELSE CASE WHEN "l" <= 94906265 THEN 66 ELSE 67 END
                END
                ELSE CASE
                  WHEN "l" <= 134217728
                  THEN 68
                  ELSE CASE WHEN "l" <= 159612677 THEN 69 ELSE 70 END
                END
              END
              ELSE CASE
                WHEN "l" <= 319225354
                THEN CASE
                  WHEN "l" <= 225726412
                  THEN 71
                  ELSE CASE WHEN "l" <= 268435456 THEN 72 ELSE 73 END
                END
                ELSE CASE
                  WHEN "l" <= 451452825
                  THEN CASE WHEN "l" <= 379625062 THEN 74 ELSE 75 END
                  ELSE CASE WHEN "l" <= 536870912 THEN 76 ELSE 77 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 6074000999
            THEN CASE
              WHEN "l" <= 1805811301
              THEN CASE
                WHEN "l" <= 1073741824
                THEN CASE
                  WHEN "l" <= 759250124
                  THEN 78
                  ELSE CASE WHEN "l" <= 902905650 THEN 79 ELSE 80 END
                END
                ELSE CASE
                  WHEN "l" <= 1276901416
                  THEN 81
                  ELSE CASE WHEN "l" <= 1518500249 THEN 82 ELSE 83 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3037000499
                THEN CASE
                  WHEN "l" <= 2147483648
                  THEN 84
                  ELSE CASE WHEN "l" <= 2553802833 THEN 85 ELSE 86 END
                END
                ELSE CASE
                  WHEN "l" <= 4294967296
                  THEN CASE WHEN "l" <= 3611622602 THEN 87 ELSE 88 END
                  ELSE CASE WHEN "l" <= 5107605667 THEN 89 ELSE 90 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 20430422668
              THEN CASE
                WHEN "l" <= 10215211334
                THEN CASE
                  WHEN "l" <= 7223245205
                  THEN 91
                  ELSE CASE WHEN "l" <= 8589934592 THEN 92 ELSE 93 END
                END
                ELSE CASE
                  WHEN "l" <= 14446490411
                  THEN CASE WHEN "l" <= 12148001999 THEN 94 ELSE 95 END
                  ELSE CASE WHEN "l" <= 17179869184 THEN 96 ELSE 97 END
                END
              END
              ELSE CASE
                WHEN "l" <= 34359738368
                THEN CASE
                  WHEN "l" <= 24296003999
                  THEN 98
                  ELSE CASE WHEN "l" <= 28892980822 THEN 99 ELSE 100 END
                END
                ELSE CASE
                  WHEN "l" <= 48592007999
                  THEN CASE WHEN "l" <= 40860845336 THEN 101 ELSE 102 END
                  ELSE CASE WHEN "l" <= 57785961645 THEN 103 ELSE 104 END
                END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "l" <= 562949953421312
        THEN CASE
          WHEN "l" <= 6219777023950
          THEN CASE
            WHEN "l" <= 653773525389
            THEN CASE
              WHEN "l" <= 194368031998
              THEN CASE
                WHEN "l" <= 115571923290
                THEN CASE
                  WHEN "l" <= 81721690673
                  THEN 105
                  ELSE CASE WHEN "l" <= 97184015999 THEN 106 ELSE 107 END
                END
                ELSE CASE
                  WHEN "l" <= 137438953472
                  THEN 108
                  ELSE CASE WHEN "l" <= 163443381347 THEN 109 ELSE 110 END
                END
              END
              ELSE CASE
                WHEN "l" <= 326886762694
                THEN CASE
                  WHEN "l" <= 231143846581
                  THEN 111
                  ELSE CASE WHEN "l" <= 274877906944 THEN 112 ELSE 113 END
                END
                ELSE CASE
                  WHEN "l" <= 462287693163
                  THEN CASE WHEN "l" <= 388736063996 THEN 114 ELSE 115 END
                  ELSE CASE WHEN "l" <= 549755813888 THEN 116 ELSE 117 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 1849150772653
              THEN CASE
                WHEN "l" <= 1099511627776
                THEN CASE
                  WHEN "l" <= 777472127993
                  THEN 118
                  ELSE CASE WHEN "l" <= 924575386326 THEN 119 ELSE 120 END
                END
                ELSE CASE
                  WHEN "l" <= 1307547050779
                  THEN 121
                  ELSE CASE WHEN "l" <= 1554944255987 THEN 122 ELSE 123 END
                END
              END
              ELSE CASE
                WHEN "l" <= 3109888511975
                THEN CASE
                  WHEN "l" <= 2199023255552
                  THEN 124
                  ELSE CASE WHEN "l" <= 2615094101558 THEN 125 ELSE 126 END
                END
                ELSE CASE
                  WHEN "l" <= 4398046511104
                  THEN CASE WHEN "l" <= 3698301545306 THEN 127 ELSE 128 END
                  ELSE CASE WHEN "l" <= 5230188203117 THEN 129 ELSE 130 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 59172824724903
            THEN CASE
              WHEN "l" <= 17592186044416
              THEN CASE
                WHEN "l" <= 10460376406235
                THEN CASE
                  WHEN "l" <= 7396603090612
                  THEN 131
                  ELSE CASE WHEN "l" <= 8796093022208 THEN 132 ELSE 133 END
                END
                ELSE CASE
                  WHEN "l" <= 12439554047901
                  THEN 134
                  ELSE CASE WHEN "l" <= 14793206181225 THEN 135 ELSE 136 END
                END
              END
              ELSE CASE
                WHEN "l" <= 29586412362451
                THEN CASE
                  WHEN "l" <= 20920752812471
                  THEN 137
                  ELSE CASE WHEN "l" <= 24879108095803 THEN 138 ELSE 139 END
                END
                ELSE CASE
                  WHEN "l" <= 41841505624942
                  THEN CASE WHEN "l" <= 35184372088832 THEN 140 ELSE 141 END
                  ELSE CASE WHEN "l" <= 49758216191607 THEN 142 ELSE 143 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 167366022499768
              THEN CASE
                WHEN "l" <= 99516432383215
                THEN CASE
                  WHEN "l" <= 70368744177664
                  THEN 144
                  ELSE CASE WHEN "l" <= 83683011249884 THEN 145 ELSE 146 END
                END
                ELSE CASE
                  WHEN "l" <= 118345649449806
                  THEN 147
                  ELSE CASE WHEN "l" <= 140737488355328 THEN 148 ELSE 149 END
                END
              END
              ELSE CASE
                WHEN "l" <= 281474976710656
                THEN CASE
                  WHEN "l" <= 199032864766430
                  THEN 150
                  ELSE CASE WHEN "l" <= 236691298899613 THEN 151 ELSE 152 END
                END
                ELSE CASE
                  WHEN "l" <= 398065729532860
                  THEN CASE WHEN "l" <= 334732044999537 THEN 153 ELSE 154 END
                  ELSE CASE WHEN "l" <= 473382597799226 THEN 155 ELSE 156 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "l" <= 50952413380206144
          THEN CASE
            WHEN "l" <= 5355712719992592
            THEN CASE
              WHEN "l" <= 1592262918131442
              THEN CASE
                WHEN "l" <= 946765195598453
                THEN CASE
                  WHEN "l" <= 669464089999074
                  THEN 157
                  ELSE CASE WHEN "l" <= 796131459065721 THEN 158 ELSE 159 END
                END
                ELSE CASE
                  WHEN "l" <= 1125899906842624
                  THEN 160
                  ELSE CASE WHEN "l" <= 1338928179998148 THEN 161 ELSE 162 END
                END
              END
              ELSE CASE
                WHEN "l" <= 2677856359996296
                THEN CASE
                  WHEN "l" <= 1893530391196906
                  THEN 163
                  ELSE CASE WHEN "l" <= 2251799813685248 THEN 164 ELSE 165 END
                END
                ELSE CASE
                  WHEN "l" <= 3787060782393812
                  THEN CASE WHEN "l" <= 3184525836262884 THEN 166 ELSE 167 END
                  ELSE CASE WHEN "l" <= 4503599627370496 THEN 168 ELSE 169 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 15148243129575248
              THEN CASE
                WHEN "l" <= 9007199254740992
                THEN CASE
                  WHEN "l" <= 6369051672525768
                  THEN 170
                  ELSE CASE WHEN "l" <= 7574121564787624 THEN 171 ELSE 172 END
                END
                ELSE CASE
                  WHEN "l" <= 10711425439985184
                  THEN 173
                  ELSE CASE WHEN "l" <= 12738103345051536 THEN 174 ELSE 175 END
                END
              END
              ELSE CASE
                WHEN "l" <= 25476206690103072
                THEN CASE
                  WHEN "l" <= 18014398509481984
                  THEN 176
                  ELSE CASE WHEN "l" <= 21422850879970368 THEN 177 ELSE 178 END
                END
                ELSE CASE
                  WHEN "l" <= 36028797018963968
                  THEN CASE WHEN "l" <= 30296486259150496 THEN 179 ELSE 180 END
                  ELSE CASE WHEN "l" <= 42845701759940736 THEN 181 ELSE 182 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "l" <= 484743780146407936
            THEN CASE
              WHEN "l" <= 144115188075855872
              THEN CASE
                WHEN "l" <= 85691403519881472
                THEN CASE
                  WHEN "l" <= 60592972518300992
                  THEN 183
                  ELSE CASE WHEN "l" <= 72057594037927936 THEN 184 ELSE 185 END
                END
                ELSE CASE
                  WHEN "l" <= 101904826760412288
                  THEN 186
                  ELSE CASE WHEN "l" <= 121185945036601984 THEN 187 ELSE 188 END
                END
              END
              ELSE CASE
                WHEN "l" <= 242371890073203968
                THEN CASE
                  WHEN "l" <= 171382807039762944
                  THEN 189
                  ELSE CASE WHEN "l" <= 203809653520824576 THEN 190 ELSE 191 END
                END
                ELSE CASE
                  WHEN "l" <= 342765614079525888
                  THEN CASE WHEN "l" <= 288230376151711744 THEN 192 ELSE 193 END
                  ELSE CASE WHEN "l" <= 407619307041649152 THEN 194 ELSE 195 END
                END
              END
            END
            ELSE CASE
              WHEN "l" <= 1630477228166596608
              THEN CASE
                WHEN "l" <= 815238614083298304
                THEN CASE
                  WHEN "l" <= 576460752303423488
                  THEN 196
                  ELSE CASE WHEN "l" <= 685531228159051776 THEN 197 ELSE 198 END
                END
                ELSE CASE
                  WHEN "l" <= 1152921504606846976
                  THEN CASE WHEN "l" <= 969487560292815872 THEN 199 ELSE 200 END
                  ELSE CASE WHEN "l" <= 1371062456318103552 THEN 201 ELSE 202 END
                END
              END
              ELSE CASE
                WHEN "l" <= 2742124912636207104
                THEN CASE
                  WHEN "l" <= 1938975120585631744
                  THEN 203
                  ELSE CASE WHEN "l" <= 2305843009213693952 THEN 204 ELSE 205 END
                END
                ELSE CASE
                  WHEN "l" <= 3877950241171263488
                  THEN CASE WHEN "l" <= 3260954456333193216 THEN 206 ELSE 207 END
                  ELSE CASE WHEN "l" <= 4611686018427387904 THEN 208 ELSE 209 END
                END
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
JOIN "lengths"
  USING ("o0")
GROUP BY
  1,
  2,
  3
UNION ALL
SELECT
  NULL AS "k0",
  "i" + 1 AS "i",
  "b",
  COUNT(*) AS "n",
  CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS "s",
  0 AS "r"
FROM "lengths"
GROUP BY
  2,
  3;

SELECT DISTINCT
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS CHAR(15)) AS "o_orderpriority"
  FROM (VALUES
    ('1-URGENT'),
    ('5-LOW')) AS "v0"("v")
) AS "orders_1"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
ORDER BY
  1
LIMIT 100001;
