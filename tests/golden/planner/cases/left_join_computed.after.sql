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
    WHEN "w0" <= 1554944255987
    THEN CASE
      WHEN "w0" <= 379625062
      THEN CASE
        WHEN "w0" <= 524288
        THEN CASE
          WHEN "w0" <= 19483
          THEN CASE
            WHEN "w0" <= 4096
            THEN CASE
              WHEN "w0" <= 1722
              THEN CASE
                WHEN "w0" <= 1217
                THEN CASE WHEN "w0" <= 1024 THEN 0 ELSE 1 END
                ELSE CASE WHEN "w0" <= 1448 THEN 2 ELSE 3 END
              END
              ELSE CASE
                WHEN "w0" <= 2435
                THEN CASE WHEN "w0" <= 2048 THEN 4 ELSE 5 END
                ELSE CASE WHEN "w0" <= 2896 THEN 6 ELSE CASE WHEN "w0" <= 3444 THEN 7 ELSE 8 END END
              END
            END
            ELSE CASE
              WHEN "w0" <= 8192
              THEN CASE
                WHEN "w0" <= 5792
                THEN CASE WHEN "w0" <= 4870 THEN 9 ELSE 10 END
                ELSE CASE WHEN "w0" <= 6888 THEN 11 ELSE 12 END
              END
              ELSE CASE
                WHEN "w0" <= 11585
                THEN CASE WHEN "w0" <= 9741 THEN 13 ELSE 14 END
                ELSE CASE WHEN "w0" <= 13777 THEN 15 ELSE CASE WHEN "w0" <= 16384 THEN 16 ELSE 17 END END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 92681
            THEN CASE
              WHEN "w0" <= 38967
              THEN CASE
                WHEN "w0" <= 27554
                THEN CASE WHEN "w0" <= 23170 THEN 18 ELSE 19 END
                ELSE CASE WHEN "w0" <= 32768 THEN 20 ELSE 21 END
              END
              ELSE CASE
                WHEN "w0" <= 55108
                THEN CASE WHEN "w0" <= 46340 THEN 22 ELSE 23 END
                ELSE CASE WHEN "w0" <= 65536 THEN 24 ELSE CASE WHEN "w0" <= 77935 THEN 25 ELSE 26 END END
              END
            END
            ELSE CASE
              WHEN "w0" <= 220435
              THEN CASE
                WHEN "w0" <= 131072
                THEN CASE WHEN "w0" <= 110217 THEN 27 ELSE 28 END
                ELSE CASE
                  WHEN "w0" <= 155871
                  THEN 29
                  ELSE CASE WHEN "w0" <= 185363 THEN 30 ELSE 31 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 311743
                THEN CASE WHEN "w0" <= 262144 THEN 32 ELSE 33 END
                ELSE CASE
                  WHEN "w0" <= 370727
                  THEN 34
                  ELSE CASE WHEN "w0" <= 440871 THEN 35 ELSE 36 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 14107900
          THEN CASE
            WHEN "w0" <= 2493948
            THEN CASE
              WHEN "w0" <= 1048576
              THEN CASE
                WHEN "w0" <= 741455
                THEN CASE WHEN "w0" <= 623487 THEN 37 ELSE 38 END
                ELSE CASE WHEN "w0" <= 881743 THEN 39 ELSE 40 END
              END
              ELSE CASE
                WHEN "w0" <= 1482910
                THEN CASE WHEN "w0" <= 1246974 THEN 41 ELSE 42 END
                ELSE CASE
                  WHEN "w0" <= 1763487
                  THEN 43
                  ELSE CASE WHEN "w0" <= 2097152 THEN 44 ELSE 45 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 5931641
              THEN CASE
                WHEN "w0" <= 3526975
                THEN CASE WHEN "w0" <= 2965820 THEN 46 ELSE 47 END
                ELSE CASE
                  WHEN "w0" <= 4194304
                  THEN 48
                  ELSE CASE WHEN "w0" <= 4987896 THEN 49 ELSE 50 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 8388608
                THEN CASE WHEN "w0" <= 7053950 THEN 51 ELSE 52 END
                ELSE CASE
                  WHEN "w0" <= 9975792
                  THEN 53
                  ELSE CASE WHEN "w0" <= 11863283 THEN 54 ELSE 55 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 67108864
            THEN CASE
              WHEN "w0" <= 28215801
              THEN CASE
                WHEN "w0" <= 19951584
                THEN CASE WHEN "w0" <= 16777216 THEN 56 ELSE 57 END
                ELSE CASE WHEN "w0" <= 23726566 THEN 58 ELSE 59 END
              END
              ELSE CASE
                WHEN "w0" <= 39903169
                THEN CASE WHEN "w0" <= 33554432 THEN 60 ELSE 61 END
                ELSE CASE
                  WHEN "w0" <= 47453132
                  THEN 62
                  ELSE CASE WHEN "w0" <= 56431603 THEN 63 ELSE 64 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 159612677
              THEN CASE
                WHEN "w0" <= 94906265
                THEN CASE WHEN "w0" <= 79806338 THEN 65 ELSE 66 END
                ELSE CASE
                  WHEN "w0" <= 112863206
                  THEN 67
                  ELSE CASE WHEN "w0" <= 134217728 THEN 68 ELSE 69 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 225726412
                THEN CASE WHEN "w0" <= 189812531 THEN 70 ELSE 71 END
                ELSE CASE
                  WHEN "w0" <= 268435456
                  THEN 72
                  ELSE CASE WHEN "w0" <= 319225354 THEN 73 ELSE 74 END
                END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 40802189312
        THEN CASE
          WHEN "w0" <= 6074000999
          THEN CASE
            WHEN "w0" <= 1805811301
            THEN CASE
              WHEN "w0" <= 759250124
              THEN CASE
                WHEN "w0" <= 536870912
                THEN CASE WHEN "w0" <= 451452825 THEN 75 ELSE 76 END
                ELSE CASE WHEN "w0" <= 638450708 THEN 77 ELSE 78 END
              END
              ELSE CASE
                WHEN "w0" <= 1073741824
                THEN CASE WHEN "w0" <= 902905650 THEN 79 ELSE 80 END
                ELSE CASE
                  WHEN "w0" <= 1276901416
                  THEN 81
                  ELSE CASE WHEN "w0" <= 1518500249 THEN 82 ELSE 83 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 3221225472
              THEN CASE
                WHEN "w0" <= 2553802833
                THEN CASE WHEN "w0" <= 2147483648 THEN 84 ELSE 85 END
                ELSE CASE WHEN "w0" <= 3037000499 THEN 86 ELSE 87 END
              END
              ELSE CASE
                WHEN "w0" <= 4294967296
                THEN CASE WHEN "w0" <= 3611622602 THEN 88 ELSE 89 END
                ELSE CASE
                  WHEN "w0" <= 5107605667
                  THEN 90
                  ELSE CASE WHEN "w0" <= 5368709120 THEN 91 ELSE 92 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 13958643712
            THEN CASE
              WHEN "w0" <= 8589934592
              THEN CASE
                WHEN "w0" <= 7223245205
                THEN CASE WHEN "w0" <= 6442450944 THEN 93 ELSE 94 END
                ELSE CASE WHEN "w0" <= 7516192768 THEN 95 ELSE 96 END
              END
              ELSE CASE
                WHEN "w0" <= 10737418240
                THEN CASE WHEN "w0" <= 10215211334 THEN 97 ELSE 98 END
                ELSE CASE
                  WHEN "w0" <= 11811160064
                  THEN 99
                  ELSE CASE WHEN "w0" <= 12148001999 THEN 100 ELSE 101 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 24296003999
              THEN CASE
                WHEN "w0" <= 17179869184
                THEN CASE WHEN "w0" <= 14446490411 THEN 102 ELSE 103 END
                ELSE CASE
                  WHEN "w0" <= 20401094656
                  THEN 104
                  ELSE CASE WHEN "w0" <= 20430422668 THEN 105 ELSE 106 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 28892980822
                THEN CASE WHEN "w0" <= 24696061952 THEN 107 ELSE 108 END
                ELSE CASE
                  WHEN "w0" <= 28991029248
                  THEN 109
                  ELSE CASE WHEN "w0" <= 34359738368 THEN 110 ELSE 111 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 231143846581
          THEN CASE
            WHEN "w0" <= 97184015999
            THEN CASE
              WHEN "w0" <= 57785961645
              THEN CASE
                WHEN "w0" <= 48318382080
                THEN CASE WHEN "w0" <= 40860845336 THEN 112 ELSE 113 END
                ELSE CASE WHEN "w0" <= 48592007999 THEN 114 ELSE 115 END
              END
              ELSE CASE
                WHEN "w0" <= 68719476736
                THEN CASE WHEN "w0" <= 57982058496 THEN 116 ELSE 117 END
                ELSE CASE
                  WHEN "w0" <= 81604378624
                  THEN 118
                  ELSE CASE WHEN "w0" <= 81721690673 THEN 119 ELSE 120 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 163208757248
              THEN CASE
                WHEN "w0" <= 115571923290
                THEN CASE WHEN "w0" <= 97710505984 THEN 121 ELSE 122 END
                ELSE CASE
                  WHEN "w0" <= 115964116992
                  THEN 123
                  ELSE CASE WHEN "w0" <= 137438953472 THEN 124 ELSE 125 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 194347270144
                THEN CASE WHEN "w0" <= 163443381347 THEN 126 ELSE 127 END
                ELSE CASE
                  WHEN "w0" <= 194368031998
                  THEN 128
                  ELSE CASE WHEN "w0" <= 230854492160 THEN 129 ELSE 130 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 653773525389
            THEN CASE
              WHEN "w0" <= 388694540288
              THEN CASE
                WHEN "w0" <= 326417514496
                THEN CASE WHEN "w0" <= 274877906944 THEN 131 ELSE 132 END
                ELSE CASE WHEN "w0" <= 326886762694 THEN 133 ELSE 134 END
              END
              ELSE CASE
                WHEN "w0" <= 462287693163
                THEN CASE WHEN "w0" <= 388736063996 THEN 135 ELSE 136 END
                ELSE CASE
                  WHEN "w0" <= 462782726144
                  THEN 137
                  ELSE CASE WHEN "w0" <= 549755813888 THEN 138 ELSE 139 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 924575386326
              THEN CASE
                WHEN "w0" <= 777389080576
                THEN CASE WHEN "w0" <= 653908770816 THEN 140 ELSE 141 END
                ELSE CASE
                  WHEN "w0" <= 777472127993
                  THEN 142
                  ELSE CASE WHEN "w0" <= 924491710464 THEN 143 ELSE 144 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 1307547050779
                THEN CASE WHEN "w0" <= 1099511627776 THEN 145 ELSE 146 END
                ELSE CASE
                  WHEN "w0" <= 1307817541632
                  THEN 147
                  ELSE CASE WHEN "w0" <= 1554778161152 THEN 148 ELSE 149 END
                END
              END
            END
          END
        END
      END
    END
    ELSE CASE
      WHEN "w0" <= 2677856359996296
      THEN CASE
        WHEN "w0" <= 59172838178816
        THEN CASE
          WHEN "w0" <= 10460376406235
          THEN CASE
            WHEN "w0" <= 3698301545306
            THEN CASE
              WHEN "w0" <= 2614561341440
              THEN CASE
                WHEN "w0" <= 1849150772653
                THEN CASE WHEN "w0" <= 1848983420928 THEN 150 ELSE 151 END
                ELSE CASE WHEN "w0" <= 2199023255552 THEN 152 ELSE 153 END
              END
              ELSE CASE
                WHEN "w0" <= 3109556322304
                THEN CASE WHEN "w0" <= 2615094101558 THEN 154 ELSE 155 END
                ELSE CASE
                  WHEN "w0" <= 3109888511975
                  THEN 156
                  ELSE CASE WHEN "w0" <= 3697966841856 THEN 157 ELSE 158 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 6219777023950
              THEN CASE
                WHEN "w0" <= 5230188203117
                THEN CASE WHEN "w0" <= 4398046511104 THEN 159 ELSE 160 END
                ELSE CASE WHEN "w0" <= 5230196424704 THEN 161 ELSE 162 END
              END
              ELSE CASE
                WHEN "w0" <= 7396603090612
                THEN CASE WHEN "w0" <= 6220186386432 THEN 163 ELSE 164 END
                ELSE CASE
                  WHEN "w0" <= 7397007425536
                  THEN 165
                  ELSE CASE WHEN "w0" <= 8796093022208 THEN 166 ELSE 167 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 24878598062080
            THEN CASE
              WHEN "w0" <= 14792941109248
              THEN CASE
                WHEN "w0" <= 12439299031040
                THEN CASE WHEN "w0" <= 10460392849408 THEN 168 ELSE 169 END
                ELSE CASE WHEN "w0" <= 12439554047901 THEN 170 ELSE 171 END
              END
              ELSE CASE
                WHEN "w0" <= 17592186044416
                THEN CASE WHEN "w0" <= 14793206181225 THEN 172 ELSE 173 END
                ELSE CASE
                  WHEN "w0" <= 20920752812471
                  THEN 174
                  ELSE CASE WHEN "w0" <= 20920785698816 THEN 175 ELSE 176 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 41841505624942
              THEN CASE
                WHEN "w0" <= 29585882218496
                THEN CASE WHEN "w0" <= 24879108095803 THEN 177 ELSE 178 END
                ELSE CASE
                  WHEN "w0" <= 29586412362451
                  THEN 179
                  ELSE CASE WHEN "w0" <= 35184372088832 THEN 180 ELSE 181 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 49758216191607
                THEN CASE WHEN "w0" <= 41841571397632 THEN 182 ELSE 183 END
                ELSE CASE
                  WHEN "w0" <= 49758269865984
                  THEN 184
                  ELSE CASE WHEN "w0" <= 59172824724903 THEN 185 ELSE 186 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 398066158927872
          THEN CASE
            WHEN "w0" <= 167366022499768
            THEN CASE
              WHEN "w0" <= 99516432383215
              THEN CASE
                WHEN "w0" <= 83683011249884
                THEN CASE WHEN "w0" <= 70368744177664 THEN 187 ELSE 188 END
                ELSE CASE WHEN "w0" <= 83683142795264 THEN 189 ELSE 190 END
              END
              ELSE CASE
                WHEN "w0" <= 118345649449806
                THEN CASE WHEN "w0" <= 99516539731968 THEN 191 ELSE 192 END
                ELSE CASE
                  WHEN "w0" <= 118345676357632
                  THEN 193
                  ELSE CASE WHEN "w0" <= 140737488355328 THEN 194 ELSE 195 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 236691352715264
              THEN CASE
                WHEN "w0" <= 199032864766430
                THEN CASE WHEN "w0" <= 167366285590528 THEN 196 ELSE 197 END
                ELSE CASE
                  WHEN "w0" <= 199033079463936
                  THEN 198
                  ELSE CASE WHEN "w0" <= 236691298899613 THEN 199 ELSE 200 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 334732044999537
                THEN CASE WHEN "w0" <= 281474976710656 THEN 201 ELSE 202 END
                ELSE CASE
                  WHEN "w0" <= 334732571181056
                  THEN 203
                  ELSE CASE WHEN "w0" <= 398065729532860 THEN 204 ELSE 205 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 946765410861056
            THEN CASE
              WHEN "w0" <= 669464068620288
              THEN CASE
                WHEN "w0" <= 473382705430528
                THEN CASE WHEN "w0" <= 473382597799226 THEN 206 ELSE 207 END
                ELSE CASE WHEN "w0" <= 562949953421312 THEN 208 ELSE 209 END
              END
              ELSE CASE
                WHEN "w0" <= 796131244113920
                THEN CASE WHEN "w0" <= 669464089999074 THEN 210 ELSE 211 END
                ELSE CASE
                  WHEN "w0" <= 796131459065721
                  THEN 212
                  ELSE CASE WHEN "w0" <= 946765195598453 THEN 213 ELSE 214 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 1592262918131442
              THEN CASE
                WHEN "w0" <= 1338928137240576
                THEN CASE WHEN "w0" <= 1125899906842624 THEN 215 ELSE 216 END
                ELSE CASE
                  WHEN "w0" <= 1338928179998148
                  THEN 217
                  ELSE CASE WHEN "w0" <= 1592262488227840 THEN 218 ELSE 219 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 1893530821722112
                THEN CASE WHEN "w0" <= 1893530391196906 THEN 220 ELSE 221 END
                ELSE CASE
                  WHEN "w0" <= 2251799813685248
                  THEN 222
                  ELSE CASE WHEN "w0" <= 2677856274481152 THEN 223 ELSE 224 END
                END
              END
            END
          END
        END
      END
      ELSE CASE
        WHEN "w0" <= 121185944672927744
        THEN CASE
          WHEN "w0" <= 18014398509481984
          THEN CASE
            WHEN "w0" <= 6369052100395008
            THEN CASE
              WHEN "w0" <= 3787060782393812
              THEN CASE
                WHEN "w0" <= 3184526050197504
                THEN CASE WHEN "w0" <= 3184525836262884 THEN 225 ELSE 226 END
                ELSE CASE WHEN "w0" <= 3787060569702400 THEN 227 ELSE 228 END
              END
              ELSE CASE
                WHEN "w0" <= 5355712548962304
                THEN CASE WHEN "w0" <= 4503599627370496 THEN 229 ELSE 230 END
                ELSE CASE
                  WHEN "w0" <= 5355712719992592
                  THEN 231
                  ELSE CASE WHEN "w0" <= 6369051672525768 THEN 232 ELSE 233 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 10711425439985184
              THEN CASE
                WHEN "w0" <= 7574121564787624
                THEN CASE WHEN "w0" <= 7574121139404800 THEN 234 ELSE 235 END
                ELSE CASE
                  WHEN "w0" <= 9007199254740992
                  THEN 236
                  ELSE CASE WHEN "w0" <= 10711425097924608 THEN 237 ELSE 238 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 12738103345051536
                THEN CASE WHEN "w0" <= 12738103127048192 THEN 239 ELSE 240 END
                ELSE CASE
                  WHEN "w0" <= 15148243129575248
                  THEN 241
                  ELSE CASE WHEN "w0" <= 15148243352551424 THEN 242 ELSE 243 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 42845701759940736
            THEN CASE
              WHEN "w0" <= 25476206690103072
              THEN CASE
                WHEN "w0" <= 21422851269591040
                THEN CASE WHEN "w0" <= 21422850879970368 THEN 244 ELSE 245 END
                ELSE CASE WHEN "w0" <= 25476206254096384 THEN 246 ELSE 247 END
              END
              ELSE CASE
                WHEN "w0" <= 30296486705102848
                THEN CASE WHEN "w0" <= 30296486259150496 THEN 248 ELSE 249 END
                ELSE CASE
                  WHEN "w0" <= 36028797018963968
                  THEN 250
                  ELSE CASE WHEN "w0" <= 42845701465440256 THEN 251 ELSE 252 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 72057594037927936
              THEN CASE
                WHEN "w0" <= 50952413581934592
                THEN CASE WHEN "w0" <= 50952413380206144 THEN 253 ELSE 254 END
                ELSE CASE
                  WHEN "w0" <= 60592972336463872
                  THEN 255
                  ELSE CASE WHEN "w0" <= 60592972518300992 THEN 256 ELSE 257 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 85691404004622336
                THEN CASE WHEN "w0" <= 85691403519881472 THEN 258 ELSE 259 END
                ELSE CASE
                  WHEN "w0" <= 101904826760412288
                  THEN 260
                  ELSE CASE WHEN "w0" <= 101904827163869184 THEN 261 ELSE 262 END
                END
              END
            END
          END
        END
        ELSE CASE
          WHEN "w0" <= 815238614083298304
          THEN CASE
            WHEN "w0" <= 288230376151711744
            THEN CASE
              WHEN "w0" <= 171382807039762944
              THEN CASE
                WHEN "w0" <= 144115188075855872
                THEN CASE WHEN "w0" <= 121185945036601984 THEN 263 ELSE 264 END
                ELSE CASE WHEN "w0" <= 171382806935502848 THEN 265 ELSE 266 END
              END
              ELSE CASE
                WHEN "w0" <= 203809653520824576
                THEN CASE WHEN "w0" <= 203809653253996544 THEN 267 ELSE 268 END
                ELSE CASE
                  WHEN "w0" <= 242371890073203968
                  THEN 269
                  ELSE CASE WHEN "w0" <= 242371890419597312 THEN 270 ELSE 271 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 484743779765452800
              THEN CASE
                WHEN "w0" <= 342765614079525888
                THEN CASE WHEN "w0" <= 342765613871005696 THEN 272 ELSE 273 END
                ELSE CASE
                  WHEN "w0" <= 407619306507993088
                  THEN 274
                  ELSE CASE WHEN "w0" <= 407619307041649152 THEN 275 ELSE 276 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 576460752303423488
                THEN CASE WHEN "w0" <= 484743780146407936 THEN 277 ELSE 278 END
                ELSE CASE
                  WHEN "w0" <= 685531227742011392
                  THEN 279
                  ELSE CASE WHEN "w0" <= 685531228159051776 THEN 280 ELSE 281 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "w0" <= 1938975120135553024
            THEN CASE
              WHEN "w0" <= 1152921504606846976
              THEN CASE
                WHEN "w0" <= 969487560292815872
                THEN CASE WHEN "w0" <= 815238614089728000 THEN 282 ELSE 283 END
                ELSE CASE WHEN "w0" <= 969487560604647424 THEN 284 ELSE 285 END
              END
              ELSE CASE
                WHEN "w0" <= 1371062456557764608
                THEN CASE WHEN "w0" <= 1371062456318103552 THEN 286 ELSE 287 END
                ELSE CASE
                  WHEN "w0" <= 1630477228166596608
                  THEN 288
                  ELSE CASE WHEN "w0" <= 1630477228179456000 THEN 289 ELSE 290 END
                END
              END
            END
            ELSE CASE
              WHEN "w0" <= 3260954456333193216
              THEN CASE
                WHEN "w0" <= 2305843009213693952
                THEN CASE WHEN "w0" <= 1938975120585631744 THEN 291 ELSE 292 END
                ELSE CASE
                  WHEN "w0" <= 2742124912636207104
                  THEN 293
                  ELSE CASE WHEN "w0" <= 2742124913115529216 THEN 294 ELSE 295 END
                END
              END
              ELSE CASE
                WHEN "w0" <= 3877950241171263488
                THEN CASE WHEN "w0" <= 3260954456358912000 THEN 296 ELSE 297 END
                ELSE CASE
                  WHEN "w0" <= 3877950241344847872
                  THEN 298
                  ELSE CASE WHEN "w0" <= 4611686018427387904 THEN 299 ELSE 300 END
                END
              END
            END
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
