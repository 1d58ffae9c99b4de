SELECT 10 * floor(l_quantity / 10) AS at_least, count(*)
FROM lineitem
GROUP BY 1
ORDER BY 1;
