SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY l_quantity), percentile_cont(0.9) WITHIN GROUP (ORDER BY l_extendedprice) FILTER (WHERE l_tax > 0) FROM lineitem;
