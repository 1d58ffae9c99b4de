SELECT sum(l_quantity) FROM lineitem
WHERE l_partkey NOT IN (SELECT p_partkey FROM part WHERE p_size > 20)
  AND NOT EXISTS (SELECT 1 FROM nation WHERE n_nationkey = l_linenumber AND n_name < 'C')
