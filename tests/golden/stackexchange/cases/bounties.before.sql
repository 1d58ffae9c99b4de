-- How much reputation was offered for answers?
SELECT sum(BountyAmount) AS offered, avg(BountyAmount) AS usual FROM votes WHERE VoteTypeId = 8
