-- The customers themselves are private keys: the bar of each store, 1.2 times what a customer of it has returned.
SELECT s_store_id,
       s_store_name,
       1.2 * sum(sr_return_amt) / count(DISTINCT sr_customer_sk) AS bar
FROM store_returns,
     date_dim,
     store
WHERE sr_returned_date_sk = d_date_sk
  AND d_year = 2000
  AND s_store_sk = sr_store_sk
  AND s_state = 'TN'
GROUP BY s_store_id,
         s_store_name
ORDER BY s_store_id,
         s_store_name
LIMIT 100
