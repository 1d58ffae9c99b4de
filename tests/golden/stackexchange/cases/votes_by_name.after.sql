SELECT
  CAST("votes_0"."userid" AS BIGINT) AS "o0",
  CAST("posts_2"."owneruserid" AS BIGINT) AS "o1",
  CAST("votetypes_1"."name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."votes" AS "votes_0"
LEFT JOIN "public"."votetypes" AS "votetypes_1"
  ON "votes_0"."votetypeid" = "votetypes_1"."id"
LEFT JOIN "public"."posts" AS "posts_2"
  ON "votes_0"."postid" = "posts_2"."id"
WHERE
  "posts_2"."id" IS NOT NULL
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("votetypes_1"."name" AS TEXT) AS "k0"
FROM (
  SELECT
    "v0"."v" AS "there"
  FROM (VALUES
    (0),
    (1)) AS "v0"("v")
) AS "there"
LEFT JOIN "public"."votetypes" AS "votetypes_1"
  ON "there"."there" = 1
ORDER BY
  1
LIMIT 100001;
