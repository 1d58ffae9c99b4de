SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, supplier
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey;
