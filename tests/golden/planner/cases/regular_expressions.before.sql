SELECT count(*)
FROM orders
WHERE o_comment ~ '(special|pending).*requests$' AND o_orderpriority !~* '^[12]-' AND o_comment SIMILAR TO '%the_(final|bold)%'
