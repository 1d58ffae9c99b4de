"""Questions over the demonstration's public tables: nation, region and part."""

from __future__ import annotations

CASES = {
    "a constant": "SELECT 1",
    "constants": (
        "SELECT 1 + 2 * 3 AS seven, 'a' || 'b', NULL, TRUE AND NOT FALSE, DATE '2020-01-31' - DATE '2020-01-01'"
    ),
    "a constant where": "SELECT 1 WHERE 1 = 2",
    "a date and an interval": "SELECT DATE '2020-01-31' + INTERVAL '1' MONTH AS later",
    "one column": "SELECT n_name FROM nation ORDER BY 1",
    "every column": "SELECT * FROM region ORDER BY r_regionkey DESC",
    "a table's columns": (
        "SELECT r.* FROM nation JOIN region r ON n_regionkey = r_regionkey ORDER BY n_nationkey LIMIT 3"
    ),
    "schema-qualified": "SELECT public.nation.n_name FROM public.nation ORDER BY n_nationkey OFFSET 20",
    "quoted": 'SELECT "n_name" AS "A Name" FROM "nation" ORDER BY "A Name" LIMIT 3',
    "fetch": "SELECT n_name FROM nation ORDER BY n_nationkey OFFSET 2 FETCH FIRST 3 ROWS ONLY",
    "a count": "SELECT count(*) FROM part",
    "counts": "SELECT count(*), count(p_size), count(DISTINCT p_size), count(DISTINCT p_brand) FROM part",
    "no rows": "SELECT count(*), sum(p_size), avg(p_size), min(p_name) FROM part WHERE p_size < 0",
    "sums": "SELECT sum(p_size), sum(p_retailprice), sum(p_partkey), avg(p_size), avg(p_retailprice) FROM part",
    "extremes": "SELECT min(p_size), max(p_retailprice), min(p_name), max(p_type), max(p_partkey) FROM part",
    "distinct inside": "SELECT sum(DISTINCT p_size), avg(DISTINCT p_size), min(DISTINCT p_size) FROM part",
    "filters": "SELECT count(*) FILTER (WHERE p_size > 25), sum(p_size) FILTER (WHERE p_type LIKE '%TIN') FROM part",
    "arithmetic over aggregates": "SELECT sum(p_retailprice) / count(*), max(p_size) - min(p_size) + 1 FROM part",
    "whole quotient": (
        "SELECT sum(p_size) / count(*), p_size / 7, p_size % 7 FROM part GROUP BY p_size ORDER BY p_size"
    ),
    "groups": (
        "SELECT r_name, count(*) AS n FROM nation, region WHERE n_regionkey = r_regionkey GROUP BY r_name ORDER BY 1"
    ),
    "columns of a primary key": (
        "SELECT n_nationkey, upper(n_name) AS name, n.n_name || '!', count(r_name) AS c, max(r_name) FROM nation n "
        "LEFT JOIN region ON n_regionkey = r_regionkey GROUP BY n_nationkey HAVING length(n_comment) > 3 "
        "ORDER BY n_regionkey, n_name"
    ),
    "group by position": "SELECT p_size % 5 AS rest, count(*) FROM part GROUP BY 1 ORDER BY 1",
    "group by alias": "SELECT p_size / 10 AS decade, count(*) FROM part GROUP BY decade ORDER BY decade",
    "computed from a key": "SELECT (p_size + 1) * 2, count(*) + 1 FROM part GROUP BY p_size + 1 ORDER BY p_size + 1",
    "a key in a case": (
        "SELECT CASE WHEN p_size > 25 THEN 'large' ELSE 'small' END AS kind, sum(p_retailprice) FROM part "
        "GROUP BY CASE WHEN p_size > 25 THEN 'large' ELSE 'small' END ORDER BY kind"
    ),
    "having": "SELECT p_type FROM part GROUP BY p_type HAVING count(*) > 12 AND avg(p_size) > 20 ORDER BY p_type",
    "having alone": "SELECT count(*) FROM nation HAVING count(*) > 100",
    "sorted by an aggregate": "SELECT p_brand FROM part GROUP BY p_brand ORDER BY count(*) DESC, p_brand LIMIT 5",
    "sorted by what is not shown": "SELECT n_name FROM nation ORDER BY n_regionkey, n_nationkey DESC LIMIT 7",
    "nulls": "SELECT nullif(n_regionkey, 1) AS k, n_name FROM nation ORDER BY k DESC, n_name LIMIT 8",
    "nulls first": "SELECT nullif(n_regionkey, 1) AS k, n_name FROM nation ORDER BY k NULLS FIRST, n_name LIMIT 8",
    "distinct": "SELECT DISTINCT n_regionkey FROM nation ORDER BY n_regionkey",
    "operators of doubles": (
        "SELECT (x - 50) * 2, (x - 50) / 100, 1 - (x - 1), -(x - 50), -round(x), round(x) * 10, 100 - round(x), "
        "round(x / 25) * 25, (x - 50)::int AS i, round(x - 50), exp((x - 50) / 100), abs(x - 9) * 2, "
        "(x - 1)::numeric * 3 AS n, CASE WHEN (x - 50) * 2 > -80 THEN 1 ELSE 2 END, power(x - 3, 2) * 2, "
        "(x - 2)::real * 2 AS r "
        "FROM (SELECT n_nationkey + 0.75::float8 AS x FROM nation) AS t ORDER BY 1"
    ),
    "aggregates of operators of doubles": (
        "SELECT n_regionkey, avg((x - n_regionkey) / x), 100 * (sum(x) - sum(x / 2)) / sum(x), "
        "(max(x) - min(x)) / 2, sum((x - 50) * 2), count(*) FILTER (WHERE (x - 9) * 2 > 3), -avg(x - 1) * 2 "
        "FROM (SELECT n_regionkey, n_nationkey + 0.75::float8 AS x FROM nation) AS t GROUP BY 1 ORDER BY 1"
    ),
    "distinct groups": "SELECT DISTINCT count(*) FROM nation GROUP BY n_regionkey",
    "rows of a table": "SELECT count(n.*), count(n.*) FILTER (WHERE n_name LIKE 'A%') FROM nation n",
    "rows that an outer join finds": (
        "SELECT r_name, count(nation.*), count(*) FROM region LEFT JOIN nation ON r_regionkey = n_regionkey AND "
        "n_name LIKE 'A%' GROUP BY r_name ORDER BY r_name"
    ),
    "left join": (
        "SELECT r_name, count(n_nationkey) FROM region LEFT JOIN nation ON r_regionkey = n_regionkey AND "
        "n_name LIKE 'A%' GROUP BY r_name ORDER BY r_name"
    ),
    "right join": (
        "SELECT n_name, r_name FROM nation RIGHT JOIN region ON r_regionkey = n_regionkey AND n_nationkey < 5"
        " ORDER BY r_name, n_name"
    ),
    "full join": (
        "SELECT a.n_name, b.r_name FROM nation a FULL JOIN region b ON a.n_nationkey = b.r_regionkey + 22 "
        "ORDER BY 1, 2"
    ),
    "joins in parentheses": (
        "SELECT n_name FROM (nation JOIN region ON n_regionkey = r_regionkey) RIGHT JOIN part ON p_partkey = "
        "n_nationkey + 1 WHERE p_partkey <= 4 ORDER BY p_partkey"
    ),
    "self-join": (
        "SELECT count(*) FROM nation a JOIN nation b ON a.n_regionkey = b.n_regionkey AND a.n_nationkey < "
        "b.n_nationkey"
    ),
    "cross join": "SELECT count(*) FROM nation CROSS JOIN region",
    "using": (
        "SELECT n_regionkey, count(*) FROM nation a JOIN nation b USING (n_regionkey) GROUP BY n_regionkey ORDER BY 1"
    ),
    "natural join": "SELECT count(*) FROM region NATURAL JOIN (SELECT n_regionkey AS r_regionkey FROM nation) AS n",
    "a subquery that aggregates": (
        "SELECT max(c), min(c) FROM (SELECT n_regionkey, count(*) AS c FROM nation GROUP BY 1) AS q"
    ),
    "a subquery with a limit": "SELECT count(*) FROM (SELECT n_name FROM nation ORDER BY n_nationkey LIMIT 7) AS q",
    "a subquery sorted by what is hidden": (
        "SELECT min(n_name) FROM (SELECT n_name FROM nation ORDER BY n_regionkey, n_nationkey LIMIT 3 OFFSET 1) AS q"
    ),
    "column aliases": "SELECT x, y FROM (SELECT n_name, n_regionkey FROM nation) AS q(x, y) WHERE y = 2 ORDER BY x",
    "a cte": (
        "WITH sizes AS (SELECT p_size, count(*) AS c FROM part GROUP BY p_size) SELECT sum(c), max(c) FROM sizes"
    ),
    "ctes": (
        "WITH a AS (SELECT n_regionkey AS k FROM nation), b(k, c) AS (SELECT k, count(*) FROM a GROUP BY k) "
        "SELECT r_name, c FROM b JOIN region ON k = r_regionkey ORDER BY c DESC, r_name"
    ),
    "a cte named as a private table": "WITH customer AS (SELECT n_name FROM nation) SELECT count(*) FROM customer",
    "a cte named as a public table": "WITH nation AS (SELECT * FROM region) SELECT count(*) FROM nation",
    "in": (
        "SELECT r_name FROM region WHERE r_regionkey IN (SELECT n_regionkey FROM nation WHERE n_name < 'C') "
        "ORDER BY 1"
    ),
    "not in": (
        "SELECT r_name FROM region WHERE r_regionkey NOT IN (SELECT n_regionkey FROM nation WHERE n_name < "
        "'C') ORDER BY 1"
    ),
    "exists": (
        "SELECT r_name FROM region r WHERE EXISTS (SELECT 1 FROM nation n WHERE n.n_regionkey = r.r_regionkey"
        " AND n.n_name LIKE 'U%') ORDER BY r_name"
    ),
    "not exists": (
        "SELECT r_name FROM region WHERE NOT EXISTS (SELECT * FROM nation WHERE n_regionkey = r_regionkey AND"
        " n_name LIKE 'U%') ORDER BY r_name"
    ),
    "a subquery as a value": (
        "SELECT r_name, (SELECT max(n_name) FROM nation WHERE n_regionkey = r_regionkey) FROM region ORDER BY r_name"
    ),
    "a subquery in a condition": (
        "SELECT count(*) FROM part WHERE p_retailprice > (SELECT avg(p_retailprice) FROM part)"
    ),
    "a subquery over groups": (
        "SELECT n_regionkey, (SELECT r_name FROM region WHERE r_regionkey = n_regionkey) FROM nation GROUP BY"
        " n_regionkey ORDER BY n_regionkey"
    ),
    "union": "SELECT n_regionkey FROM nation UNION SELECT 7 ORDER BY 1 DESC",
    "union all": "SELECT r_name AS name FROM region UNION ALL SELECT n_name FROM nation ORDER BY name LIMIT 9",
    "union of types": (
        "SELECT n_nationkey FROM nation WHERE n_nationkey < 3 UNION ALL SELECT p_retailprice FROM part WHERE "
        "p_partkey < 3 UNION ALL SELECT 0.5 ORDER BY 1"
    ),
    "intersect": "SELECT n_nationkey FROM nation INTERSECT SELECT p_size FROM part ORDER BY 1",
    "except": "(SELECT n_nationkey FROM nation) EXCEPT SELECT r_regionkey FROM region ORDER BY 1 LIMIT 5",
    "union in from": "SELECT count(*) FROM (SELECT n_name FROM nation UNION SELECT r_name FROM region) AS q(name)",
    "texts": (
        "SELECT upper(left(n_name, 3)) || '-' || length(n_name)::text, position('A' IN n_name) AS a, "
        "trim(n_name) AS b FROM nation ORDER BY n_nationkey LIMIT 5"
    ),
    "char without its padding": "SELECT p_brand, count(*) FROM part WHERE p_brand = 'Brand#11' GROUP BY p_brand",
    "numbers": (
        "SELECT round(p_retailprice, 1), floor(p_retailprice), abs(-p_size), sign(p_size), p_retailprice * "
        "1.1, mod(p_size, 4) AS m, -p_retailprice FROM part ORDER BY p_partkey LIMIT 9"
    ),
    "doubles": (
        "SELECT sqrt(p_size), ln(p_size), exp(p_size / 10.0), power(p_size, 2) AS p, p_size::float8 / 3 FROM "
        "part ORDER BY p_partkey LIMIT 9"
    ),
    "choices": (
        "SELECT coalesce(nullif(n_regionkey, 2), 9), greatest(n_regionkey, 2), least(n_nationkey, 3.5) FROM "
        "nation ORDER BY n_nationkey"
    ),
    "conditions": (
        "SELECT count(*) FROM part WHERE p_size BETWEEN 3 AND 30 AND p_type NOT LIKE '%TIN' AND p_brand IN "
        "('Brand#11', 'Brand#23') OR p_size IS NULL"
    ),
}
"""By name; every answer is in a known order or has one row."""
