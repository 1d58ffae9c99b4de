"""A clinic with views as people write them, and the questions that are asked of them."""

from __future__ import annotations

from planner.policy.policy import parse_policy

TABLES = (
    "CREATE TYPE state AS ENUM ('waiting', 'in', 'done')",
    "CREATE TABLE ward (id bigint PRIMARY KEY, name varchar(20) NOT NULL, beds integer NOT NULL)",
    "CREATE TABLE patient (id bigint PRIMARY KEY, born date NOT NULL, sex char(1) NOT NULL, town varchar(30))",
    """CREATE TABLE visit (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient,
       ward bigint NOT NULL REFERENCES ward, state state NOT NULL, started timestamp NOT NULL, cost numeric(10,2))""",
    """CREATE TABLE lab (id bigint PRIMARY KEY, visit bigint NOT NULL REFERENCES visit, kind varchar(10) NOT NULL,
       value double precision)""",
    "CREATE TABLE secret (id bigint PRIMARY KEY, patient bigint NOT NULL)",
)
ROWS = (
    "INSERT INTO ward SELECT i, 'ward ' || i, i * 3 FROM generate_series(1, 4) i",
    """INSERT INTO patient SELECT i, date '1940-01-01' + i * 517, CASE WHEN i % 3 = 0 THEN 'm' ELSE 'f' END,
       CASE WHEN i % 5 <> 0 THEN (ARRAY['Ulm', 'Bonn', 'Kiel'])[1 + i % 3] END FROM generate_series(1, 40) i""",
    """INSERT INTO visit SELECT i, 1 + (i * 7) % 40, 1 + i % 4, (ARRAY['waiting', 'in', 'done']::state[])[1 + i % 3],
       timestamp '2024-01-01' + i * interval '31 hours', CASE WHEN i % 11 <> 0 THEN i * 1.75 END
       FROM generate_series(1, 150) i""",
    """INSERT INTO lab SELECT i, 1 + i % 150, (ARRAY['hb', 'crp', 'na'])[1 + i % 3],
       CASE WHEN i % 7 <> 0 THEN i / 4.0 END
       FROM generate_series(1, 400) i""",
    "INSERT INTO secret SELECT i, i FROM generate_series(1, 10) i",
)
VIEWS = {
    "renamed": "SELECT id AS visit_id, patient AS who, cost AS price, state, ward FROM visit",
    "dear": "SELECT * FROM visit WHERE cost > 100 AND state IN ('in', 'done')",
    "with_people": """SELECT v.id, p.id AS person, p.sex, p.town, v.cost, v.ward AS ward_id, w.name AS ward_name
        FROM visit v JOIN patient p ON p.id = v.patient JOIN ward w ON w.id = v.ward
        WHERE p.town IN ('Ulm', 'Bonn') OR p.town LIKE 'K%'""",
    "of_results": """SELECT l.*, v.patient AS owner_of_it, v.cost FROM lab l, visit v
        WHERE l.visit = v.id AND l.kind NOT IN ('na') AND l.value > -5 AND l.value >= 1.5""",
    "chained": "SELECT person, cost * 2 AS twice, upper(ward_name) AS ward_name FROM with_people WHERE sex = 'f'",
    "optional": "SELECT v.id, v.cost, w.name FROM visit v LEFT JOIN ward w ON w.id = v.ward AND w.beds > 5",
    "parted": """WITH late AS (SELECT * FROM visit WHERE started >= '2024-03-01' AND started < date '2024-03-01' + 90)
        SELECT late.id, late.cost, coalesce(late.cost, 0) AS known, left(p.town, 2) AS place,
               CASE WHEN late.state = 'done' THEN 1 ELSE 0 END AS done, extract(year FROM late.started)::int AS year
        FROM late JOIN patient p ON late.patient = p.id WHERE substring(p.town, 1, 1) <> 'X' OR p.town IS NULL""",
    "natural_pair": "SELECT count_me, id FROM (SELECT id AS count_me, visit AS id FROM lab) l JOIN visit USING (id)",
    "wards": "SELECT id, name, beds FROM ward WHERE beds > 3",
    "ward_sizes": "SELECT beds / 3 AS size, count(*) AS n FROM ward GROUP BY beds / 3",
    "per_ward": "SELECT ward, count(*) AS n FROM visit GROUP BY ward",
    "towns": "SELECT DISTINCT town FROM patient",
    "either": "SELECT id FROM visit UNION ALL SELECT id FROM lab",
    "latest": "SELECT id FROM visit ORDER BY started DESC LIMIT 5",
    "ranked": "SELECT id, row_number() OVER (ORDER BY cost) AS rank FROM visit",
    "shouted": "SELECT id, md5(town) AS hash FROM patient",
    "over_per_ward": "SELECT n FROM per_ward",
    "shares": """SELECT ward, count(*) * 100 / sum(count(*)) OVER () AS percent FROM visit GROUP BY ward
        UNION ALL SELECT NULL, count(*) FROM visit""",
    "town_ranks": "SELECT town, rank() OVER (ORDER BY count(*) DESC) AS place FROM patient GROUP BY town",
    "leaking": "SELECT v.id FROM visit v JOIN secret s ON s.patient = v.patient",
    "catalogs": "SELECT c.relname, v.id FROM visit v JOIN pg_class c ON c.relpages = v.id",
}
SHOWN = ("chained", "dear", "natural_pair", "of_results", "optional", "over_per_ward", "parted", "per_ward",
         "renamed", "shares", "town_ranks", "towns", "ward_sizes", "wards", "with_people")  # fmt: skip
