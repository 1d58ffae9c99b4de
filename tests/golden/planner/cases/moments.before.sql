SELECT stddev_samp(l_quantity), avg(l_extendedprice) FROM lineitem;
