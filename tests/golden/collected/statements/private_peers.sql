-- What the documentation of other private systems asks: SmartNoise, BigQuery, Diffix, Qrlew, Tumult, OpenDP.

-- [peer01] SmartNoise: an average by a category
SELECT sex, AVG(age) AS age FROM persons GROUP BY sex;

-- [peer02] SmartNoise: counts and sums by two categories
SELECT married, education, COUNT(*) AS n, SUM(income) AS income FROM persons GROUP BY married, education ORDER BY n DESC;

-- [peer03] SmartNoise: variance
SELECT VARIANCE(age) AS v, STDDEV(age) AS s FROM persons WHERE married = true;

-- [peer04] SmartNoise: an expression of aggregates
SELECT COUNT(*) AS c, SUM(income) / COUNT(income) AS mean_income, 2 * COUNT(*) + 1 AS odd FROM persons WHERE age BETWEEN 18 AND 64;

-- [peer05] BigQuery: average quantity by item
SELECT product_id AS item, AVG(quantity) AS average_quantity FROM order_items GROUP BY product_id;

-- [peer06] BigQuery: items counted under a threshold of people
SELECT i.product_id, COUNT(*) AS times_requested
FROM orders o JOIN order_items i ON i.order_id = o.order_id
GROUP BY i.product_id
HAVING COUNT(DISTINCT o.customer_id) >= 10;

-- [peer07] BigQuery: a median
SELECT product_id, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY quantity) AS median_quantity FROM order_items GROUP BY product_id;

-- [peer08] Google's restaurant: visits by hour
SELECT EXTRACT(HOUR FROM occurred_at) AS hour, COUNT(*) AS visits FROM events GROUP BY 1 ORDER BY 1;

-- [peer09] Google's restaurant: minutes spent by weekday
SELECT EXTRACT(DOW FROM occurred_at) AS weekday, SUM(duration_ms / 60000.0) AS minutes, AVG(duration_ms) AS mean_ms
FROM events
GROUP BY EXTRACT(DOW FROM occurred_at)
ORDER BY weekday;

-- [peer10] Diffix: generalised salaries
SELECT floor(salary / 1000) * 1000 AS salary_range, count(*) FROM employees GROUP BY 1;

-- [peer11] Diffix: the first letters of a text
SELECT substring(city, 1, 2) AS prefix, count(DISTINCT customer_id) FROM customers GROUP BY substring(city, 1, 2);

-- [peer12] Diffix: a column as a whole number
SELECT round(freight) AS freight, count(*) FROM orders GROUP BY round(freight);

-- [peer13] Qrlew: an average over a join with a renamed column
SELECT 100 * AVG(t.quantity) / AVG(t.unit_price) AS ratio
FROM (SELECT quantity, unit_price, order_id FROM order_items WHERE quantity > 0) AS t
JOIN orders o ON o.order_id = t.order_id
WHERE o.status = 'shipped';

-- [peer14] Tumult: counts in bins of age
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 35 THEN '18-34' WHEN age < 65 THEN '35-64' ELSE '65+' END AS age_bin,
       education, COUNT(*) AS n
FROM persons
GROUP BY age_bin, education;

-- [peer15] Tumult: a join with a public table
SELECT r.region, COUNT(*) AS people, AVG(p.income) AS mean_income
FROM persons p INNER JOIN states r ON r.state = p.state
GROUP BY r.region;

-- [peer16] OpenDP: a clamped mean
SELECT AVG(LEAST(GREATEST(income, 0), 100000)) AS mean_income FROM persons;

-- [peer17] OpenDP: a count of each decade of age
SELECT (age / 10) * 10 AS decade, COUNT(*) FROM persons GROUP BY (age / 10) * 10 ORDER BY decade;

-- [peer18] Chorus: a count over a join of many to many
SELECT COUNT(*) FROM reviews r JOIN order_items i ON r.product_id = i.product_id JOIN orders o ON o.order_id = i.order_id;
