-- Every partsupp row has its one supplier, so the subquery is a join; by brand, that the groups are large enough.
select
    p_brand,
    count(distinct ps_suppkey) as supplier_cnt
from
    partsupp,
    part,
    supplier
where
    p_partkey = ps_partkey
    and p_brand <> 'Brand#45'
    and p_type not like 'MEDIUM POLISHED%'
    and p_size in (49, 14, 23, 45, 19, 3, 36, 9)
    and ps_suppkey = s_suppkey
    and s_comment not like '%Customer%Complaints%'
group by
    p_brand
order by
    supplier_cnt desc,
    p_brand;
