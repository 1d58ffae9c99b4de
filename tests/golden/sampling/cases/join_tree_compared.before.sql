SELECT o_orderstatus, count(*) FROM knows a JOIN knows b ON a.dst = b.src JOIN orders ON o_custkey = b.dst WHERE a.src < b.dst AND o_orderstatus IN ('F', 'O', 'P') GROUP BY o_orderstatus
