-- What is sold in all channels follows from three answers: no row of one is looked for in another.
WITH ss_years AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          count(*) lines,
          sum(ss_quantity*ss_list_price) sales,
          count(ss_quantity*ss_list_price) known
   FROM store_sales, item, date_dim
   WHERE ss_item_sk = i_item_sk
     AND ss_sold_date_sk = d_date_sk
     AND d_year BETWEEN 1999 AND 1999 + 2
   GROUP BY i_brand_id, i_class_id, i_category_id),
 cs_years AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          count(*) lines,
          sum(cs_quantity*cs_list_price) sales,
          count(cs_quantity*cs_list_price) known
   FROM catalog_sales, item, date_dim
   WHERE cs_item_sk = i_item_sk
     AND cs_sold_date_sk = d_date_sk
     AND d_year BETWEEN 1999 AND 1999 + 2
   GROUP BY i_brand_id, i_class_id, i_category_id),
 ws_years AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          count(*) lines,
          sum(ws_quantity*ws_list_price) sales,
          count(ws_quantity*ws_list_price) known
   FROM web_sales, item, date_dim
   WHERE ws_item_sk = i_item_sk
     AND ws_sold_date_sk = d_date_sk
     AND d_year BETWEEN 1999 AND 1999 + 2
   GROUP BY i_brand_id, i_class_id, i_category_id),
 cross_items AS
  (SELECT a.i_brand_id, a.i_class_id, a.i_category_id
   FROM ss_years a, cs_years b, ws_years c
   WHERE a.i_brand_id = b.i_brand_id AND a.i_class_id = b.i_class_id AND a.i_category_id = b.i_category_id
     AND a.i_brand_id = c.i_brand_id AND a.i_class_id = c.i_class_id AND a.i_category_id = c.i_category_id
     AND a.lines > 0 AND b.lines > 0 AND c.lines > 0),
 avg_sales AS
  (SELECT sum(sales) / sum(known) average_sales
   FROM
     (SELECT sales, known FROM ss_years UNION ALL SELECT sales, known FROM cs_years UNION ALL
      SELECT sales, known FROM ws_years) sq2),
 ss_month AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          sum(ss_quantity*ss_list_price) sales,
          count(*) number_sales
   FROM store_sales, item, date_dim
   WHERE ss_item_sk = i_item_sk
     AND ss_sold_date_sk = d_date_sk
     AND d_year = 1999+2
     AND d_moy = 11
   GROUP BY i_brand_id, i_class_id, i_category_id),
 cs_month AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          sum(cs_quantity*cs_list_price) sales,
          count(*) number_sales
   FROM catalog_sales, item, date_dim
   WHERE cs_item_sk = i_item_sk
     AND cs_sold_date_sk = d_date_sk
     AND d_year = 1999+2
     AND d_moy = 11
   GROUP BY i_brand_id, i_class_id, i_category_id),
 ws_month AS
  (SELECT i_brand_id, i_class_id, i_category_id,
          sum(ws_quantity*ws_list_price) sales,
          count(*) number_sales
   FROM web_sales, item, date_dim
   WHERE ws_item_sk = i_item_sk
     AND ws_sold_date_sk = d_date_sk
     AND d_year = 1999+2
     AND d_moy = 11
   GROUP BY i_brand_id, i_class_id, i_category_id)
SELECT channel, i_brand_id, i_class_id, i_category_id, sum(sales) AS sum_sales, sum(number_sales) AS sum_number_sales
FROM
  (SELECT 'store' channel, a.i_brand_id, a.i_class_id, a.i_category_id, sales, number_sales
   FROM ss_month a, cross_items b
   WHERE a.i_brand_id = b.i_brand_id AND a.i_class_id = b.i_class_id AND a.i_category_id = b.i_category_id
     AND sales > (SELECT average_sales FROM avg_sales)
   UNION ALL SELECT 'catalog' channel, a.i_brand_id, a.i_class_id, a.i_category_id, sales, number_sales
   FROM cs_month a, cross_items b
   WHERE a.i_brand_id = b.i_brand_id AND a.i_class_id = b.i_class_id AND a.i_category_id = b.i_category_id
     AND sales > (SELECT average_sales FROM avg_sales)
   UNION ALL SELECT 'web' channel, a.i_brand_id, a.i_class_id, a.i_category_id, sales, number_sales
   FROM ws_month a, cross_items b
   WHERE a.i_brand_id = b.i_brand_id AND a.i_class_id = b.i_class_id AND a.i_category_id = b.i_category_id
     AND sales > (SELECT average_sales FROM avg_sales)) y
GROUP BY ROLLUP (channel,
                 i_brand_id,
                 i_class_id,
                 i_category_id)
ORDER BY channel NULLS FIRST,
         i_brand_id NULLS FIRST,
         i_class_id NULLS FIRST,
         i_category_id NULLS FIRST
LIMIT 100
