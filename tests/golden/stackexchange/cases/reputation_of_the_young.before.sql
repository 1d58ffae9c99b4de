-- Are people in their twenties reputable?
SELECT avg(Reputation) AS reputation, count(*) AS people FROM users WHERE Age BETWEEN 20 AND 29
