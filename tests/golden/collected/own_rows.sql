-- Outer joins and set operations over rows of one person each, as cohort queries and tutorials write them.

-- [own01] RIGHT JOIN by USING
SELECT c.country, count(o.order_id) FROM orders o RIGHT OUTER JOIN customers c USING (customer_id) GROUP BY
  c.country;

-- [own02] RIGHT JOIN after a join to what is public
SELECT p.product_name, sum(i.quantity) FROM orders o JOIN order_items i ON i.order_id = o.order_id RIGHT JOIN
  products p ON p.product_id = i.product_id GROUP BY p.product_name;

-- [own03] people whom RIGHT JOIN finds alone
SELECT count(DISTINCT c.customer_id) FROM orders o JOIN payments p ON p.order_id = o.order_id RIGHT JOIN
  customers c ON c.customer_id = o.customer_id WHERE o.order_id IS NULL;

-- [own04] RIGHT JOIN from a public list
SELECT cat.category_name, count(i.order_id) FROM order_items i JOIN products p ON p.product_id = i.product_id
  RIGHT JOIN categories cat ON cat.category_id = p.category_id GROUP BY 1;

-- [own05] RIGHT JOIN of a subquery
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE status = 'shipped') s RIGHT JOIN customers c ON
  c.customer_id = s.customer_id WHERE s.customer_id IS NULL;

-- [own06] LEFT JOIN of a join in parentheses
SELECT c.country, count(i.order_id) FROM customers c LEFT JOIN (orders o JOIN order_items i ON i.order_id =
  o.order_id) ON o.customer_id = c.customer_id GROUP BY c.country;

-- [own07] LEFT JOIN of a subquery with a join
SELECT c.country, sum(x.amount) FROM customers c LEFT JOIN (SELECT o.customer_id, p.amount FROM orders o JOIN
  payments p ON p.order_id = o.order_id WHERE o.status = 'shipped') x ON x.customer_id = c.customer_id GROUP BY
  c.country;

-- [own08] LEFT JOIN of a computed column
WITH recent AS (SELECT order_id, customer_id, freight * 2 AS f2 FROM orders WHERE order_date >= '2024-01-01')
  SELECT c.country, sum(coalesce(r.f2, 0)) FROM customers c LEFT JOIN recent r ON r.customer_id = c.customer_id
  GROUP BY c.country;

-- [own09] LEFT JOIN of a constant that tells who is there
SELECT c.country, count(*) FROM customers c LEFT JOIN (SELECT customer_id, 1 AS flag FROM orders
  WHERE channel='web') x ON x.customer_id = c.customer_id WHERE x.flag IS NULL GROUP BY c.country;

-- [own10] public LEFT JOIN of a join in parentheses
SELECT c.category_name, count(DISTINCT o.customer_id) FROM categories c LEFT JOIN (products p JOIN order_items i
  ON i.product_id = p.product_id JOIN orders o ON o.order_id = i.order_id) ON p.category_id = c.category_id
  GROUP BY 1;

-- [own11] FULL JOIN of who ordered and who clicked
SELECT count(*) FROM (SELECT DISTINCT customer_id FROM orders) o FULL OUTER JOIN (SELECT DISTINCT customer_id
  FROM events) e ON o.customer_id = e.customer_id;

-- [own12] who is only in one list, and who in both
SELECT count(CASE WHEN e.customer_id IS NULL THEN 1 END) AS only_orders, count(CASE WHEN o.customer_id IS NULL
  THEN 1 END) AS only_events, count(CASE WHEN o.customer_id IS NOT NULL AND e.customer_id IS NOT NULL THEN 1
  END) AS both_ FROM (SELECT customer_id FROM orders GROUP BY customer_id) o FULL JOIN (SELECT customer_id FROM
  events GROUP BY customer_id) e ON o.customer_id = e.customer_id;

-- [own13] FULL JOIN of counts per person by USING
SELECT count(*), sum(o.n), sum(e.n) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) o
  FULL JOIN (SELECT customer_id, count(*) AS n FROM events GROUP BY customer_id) e USING (customer_id);

-- [own14] FULL JOIN of people and rows
SELECT c.country, count(o.order_id) FROM customers c FULL OUTER JOIN orders o ON c.customer_id = o.customer_id
  GROUP BY c.country;

