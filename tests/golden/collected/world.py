"""The tables that the statements are written for: a shop, a university, a clinic and a census, with dirt in them.

Everything follows from row numbers, in words that PostgreSQL and DuckDB both read. Orders without a customer, visits
of nobody, unknown cities, spellings of one town, stays that have not ended and negative delays are there on purpose.
"""

from __future__ import annotations

TABLES = (
    "CREATE TABLE categories (category_id int PRIMARY KEY, category_name text NOT NULL)",
    "CREATE TABLE products (product_id int PRIMARY KEY, product_name text NOT NULL, category_id int NOT NULL "
    "REFERENCES categories, brand text NOT NULL, unit_price numeric(8, 2) NOT NULL, discontinued boolean NOT NULL)",
    "CREATE TABLE customers (customer_id int PRIMARY KEY, name text NOT NULL, email text, country text NOT NULL, "
    "city text, birth_date date, signed_up_at timestamp NOT NULL, plan text, referrer_id int)",
    "CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int REFERENCES customers, order_date date NOT NULL, "
    "shipped_date date, status text, payment_method text NOT NULL, channel text NOT NULL, ship_country text, "
    "freight numeric(8, 2) NOT NULL)",
    "CREATE TABLE order_items (order_id int NOT NULL REFERENCES orders, line_number int NOT NULL, "
    "product_id int NOT NULL REFERENCES products, quantity int NOT NULL, unit_price numeric(8, 2) NOT NULL, "
    "discount numeric(3, 2) NOT NULL, PRIMARY KEY (order_id, line_number))",
    "CREATE TABLE payments (payment_id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, "
    "method text NOT NULL, amount numeric(8, 2) NOT NULL)",
    "CREATE TABLE events (event_id int PRIMARY KEY, customer_id int REFERENCES customers, "
    "occurred_at timestamp NOT NULL, event_type text NOT NULL, page text, device text NOT NULL, source text, "
    "session_id text NOT NULL, duration_ms int)",
    "CREATE TABLE assignments (customer_id int NOT NULL REFERENCES customers, experiment text NOT NULL, "
    "variant text NOT NULL, assigned_on date NOT NULL, converted boolean NOT NULL, "
    "PRIMARY KEY (customer_id, experiment))",
    "CREATE TABLE reviews (review_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, "
    "product_id int NOT NULL REFERENCES products, rating int NOT NULL, reviewed_on date NOT NULL)",
    "CREATE TABLE departments (department_id int PRIMARY KEY, department_name text NOT NULL)",
    "CREATE TABLE jobs (job_id text PRIMARY KEY, job_title text NOT NULL)",
    "CREATE TABLE employees (employee_id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, "
    "email text NOT NULL, hire_date date NOT NULL, job_id text NOT NULL REFERENCES jobs, "
    "salary numeric(8, 2) NOT NULL, commission_pct numeric(2, 2), manager_id int, "
    "department_id int REFERENCES departments)",
    "CREATE TABLE students (student_id int PRIMARY KEY, name text NOT NULL, gender text, age int NOT NULL, "
    "department_id int NOT NULL REFERENCES departments)",
    "CREATE TABLE courses (course_id int PRIMARY KEY, course_name text NOT NULL, credits int NOT NULL)",
    "CREATE TABLE enrollments (student_id int NOT NULL REFERENCES students, course_id int NOT NULL "
    "REFERENCES courses, term text NOT NULL, score numeric(4, 1), grade text, PRIMARY KEY (student_id, course_id))",
    "CREATE TABLE patients (patient_id int PRIMARY KEY, name text NOT NULL, gender text NOT NULL, "
    "birth_date date NOT NULL, city text)",
    "CREATE TABLE admissions (admission_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, "
    "admitted_on date NOT NULL, discharged_on date, department text NOT NULL, diagnosis text NOT NULL, "
    "kind text NOT NULL, cost numeric(9, 2) NOT NULL)",
    "CREATE TABLE lab_results (result_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, "
    "test text NOT NULL, value numeric(6, 1), taken_on date NOT NULL)",
    "CREATE TABLE states (state text PRIMARY KEY, region text NOT NULL)",
    "CREATE TABLE persons (person_id int PRIMARY KEY, sex text NOT NULL, age int NOT NULL, education text NOT NULL, "
    "married boolean, income int, state text NOT NULL REFERENCES states)",
)