MATERIALIZED = "CREATE MATERIALIZED VIEW ward_costs AS SELECT ward, sum(cost) AS total FROM visit GROUP BY ward"
REFUSED = {
    "either": "UNION is not supported", "latest": "LIMIT inside FROM is not supported",
    "ranked": "a window function is not supported", "shouted": "the function md5 is not supported",
    "catalogs": "it reads a relation without a schema", "ward_costs": "it is materialized",
}  # fmt: skip
ANSWERS = {
    "per_ward": "the view 'per_ward' is an aggregate answer, not a table of private rows: GROUP BY",
    "over_per_ward": "the view 'per_ward' is an aggregate answer, not a table of private rows: GROUP BY",
    "towns": "the view 'towns' is an aggregate answer, not a table of private rows: DISTINCT",
}
"""Views that are questions of their own, and what is said where more than their rows is asked for."""

TEXT = """
name = "clinic"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
unbounded_joins = true
[privacy_units]
patient = "id"
[tables.ward]
public = true
[tables.patient]
[tables.patient.columns]
town = { domain = ["Ulm", "Bonn", "Kiel"] }
sex = { domain = ["f", "m"] }
[tables.visit.columns]
cost = { range = [0, 300] }
[tables.lab.columns]
value = { range = [0, 100] }
kind = { domain = ["hb", "crp", "na"] }
"""
POLICY = parse_policy(TEXT)