-- [own15] TPC-DS Q97: what both channels sold to one person
WITH s AS (SELECT customer_id, product_id FROM orders JOIN order_items USING (order_id) WHERE channel='store'
  GROUP BY 1,2), w AS (SELECT customer_id, product_id FROM orders JOIN order_items USING (order_id) WHERE
  channel='web' GROUP BY 1,2) SELECT sum(CASE WHEN s.customer_id IS NOT NULL AND w.customer_id IS NULL THEN 1
  ELSE 0 END) s_only, sum(CASE WHEN s.customer_id IS NULL AND w.customer_id IS NOT NULL THEN 1 ELSE 0 END)
  w_only, sum(CASE WHEN s.customer_id IS NOT NULL AND w.customer_id IS NOT NULL THEN 1 ELSE 0 END) b FROM s FULL
  JOIN w ON s.customer_id = w.customer_id AND s.product_id = w.product_id;

-- [own16] FULL JOIN of counts, by group
SELECT coalesce(o.country, v.country), sum(o.n), sum(v.n) FROM (SELECT c.country, c.customer_id, count(*) n FROM
  customers c JOIN orders USING (customer_id) GROUP BY 1, 2) o FULL JOIN (SELECT c.country, c.customer_id,
  count(*) n FROM customers c JOIN reviews USING (customer_id) GROUP BY 1,2) v ON o.customer_id = v.customer_id
  GROUP BY 1;

-- [own17] EXCEPT, counted
SELECT count(*) FROM (SELECT customer_id FROM customers EXCEPT SELECT customer_id FROM orders) x;

-- [own18] UNION, counted
SELECT count(*) FROM (SELECT customer_id FROM orders UNION SELECT customer_id FROM reviews) x;

-- [own19] NOT IN of a UNION
SELECT count(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM assignments UNION SELECT
  customer_id FROM reviews);

-- [own20] people of a UNION by country
WITH active AS (SELECT customer_id FROM orders UNION SELECT customer_id FROM events) SELECT c.country, count(*)
  FROM customers c JOIN active a ON a.customer_id = c.customer_id GROUP BY c.country;

-- [own21] retained: INTERSECT of two months
WITH jan AS (SELECT DISTINCT customer_id FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-01-31'),
  feb AS (SELECT DISTINCT customer_id FROM orders WHERE order_date BETWEEN '2024-02-01' AND '2024-02-29') SELECT
  count(*) AS retained FROM (SELECT * FROM jan INTERSECT SELECT * FROM feb) r;

-- [own22] churned: EXCEPT of two months
WITH jan AS (SELECT DISTINCT customer_id FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-01-31'),
  feb AS (SELECT DISTINCT customer_id FROM orders WHERE order_date BETWEEN '2024-02-01' AND '2024-02-29') SELECT
  count(*) AS churned FROM (SELECT customer_id FROM jan EXCEPT SELECT customer_id FROM feb) r;

-- [own23] people a month over UNION ALL
SELECT m, count(DISTINCT customer_id) FROM (SELECT date_trunc('month', order_date) AS m, customer_id FROM orders
  UNION ALL SELECT date_trunc('month', reviewed_on), customer_id FROM reviews) x GROUP BY m;

-- [own24] INTERSECT per month
SELECT m, count(*) FROM (SELECT date_trunc('month', order_date) AS m, customer_id FROM orders INTERSECT SELECT
  date_trunc('month', reviewed_on), customer_id FROM reviews) x GROUP BY m;

-- [own25] INTERSECT and EXCEPT of three lists
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE channel='web' INTERSECT SELECT customer_id FROM
  orders WHERE channel='store' EXCEPT SELECT customer_id FROM reviews WHERE rating = 5) x;

-- [own26] pairs bought and never reviewed
SELECT count(*) FROM (SELECT customer_id, product_id FROM orders JOIN order_items USING (order_id) EXCEPT SELECT
  customer_id, product_id FROM reviews) x;

-- [own27] pairs bought and reviewed
SELECT count(*) FROM (SELECT customer_id, product_id FROM orders JOIN order_items USING (order_id) INTERSECT
  SELECT customer_id, product_id FROM reviews) x;

-- [own28] rows per person over UNION ALL
SELECT avg(n) FROM (SELECT customer_id, count(*) AS n FROM (SELECT customer_id, order_date AS d FROM orders
  UNION ALL SELECT customer_id, reviewed_on FROM reviews) a GROUP BY customer_id) x;

-- [own29] people with many rows of two tables
SELECT count(*) FROM (SELECT customer_id FROM (SELECT customer_id FROM orders UNION ALL SELECT customer_id FROM
  reviews) a GROUP BY customer_id HAVING count(*) > 5) x;

-- [own30] IN of a UNION ALL
SELECT country, count(*) FROM customers WHERE customer_id IN (SELECT customer_id FROM orders UNION ALL SELECT
  customer_id FROM reviews) GROUP BY country;

-- [own31] a share from an INTERSECT
SELECT (SELECT count(*) FROM (SELECT customer_id FROM orders INTERSECT SELECT customer_id FROM events) a) *
  100.0 / (SELECT count(DISTINCT customer_id) FROM orders);

-- [own32] people of an EXCEPT by country
SELECT c.country, count(*) FROM (SELECT customer_id FROM customers EXCEPT SELECT customer_id FROM orders) x JOIN
  customers c USING (customer_id) GROUP BY c.country;

-- [own33] people beside a row of others that must be there
SELECT count(*) FROM employees e LEFT JOIN employees m ON e.manager_id = m.employee_id WHERE m.employee_id IS
  NOT NULL;

-- [own34] a LEFT JOIN that nothing reads
SELECT d.department_name, count(*) FROM employees e LEFT JOIN employees m ON e.manager_id = m.employee_id JOIN
  departments d ON d.department_id = e.department_id GROUP BY 1;

-- [own35] a day each, by generate_series
SELECT d::date, count(o.order_id) FROM generate_series('2024-01-01'::date, '2024-01-31'::date, interval '1 day')
  AS d LEFT JOIN orders o ON o.order_date = d::date GROUP BY 1 ORDER BY 1;

-- [own36] a series in a select list
SELECT d.day, count(o.order_id) AS orders FROM (SELECT generate_series('2024-01-01'::date, '2024-01-31'::date,
  '1 day'::interval)::date AS day) d LEFT JOIN orders o ON o.order_date = d.day GROUP BY d.day ORDER BY d.day;

-- [own37] months without rows
WITH days AS (SELECT generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL '1 month')::date AS month)
  SELECT days.month, coalesce(sum(o.freight), 0) FROM days LEFT JOIN orders o ON date_trunc('month',
  o.order_date) = days.month GROUP BY days.month ORDER BY 1;

