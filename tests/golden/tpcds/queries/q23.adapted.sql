-- Customers are private keys: what all of them paid elsewhere for items that stores sell often in some month, not day.
WITH frequent_ss_items AS
  (SELECT i_item_sk item_sk,
          d_month_seq soldmonth,
          count(*) cnt
   FROM store_sales,
        date_dim,
        item
   WHERE ss_sold_date_sk = d_date_sk
     AND ss_item_sk = i_item_sk
     AND d_year IN (2000, 2000+1, 2000+2, 2000+3)
   GROUP BY i_item_sk,
            d_month_seq
   HAVING count(*) >4),
     catalogue AS
  (SELECT cs_item_sk item_sk,
          sum(cs_quantity*cs_list_price) sales
   FROM catalog_sales,
        date_dim
   WHERE d_year = 2000
     AND d_moy = 2
     AND cs_sold_date_sk = d_date_sk
   GROUP BY cs_item_sk),
     web AS
  (SELECT ws_item_sk item_sk,
          sum(ws_quantity*ws_list_price) sales
   FROM web_sales,
        date_dim
   WHERE d_year = 2000
     AND d_moy = 2
     AND ws_sold_date_sk = d_date_sk
   GROUP BY ws_item_sk)
SELECT channel,
       sum(sales) sales
FROM
  (SELECT 'catalog' channel, item_sk, sales
   FROM catalogue
   UNION ALL SELECT 'web' channel, item_sk, sales
   FROM web) sq3
WHERE item_sk IN
    (SELECT item_sk
     FROM frequent_ss_items)
GROUP BY channel
ORDER BY channel
