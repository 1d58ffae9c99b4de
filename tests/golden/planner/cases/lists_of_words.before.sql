SELECT w.word, o_orderpriority, count(*) AS times, count(DISTINCT o_custkey) AS customers
FROM orders, unnest(string_to_array(o_comment, ' ')) AS w(word)
WHERE w.word IN ('furiously', 'deposits', 'the') AND o_orderpriority IN ('1-URGENT', '5-LOW')
GROUP BY w.word, o_orderpriority