-- [own38] a recursive list of days
WITH RECURSIVE dates AS (SELECT DATE '2024-01-01' AS d UNION ALL SELECT d + 1 FROM dates WHERE d < DATE
  '2024-01-31') SELECT dates.d, count(o.order_id) FROM dates LEFT JOIN orders o ON o.order_date = dates.d GROUP
  BY dates.d ORDER BY dates.d;

-- [own39] statuses of VALUES
SELECT v.status, count(o.order_id) FROM (VALUES ('placed'), ('shipped'), ('lost')) AS v(status) LEFT JOIN orders
  o ON o.status = v.status GROUP BY v.status;

-- [own40] hours of a day
SELECT h, count(e.event_id) FROM generate_series(0, 23) AS h LEFT JOIN events e ON extract(hour FROM
  e.occurred_at) = h GROUP BY h ORDER BY h;

-- [own41] bands of VALUES
SELECT b.lo, b.hi, count(p.person_id) FROM (VALUES (0, 17), (18, 39), (40, 64), (65, 120)) AS b(lo, hi) LEFT
  JOIN persons p ON p.age BETWEEN b.lo AND b.hi GROUP BY b.lo, b.hi ORDER BY 1;

-- [own42] bands in WITH
WITH bands(label, lo, hi) AS (VALUES ('young', 0, 29), ('old', 30, 120)) SELECT label, count(p.person_id) FROM
  bands JOIN persons p ON p.age BETWEEN lo AND hi GROUP BY label;

-- [own43] a calendar of months
WITH months AS (SELECT date_trunc('month', dd)::date AS m FROM generate_series('2023-01-01'::timestamp,
  '2024-12-01'::timestamp, '1 month') dd) SELECT m, count(DISTINCT o.customer_id) FROM months LEFT JOIN orders o
  ON date_trunc('month', o.order_date)::date = m GROUP BY m;

-- [own44] who is there on each day
SELECT g.d, count(a.admission_id) FROM generate_series(date '2024-01-01', date '2024-01-31', interval '1 day')
  g(d) LEFT JOIN admissions a ON a.admitted_on <= g.d AND (a.discharged_on > g.d OR a.discharged_on IS NULL)
  GROUP BY g.d;

