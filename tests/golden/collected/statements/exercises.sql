-- Exercises and interview questions: a club's bookings, Northwind, HR and school databases.

-- [exe01] number of dear products
select count(*) from products where unit_price >= 10;

-- [exe02] who recommended how many
select referrer_id, count(*) from customers where referrer_id is not null group by referrer_id order by referrer_id;

-- [exe03] quantity by product
select product_id, sum(quantity) as "Total Quantity" from order_items group by product_id order by product_id;

-- [exe04] quantity by product in one month
select i.product_id, sum(i.quantity) as "Total Quantity"
from order_items i
inner join orders o on o.order_id = i.order_id
where o.order_date >= '2024-09-01' and o.order_date < '2024-10-01'
group by i.product_id
order by sum(i.quantity);

-- [exe05] quantity by product and month of a year
select product_id, extract(month from order_date) as month, sum(quantity)
from order_items join orders using (order_id)
where extract(year from order_date) = 2024
group by product_id, month
order by product_id, month;

-- [exe06] how many customers ordered at all
select count(*) from (select distinct customer_id from orders) as buyers;

-- [exe07] products that sold much
select product_id, sum(quantity) from order_items group by product_id having sum(quantity) > 100 order by product_id;

-- [exe08] revenue by product, with another price for big lines
select p.product_name,
       sum(i.quantity * case when i.quantity >= 10 then i.unit_price * 0.9 else i.unit_price end) as revenue
from order_items i
inner join products p on p.product_id = i.product_id
group by p.product_name
order by revenue;

-- [exe09] products with little revenue
select product_name, revenue from (
    select p.product_name, sum(i.quantity * i.unit_price) as revenue
    from order_items i inner join products p on p.product_id = i.product_id
    group by p.product_name
) as agg
where revenue < 20000
order by revenue;

-- [exe10] the product that sold best
select product_id, sum(quantity) as total from order_items group by product_id order by sum(quantity) desc limit 1;

-- [exe11] the same without LIMIT
with sums as (select product_id, sum(quantity) as total from order_items group by product_id)
select product_id, total from sums where total = (select max(total) from sums);

-- [exe12] quantity by product and month with subtotals
select product_id, extract(month from order_date) as month, sum(quantity) as quantity
from order_items join orders using (order_id)
where order_date >= '2024-01-01' and order_date < '2025-01-01'
group by rollup(product_id, month)
order by product_id, month;

-- [exe13] freight by country, three dearest
SELECT ship_country, AVG(freight) AS average_freight
FROM orders
WHERE order_date >= '2024-01-01' AND order_date < '2025-01-01'
GROUP BY ship_country
ORDER BY average_freight DESC
LIMIT 3;

-- [exe14] the same in the twelve months before the last order
SELECT ship_country, AVG(freight) AS average_freight
FROM orders
WHERE order_date >= (SELECT MAX(order_date) FROM orders) - INTERVAL '1 year'
GROUP BY ship_country
ORDER BY average_freight DESC
LIMIT 3;

-- [exe15] customers whose one order was large
SELECT c.customer_id, c.name, o.order_id, SUM(i.quantity * i.unit_price) AS total
FROM customers c
JOIN orders o ON o.customer_id = c.customer_id
JOIN order_items i ON i.order_id = o.order_id
WHERE o.order_date >= '2024-01-01'
GROUP BY c.customer_id, c.name, o.order_id
HAVING SUM(i.quantity * i.unit_price) > 1000
ORDER BY total DESC;

-- [exe16] orders shipped late, by country
SELECT ship_country, COUNT(*) AS late_orders
FROM orders
WHERE shipped_date > order_date + 14
GROUP BY ship_country
ORDER BY late_orders DESC;

-- [exe17] late against all orders
WITH late AS (
    SELECT ship_country, COUNT(*) AS late_orders FROM orders WHERE shipped_date - order_date > 14 GROUP BY ship_country
), everything AS (
    SELECT ship_country, COUNT(*) AS all_orders FROM orders GROUP BY ship_country
)
SELECT e.ship_country, e.all_orders, COALESCE(l.late_orders, 0) AS late_orders,
       COALESCE(l.late_orders, 0) * 100.0 / e.all_orders AS pct_late
FROM everything e LEFT JOIN late l ON l.ship_country = e.ship_country
ORDER BY e.ship_country;

-- [exe18] customers grouped by what they spent
WITH spent AS (
    SELECT o.customer_id, SUM(i.quantity * i.unit_price) AS total
    FROM orders o JOIN order_items i ON i.order_id = o.order_id
    GROUP BY o.customer_id
)
SELECT CASE WHEN total < 1000 THEN 'Low' WHEN total < 5000 THEN 'Medium' ELSE 'High' END AS customer_group,
       COUNT(*) AS customers
FROM spent
GROUP BY 1;

