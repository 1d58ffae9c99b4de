SELECT
  CAST("posts_2"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_3"."owneruserid" AS BIGINT) AS "o1",
  CAST("linktypes_1"."name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."postlinks" AS "postlinks_0"
INNER JOIN "public"."linktypes" AS "linktypes_1"
  ON "linktypes_1"."id" = "postlinks_0"."linktypeid"
LEFT JOIN "public"."posts" AS "posts_2"
  ON "postlinks_0"."postid" = "posts_2"."id"
LEFT JOIN "public"."posts" AS "posts_3"
  ON "postlinks_0"."relatedpostid" = "posts_3"."id"
WHERE
  "posts_2"."id" IS NOT NULL AND "posts_3"."id" IS NOT NULL
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("linktypes_1"."name" AS TEXT) AS "k0"
FROM "public"."linktypes" AS "linktypes_1"
ORDER BY
  1
LIMIT 100001;
