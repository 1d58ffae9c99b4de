-- The parts' average quantity is a question of its own (25.5 for all of them); its released answer is a literal here.
select
    sum(l_extendedprice) / 7.0 as avg_yearly
from
    lineitem,
    part
where
    p_partkey = l_partkey
    and p_brand = 'Brand#23'
    and p_container = 'MED BOX'
    and l_quantity < 0.2 * 25.5;
