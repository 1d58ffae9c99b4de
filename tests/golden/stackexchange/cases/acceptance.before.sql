-- Which share of the questions has an accepted answer?
SELECT 1.0 * count(AcceptedAnswerId) / count(*) AS accepted FROM posts WHERE PostTypeId = 1
