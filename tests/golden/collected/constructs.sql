-- Constructs that none of the collected texts, or one alone, shows.

-- [found_key] A key whose values nobody declares.
SELECT city, count(*), count(DISTINCT customer_id) FROM customers WHERE city IS NOT NULL GROUP BY city;

-- [found_keys] Two of them, one computed, beside a declared one and a LEFT JOIN.
SELECT upper(c.city) AS city, c.country, count(o.order_id) AS n
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id GROUP BY 1, 2;

-- [found_text] A text of a declared column and another.
SELECT country || ': ' || city AS place, count(*) FROM customers WHERE city IS NOT NULL GROUP BY 1;

-- [found_numeric] A numeric without a declared range.
SELECT unit_price - unit_price % 10 AS price, count(*) FROM order_items GROUP BY 1;

-- [found_of_person] Keys of subqueries per person.
SELECT t.city, t.n, count(*) FROM (
  SELECT c.customer_id, c.city, count(*) AS n FROM customers c JOIN orders o USING (customer_id) GROUP BY 1, 2
) t WHERE t.city IS NOT NULL GROUP BY t.city, t.n;

-- [list] What private rows hold, without a number.
SELECT DISTINCT city, country FROM customers;

-- [list_of_public] The products that were bought in large numbers.
SELECT p.product_name FROM order_items i JOIN products p ON p.product_id = i.product_id
WHERE i.quantity > 36 GROUP BY p.product_name, p.product_id ORDER BY 1;

-- [truths] Conditions over people and per person.
SELECT channel, bool_or(status = 'returned'), bool_and(freight < 50) AS cheap, every(freight >= 0) FILTER (WHERE status IS NOT NULL)
FROM orders GROUP BY channel;

-- [truths_per_person] Per person, in the select list and in HAVING.
SELECT r, count(*), avg(CASE WHEN all_paid THEN 1 ELSE 0 END) FROM (
  SELECT customer_id, bool_or(status = 'returned') AS r, every(payment_method <> 'cash') AS all_paid
  FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING bool_or(freight > 1)
) t WHERE r IS NOT NULL GROUP BY r;

-- [quantile_element] An element of an array of quantiles.
SELECT (percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY age))[2] AS median,
  (percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY age) FILTER (WHERE sex = 'male'))[3],
  (percentile_cont(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY age))[1] FROM persons;

-- [mode] The most frequent value, beside what adds up.
SELECT channel, mode() WITHIN GROUP (ORDER BY payment_method) AS how, count(*) AS n, avg(freight), sum(freight) FILTER (WHERE freight > 5)
FROM orders GROUP BY channel HAVING count(*) > 3 ORDER BY n DESC;

-- [mode_alone] Of everybody; NULL is no value.
SELECT mode() WITHIN GROUP (ORDER BY status DESC) FILTER (WHERE channel = 'web') FROM orders;

-- [levels] Medians and distinct counts by level.
SELECT CASE WHEN grouping(channel) = 1 THEN 'all' ELSE channel END AS c, payment_method, grouping(channel, payment_method) AS g,
  count(DISTINCT customer_id), max(freight)
FROM orders GROUP BY CUBE (channel, payment_method) HAVING count(DISTINCT customer_id) > 2 ORDER BY g, 1;

-- [sets] Grouping sets of different keys, some of them computed.
SELECT extract(year FROM order_date) AS year, channel, count(DISTINCT customer_id) AS n
FROM orders GROUP BY GROUPING SETS ((1, 2), (2), ()) ORDER BY n, 1, 2 LIMIT 4;

-- [nested_keys] A key inside of another one stays where that one is grouped by.
SELECT channel, upper(channel) AS shouted, max(freight) FROM orders GROUP BY CUBE (1, 2);

-- [mode_by_level] The most frequent value at every level, of keys of several types.
SELECT channel, extract(year FROM order_date) AS year, mode() WITHIN GROUP (ORDER BY payment_method), count(*)
FROM orders GROUP BY ROLLUP (1, 2);

