-- Customers and tickets are private keys: the same sums by where they live and where they bought.
SELECT current_addr.ca_city,
       bought.ca_city bought_city,
       sum(ss_coupon_amt) amt,
       sum(ss_net_profit) profit
FROM store_sales,
     date_dim,
     store,
     household_demographics,
     customer_address bought,
     customer,
     customer_address current_addr
WHERE store_sales.ss_sold_date_sk = date_dim.d_date_sk
  AND store_sales.ss_store_sk = store.s_store_sk
  AND store_sales.ss_hdemo_sk = household_demographics.hd_demo_sk
  AND store_sales.ss_addr_sk = bought.ca_address_sk
  AND (household_demographics.hd_dep_count = 4
       OR household_demographics.hd_vehicle_count= 3)
  AND date_dim.d_dow IN (6, 0)
  AND date_dim.d_year IN (1999, 1999+1, 1999+2)
  AND store.s_city IN ('Fairview', 'Midway')
  AND ss_customer_sk = c_customer_sk
  AND c_current_addr_sk = current_addr.ca_address_sk
  AND current_addr.ca_city <> bought.ca_city
GROUP BY current_addr.ca_city,
         bought.ca_city
ORDER BY 1 NULLS FIRST,
         2 NULLS FIRST
LIMIT 100
