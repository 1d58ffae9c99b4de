SELECT sum(l_quantity - 1000 * l_tax) FROM lineitem;
