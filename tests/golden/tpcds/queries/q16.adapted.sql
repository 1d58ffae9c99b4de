-- An order is one customer's: it is looked for among the lines that are billed to the same one.
SELECT count(DISTINCT cs_order_number) AS "order count",
       sum(cs_ext_ship_cost) AS "total shipping cost",
       sum(cs_net_profit) AS "total net profit"
FROM catalog_sales cs1,
     date_dim,
     customer_address,
     call_center
WHERE d_date BETWEEN '2002-02-01' AND cast('2002-04-02' AS date)
  AND cs1.cs_ship_date_sk = d_date_sk
  AND cs1.cs_ship_addr_sk = ca_address_sk
  AND ca_state = 'GA'
  AND cs1.cs_call_center_sk = cc_call_center_sk
  AND cc_county = 'Williamson County'
  AND EXISTS
    (SELECT *
     FROM catalog_sales other
     WHERE cs1.cs_order_number = other.cs_order_number
       AND cs1.cs_bill_customer_sk = other.cs_bill_customer_sk
       AND cs1.cs_warehouse_sk <> other.cs_warehouse_sk)
  AND NOT EXISTS
    (SELECT *
     FROM catalog_sales sold, catalog_returns
     WHERE cs1.cs_order_number = sold.cs_order_number
       AND cs1.cs_bill_customer_sk = sold.cs_bill_customer_sk
       AND sold.cs_item_sk = cr_item_sk
       AND sold.cs_order_number = cr_order_number)
ORDER BY count(DISTINCT cs_order_number)
LIMIT 100
