SELECT count(*), sum(a.l_quantity) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey
