"""A shop as charting tools know it from their own samples: people, products, orders with time zones, reviews."""

from __future__ import annotations

from pathlib import Path

import psycopg

from server.backends.embedded import EmbeddedPostgres
from server.demo.database import ROLE
from server.demo.workplace import Demonstration

NAME = "shop"
PEOPLE, ORDERS, PRODUCTS = 1_500, 9_000, 60
VERSION = "noisegate shop 3"
"""Of what is loaded: raise it when the tables change."""

TABLES = f"""
    SET TIME ZONE 'UTC';
    CREATE TABLE people (
        id bigint PRIMARY KEY, name text NOT NULL, email text, state character varying(2) NOT NULL,
        source text NOT NULL, birth_date date NOT NULL, created_at timestamp with time zone NOT NULL,
        latitude double precision, longitude double precision
    );
    CREATE TABLE products (
        id bigint PRIMARY KEY, title text NOT NULL, category text NOT NULL, vendor text,
        price double precision NOT NULL,
        rating double precision NOT NULL, created_at timestamp with time zone NOT NULL
    );
    CREATE TABLE orders (
        id bigint PRIMARY KEY, user_id bigint NOT NULL REFERENCES people,
        product_id bigint NOT NULL REFERENCES products,
        subtotal numeric(10, 2) NOT NULL, tax double precision NOT NULL, total double precision NOT NULL,
        discount double precision, quantity integer NOT NULL, paid boolean NOT NULL, token uuid NOT NULL,
        created_at timestamp with time zone NOT NULL, shipped_at timestamp without time zone, day date NOT NULL
    );
    INSERT INTO people SELECT i, 'Person ' || i, 'p' || i || '@example.org',
        (ARRAY['CA','NY','TX','WA','FL'])[1 + i % 5],
        (ARRAY['Google','Twitter','Organic','Affiliate','Facebook'])[1 + i % 7 % 5],
        DATE '1950-01-01' + i * 13 % 18000,
        TIMESTAMPTZ '2022-01-01 00:00:00+00' + i * 17 % 900 * INTERVAL '1 day', 25 + i % 24, -120 + i % 45
        FROM generate_series(1, {PEOPLE}) t(i);
    INSERT INTO products SELECT i, 'Product ' || i, (ARRAY['Gadget','Gizmo','Widget','Doohickey'])[1 + i % 4],
        'Vendor ' || i % 9, 10 + i, 1 + i % 5, TIMESTAMPTZ '2021-01-01 00:00:00+00' + i * INTERVAL '1 day'
        FROM generate_series(1, {PRODUCTS}) t(i);
    INSERT INTO orders SELECT i, 1 + i % {PEOPLE}, 1 + i % {PRODUCTS}, 10 + i % 90, (10 + i % 90) * 0.07,
        (10 + i % 90) * 1.07, CASE WHEN i % 3 = 0 THEN i % 10 END, 1 + i % 9, i % 4 > 0,
        ('00000000-0000-0000-0000-' || lpad(to_hex(i), 12, '0'))::uuid,
        TIMESTAMPTZ '2022-01-01 00:00:00+00' + i * 7 % 1090 * INTERVAL '1 day' + i % 1440 * INTERVAL '1 minute',
        TIMESTAMP '2022-01-02 00:00:00' + i * 7 % 1090 * INTERVAL '1 day', DATE '2022-01-01' + i * 7 % 1090
        FROM generate_series(1, {ORDERS}) t(i);
    CREATE VIEW orders_by_place AS
        SELECT o.id, o.total, p.state, p.source FROM orders o JOIN people p ON o.user_id = p.id;
    CREATE VIEW well_rated AS SELECT id, title, rating FROM products WHERE rating >= 4;
    CREATE VIEW people_per_state AS SELECT state, count(*) AS n FROM people GROUP BY state;
    CREATE VIEW hashed_people AS SELECT id, md5(email) AS hash FROM people;
"""
"""The views can be asked, as what they read can, but for the last."""

POLICY = f"""
name = "{NAME}"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 4.0
delta = 0.0
global_sensitivity = 1048576
answer_quantum = 0
[privacy_units]
people = "id"
[tables.products]
public = true
[tables.products.columns]
rating = {{ range = [1, 5] }}
price = {{ range = [0, 100] }}
[tables.people.columns]
state = {{ domain = ["CA", "FL", "NY", "TX", "WA"] }}
source = {{ domain = ["Affiliate", "Facebook", "Google", "Organic", "Twitter"] }}
birth_date = {{ range = [1950-01-01, 2010-12-31] }}
created_at = {{ range = [2022-01-01, 2024-12-31] }}
latitude = {{ range = [20, 50] }}
longitude = {{ range = [-130, -60] }}
[tables.orders.columns]
subtotal = {{ range = [0, 100] }}
tax = {{ range = [0, 10] }}
total = {{ range = [0, 120] }}
discount = {{ range = [0, 10] }}
quantity = {{ range = [1, 10] }}
paid = {{}}
created_at = {{ range = [2022-01-01, 2024-12-31] }}
shipped_at = {{ range = [2022-01-01, 2024-12-31] }}
day = {{ range = [2022-01-01, 2024-12-31] }}
"""


def shop_demonstration(folder: Path, server: EmbeddedPostgres) -> Demonstration:
    """The shop in a database of the server, loaded once, and its policy in the folder."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        comment = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
        known = connection.execute(comment, (_DATABASE,)).fetchone()
        if known != (VERSION,):
            connection.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {_DATABASE}".encode())
            with psycopg.connect(server.url(database=_DATABASE)) as loading:
                loading.execute(TABLES.encode())
                role = f"CREATE ROLE {ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL;"
                loading.execute(f"DO $$ BEGIN {role} END $$".encode())
                loading.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}".encode())
            connection.execute(f"COMMENT ON DATABASE {_DATABASE} IS '{VERSION}'".encode())
    made = Demonstration(folder, server, server.url(database=_DATABASE), server.url(ROLE, _DATABASE))
    made.policy.write_text(POLICY)
    return made


_DATABASE = "shop_data"
"""Another name than the policy's, which the catalog's database has on the same server."""
