SELECT count(*) FROM orders
WHERE concat_ws('/', o_orderpriority, o_orderstatus, o_orderdate) LIKE '1-URGENT%/F/1994%'
   OR split_part(o_orderpriority, '-', 2) = 'HIGH' AND lpad(o_orderkey::text, 8, '0') < '00001000'
   OR concat(left(o_clerk, 5), o_shippriority) = 'Clerk0' AND o_orderdate::text > '1998'
   OR replace(o_clerk, 'Clerk#', '') > '000000900'
