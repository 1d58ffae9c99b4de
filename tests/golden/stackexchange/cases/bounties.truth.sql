SELECT sum(BountyAmount) AS offered, avg(BountyAmount) AS usual
FROM votes v JOIN posts p ON v.PostId = p.Id
WHERE VoteTypeId = 8