QUESTIONS = {
    "a count": ("SELECT count(*) FROM dear", "SELECT count(*) FROM visit WHERE cost > 100 AND state <> 'waiting'"),
    "a name": (
        "SELECT sum(r.price), count(r.who) FROM public.renamed AS r WHERE r.visit_id > 20",
        "SELECT sum(cost), count(patient) FROM visit WHERE id > 20",
    ),
    "a schema": (
        'SELECT count("public"."dear"."id") FROM "public"."dear" WHERE "public"."dear"."ward" = 2',
        "SELECT count(id) FROM visit WHERE cost > 100 AND state <> 'waiting' AND ward = 2",
    ),
    "aliases": ("SELECT sum(c) FROM renamed AS x(a, b, c)", "SELECT sum(cost) FROM visit"),
    "a join": (
        "SELECT ward_name, count(*), sum(cost) FROM with_people GROUP BY ward_name",
        """SELECT w.name, count(*), sum(v.cost)
           FROM visit v JOIN patient p ON p.id = v.patient JOIN ward w ON w.id = v.ward
           WHERE p.town IN ('Ulm', 'Bonn', 'Kiel') GROUP BY w.name""",
    ),
    "a key of a view": (
        "SELECT sex, count(*) FROM with_people WHERE town IN ('Ulm', 'Kiel') GROUP BY sex",
        """SELECT p.sex, count(*) FROM visit v JOIN patient p ON p.id = v.patient JOIN ward w ON w.id = v.ward
           WHERE p.town IN ('Ulm', 'Kiel') GROUP BY p.sex""",
    ),
    "people": (
        "SELECT count(DISTINCT person) FROM with_people",
        """SELECT count(DISTINCT p.id) FROM visit v JOIN patient p ON p.id = v.patient JOIN ward w ON w.id = v.ward
           WHERE p.town IN ('Ulm', 'Bonn', 'Kiel')""",
    ),
    "results": (
        "SELECT kind, count(*), sum(value) FROM of_results WHERE cost > 50 GROUP BY kind",
        """SELECT l.kind, count(*), sum(l.value) FROM lab l JOIN visit v ON l.visit = v.id
           WHERE l.kind <> 'na' AND l.value >= 1.5 AND v.cost > 50 GROUP BY l.kind""",
    ),
    "a view of a view": (
        "SELECT sum(twice), count(*) FROM chained WHERE ward_name = 'WARD 2'",
        """SELECT sum(v.cost * 2), count(*)
           FROM visit v JOIN patient p ON p.id = v.patient JOIN ward w ON w.id = v.ward
           WHERE p.town IN ('Ulm', 'Bonn', 'Kiel') AND p.sex = 'f' AND upper(w.name) = 'WARD 2'""",
    ),
    "beside a table": (
        """SELECT count(*) FROM lab l JOIN dear d ON l.visit = d.id
           JOIN patient ON patient.id = d.patient WHERE sex = 'm'""",
        """SELECT count(*) FROM lab l JOIN visit d ON l.visit = d.id JOIN patient p ON p.id = d.patient
           WHERE d.cost > 100 AND d.state <> 'waiting' AND p.sex = 'm'""",
    ),
    "beside a view": (
        "SELECT count(*) FROM of_results r JOIN renamed n ON r.visit = n.visit_id WHERE n.state = 'done'",
        """SELECT count(*) FROM lab l JOIN visit v ON l.visit = v.id JOIN visit n ON l.visit = n.id
           WHERE l.kind <> 'na' AND l.value >= 1.5 AND n.state = 'done'""",
    ),
    "by USING": (
        "SELECT count(*) FROM dear JOIN optional USING (id)",
        "SELECT count(*) FROM visit d JOIN visit v ON d.id = v.id WHERE d.cost > 100 AND d.state <> 'waiting'",
    ),
    "beside itself": (
        "SELECT count(*) FROM dear a JOIN dear b ON a.patient = b.patient",
        """SELECT count(*) FROM visit a JOIN visit b ON a.patient = b.patient
           WHERE a.cost > 100 AND a.state <> 'waiting' AND b.cost > 100 AND b.state <> 'waiting'""",
    ),
    "optional rows": ("SELECT count(name), sum(cost) FROM optional", """SELECT count(w.name), sum(v.cost) FROM visit v
           LEFT JOIN ward w ON w.id = v.ward AND w.beds > 5"""),
    "a CTE of its own": (
        "SELECT sum(known), sum(done), count(place) FROM parted WHERE year = 2024",
        """SELECT sum(coalesce(v.cost, 0)), sum(CASE WHEN v.state = 'done' THEN 1 ELSE 0 END), count(p.town)
           FROM visit v JOIN patient p ON p.id = v.patient
           WHERE v.started >= '2024-03-01' AND v.started < timestamp '2024-05-30'""",
    ),
    "behind a CTE of its tables' name": (
        "WITH visit AS (SELECT * FROM lab) SELECT count(*) FROM dear",
        "SELECT count(*) FROM visit WHERE cost > 100 AND state <> 'waiting'",
    ),
    "in a CTE": (
        "WITH d AS (SELECT * FROM dear WHERE ward = 1) SELECT count(*) FROM d",
        "SELECT count(*) FROM visit WHERE cost > 100 AND state <> 'waiting' AND ward = 1",
    ),
    "a subquery renamed": ("SELECT count(count_me) FROM natural_pair", "SELECT count(*) FROM lab"),
    "a public view beside": (
        "SELECT w.name, count(*) FROM visit JOIN wards w ON w.id = visit.ward GROUP BY w.name",
        "SELECT w.name, count(*) FROM visit JOIN ward w ON w.id = visit.ward WHERE w.beds > 3 GROUP BY w.name",
    ),
    "a public view optional": (
        "SELECT count(w.name) FROM visit LEFT JOIN wards w ON w.id = visit.ward",
        "SELECT count(w.name) FROM visit LEFT JOIN ward w ON w.id = visit.ward AND w.beds > 3",
    ),
    "rows of an answer": (
        "SELECT * FROM per_ward WHERE n > 3 ORDER BY ward DESC LIMIT 2",
        "SELECT ward, count(*) AS n FROM visit GROUP BY ward HAVING count(*) > 3 ORDER BY ward DESC LIMIT 2",
    ),
    "a row of a view": (
        "SELECT count(v.*) FROM dear v",
        "SELECT count(*) FROM visit WHERE cost > 100 AND state <> 'waiting'",
    ),
}  # fmt: skip
"""A question over views, and the same over the tables behind them."""

PUBLIC = {
    "SELECT name, beds FROM wards ORDER BY beds": [("ward 2", 6), ("ward 3", 9), ("ward 4", 12)],
    "SELECT sum(n) FROM ward_sizes WHERE size > 1": [(3,)],
    "SELECT max(s.size) FROM ward_sizes s JOIN public.wards ON wards.beds = s.size * 3 WHERE public.wards.id > 1": [
        (4,)
    ],
    "SELECT name FROM ward WHERE id IN (SELECT id FROM wards WHERE beds < 9)": [("ward 2",)],
}  # fmt: skip