-- [sum_distinct] Sums and averages of distinct values that people share.
SELECT channel, sum(DISTINCT quantity), avg(DISTINCT quantity), count(DISTINCT quantity),
  sum(DISTINCT quantity) FILTER (WHERE discount > 0)
FROM order_items JOIN orders USING (order_id) GROUP BY channel;

-- [sum_distinct_signed] Of both signs, with NULL.
SELECT sum(DISTINCT shipped_date - order_date), sum(DISTINCT CAST(freight AS int) - 50) FROM orders;

-- [sum_distinct_per_person] Per person.
SELECT avg(s), sum(a) FROM (
  SELECT customer_id, sum(DISTINCT rating) AS s, avg(DISTINCT rating) AS a FROM reviews GROUP BY customer_id
) t;

-- [symmetric] Looker's sum of the one side of a fan-out.
SELECT channel, sum(quantity),
  COALESCE(CAST((SUM(DISTINCT (CAST(FLOOR(COALESCE(freight, 0) * (0.1 * 1.0)) AS DECIMAL(25, 0)))
    + ('x' || SUBSTR(MD5(orders.order_id::varchar), 17))::bit(64)::bigint::DECIMAL(65))
    - SUM(DISTINCT ('x' || SUBSTR(MD5(orders.order_id::varchar), 17))::bit(64)::bigint::DECIMAL(65))) AS DOUBLE PRECISION)
    / CAST((0.1 * 1.0) AS DOUBLE PRECISION), 0) AS freight
FROM orders JOIN order_items ON order_items.order_id = orders.order_id GROUP BY channel;

-- [value_of_a_window] Which event of a kind follows which.
SELECT event_type, next_type, count(*) AS n FROM (
  SELECT event_type, lead(event_type) OVER (PARTITION BY customer_id ORDER BY occurred_at, event_id) AS next_type
  FROM events WHERE customer_id IS NOT NULL
) t WHERE next_type IS NOT NULL GROUP BY 1, 2 ORDER BY n DESC, 1, 2;

