SELECT
  CAST("badges_0"."userid" AS BIGINT) AS "o0",
  "badges_0"."tagbased" AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."badges" AS "badges_0";

SELECT
  CAST("badges_0"."userid" AS BIGINT) AS "o0",
  "badges_0"."tagbased" AS "k0",
  CAST("badges_0"."userid" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."badges" AS "badges_0"
GROUP BY
  1,
  2,
  3;
