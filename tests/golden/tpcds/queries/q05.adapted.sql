-- Sales and returns are added up by themselves: rows of two private tables are no one table.
WITH ssr AS
  (SELECT s_store_id,
          sum(sales) AS sales,
          sum(profit) AS profit,
          sum(return_amt) AS returns_,
          sum(net_loss) AS profit_loss
   FROM
     (SELECT s_store_id,
              sum(ss_ext_sales_price) AS sales,
              sum(ss_net_profit) AS profit,
              0 AS return_amt,
              0 AS net_loss
      FROM store_sales, date_dim, store
      WHERE ss_sold_date_sk = d_date_sk
        AND ss_store_sk = s_store_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY s_store_id
      UNION ALL SELECT s_store_id,
              0 AS sales,
              0 AS profit,
              sum(sr_return_amt) AS return_amt,
              sum(sr_net_loss) AS net_loss
      FROM store_returns, date_dim, store
      WHERE sr_returned_date_sk = d_date_sk
        AND sr_store_sk = s_store_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY s_store_id) salesreturns
   GROUP BY s_store_id),
 csr AS
  (SELECT cp_catalog_page_id,
          sum(sales) AS sales,
          sum(profit) AS profit,
          sum(return_amt) AS returns_,
          sum(net_loss) AS profit_loss
   FROM
     (SELECT cp_catalog_page_id,
              sum(cs_ext_sales_price) AS sales,
              sum(cs_net_profit) AS profit,
              0 AS return_amt,
              0 AS net_loss
      FROM catalog_sales, date_dim, catalog_page
      WHERE cs_sold_date_sk = d_date_sk
        AND cs_catalog_page_sk = cp_catalog_page_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY cp_catalog_page_id
      UNION ALL SELECT cp_catalog_page_id,
              0 AS sales,
              0 AS profit,
              sum(cr_return_amount) AS return_amt,
              sum(cr_net_loss) AS net_loss
      FROM catalog_returns, date_dim, catalog_page
      WHERE cr_returned_date_sk = d_date_sk
        AND cr_catalog_page_sk = cp_catalog_page_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY cp_catalog_page_id) salesreturns
   GROUP BY cp_catalog_page_id),
 wsr AS
  (SELECT web_site_id,
          sum(sales) AS sales,
          sum(profit) AS profit,
          sum(return_amt) AS returns_,
          sum(net_loss) AS profit_loss
   FROM
     (SELECT web_site_id,
              sum(ws_ext_sales_price) AS sales,
              sum(ws_net_profit) AS profit,
              0 AS return_amt,
              0 AS net_loss
      FROM web_sales, date_dim, web_site
      WHERE ws_sold_date_sk = d_date_sk
        AND ws_web_site_sk = web_site_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY web_site_id
      UNION ALL SELECT web_site_id,
              0 AS sales,
              0 AS profit,
              sum(wr_return_amt) AS return_amt,
              sum(wr_net_loss) AS net_loss
      FROM web_returns
      LEFT OUTER JOIN web_sales ON (wr_item_sk = ws_item_sk AND wr_order_number = ws_order_number), date_dim, web_site
      WHERE wr_returned_date_sk = d_date_sk
        AND ws_web_site_sk = web_site_sk
        AND d_date BETWEEN cast('2000-08-23' AS date) AND cast('2000-09-06' AS date)
      GROUP BY web_site_id) salesreturns
   GROUP BY web_site_id)
SELECT channel ,
       id ,
       sum(sales) AS sales ,
       sum(returns_) AS returns_ ,
       sum(profit) AS profit
FROM
  (SELECT 'store channel' AS channel ,
          concat('store', s_store_id) AS id ,
          sales ,
          returns_ ,
          (profit - profit_loss) AS profit
   FROM ssr
   UNION ALL SELECT 'catalog channel' AS channel ,
                    concat('catalog_page', cp_catalog_page_id) AS id ,
                    sales ,
                    returns_ ,
                    (profit - profit_loss) AS profit
   FROM csr
   UNION ALL SELECT 'web channel' AS channel ,
                    concat('web_site', web_site_id) AS id ,
                    sales ,
                    returns_ ,
                    (profit - profit_loss) AS profit
   FROM wsr ) x
GROUP BY ROLLUP (channel,
                 id)
ORDER BY channel NULLS FIRST,
         id NULLS FIRST
LIMIT 100
