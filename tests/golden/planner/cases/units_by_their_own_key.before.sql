-- mechanism: gs
SELECT n_name, count(*) AS customers
FROM customer JOIN nation ON c_nationkey = n_nationkey
GROUP BY n_name
