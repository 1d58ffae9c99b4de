-- Whether the same customer bought the same item elsewhere is asked of each; no customer is no one's.
SELECT (SELECT count(DISTINCT (ss_customer_sk, ss_item_sk))
   FROM store_sales, date_dim
   WHERE ss_sold_date_sk = d_date_sk
     AND d_month_seq BETWEEN 1200 AND 1200 + 11
     AND NOT EXISTS
       (SELECT *
        FROM catalog_sales, date_dim other
        WHERE cs_bill_customer_sk = ss_customer_sk
          AND cs_item_sk = ss_item_sk
          AND cs_sold_date_sk = other.d_date_sk
          AND other.d_month_seq BETWEEN 1200 AND 1200 + 11)) store_only,
  (SELECT count(DISTINCT (cs_bill_customer_sk, cs_item_sk))
   FROM catalog_sales, date_dim
   WHERE cs_sold_date_sk = d_date_sk
     AND d_month_seq BETWEEN 1200 AND 1200 + 11
     AND NOT EXISTS
       (SELECT *
        FROM store_sales, date_dim other
        WHERE ss_customer_sk = cs_bill_customer_sk
          AND ss_item_sk = cs_item_sk
          AND ss_sold_date_sk = other.d_date_sk
          AND other.d_month_seq BETWEEN 1200 AND 1200 + 11)) catalog_only,
  (SELECT count(DISTINCT (ss_customer_sk, ss_item_sk))
   FROM store_sales, date_dim
   WHERE ss_sold_date_sk = d_date_sk
     AND d_month_seq BETWEEN 1200 AND 1200 + 11
     AND EXISTS
       (SELECT *
        FROM catalog_sales, date_dim other
        WHERE cs_bill_customer_sk = ss_customer_sk
          AND cs_item_sk = ss_item_sk
          AND cs_sold_date_sk = other.d_date_sk
          AND other.d_month_seq BETWEEN 1200 AND 1200 + 11)) store_and_catalog
