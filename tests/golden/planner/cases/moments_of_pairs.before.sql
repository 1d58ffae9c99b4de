SELECT corr(l_quantity, l_extendedprice) FROM lineitem;
