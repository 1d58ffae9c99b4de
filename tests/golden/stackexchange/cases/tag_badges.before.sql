-- Are experts of a subject rare?
SELECT TagBased AS expert, count(*) AS badges, count(DISTINCT UserId) AS people FROM badges GROUP BY TagBased
