SELECT count(l_tax) FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey;
