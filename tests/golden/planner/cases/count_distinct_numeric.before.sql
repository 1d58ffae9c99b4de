SELECT count(DISTINCT l_discount), count(DISTINCT l_quantity::int) FROM lineitem;
