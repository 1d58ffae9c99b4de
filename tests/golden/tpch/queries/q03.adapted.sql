-- The orders themselves are private keys: the same revenue by the orders' priority.
select
    o_orderpriority,
    sum(l_extendedprice * (1 - l_discount)) as revenue
from
    customer,
    orders,
    lineitem
where
    c_mktsegment = 'BUILDING'
    and c_custkey = o_custkey
    and l_orderkey = o_orderkey
    and o_orderdate < date '1995-03-15'
    and l_shipdate > date '1995-03-15'
group by
    o_orderpriority
order by
    revenue desc
limit 10;