-- [exe19] orders with two lines of the same quantity
SELECT COUNT(DISTINCT a.order_id)
FROM order_items a
JOIN order_items b ON a.order_id = b.order_id AND a.quantity = b.quantity AND a.line_number < b.line_number
WHERE a.quantity >= 3;

-- [exe20] those who earn more than their manager
SELECT e.first_name FROM employees e JOIN employees m ON e.manager_id = m.employee_id WHERE e.salary > m.salary;

-- [exe21] how many earn more than their manager
SELECT COUNT(*) FROM employees e JOIN employees m ON e.manager_id = m.employee_id WHERE e.salary > m.salary;

-- [exe22] the second highest salary
SELECT MAX(salary) FROM employees WHERE salary < (SELECT MAX(salary) FROM employees);

-- [exe23] the three best paid of every department
SELECT department_name, first_name, salary
FROM (
    SELECT d.department_name, e.first_name, e.salary,
           DENSE_RANK() OVER (PARTITION BY e.department_id ORDER BY e.salary DESC) AS rnk
    FROM employees e JOIN departments d ON d.department_id = e.department_id
) ranked
WHERE rnk <= 3;

-- [exe24] the best paid of every department
SELECT department_id, MAX(salary) FROM employees GROUP BY department_id;

-- [exe25] departments of at most three
SELECT department_id FROM employees GROUP BY department_id HAVING COUNT(*) <= 3;

-- [exe26] all departments with their number of employees
SELECT d.department_name, COUNT(e.employee_id) AS employees
FROM departments d
LEFT JOIN employees e ON e.department_id = d.department_id
GROUP BY d.department_name
ORDER BY employees DESC;

-- [exe27] how many earn more than the average
SELECT COUNT(*) FROM employees WHERE salary > (SELECT AVG(salary) FROM employees);

-- [exe28] how many earn more than their department's average
SELECT COUNT(*) FROM employees e
WHERE e.salary > (SELECT AVG(x.salary) FROM employees x WHERE x.department_id = e.department_id);

-- [exe29] addresses that are there twice
SELECT email FROM employees GROUP BY email HAVING COUNT(email) > 1;

-- [exe30] hired in the same month
SELECT EXTRACT(MONTH FROM hire_date) AS month, COUNT(*) AS hired
FROM employees
GROUP BY EXTRACT(MONTH FROM hire_date)
ORDER BY month;

-- [exe31] average salary by job title where it is high
SELECT j.job_title, ROUND(AVG(e.salary), 2) AS avg_salary
FROM employees e JOIN jobs j ON j.job_id = e.job_id
GROUP BY j.job_title
HAVING AVG(e.salary) > 6000
ORDER BY avg_salary DESC;

-- [exe32] the payroll with commission
SELECT SUM(salary + salary * COALESCE(commission_pct, 0)) AS payroll FROM employees;

-- [exe33] average score by course
SELECT c.course_name, AVG(e.score) AS average_grade
FROM enrollments e
JOIN courses c ON e.course_id = c.course_id
GROUP BY c.course_name
HAVING AVG(e.score) > 50;

-- [exe34] students without a course
SELECT COUNT(*) FROM students WHERE student_id NOT IN (SELECT student_id FROM enrollments);

-- [exe35] students above the average of all scores
SELECT s.name
FROM students s
JOIN (SELECT student_id, AVG(score) AS avg_score FROM enrollments GROUP BY student_id) a ON a.student_id = s.student_id
WHERE a.avg_score > (SELECT AVG(score) FROM enrollments);

-- [exe36] students a department, also those with none
SELECT d.department_name, COUNT(s.student_id) AS student_count
FROM departments d
LEFT JOIN students s ON d.department_id = s.department_id
GROUP BY d.department_id, d.department_name
ORDER BY student_count DESC;

-- [exe37] letters as grade points
SELECT c.course_name,
       AVG(CASE e.grade WHEN 'A' THEN 4.0 WHEN 'B' THEN 3.0 WHEN 'C' THEN 2.0 WHEN 'D' THEN 1.0 ELSE 0.0 END) AS gpa
FROM courses c JOIN enrollments e ON e.course_id = c.course_id
GROUP BY c.course_name
ORDER BY gpa DESC;

-- [exe38] students who passed at least three courses
SELECT COUNT(*) FROM (
    SELECT student_id FROM enrollments WHERE score >= 50 GROUP BY student_id HAVING COUNT(*) >= 3
) AS passed;

-- [exe39] average score by gender and department
SELECT s.gender, d.department_name, COUNT(DISTINCT s.student_id) AS students, ROUND(AVG(e.score), 1) AS avg_score
FROM students s
JOIN departments d ON d.department_id = s.department_id
JOIN enrollments e ON e.student_id = s.student_id
GROUP BY s.gender, d.department_name
ORDER BY 2, 1;

-- [exe40] the best score of every course
SELECT c.course_name, MAX(e.score) AS max_score FROM courses c JOIN enrollments e ON c.course_id = e.course_id GROUP BY c.course_name;
