SELECT sum(extract(month FROM age(l_receiptdate, l_shipdate))),
  count(*) FILTER (WHERE extract(epoch FROM l_receiptdate::timestamp - l_shipdate::timestamp) > 20 * 86400),
  count(*) FILTER (WHERE l_receiptdate::timestamp - l_shipdate::timestamp <= INTERVAL '36 hours'),
  count(*) FILTER (WHERE extract(day FROM l_receiptdate::timestamp - l_commitdate::timestamp) < -5),
  count(*) FILTER (WHERE l_shipdate + l_linenumber < l_commitdate)
FROM lineitem
WHERE l_shipdate >= date(timestamp '1995-01-01 00:00:00')
