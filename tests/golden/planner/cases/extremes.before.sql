SELECT max(l_extendedprice), min(l_quantity, 20) FROM lineitem;
