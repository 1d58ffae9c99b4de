-- Tutorials of SQL: sites that teach a clause a page, over a shop's or a company's tables.

-- [tut01] all customers with their addresses
SELECT * FROM customers;

-- [tut02] some columns of some customers, sorted
SELECT name, email, city FROM customers WHERE country = 'Germany' ORDER BY name;

-- [tut03] the different countries
SELECT DISTINCT country FROM customers ORDER BY country;

-- [tut04] how many different countries
SELECT COUNT(DISTINCT country) FROM customers;

-- [tut05] customers per country, largest first
SELECT COUNT(customer_id), country FROM customers GROUP BY country ORDER BY COUNT(customer_id) DESC;

-- [tut06] countries with more than five customers
SELECT COUNT(customer_id), country
FROM customers
GROUP BY country
HAVING COUNT(customer_id) > 5
ORDER BY COUNT(customer_id) DESC;

-- [tut07] orders between two dates
SELECT COUNT(*) FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-03-31';

-- [tut08] names that begin with a letter
SELECT COUNT(*) FROM customers WHERE name LIKE 'A%';

-- [tut09] a pattern without case
SELECT count(*) AS gmail_users FROM customers WHERE email ILIKE '%@gmail.com';

-- [tut10] average price of all products
SELECT AVG(unit_price) FROM products;

-- [tut11] cheapest and dearest product
SELECT MIN(unit_price) AS smallest_price, MAX(unit_price) AS largest_price FROM products;

-- [tut12] the quantity of everything sold
SELECT SUM(quantity) AS total_quantity FROM order_items;

-- [tut13] orders with the names of those who placed them
SELECT o.order_id, c.name, o.order_date
FROM orders AS o
INNER JOIN customers AS c ON o.customer_id = c.customer_id;

-- [tut14] customers who never ordered
SELECT c.name
FROM customers c
LEFT JOIN orders o ON c.customer_id = o.customer_id
WHERE o.order_id IS NULL;

-- [tut15] how many customers never ordered, by an outer join
SELECT COUNT(*)
FROM customers c
LEFT JOIN orders o ON c.customer_id = o.customer_id
WHERE o.order_id IS NULL;

-- [tut16] how many customers have an order, by EXISTS
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id);

-- [tut17] how many customers live where a list says
SELECT COUNT(*) FROM customers WHERE country NOT IN ('Germany', 'France', 'UK');

-- [tut18] products dearer than the average product
SELECT product_name, unit_price
FROM products
WHERE unit_price > (SELECT AVG(unit_price) FROM products)
ORDER BY unit_price DESC;

-- [tut19] lines classed by quantity
SELECT
    CASE WHEN quantity > 30 THEN 'The quantity is greater than 30'
         WHEN quantity = 30 THEN 'The quantity is 30'
         ELSE 'The quantity is under 30' END AS quantity_text,
    COUNT(*)
FROM order_items
GROUP BY 1;

-- [tut20] quantity by brand and category, with both subtotals and a total
SELECT p.brand, c.category_name, SUM(i.quantity)
FROM order_items i
JOIN products p ON p.product_id = i.product_id
JOIN categories c ON c.category_id = p.category_id
GROUP BY GROUPING SETS ((p.brand, c.category_name), (p.brand), (c.category_name), ());

-- [tut21] the same by ROLLUP
SELECT brand, category_id, SUM(quantity) AS quantity
FROM order_items
JOIN products USING (product_id)
GROUP BY ROLLUP (brand, category_id)
ORDER BY brand, category_id;

-- [tut22] the same by CUBE
SELECT p.brand, p.category_id, SUM(i.quantity)
FROM order_items i INNER JOIN products p ON i.product_id = p.product_id
GROUP BY CUBE (p.brand, p.category_id);

-- [tut23] which subtotal a row is, by GROUPING
SELECT GROUPING(ship_country) AS all_countries, ship_country, status, COUNT(*)
FROM orders
GROUP BY ROLLUP (ship_country, status)
ORDER BY 1, 2, 3;

-- [tut24] countries of customers and of orders together
SELECT country FROM customers UNION SELECT ship_country FROM orders ORDER BY 1;

-- [tut25] customers and shipped orders counted one under the other
SELECT 'customers' AS what, COUNT(*) AS n FROM customers
UNION ALL
SELECT 'orders', COUNT(*) FROM orders;

-- [tut26] a missing city shown as a word
SELECT COALESCE(city, 'unknown') AS city, COUNT(*) FROM customers GROUP BY COALESCE(city, 'unknown');

-- [tut27] average discount without the zeros
SELECT AVG(NULLIF(discount, 0)) FROM order_items;

-- [tut28] orders a year
SELECT EXTRACT(YEAR FROM order_date) AS year, COUNT(*) FROM orders GROUP BY EXTRACT(YEAR FROM order_date) ORDER BY year;

-- [tut29] sign-ups a month
SELECT DATE_TRUNC('month', signed_up_at) AS month, COUNT(customer_id) AS count
FROM customers
GROUP BY month
ORDER BY month;

-- [tut30] customers numbered by when they signed up
SELECT customer_id, name, ROW_NUMBER() OVER (ORDER BY signed_up_at) FROM customers;

-- [tut31] salaries beside their department's average
SELECT department_id, employee_id, salary, avg(salary) OVER (PARTITION BY department_id) FROM employees;

-- [tut32] a department's employees ranked by salary
SELECT department_id, employee_id, salary,
       rank() OVER (PARTITION BY department_id ORDER BY salary DESC)
FROM employees;

-- [tut33] a running total of orders a month
SELECT month, orders, SUM(orders) OVER (ORDER BY month) AS running_total
FROM (
    SELECT DATE_TRUNC('month', order_date) AS month, COUNT(*) AS orders
    FROM orders
    GROUP BY 1
) AS monthly
ORDER BY month;

-- [tut34] each status's part of all orders
SELECT status, COUNT(*) AS orders, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct
FROM orders
GROUP BY status
ORDER BY pct DESC;

-- [tut35] counts of conditions side by side
SELECT COUNT(*) AS total,
       COUNT(*) FILTER (WHERE status = 'shipped') AS shipped,
       COUNT(*) FILTER (WHERE status = 'cancelled') AS cancelled
FROM orders;

-- [tut36] the domain of the mail address
SELECT split_part(email, '@', 2) AS domain, COUNT(*) FROM customers GROUP BY 1 ORDER BY 2 DESC LIMIT 10;

-- [tut37] customers by first letter
SELECT UPPER(LEFT(name, 1)) AS initial, COUNT(*) FROM customers GROUP BY UPPER(LEFT(name, 1)) ORDER BY initial;

-- [tut38] the length of names
SELECT AVG(LENGTH(name)) FROM customers;

-- [tut39] how old customers are
SELECT AVG(EXTRACT(YEAR FROM AGE(birth_date))) AS avg_age FROM customers;

-- [tut40] the days until an order left
SELECT AVG(shipped_date - order_date) AS avg_days FROM orders WHERE shipped_date IS NOT NULL;
