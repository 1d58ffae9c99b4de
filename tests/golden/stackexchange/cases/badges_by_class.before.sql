-- How many gold, silver and bronze badges are there?
SELECT class, count(*) FROM badges GROUP BY 1 ORDER BY 1