-- [public_value_of_a_window] The first and the last brand that a customer bought; they may be of two rows.
SELECT first_brand, last_brand, count(*) FROM (
  SELECT DISTINCT o.customer_id, first_value(p.brand) OVER w AS first_brand, last_value(p.brand) OVER w AS last_brand
  FROM orders o JOIN order_items i USING (order_id) JOIN products p USING (product_id)
  WHERE o.customer_id IS NOT NULL
  WINDOW w AS (PARTITION BY o.customer_id ORDER BY o.order_date, o.order_id, i.line_number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
) t GROUP BY 1, 2;

-- [public_values_of_windows] The same side by side.
WITH touched AS (
  SELECT DISTINCT o.customer_id, first_value(p.brand) OVER w AS first_brand, last_value(p.brand) OVER w AS last_brand
  FROM orders o JOIN order_items i USING (order_id) JOIN products p USING (product_id)
  WHERE o.customer_id IS NOT NULL
  WINDOW w AS (PARTITION BY o.customer_id ORDER BY o.order_date, o.order_id, i.line_number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
SELECT brand, sum(f) AS first, sum(l) AS last FROM (
  SELECT first_brand AS brand, 1 AS f, 0 AS l FROM touched UNION ALL SELECT last_brand, 0, 1 FROM touched
) u GROUP BY brand;

-- [public_extreme_of_a_person] The category of the cheapest shelf that a customer bought from.
SELECT least_category, count(*) FROM (
  SELECT o.customer_id, min(p.category_id) AS least_category
  FROM orders o JOIN order_items i USING (order_id) JOIN products p USING (product_id)
  WHERE o.customer_id IS NOT NULL GROUP BY o.customer_id
) t GROUP BY 1;

-- [found_city] The city beside each event but the first.
SELECT city, count(*) FROM (
  SELECT lag(c.city) OVER (PARTITION BY c.customer_id ORDER BY e.event_id) AS city
  FROM customers c JOIN events e ON e.customer_id = c.customer_id
) t WHERE city IS NOT NULL GROUP BY city;

-- [constants] A SELECT without FROM has one row.
WITH p AS (SELECT DATE '2024-02-01' AS start, DATE '2024-02-01' + INTERVAL '1 month' AS stop, 20 AS most)
SELECT channel, count(*), sum(CASE WHEN freight > most THEN 1 ELSE 0 END) AS dear
FROM orders CROSS JOIN p WHERE order_date >= start AND order_date < stop GROUP BY channel;

-- [constants_read] Its columns as values, and its row in EXISTS and IN.
WITH p AS (SELECT DATE '2024-02-01' AS start, 20 AS most, 'web' AS how)
SELECT count(*) FROM orders WHERE order_date >= (SELECT start FROM p) AND channel IN (SELECT how FROM p)
  AND EXISTS (SELECT 1 FROM p WHERE freight < most);

-- [optional_constants] LEFT JOIN to one, by conditions and by USING; without a match its columns are NULL.
SELECT count(*), count(p.x), sum(p.x), count(q.y) AS y, count(z) AS z FROM orders o
LEFT JOIN (SELECT 7 AS x) p ON o.channel = 'web' LEFT JOIN (SELECT 'store' AS channel, 1 AS y) q USING (channel)
LEFT JOIN (SELECT 2 AS z WHERE false) r ON true;

-- [computed_row] LATERAL beside each row, with conditions of its own.
SELECT dear, count(*), count(low) AS low, count(high) AS high FROM orders o
LEFT JOIN LATERAL (SELECT freight > 50 AS dear) a ON true
LEFT JOIN LATERAL (SELECT freight * 2 AS low) b ON low < 40
LEFT JOIN LATERAL (SELECT freight * 2 AS high WHERE freight > 60) c ON true
CROSS JOIN LATERAL (SELECT 1 AS one WHERE channel = 'web') d GROUP BY dear;

-- [union_of_constants] UNION drops equal rows of a list, and only from its left side.
SELECT n, day, count(*) FROM orders JOIN (
  SELECT 1 AS n, DATE '2024-02-01' AS day UNION SELECT 1, DATE '2024-02-01' UNION (SELECT 2, DATE '2024-03-01' UNION ALL SELECT 2, DATE '2024-03-01')
) t ON order_date >= day GROUP BY 1, 2;

-- [union_all_of_constants] UNION ALL keeps them.
SELECT n, count(*) FROM orders CROSS JOIN (SELECT 1 AS n UNION SELECT 1 UNION ALL SELECT 1 ORDER BY 1) t GROUP BY 1;

-- [computed_bounds] Bounds of buckets, computed from constants.
WITH s AS (SELECT 5 AS n, 0 AS low, 100 AS high)
SELECT width_bucket(freight, s.low, s.high + 1, s.n) AS bucket, count(*) FROM orders, s GROUP BY 1;

-- [group_of_constants] An aggregate of one row without tables.
SELECT o.channel, count(*) FROM orders o JOIN (SELECT max(x) AS m, count(*) AS n FROM (SELECT 20 AS x) p) q ON o.freight > q.m AND q.n = 1 GROUP BY 1;

-- [public_range] Numbers of public tables, whose ranges nobody declares.
SELECT c.credits, sum(c.credits) AS credits_taken, sum(c.credits * e.score) / sum(c.credits) AS gpa, max(p.unit_price)
FROM enrollments e JOIN courses c USING (course_id) CROSS JOIN (SELECT unit_price FROM products WHERE product_id = 1) p
GROUP BY c.credits;

-- [public_range_per_person] Sums of them per person.
SELECT t, count(*), avg(m) FROM (
  SELECT o.customer_id, o.channel AS t, sum(p.unit_price * i.quantity) AS m FROM orders o
  JOIN order_items i USING (order_id) JOIN products p USING (product_id) WHERE o.customer_id IS NOT NULL GROUP BY 1, 2
) x GROUP BY t;

-- [quantile_of_days] Quantiles of the time between two moments of declared ranges.
SELECT channel, percentile_cont(0.5) WITHIN GROUP (ORDER BY (shipped_date - order_date) / 7.0) AS weeks,
  percentile_cont(0.9) WITHIN GROUP (ORDER BY (shipped_date - order_date) / 365.25) FILTER (WHERE freight > 5)
FROM orders GROUP BY channel;

-- [quantile_of_hours] In seconds, and per person.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM first_at - signed_up_at) / 86400) AS days
FROM (
  SELECT c.customer_id, c.signed_up_at, min(e.occurred_at) AS first_at
  FROM customers c JOIN events e ON e.customer_id = c.customer_id GROUP BY 1, 2
) t;

-- [chosen_by_people] Public rows that people choose: each counts once, however many people chose it.
SELECT brand, count(*), count(CASE WHEN category_id > 1 THEN 1 END) AS some, sum(GREATEST(LEAST(unit_price, 50), 0)), count(DISTINCT category_id)
FROM products p WHERE EXISTS (SELECT 1 FROM order_items i WHERE i.product_id = p.product_id AND i.quantity > 36) GROUP BY brand;

-- [chosen_averages] Averages over them.
SELECT avg(GREATEST(LEAST(unit_price, 50), 0)), avg(LEAST(GREATEST(category_id, 0), 9)) FILTER (WHERE NOT discontinued) FROM products
WHERE product_id IN (SELECT product_id FROM reviews WHERE rating = 5);

-- [chosen_pairs] Of several public tables, each with a key.
SELECT c.category_name, count(*) FROM products p JOIN categories c USING (category_id)
WHERE p.product_id IN (SELECT product_id FROM reviews WHERE rating > 3) GROUP BY 1;

-- [chosen_list] A list of them.
SELECT DISTINCT brand FROM products WHERE product_id IN (SELECT product_id FROM order_items WHERE quantity > 36);

-- [quantile_of_lengths] Quantiles of numbers that only their type bounds.
SELECT country, percentile_disc(0.5) WITHIN GROUP (ORDER BY length(name)) AS usual,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY length(name) - length(city)) AS longer
FROM customers GROUP BY country;

