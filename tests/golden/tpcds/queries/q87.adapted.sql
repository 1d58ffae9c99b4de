-- A customer is one with a key, whatever the name: the other channels are looked through for the same one's day.
SELECT count(DISTINCT (c_customer_sk, d_date))
FROM store_sales,
     date_dim,
     customer
WHERE ss_sold_date_sk = d_date_sk
  AND ss_customer_sk = c_customer_sk
  AND d_month_seq BETWEEN 1200 AND 1200 + 11
  AND NOT EXISTS
    (SELECT *
     FROM catalog_sales
     WHERE cs_bill_customer_sk = c_customer_sk
       AND cs_sold_date_sk = d_date_sk)
  AND NOT EXISTS
    (SELECT *
     FROM web_sales
     WHERE ws_bill_customer_sk = c_customer_sk
       AND ws_sold_date_sk = d_date_sk)
