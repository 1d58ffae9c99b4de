-- Customers are private keys: the bar of each state, 1.2 times what a customer of it has returned.
SELECT ca_state,
       1.2 * sum(wr_return_amt) / count(DISTINCT wr_returning_customer_sk) AS bar
FROM web_returns,
     date_dim,
     customer_address
WHERE wr_returned_date_sk = d_date_sk
  AND d_year = 2002
  AND wr_returning_addr_sk = ca_address_sk
GROUP BY ca_state
ORDER BY ca_state
LIMIT 100
