-- EXISTS over a private table, counted without it: the distinct orders that join with such a line.
select
    o_orderpriority,
    count(distinct o_orderkey) as order_count
from
    orders,
    lineitem
where
    o_orderdate >= date '1993-07-01'
    and o_orderdate < date '1993-07-01' + interval '3' month
    and l_orderkey = o_orderkey
    and l_commitdate < l_receiptdate
group by
    o_orderpriority
order by
    o_orderpriority;
