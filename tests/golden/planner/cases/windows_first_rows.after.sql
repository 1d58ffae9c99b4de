SELECT
  CAST("t_0"."k2" AS BIGINT) AS "o0",
  CAST("t_0"."k1" AS TEXT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM (
  SELECT
    "orders_0"."o_orderstatus" AS "k1",
    "orders_0"."o_custkey" AS "k2",
    ROW_NUMBER() OVER (
      PARTITION BY "orders_0"."o_custkey"
      ORDER BY "orders_0"."o_orderdate" DESC, "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC, "orders_0"."o_orderkey" ASC
    ) AS "a3",
    "orders_0"."o_orderkey" AS "r1"
  FROM "public"."orders" AS "orders_0"
) AS "t_0"
WHERE
  "t_0"."a3" = 1 AND "t_0"."k1" IN ('F', 'O', 'P');

SELECT DISTINCT
  CAST("t_0"."k1" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS CHAR(1)) AS "k1"
  FROM (VALUES
    ('F'),
    ('O'),
    ('P')) AS "v0"("v")
) AS "t_0"
WHERE
  "t_0"."k1" IN ('F', 'O', 'P')
ORDER BY
  1
LIMIT 100001;
