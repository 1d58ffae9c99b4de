-- Subqueries as values: over public tables, and over rows of the tuple's owner. One statement a line.
SELECT count(*) FROM orders o JOIN order_items i USING (order_id) WHERE i.unit_price > (SELECT avg(unit_price) FROM products)
SELECT count(*) FROM order_items i JOIN products p USING (product_id) WHERE i.unit_price > 1.1 * (SELECT avg(q.unit_price) FROM products q WHERE q.category_id = p.category_id)
SELECT count(*) FILTER (WHERE product_id IN (SELECT product_id FROM products WHERE discontinued)) FROM order_items
SELECT count(*) FROM order_items WHERE quantity > 10 OR product_id IN (SELECT product_id FROM products WHERE brand = 'ABC')
SELECT sum(CASE WHEN i.product_id IN (SELECT product_id FROM products WHERE category_id = 1) THEN i.quantity ELSE 0 END) FROM order_items i
SELECT CASE WHEN product_id IN (SELECT product_id FROM products WHERE brand = 'ABC') THEN 'abc' ELSE 'other' END AS b, count(*) FROM order_items GROUP BY 1
SELECT (SELECT p.brand FROM products p WHERE p.product_id = i.product_id) AS brand, sum(i.quantity) FROM order_items i GROUP BY 1
SELECT (SELECT region FROM states s WHERE s.state = p.state) AS region, count(*), avg(income) FROM persons p GROUP BY 1 ORDER BY 2 DESC
SELECT count(*) FROM customers c WHERE c.plan = 'pro' OR EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)
SELECT count(*) FROM customers c WHERE NOT (c.plan = 'pro' AND EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.status = 'shipped'))
SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)) FROM customers c
SELECT CASE WHEN EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id) THEN 'buyer' ELSE 'visitor' END AS kind, count(*) FROM customers c GROUP BY 1
SELECT avg((SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id)) FROM customers c
SELECT count(*) FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id) > 3
SELECT count(*) FROM customers c WHERE (SELECT max(order_date) FROM orders o WHERE o.customer_id = c.customer_id) < DATE '2024-06-01'
SELECT country, count(*) FROM customers c WHERE (SELECT sum(freight) FROM orders o WHERE o.customer_id = c.customer_id) > 100 GROUP BY country
SELECT n, count(*) FROM (SELECT c.customer_id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id) AS n FROM customers c) t WHERE n <= 10 GROUP BY n
SELECT n, count(*) FROM (SELECT (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id) AS n FROM customers c) t GROUP BY n ORDER BY n
SELECT count(*) FROM customers WHERE plan = 'pro' OR customer_id IN (SELECT customer_id FROM orders WHERE channel = 'web')
SELECT count(*) FROM customers WHERE plan = 'pro' OR customer_id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL)
SELECT count(*) FILTER (WHERE customer_id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 3)) FROM customers
SELECT count(*) FROM customers c WHERE c.customer_id = ANY (SELECT customer_id FROM orders)
SELECT count(*) FROM order_items WHERE product_id = ANY (SELECT product_id FROM products WHERE discontinued)
SELECT count(*) FROM order_items WHERE product_id <> ALL (SELECT product_id FROM products WHERE discontinued)
SELECT count(*) FROM orders o WHERE o.order_date = (SELECT max(o2.order_date) FROM orders o2 WHERE o2.customer_id = o.customer_id)
SELECT count(*) FROM orders o WHERE o.freight > (SELECT avg(o2.freight) FROM orders o2 WHERE o2.customer_id = o.customer_id)
SELECT count(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM orders o2 WHERE o2.customer_id = o.customer_id AND o2.order_date > o.order_date)
SELECT count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM orders o2 WHERE o2.customer_id = o.customer_id AND o2.order_date < o.order_date)) AS first_orders, count(*) FROM orders o
SELECT date_trunc('month', o.order_date) AS m, count(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders p WHERE p.customer_id = o.customer_id AND p.order_date < o.order_date)) AS returning FROM orders o GROUP BY 1
SELECT count(*) FROM order_items i JOIN (SELECT category_id, avg(unit_price) AS a FROM products GROUP BY category_id) x ON x.category_id = 1 WHERE i.unit_price > x.a
SELECT c.category_name, count(*) FROM order_items i JOIN products p USING (product_id) JOIN categories c USING (category_id) JOIN (SELECT category_id, max(unit_price) AS top FROM products GROUP BY category_id) t ON t.category_id = p.category_id AND t.top = p.unit_price GROUP BY 1
WITH pricey AS (SELECT DISTINCT brand FROM products WHERE unit_price > 20) SELECT count(*) FROM order_items i JOIN products p USING (product_id) WHERE p.brand IN (SELECT brand FROM pricey) OR i.quantity > 20
SELECT avg(CASE WHEN EXISTS (SELECT 1 FROM reviews r WHERE r.customer_id = c.customer_id) THEN 1.0 ELSE 0 END) FROM customers c
SELECT count(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id) OR EXISTS (SELECT 1 FROM reviews r WHERE r.customer_id = c.customer_id)
SELECT count(*) FROM patients p WHERE EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.patient_id AND a.kind = 'emergency') <> EXISTS (SELECT 1 FROM lab_results l WHERE l.patient_id = p.patient_id)
SELECT gender, avg((SELECT count(*) FROM admissions a WHERE a.patient_id = p.patient_id)) FROM patients p GROUP BY gender
SELECT avg((SELECT max(cost) FROM admissions a WHERE a.patient_id = p.patient_id)) FROM patients p
SELECT count(*) FROM students s WHERE (SELECT avg(score) FROM enrollments e WHERE e.student_id = s.student_id) > 60
SELECT count(*) FROM orders o WHERE (SELECT c.plan FROM customers c WHERE c.customer_id = o.customer_id) = 'pro'
SELECT (SELECT c.country FROM customers c WHERE c.customer_id = o.customer_id) AS country, count(*) FROM orders o GROUP BY 1
SELECT o.status, count(*) FROM orders o WHERE o.channel = 'web' OR (SELECT c.plan FROM customers c WHERE c.customer_id = o.customer_id) = 'pro' GROUP BY o.status
SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM order_items i JOIN products p USING (product_id) WHERE i.order_id = o.order_id AND p.brand = 'ABC') OR o.freight > 50
SELECT channel, sum((SELECT sum(i.quantity) FROM order_items i WHERE i.order_id = o.order_id)) FROM orders o GROUP BY channel
SELECT avg((SELECT count(*) FROM order_items i WHERE i.order_id = o.order_id)) AS items_per_order FROM orders o
SELECT count(*) FROM orders o WHERE o.freight > 0.1 * (SELECT sum(i.quantity * i.unit_price) FROM order_items i WHERE i.order_id = o.order_id)
SELECT count(*) FROM orders o WHERE (o.customer_id, o.order_date) IN (SELECT customer_id, max(order_date) FROM orders GROUP BY customer_id)
SELECT count(*) FROM order_items WHERE (product_id, unit_price) IN (SELECT product_id, unit_price FROM products)
SELECT count(*) FROM persons WHERE state IN (SELECT state FROM states WHERE region = 'West') AND age > 30 OR age < 10
SELECT count(*) FILTER (WHERE state NOT IN (SELECT state FROM states WHERE region = 'West')) FROM persons
SELECT count(*) FROM persons p JOIN states s ON s.state = p.state AND EXISTS (SELECT 1 FROM states x WHERE x.region = s.region AND x.state <> s.state)
SELECT count(*) FROM order_items i WHERE i.unit_price >= (SELECT max(unit_price) FROM products) - 10
SELECT count(*) FROM order_items i WHERE i.unit_price BETWEEN (SELECT min(unit_price) FROM products) AND (SELECT avg(unit_price) FROM products)
SELECT avg(i.quantity) FROM order_items i WHERE i.product_id = (SELECT min(product_id) FROM products WHERE brand = 'ABC')
SELECT avg(i.quantity) FROM order_items i WHERE i.product_id = (SELECT product_id FROM products WHERE product_name = 'Product 3')
SELECT count(*) FROM order_items i WHERE i.product_id IN (SELECT product_id FROM products WHERE unit_price > (SELECT avg(unit_price) FROM products))
SELECT count(*) FROM order_items i JOIN products p USING (product_id) WHERE p.unit_price = (SELECT max(unit_price) FROM products q WHERE q.category_id = p.category_id)
SELECT c.country, count(*) AS n, count(*) FILTER (WHERE c.customer_id IN (SELECT o.customer_id FROM orders o WHERE o.order_date >= DATE '2024-01-01')) AS active FROM customers c GROUP BY c.country
SELECT count(DISTINCT c.customer_id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE o.channel = 'web' OR EXISTS (SELECT 1 FROM events e WHERE e.customer_id = c.customer_id)
SELECT bucket, count(*) FROM (SELECT CASE WHEN (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id) = 0 THEN 'none' WHEN (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id) < 5 THEN 'few' ELSE 'many' END AS bucket FROM customers c) t GROUP BY bucket
SELECT count(*) FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.customer_id = c.customer_id AND o.order_date > c.signed_up_at) >= 2
SELECT count(*) FROM customers c WHERE c.plan = 'pro' OR EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.order_date > c.signed_up_at)
SELECT avg(EXTRACT(epoch FROM (SELECT min(e.occurred_at) FROM events e WHERE e.customer_id = c.customer_id) - c.signed_up_at)) FROM customers c
SELECT count(*) FROM customers c WHERE c.customer_id NOT IN (SELECT customer_id FROM events WHERE customer_id IS NOT NULL) AND (c.plan IS NULL OR c.customer_id IN (SELECT customer_id FROM orders))
SELECT a.variant, avg(CASE WHEN EXISTS (SELECT 1 FROM events e WHERE e.customer_id = a.customer_id AND e.event_type = 'purchase' AND e.occurred_at >= a.assigned_on) THEN 1 ELSE 0 END) FROM assignments a GROUP BY a.variant
SELECT count(*) FROM admissions a WHERE EXISTS (SELECT 1 FROM admissions b WHERE b.patient_id = a.patient_id AND b.admitted_on > a.discharged_on AND b.admitted_on <= a.discharged_on + 30)
SELECT avg(CASE WHEN EXISTS (SELECT 1 FROM admissions b WHERE b.patient_id = a.patient_id AND b.admitted_on > a.discharged_on AND b.admitted_on <= a.discharged_on + 30) THEN 1 ELSE 0 END) AS readmission_rate FROM admissions a
SELECT count(*) FROM admissions a WHERE a.cost > 2 * (SELECT avg(b.cost) FROM admissions b WHERE b.patient_id = a.patient_id AND b.admission_id <> a.admission_id)
SELECT department, count(*) FILTER (WHERE (SELECT count(*) FROM admissions b WHERE b.patient_id = a.patient_id AND b.admitted_on < a.admitted_on) = 0) FROM admissions a GROUP BY department
SELECT count(*) FROM employees e WHERE e.department_id IN (SELECT department_id FROM departments WHERE department_name LIKE 'P%') OR e.commission_pct IS NOT NULL
SELECT avg(salary) FROM employees WHERE job_id IN (SELECT job_id FROM jobs WHERE job_title LIKE 'P%') OR department_id = (SELECT department_id FROM departments WHERE department_name = 'Physics')
SELECT count(*) FROM (SELECT c.*, (SELECT max(order_date) FROM orders o WHERE o.customer_id = c.customer_id) AS last_order FROM customers c) x WHERE last_order >= DATE '2024-10-01'
SELECT count(*) FILTER (WHERE last_order IS NULL) AS never, count(*) FILTER (WHERE last_order < DATE '2024-07-01') AS lapsed, count(*) FILTER (WHERE last_order >= DATE '2024-07-01') AS active FROM (SELECT (SELECT max(order_date) FROM orders o WHERE o.customer_id = c.customer_id) AS last_order FROM customers c) x
SELECT count(*) FROM order_items WHERE product_id IN (SELECT product_id FROM products WHERE brand = 'ABC' UNION SELECT product_id FROM products WHERE discontinued) AND quantity > 3
SELECT count(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM reviews UNION ALL SELECT customer_id FROM assignments)
SELECT count(*) FILTER (WHERE (ship_country NOT IN (SELECT brand FROM products)) IS NULL) FROM orders
SELECT count(*) FROM orders WHERE NOT (status IN (SELECT lower(state) FROM states) OR freight > 20)
SELECT c.country, count(*) FROM customers c WHERE (SELECT count(DISTINCT o.channel) FROM orders o WHERE o.customer_id = c.customer_id) = 2 GROUP BY 1
SELECT avg((SELECT sum(i.quantity) FILTER (WHERE i.discount > 0) FROM order_items i WHERE i.order_id = o.order_id)) FROM orders o
SELECT count(*) FROM orders o WHERE (SELECT max(p.amount) - min(p.amount) FROM payments p WHERE p.order_id = o.order_id) = 0
SELECT (SELECT s.region FROM states s WHERE s.state = p.state AND s.region <> 'East') AS r, count(*) FROM persons p GROUP BY 1
SELECT CASE WHEN (SELECT max(e.occurred_at) FROM events e WHERE e.customer_id = c.customer_id) > TIMESTAMP '2024-05-01' THEN 'recent' ELSE 'gone' END AS k, count(*) FROM customers c GROUP BY k
SELECT sum(LEAST((SELECT count(*) FROM events e WHERE e.customer_id = c.customer_id), 20)) FROM customers c
SELECT count(*) FROM order_items i WHERE i.unit_price > (SELECT avg(p.unit_price) FROM products p) * (SELECT 0.5 + count(*) / 100.0 FROM categories)
SELECT t.category_name, count(*) FROM order_items i JOIN products p USING (product_id) JOIN (SELECT c.category_id, c.category_name, count(*) AS n, avg(q.unit_price) AS mean FROM categories c JOIN products q ON q.category_id = c.category_id GROUP BY c.category_id, c.category_name HAVING count(*) > 3) t ON t.category_id = p.category_id AND i.unit_price > t.mean GROUP BY 1
SELECT count(*) FROM admissions a LEFT JOIN lab_results l ON l.patient_id = a.patient_id WHERE a.kind = 'planned' OR l.value > (SELECT avg(m.value) FROM lab_results m WHERE m.patient_id = a.patient_id)
SELECT count(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id AND EXISTS (SELECT 1 FROM reviews r WHERE r.customer_id = c.customer_id)
SELECT count(*) FROM employees e WHERE e.salary >= 3000 AND (SELECT d.department_name FROM departments d WHERE d.department_id = e.department_id) IN ('Physics', 'Biology')
WITH f AS (SELECT customer_id, min(order_date) AS d FROM orders GROUP BY 1) SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = f.customer_id AND o.order_date > f.d + 30)) FROM f
WITH f AS (SELECT customer_id, min(order_date) AS d FROM orders GROUP BY 1) SELECT date_trunc('month', d) AS m, count(*), count(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = f.customer_id AND o.order_date BETWEEN f.d + 1 AND f.d + 60)) AS back FROM f GROUP BY 1
WITH f AS (SELECT customer_id, min(order_date) AS d FROM orders GROUP BY 1) SELECT avg((SELECT count(*) FROM orders o WHERE o.customer_id = f.customer_id AND o.order_date <= f.d + 90)) FROM f
SELECT count(*) FROM customers c WHERE (c.plan, 'x') IN (SELECT brand, 'x' FROM products) OR c.plan = 'pro'
SELECT count(*) FROM (SELECT order_id, customer_id, order_date + 10 AS due FROM orders) o WHERE (SELECT count(*) FROM events e WHERE e.customer_id = o.customer_id AND e.occurred_at < o.due) > 3
SELECT variant, avg((SELECT count(*) FROM events e WHERE e.customer_id = a.customer_id AND e.occurred_at >= a.assigned_on AND e.occurred_at < a.assigned_on + 14)) FROM assignments a GROUP BY variant
