-- Names are no answer: how many such customers each band of incomes has who brought something back.
SELECT ib_income_band_sk,
       count(DISTINCT c_customer_sk) customers
FROM customer,
     customer_address,
     customer_demographics,
     household_demographics,
     income_band,
     store_sales,
     store_returns
WHERE ca_city = 'Edgewood'
  AND c_current_addr_sk = ca_address_sk
  AND ib_lower_bound >= 38128
  AND ib_upper_bound <= 38128 + 50000
  AND ib_income_band_sk = hd_income_band_sk
  AND cd_demo_sk = c_current_cdemo_sk
  AND hd_demo_sk = c_current_hdemo_sk
  AND ss_customer_sk = c_customer_sk
  AND sr_item_sk = ss_item_sk
  AND sr_ticket_number = ss_ticket_number
GROUP BY ib_income_band_sk
ORDER BY ib_income_band_sk
LIMIT 100
