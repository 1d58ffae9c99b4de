SELECT 10 * floor(l_quantity::float8 / 10) AS at_least, round(l_quantity, -1) AS near, count(*)
FROM lineitem
GROUP BY 1, 2
ORDER BY 1, 2;
