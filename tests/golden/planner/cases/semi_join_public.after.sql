SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
WHERE
  EXISTS(
    SELECT
      1
    FROM "public"."nation" AS "nation_0_s0"
    INNER JOIN "public"."region" AS "region_1_s0"
      ON "nation_0_s0"."n_regionkey" = "region_1_s0"."r_regionkey"
    WHERE
      "customer_0"."c_nationkey" = "nation_0_s0"."n_nationkey"
      AND "region_1_s0"."r_name" = 'ASIA'
  )
GROUP BY
  1;