-- [lateral_computed] A LATERAL aggregate of no rows is computed like any other.
SELECT c.country, count(*), sum(CASE WHEN o.total > 100 THEN 1 ELSE 0 END) AS big, sum(CASE WHEN o.total = -1 THEN 1 ELSE 0 END) AS none,
  sum(LEAST(o.n, 9)) AS n, sum(o.one) AS ones
FROM customers c CROSS JOIN LATERAL (
  SELECT COALESCE(sum(freight), -1) AS total, 2 * count(*) + 1 AS n, 1 AS one FROM orders WHERE orders.customer_id = c.customer_id AND channel = 'web'
) o GROUP BY c.country;

-- [unnamed] Columns of a subquery without aliases have PostgreSQL's names.
SELECT date_trunc, count(*) FROM (SELECT date_trunc('month', order_date), customer_id::bigint, upper(channel) FROM orders) t
WHERE customer_id > 3 AND upper = 'WEB' GROUP BY 1;

-- [remainders] Remainders of numbers without a declared range, as keys and added up.
SELECT order_id % 7 AS k, count(*), sum(order_id % 100) AS n FROM orders GROUP BY 1;

-- [halves] Two halves of the people by their number.
SELECT CASE WHEN mod(customer_id, 2) = 0 THEN 'a' ELSE 'b' END AS variant, count(*) FROM customers GROUP BY 1;

-- [referenced_keys] Keys of a public table that rows inside a subquery per person reference.
SELECT product_id, count(*) AS buyers, sum(q) AS bought
FROM (SELECT o.customer_id, i.product_id, sum(i.quantity) AS q
      FROM orders o JOIN order_items i ON i.order_id = o.order_id
      WHERE o.customer_id IS NOT NULL GROUP BY 1, 2) p
GROUP BY product_id;

-- [referenced_by_some] The same where the reference may be NULL, and only the first row of each person counts.
SELECT department_id, count(*) AS n
FROM (SELECT employee_id, department_id, row_number() OVER (PARTITION BY employee_id ORDER BY hire_date) AS r
      FROM employees WHERE department_id IS NOT NULL) t
WHERE r = 1 GROUP BY department_id;
