SELECT
  CAST("badges_0"."userid" AS BIGINT) AS "o0",
  CAST("badges_0"."class" AS BIGINT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."badges" AS "badges_0";