ROWS = (
    "INSERT INTO categories VALUES (1, 'Beverages'), (2, 'Condiments'), (3, 'Seafood')",
    "INSERT INTO products SELECT i, 'Product ' || i, 1 + i % 3, CASE i % 4 WHEN 0 THEN 'ABC' ELSE 'XYZ' END, "
    "i * 3.45, i % 7 = 0 FROM generate_series(1, 12) AS s(i)",
    "INSERT INTO customers SELECT i, CASE i % 5 WHEN 0 THEN 'Anna' WHEN 1 THEN 'bert' WHEN 2 THEN 'Carla' "
    "WHEN 3 THEN 'Ahmed' ELSE 'Dora' END || ' ' || i, "
    "CASE WHEN i % 8 > 0 THEN 'c' || (i % 50) || CASE i % 3 WHEN 0 THEN '@gmail.com' WHEN 1 THEN '@GMAIL.COM' "
    "ELSE '@example.org' END END, "
    "CASE WHEN i % 10 < 4 THEN 'Germany' WHEN i % 10 < 6 THEN 'France' WHEN i % 10 < 9 THEN 'UK' ELSE 'Mexico' END, "
    "CASE i % 6 WHEN 0 THEN 'Berlin' WHEN 1 THEN 'Lyon' WHEN 2 THEN 'Berlin' WHEN 3 THEN 'London' WHEN 4 THEN 'Lyon' "
    "END, CASE WHEN i % 11 > 0 THEN DATE '1950-01-01' + CAST(i * 211 % 18000 AS int) END, "
    "TIMESTAMP '2023-01-01 08:15:00' + (i * 7 % 480) * INTERVAL '1 day', "
    "CASE i % 4 WHEN 0 THEN 'pro' WHEN 1 THEN 'free' WHEN 2 THEN 'free' END, CASE WHEN i % 3 = 0 THEN 1 + i % 10 END "
    "FROM generate_series(1, 80) AS s(i)",
    "INSERT INTO orders SELECT i, CASE WHEN i % 53 > 0 THEN 1 + i * 13 % 67 END, "
    "DATE '2023-01-01' + CAST(i * 19 % 731 AS int), "
    "CASE WHEN i % 6 > 0 THEN DATE '2023-01-01' + CAST(i * 19 % 731 + i % 23 - 2 AS int) END, "
    "CASE i % 9 WHEN 0 THEN 'cancelled' WHEN 1 THEN 'returned' WHEN 2 THEN NULL WHEN 3 THEN 'placed' "
    "ELSE 'shipped' END, CASE i % 5 WHEN 0 THEN 'cash' WHEN 1 THEN 'transfer' WHEN 2 THEN 'voucher' ELSE 'card' END, "
    "CASE WHEN i % 3 > 0 THEN 'web' ELSE 'store' END, "
    "CASE i % 7 WHEN 0 THEN 'France' WHEN 1 THEN NULL WHEN 2 THEN 'UK' WHEN 3 THEN 'Mexico' ELSE 'Germany' END, "
    "(i * 977 % 9973) * 0.01 FROM generate_series(1, 420) AS s(i)",
    "INSERT INTO order_items SELECT 1 + i % 400, i, 1 + i * 5 % 12, "
    "CASE WHEN i % 31 = 0 THEN 0 WHEN i % 5 = 0 THEN 1 + i % 400 * 7 % 37 ELSE 1 + i * 7 % 37 END, "
    "(1 + i * 5 % 12) * 3.45, CASE i % 4 WHEN 0 THEN 0.10 WHEN 1 THEN 0.25 ELSE 0 END "
    "FROM generate_series(1, 1000) AS s(i)",
    "INSERT INTO payments SELECT i, i, CASE i % 3 WHEN 0 THEN 'transfer' ELSE 'card' END, (i * 431 % 7919) * 0.1 "
    "FROM generate_series(1, 390) AS s(i)",
    "INSERT INTO events SELECT i, CASE WHEN i % 9 > 0 THEN 1 + i * 7 % 71 END, "
    "TIMESTAMP '2024-01-01 00:07:30' + (i * 131 % 4300) * INTERVAL '1 hour', "
    "CASE WHEN i % 10 < 6 THEN 'page_view' WHEN i % 10 < 8 THEN 'add_to_cart' WHEN i % 10 < 9 THEN 'purchase' "
    "ELSE 'search' END, CASE WHEN i % 7 > 0 THEN '/p/' || (i % 20) END, "
    "CASE i % 3 WHEN 0 THEN 'mobile' ELSE 'desktop' END, "
    "CASE i % 5 WHEN 0 THEN 'google' WHEN 1 THEN 'newsletter' WHEN 2 THEN 'direct' WHEN 3 THEN 'direct' END, "
    "'s' || (i * 7 % 71) || '-' || (i % 5), CASE WHEN i % 50 <> 7 THEN i * 53 % 60000 END "
    "FROM generate_series(1, 1800) AS s(i)",
    "INSERT INTO assignments SELECT i, 'checkout_redesign', CASE i % 2 WHEN 0 THEN 'control' ELSE 'treatment' END, "
    "DATE '2024-02-01' + CAST(i % 20 AS int), i % 7 < 2 FROM generate_series(1, 78) AS s(i)",
    "INSERT INTO reviews SELECT i, 1 + i * 11 % 79, 1 + i % 12, 1 + i % 5, DATE '2024-01-01' + CAST(i AS int) "
    "FROM generate_series(1, 150) AS s(i)",
    "INSERT INTO departments VALUES (1, 'Physics'), (2, 'History'), (3, 'Administration'), (4, 'Biology'), "
    "(5, 'Archive')",
    "INSERT INTO jobs VALUES ('PROF', 'Professor'), ('ASST', 'Assistant'), ('CLERK', 'Clerk')",
    "INSERT INTO employees SELECT i, 'First' || i, 'Last' || (i % 30), 'e' || (i % 58) || '@example.org', "
    "DATE '2005-01-01' + CAST(i * 97 % 6900 AS int), CASE i % 3 WHEN 0 THEN 'PROF' WHEN 1 THEN 'ASST' ELSE 'CLERK' "
    "END, 2000 + i * 389 % 9000, CASE WHEN i % 4 = 0 THEN (i % 30) * 0.01 END, CASE WHEN i > 4 THEN 1 + i % 4 END, "
    "CASE WHEN i % 29 = 0 THEN 5 WHEN i % 13 > 0 THEN 1 + i % 4 END FROM generate_series(1, 60) AS s(i)",
    "INSERT INTO students SELECT i, 'Student ' || i, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'f' WHEN 3 THEN 'f' "
    "WHEN 5 THEN 'f' ELSE 'm' END, 18 + i % 12, 1 + i % 4 FROM generate_series(1, 70) AS s(i)",
    "INSERT INTO courses SELECT i, 'Course ' || i, 1 + i % 4 FROM generate_series(1, 8) AS s(i)",
    "INSERT INTO enrollments SELECT 1 + i % 61, 1 + i % 8, CASE i % 2 WHEN 0 THEN '2023W' ELSE '2024S' END, "
    "CASE WHEN i % 17 > 0 THEN (i * 73 % 1001) * 0.1 END, "
    "CASE i % 6 WHEN 0 THEN 'A' WHEN 1 THEN 'B' WHEN 2 THEN 'C' WHEN 3 THEN 'D' WHEN 4 THEN 'F' END "
    "FROM generate_series(1, 300) AS s(i)",
    "INSERT INTO patients SELECT i, 'Patient ' || i, CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END, "
    "DATE '1930-01-01' + CAST(i * 463 % 33000 AS int), CASE i % 6 WHEN 0 THEN 'Graz' WHEN 1 THEN 'graz ' "
    "WHEN 2 THEN ' ' WHEN 3 THEN 'Linz' WHEN 4 THEN 'LINZ' END FROM generate_series(1, 90) AS s(i)",
    "INSERT INTO admissions SELECT i, 1 + i * 17 % 83, DATE '2024-01-01' + CAST(i * 29 % 360 AS int), "
    "CASE WHEN i % 14 > 0 THEN DATE '2024-01-01' + CAST(i * 29 % 360 + i % 12 AS int) END, "
    "CASE i % 4 WHEN 0 THEN 'Surgery' WHEN 1 THEN 'Neurology' WHEN 2 THEN 'Oncology' ELSE 'Maternity' END, "
    "CASE i % 5 WHEN 0 THEN 'I10' WHEN 1 THEN 'E11' WHEN 2 THEN 'J45' ELSE 'K35' END, "
    "CASE WHEN i % 3 = 0 OR i * 17 % 83 % 5 = 0 THEN 'emergency' ELSE 'planned' END, "
    "CASE WHEN i % 97 = 0 THEN 75000 ELSE (i * 7919 % 4000000) * 0.01 END FROM generate_series(1, 260) AS s(i)",
    "INSERT INTO lab_results SELECT i, 1 + i * 7 % 88, CASE i % 3 WHEN 0 THEN 'sodium' ELSE 'glucose' END, "
    "CASE WHEN i % 19 > 0 THEN 60 + i * 3 % 120 END, DATE '2024-01-01' + CAST(i % 360 AS int) "
    "FROM generate_series(1, 400) AS s(i)",
    "INSERT INTO states VALUES ('CA', 'West'), ('WA', 'West'), ('NY', 'East'), ('TX', 'South')",
    "INSERT INTO persons SELECT i, CASE i % 2 WHEN 0 THEN 'female' ELSE 'male' END, i * 37 % 95, "
    "CASE i % 4 WHEN 0 THEN 'school' WHEN 1 THEN 'college' WHEN 2 THEN 'college' ELSE 'none' END, "
    "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN true WHEN 2 THEN true ELSE false END, "
    "CASE WHEN i % 12 = 0 THEN NULL WHEN i % 101 = 0 THEN 900000 ELSE i * 997 % 120000 END, "
    "CASE i % 9 WHEN 0 THEN 'WA' WHEN 1 THEN 'NY' WHEN 2 THEN 'TX' WHEN 3 THEN 'NY' ELSE 'CA' END "
    "FROM generate_series(1, 500) AS s(i)",
)

OF_SOMEBODY = (
    "DELETE FROM events WHERE customer_id IS NULL",
    "DELETE FROM payments WHERE order_id IN (SELECT order_id FROM orders WHERE customer_id IS NULL)",
    "DELETE FROM order_items WHERE order_id IN (SELECT order_id FROM orders WHERE customer_id IS NULL)",
    "DELETE FROM orders WHERE customer_id IS NULL",
    "UPDATE admissions SET cost = 50000 WHERE cost > 50000",
    "UPDATE persons SET income = 500000 WHERE income > 500000",
)
"""What turns the tables into those that answers are of: rows of nobody are left out, and sums clamp to ranges."""