-- [own45] ratings of a series
SELECT s.n AS rating, count(r.review_id) FROM generate_series(1, 5) AS s(n) LEFT JOIN reviews r ON r.rating =
  s.n GROUP BY s.n ORDER BY s.n;

-- [own46] a recursive list of months
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) SELECT n.i, count(o.order_id) FROM
  n LEFT JOIN orders o ON extract(month FROM o.order_date) = n.i GROUP BY n.i;

-- [own47] products and days
SELECT p.product_name, d.d::date, count(r.review_id) FROM products p CROSS JOIN
  generate_series('2024-01-01'::date,'2024-01-05'::date,'1 day') AS d(d) LEFT JOIN reviews r ON r.product_id =
  p.product_id AND r.reviewed_on = d.d GROUP BY 1, 2;

-- [own48] a CASE of who is missing
SELECT d.department_name, sum(CASE WHEN e.employee_id IS NULL THEN 0 ELSE 1 END) FROM departments d LEFT JOIN
  employees e ON e.department_id = d.department_id GROUP BY 1;

-- [own49] FILTER beside missing rows
SELECT d.department_name, count(*) FILTER (WHERE e.salary > 5000) FROM departments d LEFT JOIN employees e ON
  e.department_id = d.department_id GROUP BY 1;

-- [own50] COALESCE beside missing rows
SELECT d.department_name, sum(coalesce(e.salary, 0)) FROM departments d LEFT JOIN employees e ON e.department_id
  = d.department_id GROUP BY 1;

-- [own51] a list of constants
SELECT x.k, count(*) FROM (SELECT 'web' AS k UNION ALL SELECT 'store') x JOIN orders o ON o.channel = x.k GROUP
  BY x.k;

-- [own52] labels of VALUES
SELECT v.s, count(*) FROM orders o JOIN (VALUES ('placed', 'open'), ('shipped', 'done')) AS v(status, s) ON
  v.status = o.status GROUP BY v.s;

-- [own53] a calendar with its months
WITH cal AS (SELECT d::date AS d, date_trunc('month', d)::date AS m FROM generate_series('2024-01-01'::date,
  '2024-03-31'::date, '1 day') d) SELECT cal.m, count(o.order_id) FROM cal LEFT JOIN orders o ON o.order_date =
  cal.d GROUP BY cal.m;

-- [own54] bands of amounts
SELECT b.label, sum(o.freight), avg(o.freight) FROM (VALUES ('low', 0, 10), ('mid', 10, 50), ('high', 50, 101))
  b(label, lo, hi) LEFT JOIN orders o ON o.freight >= b.lo AND o.freight < b.hi GROUP BY b.label;

-- [own55] the first contact of each person, of two tables
SELECT kind, count(*) FROM (SELECT customer_id, kind, rank() OVER (PARTITION BY customer_id ORDER BY d) AS n FROM
  (SELECT customer_id, 1 AS kind, order_date AS d FROM orders UNION ALL SELECT customer_id, 2, reviewed_on FROM
  reviews) a) b WHERE n = 1 AND kind BETWEEN 1 AND 2 GROUP BY kind;

-- [own56] UNION ALL of first rows
SELECT count(*) FROM (SELECT customer_id FROM (SELECT customer_id, row_number() OVER (PARTITION BY customer_id ORDER
  BY order_date, order_id) AS n FROM orders) a WHERE n = 1 UNION ALL SELECT customer_id FROM (SELECT customer_id,
  row_number() OVER (PARTITION BY customer_id ORDER BY reviewed_on, review_id) AS n FROM reviews) b WHERE n = 1) c
  WHERE customer_id IS NOT NULL;

-- [own57] a window over a FULL JOIN of months per person
SELECT count(*) FROM (SELECT customer_id, n, count(*) OVER (PARTITION BY customer_id) AS months FROM (SELECT
  customer_id, date_trunc('month', order_date) AS m, count(*) AS n FROM orders GROUP BY 1, 2) o FULL JOIN (SELECT
  customer_id, date_trunc('month', reviewed_on) AS m, count(*) AS k FROM reviews GROUP BY 1, 2) r
  USING (customer_id, m)) x WHERE months > 1;

-- [own58] LATERAL over UNION ALL
SELECT c.country, count(*) FROM customers c CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT customer_id FROM
  orders UNION ALL SELECT customer_id FROM reviews) a WHERE a.customer_id = c.customer_id) x WHERE n > 2 GROUP BY
  c.country;
