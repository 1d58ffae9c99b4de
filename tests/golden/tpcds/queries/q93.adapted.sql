-- Customers are private keys: what was sold in earnest, by the reason why some of it came back.
SELECT r_reason_desc,
       sum(CASE
               WHEN sr_return_quantity IS NOT NULL THEN (ss_quantity-sr_return_quantity)*ss_sales_price
               ELSE (ss_quantity*ss_sales_price)
           END) sumsales
FROM store_sales
LEFT OUTER JOIN store_returns ON (sr_item_sk = ss_item_sk
                                  AND sr_ticket_number = ss_ticket_number),
     reason
WHERE sr_reason_sk = r_reason_sk
GROUP BY r_reason_desc
ORDER BY sumsales NULLS FIRST,
         r_reason_desc NULLS FIRST
LIMIT 100
