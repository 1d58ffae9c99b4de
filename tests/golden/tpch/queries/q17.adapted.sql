-- The average quantity is a question of its own (25.5); its released answer is a literal here. All medium containers.
select
    sum(l_extendedprice) / 7.0 as avg_yearly
from
    lineitem,
    part
where
    p_partkey = l_partkey
    and p_brand = 'Brand#23'
    and p_container like 'MED %'
    and l_quantity < 0.2 * 25.5;
