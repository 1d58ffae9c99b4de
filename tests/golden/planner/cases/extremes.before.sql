SELECT max(l_extendedprice), min(l_quantity) FROM lineitem;
