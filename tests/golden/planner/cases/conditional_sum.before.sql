SELECT sum(CASE WHEN l_returnflag = 'R' THEN l_quantity / 2 ELSE 0 END) FROM lineitem;
