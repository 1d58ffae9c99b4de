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
