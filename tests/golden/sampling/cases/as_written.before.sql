SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (10) JOIN lineitem ON l_orderkey = o_orderkey
