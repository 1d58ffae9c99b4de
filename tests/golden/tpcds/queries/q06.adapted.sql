-- The month and the average price of a category are public questions of their own; their answers are listed here.
SELECT a.ca_state state,
       count(*) cnt
FROM customer_address a ,
     customer c ,
     store_sales s ,
     date_dim d ,
     item i
WHERE a.ca_address_sk = c.c_current_addr_sk
  AND c.c_customer_sk = s.ss_customer_sk
  AND s.ss_sold_date_sk = d.d_date_sk
  AND s.ss_item_sk = i.i_item_sk
  AND d.d_month_seq = 1212
  AND i.i_current_price > 1.2 * CASE i.i_category
                                 WHEN 'Books' THEN 43.19
                                 WHEN 'Children' THEN 46.21
                                 WHEN 'Electronics' THEN 45.38
                                 WHEN 'Home' THEN 46.19
                                 WHEN 'Jewelry' THEN 42.62
                                 WHEN 'Men' THEN 41.36
                                 WHEN 'Music' THEN 45.08
                                 WHEN 'Shoes' THEN 45.37
                                 WHEN 'Sports' THEN 36.99
                                 WHEN 'Women' THEN 37.93
                             END
GROUP BY a.ca_state
HAVING count(*) >= 10
ORDER BY cnt NULLS FIRST,
         a.ca_state NULLS FIRST
LIMIT 100
