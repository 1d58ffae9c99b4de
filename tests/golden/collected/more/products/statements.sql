-- dbt projects, BI tools' SQL, product analytics, open source applications' reports, shops, taxis,
-- marketing and finance.

-- [b01] accounts by bucket of monthly active users; from mattermost/mattermost-data-warehouse, analyses/active_user_base.sql
WITH server_mau AS (
    SELECT u.account_id AS server_id, COUNT(DISTINCT e.user_id) AS server_monthly_active_users
    FROM product_events e JOIN app_users u ON u.user_id = e.user_id
    WHERE e.occurred_at >= '2024-05-01' AND e.occurred_at < '2024-06-01'
    GROUP BY 1
), dataset AS (
    SELECT CASE
             WHEN m.server_monthly_active_users < 2 THEN '< 2'
             WHEN (m.server_monthly_active_users >= 2) AND (m.server_monthly_active_users < 3) THEN '2'
             WHEN m.server_monthly_active_users >= 3 THEN '>= 3'
             ELSE 'Unknown' END AS mau_bucket, m.server_id
    FROM server_mau m LEFT JOIN accounts a ON a.account_id = m.server_id
    WHERE (a.is_internal <> true OR a.is_internal IS NULL)
)
SELECT mau_bucket, COUNT(*) AS servers FROM dataset GROUP BY 1 ORDER BY 2 DESC;

-- [b02] what each customer owes by age of the debt; from freeside, report_receivables.cgi
SELECT p.party_id, p.party_name,
  coalesce((SELECT sum(amount - coalesce(paid_amount, 0)) FROM ar_invoices i WHERE i.party_id = p.party_id AND i.due_on > date '2024-12-01'), 0) AS owed_0_30,
  coalesce((SELECT sum(amount - coalesce(paid_amount, 0)) FROM ar_invoices i WHERE i.party_id = p.party_id AND i.due_on <= date '2024-12-01'), 0) AS owed_30_plus
FROM parties p
WHERE 0 < coalesce((SELECT sum(amount - coalesce(paid_amount, 0)) FROM ar_invoices i WHERE i.party_id = p.party_id), 0)
ORDER BY p.party_name;

-- [b03] a funnel of flags a session; from learncodingfast.pages.dev, analytical SQL, funnel analysis
WITH funnel AS (
  SELECT session_id,
         MAX(CASE WHEN page_path LIKE '/products%' THEN 1 ELSE 0 END) AS viewed,
         MAX(CASE WHEN page_path = '/cart' THEN 1 ELSE 0 END) AS carted,
         MAX(CASE WHEN page_path = '/billing' THEN 1 ELSE 0 END) AS billed,
         MAX(CASE WHEN page_path = '/thank-you' THEN 1 ELSE 0 END) AS purchased
  FROM pageviews GROUP BY session_id
)
SELECT COUNT(*) AS sessions, SUM(viewed) AS viewed, SUM(carted) AS carted, SUM(billed) AS billed, SUM(purchased) AS purchased,
       ROUND(SUM(carted) * 100.0 / NULLIF(SUM(viewed), 0), 1) AS view_to_cart, ROUND(SUM(purchased) * 100.0 / NULLIF(SUM(billed), 0), 1) AS bill_to_buy
FROM funnel;

-- [b04] balances rolled up to the parent account; from LedgerSMB, sql/modules/PNL.sql (the account tree), with recursion
WITH RECURSIVE tree AS (
  SELECT account_code, account_code AS root FROM gl_accounts WHERE parent_code IS NULL
  UNION ALL
  SELECT g.account_code, t.root FROM gl_accounts g JOIN tree t ON g.parent_code = t.account_code
)
SELECT t.root, r.account_name, SUM(j.debit) AS debit, SUM(j.credit) AS credit
FROM tree t JOIN gl_accounts r ON r.account_code = t.root LEFT JOIN journal_lines j ON j.account_code = t.account_code
GROUP BY t.root, r.account_name
ORDER BY t.root;

-- [b05] repeat sessions and the days until them; from github longbui23/WebPerformanceAnalytics, ReturnSession.sql, time differences
WITH firsts AS (
  SELECT visitor_id, MIN(started_at) AS first_at FROM web_sessions WHERE is_repeat = 0 GROUP BY visitor_id
), seconds AS (
  SELECT w.visitor_id, MIN(w.started_at) AS second_at FROM web_sessions w JOIN firsts f ON f.visitor_id = w.visitor_id AND w.started_at > f.first_at WHERE w.is_repeat = 1 GROUP BY w.visitor_id
)
SELECT AVG(second_at::date - first_at::date) AS avg_days, MIN(second_at::date - first_at::date) AS min_days, MAX(second_at::date - first_at::date) AS max_days
FROM firsts JOIN seconds USING (visitor_id);

-- [b06] three percentiles of hours to the first review by grouping sets; from cncf/devstats, metrics/shared/first_non_author_activity.sql
select
  case when repo is null then 'non_auth;All;p15,med,p85' else 'non_auth;' || repo || ';p15,med,p85' end as name,
  (pcts)[1] as non_author_15_percentile, (pcts)[2] as non_author_median, (pcts)[3] as non_author_85_percentile
from (
  select repo, percentile_disc(array[0.15, 0.5, 0.85]) within group (order by extract(epoch from first_review_at - created_at) / 3600.0 asc) as pcts
  from pull_requests
  where first_review_at > created_at + interval '30 seconds'
  group by grouping sets ((), (repo))
) s
order by (pcts)[2] desc, name asc;

-- [b07] a month's summary in one line, a rate as text; from github developer-led/community-sql, ForumHighLevelActivitySummary.sql
SELECT
    (SELECT count(*) FROM topics t WHERE t.solved_at >= '2024-06-01' AND t.solved_at < '2024-07-01') AS solutions,
    (SELECT count(*) FROM members u WHERE u.member_id > 0 AND joined_at >= '2024-06-01') AS new_users,
    (SELECT count(*) FROM members u WHERE (u.last_seen_at >= date_trunc('month', date '2024-06-15') AND u.last_seen_at < date '2024-07-01')) AS active_users,
    (SELECT SUM(views) FROM topics t WHERE t.created_at >= '2024-06-01' AND t.board = 'general') AS general_views,
    concat(((1 - ((SELECT COUNT(topic_id) FROM topics WHERE deleted_at IS NULL AND posts_count = 1 AND created_at >= '2024-06-01' AND created_at < '2024-07-01')::float /
      (SELECT COUNT(topic_id) FROM topics WHERE created_at >= '2024-06-01' AND created_at < '2024-07-01'))) * 100)::decimal(5,2), '%') AS reply_rate;

-- [b08] engaged and bounced sessions by medium; from snowplow/dbt-snowplow-web, sessions with engagement
with sessions_aggs as (
    select session_id, count(distinct pageview_id) as page_views, sum(load_ms) / 1000.0 as load_s,
           extract(epoch from max(viewed_at) - min(viewed_at)) as absolute_time_in_s
    from pageviews
    group by 1
)
select coalesce(s.utm_medium, 'direct') as default_channel_group,
       count(*) as sessions,
       avg(a.page_views) as pages_per_session,
       sum(case when a.page_views >= 2 or a.absolute_time_in_s > 10 then 1 else 0 end)::float / count(*) as engagement_rate,
       sum(case when a.page_views = 1 then 1 else 0 end)::float / count(*) as bounce_rate
from web_sessions s
inner join sessions_aggs a on a.session_id = s.session_id
group by 1
order by sessions desc;

-- [b09] tips in percent by distance band and payment; from github jeisen0105/NYC-Taxi-Case-Study, vendor efficiency and tips
SELECT CASE payment_type WHEN 1 THEN 'Credit card' WHEN 2 THEN 'Cash' WHEN 3 THEN 'No charge' WHEN 4 THEN 'Dispute' ELSE 'Unknown' END AS payment,
       width_bucket(trip_distance, 0, 20, 4) AS distance_band, AVG(tip_amount / NULLIF(fare_amount, 0)) * 100 AS tip_pct, SUM(tip_amount) / NULLIF(SUM(fare_amount), 0) * 100 AS weighted_tip_pct
FROM trips
WHERE fare_amount > 2.5
GROUP BY payment_type, width_bucket(trip_distance, 0, 20, 4)
ORDER BY 1, 2;

-- [b10] cumulative count by month; from Metabase docs, CumulativeCount expression
SELECT DATE_TRUNC('month', "public"."members"."joined_at") AS "joined_at",
  SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "public"."members"."joined_at") ASC ROWS UNBOUNDED PRECEDING) AS "sum"
FROM "public"."members"
GROUP BY DATE_TRUNC('month', "public"."members"."joined_at")
ORDER BY DATE_TRUNC('month', "public"."members"."joined_at") ASC;

-- [b11] bins of a measure; from Tableau-generated SQL, bins
SELECT FLOOR(("leads"."lead_score" / 20.0)) AS "lead_score (bin)", COUNT(DISTINCT "leads"."lead_id") AS "ctd:lead_id:ok"
FROM "public"."leads" "leads"
WHERE (NOT ("leads"."lead_score" IS NULL))
GROUP BY 1
HAVING (COUNT(1) > 0);

-- [b12] two cubes' measures joined by their dimension; from Cube-generated SQL, multiplied measures (keys select)
SELECT q_0."accounts__country", "accounts__count" "accounts__count", "subscriptions__mrr" "subscriptions__mrr"
FROM (
  SELECT "accounts".country "accounts__country", sum("main__subscriptions".mrr) "subscriptions__mrr"
  FROM public.subscriptions AS "main__subscriptions"
  LEFT JOIN public.accounts AS "accounts" ON "main__subscriptions".account_id = "accounts".account_id
  GROUP BY 1
) AS q_0
INNER JOIN (
  SELECT "keys"."accounts__country", count("accounts_key__accounts".account_id) "accounts__count"
  FROM (
    SELECT DISTINCT "accounts".country "accounts__country", "accounts".account_id "accounts__account_id"
    FROM public.subscriptions AS "s" LEFT JOIN public.accounts AS "accounts" ON "s".account_id = "accounts".account_id
  ) AS "keys"
  LEFT JOIN public.accounts AS "accounts_key__accounts" ON "keys"."accounts__account_id" = "accounts_key__accounts".account_id
  GROUP BY 1
) AS q_1 ON (q_0."accounts__country" = q_1."accounts__country" OR (q_0."accounts__country" IS NULL AND q_1."accounts__country" IS NULL))
ORDER BY 3 DESC
LIMIT 10000;

-- [b13] a heat map of weekday and hour; from Superset example, heat map over a virtual data set
SELECT dow AS dow, hour_of_day AS hour_of_day, COUNT(*) AS count
FROM (
  SELECT to_char(pickup_at, 'Dy') AS dow, EXTRACT(HOUR FROM pickup_at)::int AS hour_of_day, total_amount
  FROM trips
  WHERE total_amount > 0
) AS virtual_table
GROUP BY dow, hour_of_day
ORDER BY count DESC
LIMIT 10000;

-- [b14] retention of those who used a feature and those who did not; from productquant.dev, HogQL, feature and retention
WITH first_use AS (
  SELECT u.user_id,
         BOOL_OR(e.feature = 'alerts' AND e.occurred_at < u.signed_up_at + interval '60 day') AS used_alerts,
         BOOL_OR(e.occurred_at >= u.signed_up_at + interval '90 day') AS retained
  FROM app_users u JOIN product_events e ON e.user_id = u.user_id AND e.occurred_at >= u.signed_up_at
  GROUP BY u.user_id
)
SELECT COALESCE(used_alerts, false) AS used_alerts, COUNT(*) AS users, AVG(CASE WHEN retained THEN 1.0 ELSE 0 END) AS retention_90d
FROM first_use
GROUP BY 1;

-- [b15] members of each trust level by month of joining; from meta.discourse.org, Dashboard Report - Trust Level Growth
SELECT date(date_trunc('month', joined_at)) AS date,
  COUNT(*) FILTER (WHERE trust_level < 1) AS tl0_reached,
  COUNT(*) FILTER (WHERE trust_level::integer >= 1 AND trust_level < 2) AS tl1_reached,
  COUNT(*) FILTER (WHERE trust_level = 2) AS tl2_reached,
  COUNT(*) FILTER (WHERE trust_level IN ('3', '4')) AS tl3_or_4_reached
FROM members
WHERE joined_at >= '2024-01-01' AND joined_at <= '2024-12-31'
GROUP BY date(date_trunc('month', joined_at))
ORDER BY date(date_trunc('month', joined_at));

-- [b16] starting, expansion, contraction and churned revenue by country over a spine of months; from github ftacc41/saas-analytics-quality, net_revenue_retention.sql
WITH months AS (
  SELECT generate_series(timestamp '2024-01-01', timestamp '2024-12-01', interval '1 month')::date AS date_month
), customer_month_spine AS (
  SELECT c.account_id, c.country, m.date_month FROM accounts c CROSS JOIN months m
), customer_mrr AS (
  SELECT cms.account_id, cms.country, cms.date_month, coalesce(sum(s.mrr), 0) AS mrr_amount
  FROM customer_month_spine cms
  LEFT JOIN subscriptions s ON s.account_id = cms.account_id AND s.started_on <= cms.date_month
    AND (s.canceled_on IS NULL OR s.canceled_on > cms.date_month)
  GROUP BY 1, 2, 3
), with_prev AS (
  SELECT *, lag(mrr_amount) OVER (PARTITION BY account_id ORDER BY date_month) AS prev_mrr_amount FROM customer_mrr
)
SELECT date_month, country,
       sum(coalesce(prev_mrr_amount, 0)) AS starting_mrr,
       sum(CASE WHEN coalesce(prev_mrr_amount, 0) > 0 AND mrr_amount > coalesce(prev_mrr_amount, 0) THEN mrr_amount - prev_mrr_amount ELSE 0 END) AS expansion_mrr,
       sum(CASE WHEN coalesce(prev_mrr_amount, 0) > 0 AND mrr_amount > 0 AND mrr_amount < prev_mrr_amount THEN prev_mrr_amount - mrr_amount ELSE 0 END) AS contraction_mrr,
       sum(CASE WHEN coalesce(prev_mrr_amount, 0) > 0 AND mrr_amount = 0 THEN prev_mrr_amount ELSE 0 END) AS churned_mrr
FROM with_prev
GROUP BY 1, 2
ORDER BY 1, 2;

-- [b17] a table that must have recent rows; from dbt_utils recency compiled
with recency as (
    select max(cast(occurred_at as timestamp)) as most_recent from product_events
)
select most_recent, cast(now() - interval '7 day' as timestamp) as threshold
from recency
where most_recent < cast(now() - interval '7 day' as timestamp);

-- [b18] hours until the first answer, by day of the topic; from discourse/discourse, time_to_first_response report
SELECT AVG(t.hours)::float AS "hours", t.created_at::date AS "date"
FROM (
  SELECT t.topic_id, t.created_at::date AS created_at, EXTRACT(EPOCH FROM MIN(p.created_at) - t.created_at)::float / 3600.0 AS "hours"
  FROM topics t
  LEFT JOIN posts p ON p.topic_id = t.topic_id
  WHERE p.member_id != t.member_id AND p.post_number > 1 AND p.deleted_at IS NULL AND t.deleted_at IS NULL
  GROUP BY t.topic_id, t.created_at
) t
WHERE t.hours >= 0
GROUP BY t.created_at
ORDER BY t.created_at;

-- [b19] days of sales outstanding over thirty, sixty and ninety days; from dbt model of DSO key performance metrics (fct_orders, sales channel invoice)
WITH current_ar AS (
  SELECT SUM(amount - COALESCE(paid_amount, 0)) AS total_accounts_receivable, COUNT(*) AS open_invoice_count, AVG(amount) AS avg_open_invoice
  FROM ar_invoices WHERE paid_on IS NULL
), recent_sales AS (
  SELECT period_days, SUM(amount) AS total_sales, COUNT(DISTINCT party_id) AS customers
  FROM ar_invoices CROSS JOIN (VALUES (30), (60), (90)) AS p(period_days)
  WHERE issued_on >= DATE '2024-12-20' - period_days
  GROUP BY period_days
)
SELECT s.period_days, ROUND(c.total_accounts_receivable / NULLIF(s.total_sales, 0) * s.period_days, 1) AS dso, c.open_invoice_count, c.avg_open_invoice, s.customers
FROM recent_sales s CROSS JOIN current_ar c
ORDER BY s.period_days;

-- [b20] bounce rate by the page a visit began with; from Maven Fuzzy Factory courses, landing page bounce rate
WITH first_pageviews AS (
  SELECT session_id, MIN(pageview_id) AS min_pageview_id FROM pageviews GROUP BY session_id
), landing AS (
  SELECT f.session_id, p.page_path AS landing_page FROM first_pageviews f LEFT JOIN pageviews p ON p.pageview_id = f.min_pageview_id
), bounced AS (
  SELECT l.session_id FROM landing l LEFT JOIN pageviews p ON p.session_id = l.session_id GROUP BY l.session_id HAVING COUNT(p.pageview_id) = 1
)
SELECT l.landing_page, COUNT(DISTINCT l.session_id) AS sessions, COUNT(DISTINCT b.session_id) AS bounced_sessions,
       COUNT(DISTINCT b.session_id)::numeric / COUNT(DISTINCT l.session_id) AS bounce_rate
FROM landing l LEFT JOIN bounced b ON b.session_id = l.session_id
GROUP BY l.landing_page
ORDER BY sessions DESC;

-- [b21] mean sessions an hour and weekday; from Maven Fuzzy Factory courses, data for customer service (weekday pivot)
SELECT hr,
  ROUND(AVG(sessions), 1) AS avg_sessions,
  ROUND(AVG(CASE WHEN wkday = 1 THEN sessions END), 1) AS mon,
  ROUND(AVG(CASE WHEN wkday = 3 THEN sessions END), 1) AS wed,
  ROUND(AVG(CASE WHEN wkday IN (6, 7) THEN sessions END), 1) AS weekend
FROM (
  SELECT DATE(started_at) AS created_date, EXTRACT(ISODOW FROM started_at) AS wkday, EXTRACT(HOUR FROM started_at) AS hr, COUNT(DISTINCT session_id) AS sessions
  FROM web_sessions
  GROUP BY 1, 2, 3
) daily_hourly
GROUP BY hr
ORDER BY hr;

-- [b22] what is bought first and what second, with the money of those people; from SQL for a Shopify store, products in first and second orders
WITH order_ranks AS (
  SELECT order_id, RANK() OVER (PARTITION BY shopper_id ORDER BY created_at ASC) AS rank FROM shop_orders WHERE status NOT IN ('Cancelled') AND shopper_id IS NOT NULL
), first_order_items AS (
  SELECT o.shopper_id, p.category AS skus_in_first_order, o.created_at, i.sale_price
  FROM shop_orders o INNER JOIN order_ranks USING (order_id) JOIN order_items i USING (order_id) JOIN products p USING (product_id) WHERE rank = 1
), second_order_items AS (
  SELECT o.shopper_id, p.category AS skus_in_second_order, o.created_at, i.sale_price
  FROM shop_orders o INNER JOIN order_ranks USING (order_id) JOIN order_items i USING (order_id) JOIN products p USING (product_id) WHERE rank = 2
), profile_stats AS (
  SELECT o.shopper_id, SUM(i.sale_price) AS ltv FROM shop_orders o JOIN order_items i USING (order_id) GROUP BY o.shopper_id
)
SELECT skus_in_first_order, skus_in_second_order, COUNT(*) AS customer_count, AVG(f.sale_price) AS first_order_value, AVG(s.sale_price) AS second_order_value, AVG(ltv) AS average_ltv,
       AVG(s.created_at::date - f.created_at::date) AS average_between_orders
FROM first_order_items f INNER JOIN second_order_items s USING (shopper_id) LEFT JOIN profile_stats USING (shopper_id)
GROUP BY 1, 2
ORDER BY customer_count DESC;

-- [b23] a derived metric with an offset of a month; from dbt docs, derived metrics with offset_window
SELECT COALESCE(subq_5.metric_time__month, subq_9.metric_time__month) AS metric_time__month, MAX(subq_5.orders) - MAX(subq_9.orders_1_month_ago) AS order_gross_growth
FROM (SELECT DATE_TRUNC('month', created_at) AS metric_time__month, COUNT(*) AS orders FROM shop_orders GROUP BY 1) subq_5
LEFT OUTER JOIN (SELECT DATE_TRUNC('month', created_at) + interval '1 month' AS metric_time__month, COUNT(*) AS orders_1_month_ago FROM shop_orders GROUP BY 1) subq_9
ON subq_5.metric_time__month = subq_9.metric_time__month
GROUP BY COALESCE(subq_5.metric_time__month, subq_9.metric_time__month)
ORDER BY 1;

-- [b24] companies by contributions, their rank and cumulated share; from cncf/devstats, metrics/shared/bus_factor.sql
with org as (
  select row_number() over (partition by p.repo order by count(distinct p.pr_id) desc) as row_number, p.repo, lower(m.company) as name, count(distinct p.pr_id) as cnt
  from pull_requests p, members m
  where m.member_id = p.author_id and m.company != ''
  group by p.repo, lower(m.company)
), all_rg as (
  select repo, sum(cnt) as cnt from org group by repo
)
select r.repo, r.row_number, r.name, r.cnt, 100.0 * r.cnt / (case ar.cnt when 0 then 1 else ar.cnt end) as percent,
  100.0 * sum(r.cnt) over (partition by r.repo order by r.row_number asc rows between unbounded preceding and current row) / ar.cnt as cum_percent
from org r join all_rg ar on ar.repo = r.repo
order by r.repo, r.row_number;

-- [b25] a big number with a rolling mean; from Superset advanced analytics, rolling mean
SELECT __timestamp, AVG(val) OVER (ORDER BY __timestamp ROWS BETWEEN 27 PRECEDING AND CURRENT ROW) AS rolling_mean
FROM (
  SELECT DATE_TRUNC('day', viewed_at) AS __timestamp, AVG(load_ms) AS val
  FROM public.pageviews
  WHERE viewed_at >= '2024-03-01' AND viewed_at < '2024-06-01'
  GROUP BY 1
) t
ORDER BY 1;

-- [b26] events, users and accounts by event and month; from ktopcuoglu/gitlab-dbt-analytics, mart_event_namespace_daily
SELECT date_trunc('month', e.occurred_at)::date AS event_calendar_month, e.event_name, COUNT(*) AS event_count, COUNT(DISTINCT e.user_id) AS user_count,
  COUNT(DISTINCT u.account_id) AS ultimate_parent_namespace_count
FROM product_events AS e
INNER JOIN app_users AS u ON u.user_id = e.user_id
INNER JOIN accounts AS a ON a.account_id = u.account_id
WHERE e.occurred_at >= u.signed_up_at AND NOT a.is_internal
GROUP BY 1, 2
ORDER BY 1, 2;

-- [b27] budget against actual with the difference in percent and a label; from github Trailblazer-Analytics/SQL-Analyst-Pack, budget vs actual analysis
WITH actual AS (
  SELECT account_code, department, date_trunc('month', entry_date)::date AS period, SUM(debit) - SUM(credit) AS actual_amount FROM journal_lines GROUP BY 1, 2, 3
)
SELECT b.department, g.account_name, SUM(b.amount) AS budget, COALESCE(SUM(a.actual_amount), 0) AS actual, COALESCE(SUM(a.actual_amount), 0) - SUM(b.amount) AS variance,
  ROUND((COALESCE(SUM(a.actual_amount), 0) - SUM(b.amount)) * 100.0 / NULLIF(SUM(b.amount), 0), 2) AS variance_percent,
  CASE WHEN SUM(a.actual_amount) > SUM(b.amount) * 1.1 THEN 'Over Budget' WHEN SUM(a.actual_amount) > SUM(b.amount) THEN 'Slightly Over' ELSE 'On Budget' END AS budget_status
FROM budgets b
LEFT JOIN actual a ON a.account_code = b.account_code AND a.department = b.department AND a.period = b.period
JOIN gl_accounts g ON g.account_code = b.account_code
WHERE g.account_type = 'Expense' AND b.period < '2024-07-01'
GROUP BY b.department, g.account_name
ORDER BY ABS(COALESCE(SUM(a.actual_amount), 0) - SUM(b.amount)) DESC;

-- [b28] the values of a quick filter; from Tableau-generated SQL, filter domain
SELECT "parties"."party_name" AS "party_name" FROM "public"."parties" "parties" GROUP BY 1 ORDER BY 1 ASC NULLS FIRST;

-- [b29] net new revenue by month and its running sum; from kashikakatyal.in, SaaS metrics reporting, mrr.sql
WITH monthly_events AS (
  SELECT date_trunc('month', event_date) AS month, subscription_id, event_type, sum(amount_delta) AS delta
  FROM subscription_events
  GROUP BY 1, 2, 3
), mrr_by_month AS (
  SELECT month, sum(delta) AS net_new_mrr,
         sum(CASE WHEN event_type = 'new' THEN delta ELSE 0 END) AS new_mrr,
         sum(CASE WHEN event_type = 'churn' THEN delta ELSE 0 END) AS churned_mrr
  FROM monthly_events GROUP BY 1
)
SELECT *, sum(net_new_mrr) OVER (ORDER BY month ROWS UNBOUNDED PRECEDING) AS mrr FROM mrr_by_month ORDER BY month;

-- [b30] days active of the last twenty-eight, as a histogram; from the L28 named in gist hsurreal (Tribe Capital), as a histogram
SELECT active_days, COUNT(*) AS users, SUM(COUNT(*)) OVER (ORDER BY active_days DESC) AS at_least
FROM (
  SELECT user_id, COUNT(DISTINCT (occurred_at AT TIME ZONE 'UTC')::date) AS active_days
  FROM product_events
  WHERE occurred_at >= '2024-05-01' AND occurred_at < '2024-05-29' AND user_id IS NOT NULL
  GROUP BY user_id
) d
GROUP BY active_days
ORDER BY active_days;

-- [b31] z of two conversion rates; from how2.sh, A/B testing analysis with SQL
WITH stats AS (
  SELECT CASE WHEN visitor_id % 2 = 0 THEN 'control' ELSE 'treatment' END AS variant, COUNT(DISTINCT visitor_id) AS n,
         COUNT(DISTINCT CASE WHEN goal IS NOT NULL THEN visitor_id END) AS x,
         COUNT(DISTINCT CASE WHEN goal IS NOT NULL THEN visitor_id END)::numeric / COUNT(DISTINCT visitor_id) AS p
  FROM web_sessions
  WHERE landing_page = '/lander-1' OR landing_page = '/'
  GROUP BY 1
), pooled AS (
  SELECT SUM(x)::numeric / SUM(n) AS p_pool, MAX(CASE WHEN variant = 'control' THEN p END) AS p_control, MAX(CASE WHEN variant = 'treatment' THEN p END) AS p_treatment,
         MAX(CASE WHEN variant = 'control' THEN n END) AS n_control, MAX(CASE WHEN variant = 'treatment' THEN n END) AS n_treatment
  FROM stats
)
SELECT p_control, p_treatment, (p_treatment - p_control) / p_control AS lift,
       (p_treatment - p_control) / SQRT(p_pool * (1 - p_pool) * (1.0 / n_control + 1.0 / n_treatment)) AS z_score
FROM pooled;

-- [b32] a preview of a table with a joined one; from Metabase-generated SQL, table view
SELECT "public"."shop_orders"."order_id" AS "order_id", "public"."shop_orders"."status" AS "status", "public"."shop_orders"."created_at" AS "created_at",
  "Shoppers"."full_name" AS "Shoppers__full_name", "Shoppers"."email" AS "Shoppers__email"
FROM "public"."shop_orders"
LEFT JOIN "public"."shoppers" AS "Shoppers" ON "public"."shop_orders"."shopper_id" = "Shoppers"."shopper_id"
WHERE "public"."shop_orders"."status" = 'Returned'
LIMIT 2000;

-- [b33] how many bought in one year and not in the next; from e-commerce report queries, lapsed buyers by EXCEPT
SELECT COUNT(*) AS lapsed FROM (
  SELECT shopper_id FROM shop_orders WHERE created_at >= '2023-01-01' AND created_at < '2024-01-01'
  EXCEPT
  SELECT shopper_id FROM shop_orders WHERE created_at >= '2024-01-01'
) x;

-- [b34] a derived table of each customer's orders, tiered; from Looker derived table, user order facts
WITH user_order_facts AS (SELECT
    shopper_id as user_id
    , COUNT(DISTINCT order_id) as lifetime_orders
    , MIN(NULLIF(created_at,NULL)) as first_order
    , MAX(NULLIF(created_at,NULL)) as latest_order
    , COUNT(DISTINCT DATE_TRUNC('month', NULLIF(created_at,NULL))) as number_of_distinct_months_with_orders
  FROM shop_orders
  GROUP BY shopper_id)
SELECT
  CASE
    WHEN user_order_facts.lifetime_orders < 1 THEN '0'
    WHEN user_order_facts.lifetime_orders >= 1 AND user_order_facts.lifetime_orders < 2 THEN '1'
    WHEN user_order_facts.lifetime_orders >= 2 AND user_order_facts.lifetime_orders < 3 THEN '2'
    WHEN user_order_facts.lifetime_orders >= 3 AND user_order_facts.lifetime_orders < 5 THEN '3 to 4'
    WHEN user_order_facts.lifetime_orders >= 5 THEN '5 or Above'
    ELSE 'Undefined'
  END AS "user_order_facts.lifetime_orders_tier",
  COUNT(DISTINCT shoppers.shopper_id) AS "users.count",
  COUNT(CASE WHEN (user_order_facts.number_of_distinct_months_with_orders > 1) THEN 1 ELSE NULL END) AS "user_order_facts.repeat"
FROM shoppers
LEFT JOIN user_order_facts ON shoppers.shopper_id = user_order_facts.user_id
GROUP BY 1
ORDER BY 1
LIMIT 500;

-- [b35] points for answers, likes and solutions, the best first; from github developer-led/community-sql, UsersLeaderboard.sql
WITH postsread AS (
  SELECT member_id, count(1) AS visits, sum(posts_read) AS posts_read FROM visits WHERE posts_read > 0 AND visited_on > '2024-01-01' GROUP BY member_id
), replies AS (
  SELECT posts.member_id, count(posts.post_id) AS replies, sum(like_count) AS likes FROM posts WHERE posts.post_number > 1 GROUP BY posts.member_id
)
SELECT postsread.member_id, username, visits, ((COALESCE(replies, 0) * 2) + (COALESCE(likes, 0) * 1)) AS total_points
FROM postsread
LEFT JOIN replies USING (member_id)
JOIN members USING (member_id)
ORDER BY total_points DESC NULLS LAST
LIMIT 20;

-- [b36] counters of a usage ping, united; from fdileta/analytics (GitLab), usage_activity_by_stage counters
SELECT 'usage_activity_by_stage.create.merge_requests' AS counter_name, COUNT(DISTINCT pull_requests.author_id) AS counter_value, CAST('2024-12-31' AS date) AS run_day
FROM pull_requests
UNION ALL
SELECT 'usage_activity_by_stage.plan.notes', COUNT(DISTINCT posts.member_id), CAST('2024-12-31' AS date) FROM posts
UNION ALL
SELECT 'usage_activity_by_stage_monthly.create.merge_requests', COUNT(DISTINCT author_id), CAST('2024-12-31' AS date)
FROM pull_requests WHERE created_at BETWEEN '2024-11-17 19:22:32.723497' AND '2024-12-15 19:22:32.723560';

-- [b37] mean trips a day by weekday, weekends apart; from github, NYC taxi dbt analyses, ad-hoc exploration
WITH mart_daily_revenue AS (
  SELECT pickup_at::date AS d, COUNT(*) AS total_trips, SUM(total_amount) AS total_revenue FROM trips GROUP BY 1
)
SELECT trim(to_char(d, 'Day')) AS day_of_week_name, extract(isodow from d) in (6, 7) AS is_weekend, round(avg(total_revenue), 2) AS avg_daily_revenue, round(avg(total_trips), 0) AS avg_daily_trips
FROM mart_daily_revenue
GROUP BY 1, 2
ORDER BY avg_daily_revenue DESC;

-- [b38] spend by channel on a public table; from Superset explore query on a physical data set
SELECT channel AS channel, DATE_TRUNC('month', day) AS day, sum(spend) AS "SUM(spend)", sum(clicks) * 1.0 / nullif(sum(impressions), 0) AS ctr
FROM (SELECT c.channel, a.day, a.spend, a.clicks, a.impressions FROM ad_spend a JOIN campaigns c USING (campaign_id)) AS virtual_table
GROUP BY channel, DATE_TRUNC('month', day)
ORDER BY "SUM(spend)" DESC
LIMIT 10000;

-- [b39] conversion rate with missing days as zero; from dbt-labs/metricflow snapshots, conversion metric, fill nulls with 0
SELECT subq_22.metric_time__day, CAST(subq_22.buys AS DOUBLE PRECISION) / CAST(NULLIF(subq_22.visits, 0) AS DOUBLE PRECISION) AS visit_buy_conversion_rate
FROM (
  SELECT COALESCE(subq_7.metric_time__day, subq_21.metric_time__day) AS metric_time__day, COALESCE(MAX(subq_7.visits), 0) AS visits, COALESCE(MAX(subq_21.buys), 0) AS buys
  FROM (
    SELECT DATE_TRUNC('day', started_at) AS metric_time__day, SUM(1) AS visits FROM web_sessions GROUP BY 1
  ) subq_7
  FULL OUTER JOIN (
    SELECT DATE_TRUNC('day', converted_at) AS metric_time__day, SUM(1) AS buys FROM web_sessions WHERE goal = 'purchase' GROUP BY 1
  ) subq_21 ON subq_7.metric_time__day = subq_21.metric_time__day
  GROUP BY COALESCE(subq_7.metric_time__day, subq_21.metric_time__day)
) subq_22;

-- [b40] median time to the first report by role; from productquant.dev, HogQL, median time to activation
WITH activation AS (
  SELECT u.user_id, u.role, u.signed_up_at, MIN(e.occurred_at) AS activated_at
  FROM app_users u JOIN product_events e ON e.user_id = u.user_id AND e.event_name = 'report_created' AND e.occurred_at > u.signed_up_at
  GROUP BY u.user_id, u.role, u.signed_up_at
)
SELECT role, COUNT(*) AS activated, percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM activated_at - signed_up_at) / 86400) AS median_days
FROM activation
GROUP BY role
ORDER BY 3;

-- [b41] days to deliver by a yes-no of long shipping; from Looker-generated SQL, dimension of type yesno with averages
SELECT
  CASE WHEN (DATE_PART('day', shop_orders.delivered_at - shop_orders.shipped_at) > 5) THEN 'Yes' ELSE 'No' END AS "orders.slow_delivery",
  AVG((EXTRACT(EPOCH FROM shop_orders.delivered_at) - EXTRACT(EPOCH FROM shop_orders.shipped_at)) / 86400.0 ) AS "orders.average_days",
  COUNT(*) AS "orders.count"
FROM public.shop_orders AS shop_orders
WHERE (shop_orders.status IS NOT NULL) AND ((shop_orders.status <> 'Cancelled'))
GROUP BY 1
ORDER BY 2 DESC
LIMIT 500;

-- [b42] promoters, passives and detractors by month and role; from mattermost/mattermost-data-warehouse, int_daily_server_nps_score.sql
WITH base_cte AS (
    SELECT date_trunc('month', signed_up_at)::date AS event_date, role AS user_role,
        COUNT(DISTINCT CASE WHEN nps > 8 THEN user_id ELSE NULL END) AS promoters,
        COUNT(DISTINCT CASE WHEN nps < 7 THEN user_id ELSE NULL END) AS detractors,
        COUNT(DISTINCT CASE WHEN nps > 6 AND nps < 9 THEN user_id ELSE NULL END) AS passives,
        COUNT(DISTINCT CASE WHEN nps IS NOT NULL THEN user_id ELSE NULL END) AS nps_users
    FROM app_users
    GROUP BY 1, 2
)
SELECT event_date, user_role, promoters, detractors, nps_users,
    SUM(promoters) OVER (PARTITION BY user_role ORDER BY event_date DESC ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS quarterly_promoters,
    SUM(detractors) OVER (PARTITION BY user_role ORDER BY event_date DESC ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS quarterly_detractors
FROM base_cte
ORDER BY event_date DESC;

-- [b43] a pair of columns that must be unique; from dbt_utils, unique_combination_of_columns compiled
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error
from (
    with validation_errors as (
        select lead_id, campaign_id, touched_at
        from touches
        group by lead_id, campaign_id, touched_at
        having count(*) > 1
    )
    select * from validation_errors
) dbt_internal_test;

-- [b44] channels made from source and referrer, with rates by quarter; from lajatto.github.io, Maven Fuzzy Factory, channel mix
SELECT CONCAT(EXTRACT(YEAR FROM started_at), ' Q', EXTRACT(QUARTER FROM started_at)) AS yr_qtr,
  COUNT(DISTINCT CASE WHEN utm_source = 'gsearch' AND utm_campaign = 'nonbrand' AND goal = 'purchase' THEN session_id END)::float
    / NULLIF(COUNT(DISTINCT CASE WHEN utm_source = 'gsearch' AND utm_campaign = 'nonbrand' THEN session_id END), 0) AS gsearch_nonbrand_cvr,
  COUNT(DISTINCT CASE WHEN utm_source IS NULL AND referrer IN ('https://www.gsearch.com/q', 'https://www.bsearch.com') AND goal = 'purchase' THEN session_id END)::float
    / NULLIF(COUNT(DISTINCT CASE WHEN utm_source IS NULL AND referrer IN ('https://www.gsearch.com/q', 'https://www.bsearch.com') THEN session_id END), 0) AS organic_cvr,
  COUNT(DISTINCT CASE WHEN utm_source IS NULL AND referrer IS NULL THEN session_id END) AS direct_sessions
FROM web_sessions
GROUP BY 1
ORDER BY 1;

-- [b45] accounts without use for thirty days, the dearest first; from aifordatabase.com, churn risk list
SELECT a.account_name, a.billing_email, SUM(s.mrr) AS mrr, MAX(u.last_seen_at) AS last_seen
FROM accounts a JOIN subscriptions s ON s.account_id = a.account_id AND s.status = 'active'
LEFT JOIN app_users u ON u.account_id = a.account_id
GROUP BY a.account_id, a.account_name, a.billing_email
HAVING MAX(u.last_seen_at) < timestamp '2024-12-01'
ORDER BY mrr DESC
LIMIT 25;

-- [b46] open invoices by how late they are; from accounts receivable aging analysis (gl_invoices)
WITH aged_receivables AS (
  SELECT i.invoice_id, i.amount - COALESCE(i.paid_amount, 0) AS balance, DATE '2024-12-31' - i.due_on AS days_past_due
  FROM ar_invoices i
  WHERE i.amount - COALESCE(i.paid_amount, 0) > 0
)
SELECT CASE WHEN days_past_due <= 0 THEN 'Current' WHEN days_past_due BETWEEN 1 AND 30 THEN '1-30' WHEN days_past_due BETWEEN 31 AND 60 THEN '31-60' WHEN days_past_due BETWEEN 61 AND 90 THEN '61-90' ELSE '90+' END AS aging_bucket,
       COUNT(*) AS invoices, SUM(balance) AS outstanding, ROUND(SUM(balance) * 100.0 / SUM(SUM(balance)) OVER (), 1) AS pct
FROM aged_receivables
GROUP BY 1
ORDER BY MIN(days_past_due);

-- [b47] a sum of one table equal to a sum of another; from dbt singular test, source and model totals (mgp CPTIT)
select count(*) as failures, count(*) != 0 as should_error
from (
    select 1
    from (select coalesce(round(sum(debit)::numeric, 1), 0) as source_sum from journal_lines) as s,
         (select coalesce(round(sum(credit)::numeric, 1), 0) as model_sum from journal_lines) as m
    where s.source_sum != m.model_sum
) as dbt_internal_test;

-- [b48] users of each feature by how many days they used it; from mattermost/mattermost-data-warehouse, feature daily usage
with daily as (
    select user_id, feature, occurred_at::date as activity_date from product_events where user_id is not null and feature is not null group by 1, 2, 3
), per_user as (
    select user_id, feature, count(distinct activity_date) as days from daily group by 1, 2
)
select feature, least(days, 5) as days_capped, count(*) as users
from per_user
group by 1, 2
order by 1, 2;

-- [b49] measures of a day in a zone, with a calculated one; from Cube-generated SQL, calculated measures
SELECT date_trunc('day', ("product_events".occurred_at::timestamptz AT TIME ZONE 'America/Los_Angeles')) "product_events__day",
  count(*) "product_events__count",
  count(case when ("product_events".platform = 'ios') then 1 end) "product_events__ios",
  100.0 * count(case when ("product_events".platform = 'ios') then 1 end) / NULLIF(count(*), 0) "product_events__ios_pct"
FROM public.product_events AS "product_events"
WHERE ("product_events".occurred_at >= '2024-05-06T07:00:00.000Z'::timestamptz AND "product_events".occurred_at <= '2024-05-20T06:59:59.999Z'::timestamptz)
GROUP BY 1
ORDER BY 1 ASC
LIMIT 10000;

-- [b50] writers whose first post was in the month; from meta.discourse.org, Dashboard Report - New Contributors
SELECT date_trunc('month', first_post)::date AS month, COUNT(*) AS new_contributors
FROM (SELECT member_id, MIN(created_at) AS first_post FROM posts WHERE deleted_at IS NULL GROUP BY member_id) firsts
JOIN members m USING (member_id)
WHERE NOT m.is_staff
GROUP BY 1
ORDER BY 1;

-- [b51] values of a filter box; from Superset native filter query
SELECT username AS username FROM public.members GROUP BY username ORDER BY username ASC LIMIT 1000;

-- [b52] clients above their limit by region; from finance dashboards, credit limit exposure
SELECT p.region, COUNT(*) AS clients, SUM((b.open_amount > p.credit_limit)::int) AS above_limit, AVG(LEAST(b.open_amount / NULLIF(p.credit_limit, 0), 2)) AS avg_use
FROM parties p
CROSS JOIN LATERAL (SELECT COALESCE(SUM(i.amount - COALESCE(i.paid_amount, 0)), 0) AS open_amount FROM ar_invoices i WHERE i.party_id = p.party_id) b
WHERE p.credit_limit IS NOT NULL
GROUP BY p.region;

-- [b53] click rate and price of a click by campaign; from github Pro2610/sql-interview-practice, cpc and ctr by campaign
SELECT c.campaign_name, SUM(a.impressions) AS impressions, SUM(a.clicks) AS clicks, ROUND(SUM(a.clicks) * 100.0 / NULLIF(SUM(a.impressions), 0), 2) AS ctr, ROUND(SUM(a.spend) / NULLIF(SUM(a.clicks), 0), 2) AS cpc
FROM campaigns c JOIN ad_spend a USING (campaign_id)
GROUP BY c.campaign_name
ORDER BY ctr DESC;

-- [b54] opened, merged and closed pull requests and their hours by day; from fivetran/dbt_github, daily metrics
with prs_opened_per_day as (
    select date_trunc('day', created_at) as day, count(*) as number_prs_opened,
           avg(extract(epoch from (merged_at - created_at)) / 3600.0) as avg_hours_to_merge
    from pull_requests group by 1
), prs_merged_per_day as (
    select date_trunc('day', merged_at) as day, count(*) as number_prs_merged from pull_requests where merged_at is not null group by 1
)
select coalesce(o.day, m.day) as day, coalesce(number_prs_opened, 0) as number_prs_opened, coalesce(number_prs_merged, 0) as number_prs_merged, avg_hours_to_merge
from prs_opened_per_day o
full outer join prs_merged_per_day m on o.day = m.day
order by 1;

-- [b55] return rate by category; from github henrymarinho90/ecommerceproject, step2 findings
SELECT p.category, COUNT(*) AS items, COUNT(*) FILTER (WHERE o.status ILIKE '%return%') AS returned_items,
  ROUND((100.0 * COUNT(*) FILTER (WHERE o.status ILIKE '%return%') / NULLIF(COUNT(*), 0))::numeric, 2) AS return_rate_pct
FROM order_items i JOIN shop_orders o ON o.order_id = i.order_id JOIN products p ON p.product_id = i.product_id
GROUP BY 1
HAVING COUNT(*) >= 50
ORDER BY return_rate_pct DESC;

-- [b56] leads without an answer set to lost; from CRM maintenance scripts
UPDATE leads SET stage = 'lost' WHERE stage IN ('lead', 'mql') AND created_at < timestamp '2024-06-01' AND lead_id NOT IN (SELECT lead_id FROM touches WHERE opened_at IS NOT NULL);

-- [b57] every account's total and running total for every month; from github meggermann/quickbooks, quickbooks_ledger_by_month.sql
with months as (
  select cast(d as date) as date_month from generate_series(date '2024-01-01', date '2024-12-01', interval '1 month') g(d)
), monthly_account_totals as (
  select date_trunc('month', entry_date) as date_month, account_code, sum(debit - credit) as total
  from journal_lines
  group by 1, 2
), account_months as (
  select account_code, date_month from gl_accounts join months on 1=1
)
select am.date_month, am.account_code, coalesce(mat.total, 0.0) as total,
  sum(coalesce(mat.total, 0.0)) over (partition by am.account_code order by am.date_month rows unbounded preceding) as cumulative_total
from account_months am
left outer join monthly_account_totals mat on am.account_code = mat.account_code and am.date_month = mat.date_month
order by 1, 2;

-- [b58] retention as a share of each cohort's first month; from github archiewood/product-demo (Evidence), monthly cohort retention
with abs as (
  select date_trunc('month', e.occurred_at) as month, date_trunc('month', u.signed_up_at) as cohort,
         (extract(year from age(date_trunc('month', e.occurred_at), date_trunc('month', u.signed_up_at))) * 12
           + extract(month from age(date_trunc('month', e.occurred_at), date_trunc('month', u.signed_up_at)))) as cohort_age,
         count(distinct u.user_id) as users
  from product_events e left join app_users u on e.user_id = u.user_id
  where e.occurred_at >= u.signed_up_at
  group by 1, 2, 3
)
select cohort, cohort_age, users, users * 1.0 / first_value(users) over (partition by cohort order by cohort_age) as retention
from abs
where cohort between '2024-01-01' and '2024-12-31'
order by 1, 2;

-- [b59] money per member of a monthly cohort, cumulated by a join of months; from gist hsurreal (Tribe Capital), cohorts_cumulative
WITH orders_m AS (
  SELECT o.shopper_id, date_trunc('month', o.created_at) AS month, sum(i.sale_price) AS amt
  FROM shop_orders o JOIN order_items i ON i.order_id = o.order_id
  WHERE o.shopper_id IS NOT NULL
  GROUP BY 1, 2
), first_m AS (
  SELECT shopper_id, min(month) AS first_month FROM orders_m GROUP BY 1
), cohorts AS (
  SELECT f.first_month,
         (extract(year FROM m.month) - extract(year FROM f.first_month)) * 12 + extract(month FROM m.month) - extract(month FROM f.first_month) AS months_since_first,
         count(DISTINCT m.shopper_id) AS users, sum(m.amt) AS amt
  FROM orders_m m, first_m f WHERE m.shopper_id = f.shopper_id
  GROUP BY 1, 2
), sizes AS (
  SELECT first_month, users FROM cohorts WHERE months_since_first = 0
)
SELECT c1.first_month, c1.months_since_first, c1.users, cs.users AS cohort_num_users,
       1.0 * c1.users / cs.users AS retained_pctg, 1.0 * sum(c2.amt) / cs.users AS cum_amt_per_user
FROM cohorts c1, cohorts c2, sizes cs
WHERE c1.first_month = c2.first_month AND c2.months_since_first <= c1.months_since_first AND cs.first_month = c1.first_month
GROUP BY 1, 2, 3, 4, 5
ORDER BY 1, 2;

-- [b60] sessions by source, campaign and referrer; from github shivamchhuneja/sql-projects, Maven Fuzzy Factory
select utm_source, utm_campaign, referrer, count(distinct session_id) as sessions
from web_sessions
where started_at < '2024-07-01'
group by utm_source, utm_campaign, referrer
order by sessions desc;

-- [b61] trips, distance and money by hour of the day; from duckdb.gishub.org, analyzing NYC taxi data
SELECT EXTRACT(HOUR FROM pickup_at) as hour, COUNT(*) as trip_count, ROUND(AVG(trip_distance)::numeric, 2) as avg_distance, ROUND(AVG(total_amount), 2) as avg_fare
FROM trips
GROUP BY hour
ORDER BY hour;

-- [b62] the commonest first three pages; from PostHog paths, translated with string_agg
WITH ranked AS (
  SELECT session_id, page_path, ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY viewed_at) AS n FROM pageviews
), paths AS (
  SELECT session_id, STRING_AGG(page_path, ' > ' ORDER BY n) AS path FROM ranked WHERE n <= 3 GROUP BY session_id
)
SELECT path, COUNT(*) AS sessions FROM paths GROUP BY path HAVING COUNT(*) > 3 ORDER BY sessions DESC LIMIT 10;

-- [b63] revenue, accounts and revenue per account by month of change; from blog.redash.io, SaaS metrics query, step 2
WITH v_charges AS (
  SELECT s.account_id AS org_id, date_trunc('month', e.event_date) AS month, coalesce(e.amount_delta, 0)::float AS total
  FROM subscription_events e JOIN subscriptions s ON s.subscription_id = e.subscription_id
)
SELECT month, sum(total) AS mrr, count(DISTINCT org_id) AS accounts, sum(total) / count(DISTINCT org_id) AS arpu
FROM v_charges
GROUP BY 1
ORDER BY 1;

-- [b64] tokens of a day, coalesced to zero; from Grafana stat panel with coalesce(sum(...), 0)
SELECT coalesce(sum(pr.additions + pr.deletions), 0) AS lines_changed
FROM pull_requests pr JOIN members m ON m.member_id = pr.author_id
WHERE pr.created_at > timestamp '2024-12-01' - interval '30 days' AND NOT m.is_staff;

-- [b65] page views and visitors a month; from github martin-loetzsch/havel-alm.de, page_views.sql
SELECT month, count(*) as page_views, count(distinct visitor_id) as visitors
FROM (SELECT to_char(p.viewed_at, 'YYYY-MM') as month, s.visitor_id FROM pageviews p JOIN web_sessions s USING (session_id)) t
GROUP BY month
ORDER BY month;

-- [b66] a level of detail fixed to the customer, joined back; from expandmapping.substack.com, the SQL that Tableau writes for LODs
SELECT "t0"."__measure__0" AS "yr:Calculation_0001:ok", CAST(DATE_TRUNC('MONTH', CAST("shop_orders"."created_at" AS TIMESTAMP)) AS DATE) AS "tmn:created_at:ok", SUM("order_items"."sale_price") AS "sum:sale_price:ok"
FROM "public"."shop_orders" "shop_orders"
INNER JOIN "public"."order_items" "order_items" ON ("shop_orders"."order_id" = "order_items"."order_id")
INNER JOIN (
  SELECT "shop_orders"."shopper_id" AS "shopper_id", CAST(TRUNC(EXTRACT(YEAR FROM MIN("shop_orders"."created_at"))) AS INTEGER) AS "__measure__0"
  FROM "public"."shop_orders" "shop_orders"
  GROUP BY 1
) "t0" ON ("shop_orders"."shopper_id" IS NOT DISTINCT FROM "t0"."shopper_id")
GROUP BY 1, 2;

-- [b67] a funnel of two counts that are not connected; from mitzu.io, funnels with SQL, the naive approach
SELECT pv.day, pv.users AS viewed, ex.users AS exported, ex.users * 100.0 / NULLIF(pv.users, 0) AS conversion
FROM (SELECT date(occurred_at) AS day, count(distinct user_id) AS users FROM product_events WHERE event_name = 'page_viewed' GROUP BY 1) pv
JOIN (SELECT date(occurred_at) AS day, count(distinct user_id) AS users FROM product_events WHERE event_name = 'export' GROUP BY 1) ex ON pv.day = ex.day
ORDER BY 1;

-- [b68] a sample of a table by which the tool learns its columns; from metabase/metabase issue 13767, fingerprint sample of a table
SELECT SUBSTRING("public"."topics"."title", 1, 1234) AS "substring0", "public"."topics"."views" AS "views", "public"."topics"."created_at" AS "created_at"
FROM "public"."topics"
LIMIT 10000;

-- [b69] leads by stage in percent, in the order of the funnel; from sales funnel analysis SQL on the CRM data set, funnel overview
SELECT stage, COUNT(*) as opportunity_count, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER(), 2) as percentage
FROM leads
GROUP BY stage
ORDER BY CASE stage WHEN 'lead' THEN 1 WHEN 'mql' THEN 2 WHEN 'sql' THEN 3 WHEN 'customer' THEN 4 WHEN 'lost' THEN 5 END;

-- [b70] customers, orders and money by state and town; from Olist and thelook projects, geography of customers
SELECT s.state, INITCAP(TRIM(s.city)) AS city, COUNT(DISTINCT s.shopper_id) AS customers, COUNT(DISTINCT o.order_id) AS orders,
       COUNT(DISTINCT o.order_id)::numeric / NULLIF(COUNT(DISTINCT s.shopper_id), 0) AS orders_per_customer
FROM shoppers s LEFT JOIN shop_orders o ON o.shopper_id = s.shopper_id AND o.status <> 'Cancelled'
GROUP BY ROLLUP (s.state, INITCAP(TRIM(s.city)))
ORDER BY s.state NULLS LAST, customers DESC;

-- [b71] monthly growth accounting: retained, new, resurrected and churned users; from gist hsurreal (Tribe Capital), growth_accounting_and_ltv.sql
WITH dau AS (
  SELECT user_id, date(occurred_at) AS dt, sum(1) AS inc_amt FROM product_events WHERE user_id IS NOT NULL GROUP BY 1, 2
),
mau AS (
  SELECT date_trunc('month', dt) AS month, user_id, sum(inc_amt) AS inc_amt FROM dau GROUP BY 1, 2
),
first_dt AS (
  SELECT user_id, min(dt) AS first_dt, date_trunc('month', min(dt)) AS first_month FROM dau GROUP BY 1
),
mau_decorated AS (
  SELECT d.month, d.user_id, d.inc_amt, f.first_month FROM mau d, first_dt f WHERE d.user_id = f.user_id AND inc_amt > 0
)
SELECT coalesce(tm.month, lm.month + interval '1 month') AS month,
       count(DISTINCT tm.user_id) AS mau,
       count(DISTINCT CASE WHEN lm.user_id IS NOT NULL THEN tm.user_id ELSE NULL END) AS retained,
       count(DISTINCT CASE WHEN tm.first_month = tm.month THEN tm.user_id ELSE NULL END) AS new,
       count(DISTINCT CASE WHEN tm.first_month != tm.month AND lm.user_id IS NULL THEN tm.user_id ELSE NULL END) AS resurrected,
       -1 * count(DISTINCT CASE WHEN tm.user_id IS NULL THEN lm.user_id ELSE NULL END) AS churned
FROM mau_decorated tm
FULL OUTER JOIN mau_decorated lm ON (tm.user_id = lm.user_id AND tm.month = lm.month + interval '1 month')
GROUP BY 1
ORDER BY 1;

-- [b72] distinct people of every two days by a joined dimension; from dbt-labs/metricflow snapshots, cumulative metric with query time filters
SELECT metric_time__day, member__country, COUNT(DISTINCT readers) AS every_two_days_readers
FROM (
  SELECT subq_19.metric_time__day AS metric_time__day, subq_19.mobile AS visit__mobile, members_src.country AS member__country, subq_19.readers AS readers
  FROM (
    SELECT subq_18.ds AS metric_time__day, v.member_id AS readers, v.mobile AS mobile
    FROM (SELECT cast(d as date) AS ds FROM generate_series(date '2024-02-01', date '2024-02-10', interval '1 day') g(d)) subq_18
    INNER JOIN visits v ON (v.visited_on <= subq_18.ds) AND (v.visited_on > subq_18.ds - 2)
  ) subq_19
  LEFT OUTER JOIN members members_src ON subq_19.readers = members_src.member_id
) subq_24
WHERE visit__mobile
GROUP BY metric_time__day, member__country;

-- [b73] average and middle session time by device; from github Nirmit2002 README, Matomo average session time
SELECT device_type, AVG(EXTRACT(EPOCH FROM (ended_at - started_at))) / 60 AS avg_minutes, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ended_at - started_at) AS median_interval,
       COUNT(*) - COUNT(ended_at) AS never_ended
FROM web_sessions
GROUP BY device_type;

-- [b74] open deals, their money and the mean of those won, in one line; from Evidence sales pipeline dashboard on HubSpot deals, pipeline summary
SELECT count(*) as total_deals,
    count(*) filter (where stage not like '%lost%' and stage not like '%custom%') as open_deals,
    sum(cast(deal_value as decimal)) filter (where stage like '%custom%') as won_value,
    avg(cast(deal_value as decimal)) filter (where stage like '%custom%') as avg_won,
    round(100.0 * count(*) filter (where stage like '%custom%') / nullif(count(*) filter (where stage like '%custom%' or stage like '%lost%'), 0), 1) as win_rate_pct
FROM leads
WHERE created_at >= timestamp '2024-11-30' - interval '180 days';

-- [b75] journal entries whose sides differ; from dbt singular test, assert entries balance (accounting package)
select entry_id, sum(debit) as debit, sum(credit) as credit
from journal_lines
group by entry_id
having sum(debit) <> sum(credit);

-- [b76] money, trips and tips of each driver; from NYC taxi SQL portfolios, driver performance
SELECT driver_id, COUNT(*) AS trips, SUM(total_amount) AS revenue, AVG(tip_amount) AS avg_tip, RANK() OVER (ORDER BY SUM(total_amount) DESC) AS position
FROM trips
GROUP BY driver_id
ORDER BY revenue DESC
LIMIT 10;

-- [b77] rows of one month, the filter made a range; from metabase/metabase pull request 10980
SELECT count(*) AS "count"
FROM "public"."web_sessions"
WHERE ("public"."web_sessions"."started_at" >= timestamp with time zone '2024-09-01 00:00:00.000Z' AND "public"."web_sessions"."started_at" < timestamp with time zone '2024-10-01 00:00:00.000Z');

-- [b78] trips a day with the mean, the extremes and the deviation of seven days; from NYC taxi dbt analyses, moving average of days
WITH d AS (
  SELECT g::date AS day, COUNT(t.trip_id) AS trips
  FROM generate_series(date '2024-03-01', date '2024-03-31', interval '1 day') g LEFT JOIN trips t ON t.pickup_at >= g AND t.pickup_at < g + interval '1 day'
  GROUP BY 1
)
SELECT day, trips, AVG(trips) OVER w AS avg_7d, MIN(trips) OVER w AS min_7d, MAX(trips) OVER w AS max_7d, STDDEV(trips) OVER w AS sd_7d
FROM d
WINDOW w AS (ORDER BY day ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING)
ORDER BY day;

-- [b79] the columns of the tables, for the documentation; from dbt-postgres, catalog query
select tbl.table_name, col.ordinal_position as column_index, col.column_name, col.data_type
from information_schema.tables tbl join information_schema.columns col using (table_schema, table_name)
where tbl.table_schema = 'public' and lower(tbl.table_name) in ('trips', 'zones')
order by 1, 2;

-- [b80] a customers' mart with lifetime value; from dbt jaffle shop, customers model
with orders as (
    select o.shopper_id, o.order_id, o.created_at, sum(i.sale_price) as amount
    from shop_orders o left join order_items i using (order_id)
    group by 1, 2, 3
)
select s.shopper_id, s.full_name, min(o.created_at) as first_ordered_at, max(o.created_at) as last_ordered_at, count(o.order_id) as count_lifetime_orders,
       coalesce(sum(o.amount), 0) as lifetime_spend, case when count(o.order_id) > 1 then 'returning' else 'new' end as customer_type
from shoppers s left join orders o using (shopper_id)
group by 1, 2;

-- [b81] visits, bounces and time by day in one query; from umami analytics, getWebsiteStats for PostgreSQL
select cast(coalesce(sum(t.c), 0) as bigint) as "pageviews", count(distinct t.session_id) as "visits",
       coalesce(sum(case when t.c = 1 then 1 else 0 end), 0) as "bounces",
       cast(coalesce(sum(floor(extract(epoch from (t.max_time - t.min_time)))), 0) as bigint) as "totaltime"
from (
  select session_id, date_trunc('hour', viewed_at) as hour, count(*) as "c", min(viewed_at) as "min_time", max(viewed_at) as "max_time"
  from pageviews
  where viewed_at between '2024-04-01' and '2024-07-01'
  group by 1, 2
) as t;

-- [b82] purchases and refunds of each user, the most active first; from Grafana events dashboard, users panel (github, event pipeline)
SELECT user_id,
  COUNT(*) FILTER (WHERE event_name = 'report_created') AS created_count,
  COUNT(*) FILTER (WHERE event_name = 'export') AS export_count,
  COUNT(*) FILTER (WHERE event_name IN ('report_created', 'export')) AS total_activity
FROM product_events
WHERE occurred_at BETWEEN '2024-01-01' AND '2025-01-01'
GROUP BY user_id
ORDER BY total_activity DESC
LIMIT 15;

-- [b83] movements with the size of their impact; from repository with mart_churn.sql on fct_mrr_movements
with movements as (
    select e.*, a.country as region
    from subscription_events e
    join subscriptions s using (subscription_id)
    join accounts a using (account_id)
)
select
    region,
    event_type as movement_type,
    count(distinct subscription_id) as customer_count,
    sum(amount_delta) as mrr_impact,
    abs(sum(amount_delta)) as abs_mrr_impact
from movements
group by 1, 2
order by region, movement_type;

-- [b84] which page follows which; from Maven Fuzzy Factory courses, product pathing
SELECT page_path, next_path, COUNT(*) AS transitions, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY page_path), 1) AS pct
FROM (
  SELECT session_id, page_path, LEAD(page_path) OVER (PARTITION BY session_id ORDER BY viewed_at, pageview_id) AS next_path FROM pageviews
) t
WHERE next_path IS NOT NULL
GROUP BY page_path, next_path
ORDER BY transitions DESC
LIMIT 20;

-- [b85] those who read and never write; from github developer-led/community-sql, GetLurkers.sql
WITH posts_by_user AS (
    SELECT COUNT(*) AS posts, member_id FROM posts GROUP BY member_id
), posts_read_by_user AS (
    SELECT SUM(posts_read) AS posts_read, member_id FROM visits GROUP BY member_id
)
SELECT u.member_id, lower(u.username) AS "username", u.joined_at, u.last_seen_at, COALESCE(pbu.posts, 0) AS "posts_created", COALESCE(prbu.posts_read, 0) AS "posts_read"
FROM members u
LEFT JOIN posts_by_user pbu ON pbu.member_id = u.member_id
LEFT JOIN posts_read_by_user prbu ON prbu.member_id = u.member_id
WHERE u.active = true AND posts IS NULL AND posts_read > 100
ORDER BY posts_read DESC;

-- [b86] income statement by month with a net line; from sql-base-accounting-software and bestbooks, income statement
WITH pl AS (
  SELECT date_trunc('month', j.entry_date)::date AS month, a.account_type, SUM(CASE WHEN a.account_type = 'Revenue' THEN credit - debit ELSE debit - credit END) AS amount
  FROM journal_lines j JOIN gl_accounts a USING (account_code)
  WHERE a.account_type IN ('Revenue', 'Expense')
  GROUP BY 1, 2
)
SELECT month, SUM(amount) FILTER (WHERE account_type = 'Revenue') AS revenue, SUM(amount) FILTER (WHERE account_type = 'Expense') AS expense,
       COALESCE(SUM(amount) FILTER (WHERE account_type = 'Revenue'), 0) - COALESCE(SUM(amount) FILTER (WHERE account_type = 'Expense'), 0) AS net_income
FROM pl
GROUP BY month
ORDER BY month;

-- [b87] active and inactive users; from github developer-led/community-sql, GetNumberOfInactiveAndActiveUsers.sql
WITH timeframe AS (
  SELECT date_trunc('month', timestamp '2024-12-10' - INTERVAL '1 month') AS start, date_trunc('month', timestamp '2024-12-10') AS end
), totalusers AS (
  SELECT count(member_id) AS "Total_Users" FROM members WHERE active = true AND joined_at < '2024-06-01'
), activeusers AS (
  SELECT count(member_id) AS "Active_Users" FROM members, timeframe WHERE last_seen_at BETWEEN timeframe.start AND timeframe.end
)
SELECT "Total_Users", "Active_Users", (COALESCE("Total_Users",0) - COALESCE("Active_Users",0)) AS "Inactive_Users"
FROM totalusers, activeusers;

-- [b88] trial requests with the address and the company; from mattermost/mattermost-data-warehouse, analyses/cloud_trial_requests.sql
with subs as (
    select subscription_id, account_id, trial_ends_on, started_on from subscriptions where trial_ends_on is not null
)
select 'stripe:' || subs.subscription_id as trial_request_id, subs.started_on as trial_created_at, a.billing_email as email, a.account_name as company_name, subs.trial_ends_on
from accounts a left join subs on subs.account_id = a.account_id
where a.created_at >= '2024-04-27' and subs.trial_ends_on is not null and not (a.billing_email ilike any (array['%@acme.io', '%@example.org']));

-- [b89] leads by month of coming and months until they bought; from marketing dashboards, lead cohort by months to convert
SELECT to_char(created_at, 'YYYY-MM') AS cohort, COUNT(*) AS leads,
       COUNT(*) FILTER (WHERE converted_at < created_at + interval '1 month') AS m0, COUNT(*) FILTER (WHERE converted_at < created_at + interval '2 months') AS m1,
       COUNT(*) FILTER (WHERE converted_at < created_at + interval '3 months') AS m2
FROM leads
WHERE source_campaign_id IN (SELECT campaign_id FROM campaigns WHERE channel IN ('paid_search', 'display'))
GROUP BY 1
ORDER BY 1;

-- [b90] all members up to each month; from github developer-led/community-sql, GetTotalNumberOfUsersByMonth.sql
WITH data_month AS (
  SELECT date_part('year', joined_at) AS year, date_part('month', joined_at) AS month, COUNT(*) AS "new_users_month"
  FROM members
  GROUP BY date_part('year', joined_at), date_part('month', joined_at)
  ORDER BY date_part('year', joined_at) ASC, date_part('month', joined_at)
)
SELECT month, year, SUM(new_users_month) over (ORDER BY year, month rows between unbounded preceding AND current row) AS total
FROM data_month ORDER BY year DESC, month DESC;

-- [b91] signed up, active within sixty days and subscribed within ninety; from freemium funnel project, analysis_stage1.sql, conversion funnel
WITH signups AS (
  SELECT u.user_id, u.account_id, u.signed_up_at AS signup_ts FROM app_users u
), activated AS (
  SELECT e.user_id
  FROM product_events e JOIN signups s USING (user_id)
  WHERE e.event_name = 'report_created' AND e.occurred_at BETWEEN s.signup_ts AND s.signup_ts + INTERVAL '60 days'
  GROUP BY e.user_id
), subscribed AS (
  SELECT s.user_id, MIN(sub.started_on) AS first_sub_ts
  FROM subscriptions sub JOIN signups s USING (account_id)
  WHERE sub.started_on >= s.signup_ts AND sub.started_on <= s.signup_ts + INTERVAL '90 days'
  GROUP BY s.user_id
)
SELECT (SELECT COUNT(*) FROM signups) AS signed_up, (SELECT COUNT(*) FROM activated) AS activated_60d, (SELECT COUNT(*) FROM subscribed) AS subscribed_90d,
       ROUND((SELECT COUNT(*) FROM subscribed)::numeric / NULLIF((SELECT COUNT(*) FROM signups), 0), 3) AS overall;

-- [b92] average lifetime value by a subquery dimension; from Cube docs, subquery dimension
SELECT "shoppers".gender "shoppers__gender", avg("shoppers__lifetime"."total") "shoppers__avg_ltv", count("shoppers".shopper_id) "shoppers__count"
FROM public.shoppers AS "shoppers"
LEFT JOIN (
  SELECT "o".shopper_id "shoppers__shopper_id", sum("i".sale_price * "i".quantity) "total"
  FROM public.shop_orders AS "o" LEFT JOIN public.order_items AS "i" ON "i".order_id = "o".order_id
  GROUP BY 1
) AS "shoppers__lifetime" ON "shoppers".shopper_id = "shoppers__lifetime"."shoppers__shopper_id"
GROUP BY 1
ORDER BY 2 DESC;

-- [b93] trailing two months' sum on a time spine; from dbt-labs/metricflow snapshots, Postgres, cumulative metric with agg time dimension
SELECT subq_13.ds AS revenue_instance__ds__day, SUM(revenue_src_28000.amount) AS trailing_2_months_revenue
FROM (SELECT generate_series(timestamp '2024-06-01', timestamp '2024-06-30', interval '1 day') AS ds) subq_13
INNER JOIN ar_invoices revenue_src_28000
ON (DATE_TRUNC('day', revenue_src_28000.issued_on) <= subq_13.ds)
  AND (DATE_TRUNC('day', revenue_src_28000.issued_on) > subq_13.ds - MAKE_INTERVAL(months => 2))
GROUP BY subq_13.ds;

-- [b94] a metric written as SQL with a case in the group; from Superset SQL metrics (superset-sql-developer skill)
SELECT CASE WHEN load_ms < 1000 THEN 'fast' WHEN load_ms BETWEEN 1000 AND 2500 THEN 'ok' WHEN load_ms > 2500 THEN 'slow' ELSE 'unknown' END AS load_band,
       SUM(CASE WHEN scroll_pct >= 0.5 THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS "% read half",
       AVG(CASE WHEN load_ms > 0 THEN load_ms END) AS avg_load
FROM public.pageviews
GROUP BY CASE WHEN load_ms < 1000 THEN 'fast' WHEN load_ms BETWEEN 1000 AND 2500 THEN 'ok' WHEN load_ms > 2500 THEN 'slow' ELSE 'unknown' END
ORDER BY "% read half" DESC
LIMIT 1000;

-- [b95] contributors who were not there in the three months before; from cncf/devstats, metrics/shared/episodic_contributors.sql
with prev as (
  select distinct author_id from pull_requests
  where created_at >= date '2024-07-01' - '3 months'::interval and created_at < '2024-07-01'
), prev_cnt as (
  select author_id, count(distinct pr_id) as cnt from pull_requests where created_at < '2024-07-01' group by author_id
)
select 'epis_contrib;All;contrib,prs' as name, round(count(distinct pr.author_id) / 3.0, 2) as contributors, round(count(distinct pr.pr_id) / 3.0, 2) as prs
from pull_requests pr
left join prev_cnt pc on pc.author_id = pr.author_id
where pr.created_at >= '2024-07-01' and pr.created_at < '2024-10-01'
  and pr.author_id not in (select author_id from prev)
  and (pc.author_id is null or pc.cnt <= 12);

-- [b96] new, expansion, churned and contraction revenue by month, two months joined; from blog.redash.io, SaaS metrics query, step 3
WITH v_charges AS (
  SELECT account_id AS org_id, date_trunc('month', started_on) AS month, sum(mrr) AS total
  FROM subscriptions GROUP BY 1, 2
),
v_mrr_changes AS (
  SELECT this_month.month,
         CASE WHEN previous_month.month IS NULL THEN this_month.total ELSE 0 END AS new_mrr,
         CASE WHEN previous_month.total < this_month.total THEN this_month.total - previous_month.total ELSE 0 END AS expansion,
         CASE WHEN previous_month.total > this_month.total THEN previous_month.total - this_month.total ELSE 0 END AS contraction
  FROM v_charges AS this_month
  LEFT JOIN v_charges previous_month ON this_month.org_id = previous_month.org_id
    AND this_month.month = previous_month.month + interval '1 month'
)
SELECT month, sum(new_mrr) AS new_mrr, sum(expansion) AS expansion_mrr, -1 * sum(contraction) AS contraction_mrr
FROM v_mrr_changes
GROUP BY month
ORDER BY month;

-- [b97] topics that nobody answered, by month and board; from discourse/discourse, topics_with_no_response report
SELECT COUNT(*) AS count, tt.created_at::date AS "date"
FROM (
  SELECT t.topic_id, date_trunc('month', t.created_at) AS created_at, MIN(p.post_number) AS first_reply
  FROM topics t
  LEFT JOIN posts p ON p.topic_id = t.topic_id AND p.member_id != t.member_id AND p.deleted_at IS NULL
  WHERE t.board = 'support' AND t.deleted_at IS NULL
  GROUP BY t.topic_id, t.created_at
) tt
WHERE tt.first_reply IS NULL OR tt.first_reply < 2
GROUP BY tt.created_at::date
ORDER BY tt.created_at::date;

-- [b98] revenue by new and returning customers; from dbt Semantic Layer jaffle shop, revenue by customer type
with orders as (
    select o.*, row_number() over (partition by shopper_id order by created_at) as customer_order_number from shop_orders o where shopper_id is not null
)
select date_trunc('quarter', o.created_at) as quarter, o.customer_order_number = 1 as is_first_order, sum(i.sale_price * i.quantity) as revenue, count(distinct o.order_id) as orders
from orders o join order_items i using (order_id)
group by 1, 2
order by 1, 2;

-- [b99] churn of two plans in three months, a list of months crossed with the subscriptions; from github robfordbaie/sql-scratch-capstone-turn-in, churn capstone
WITH months AS (
  SELECT date '2024-01-01' AS first_day, date '2024-01-31' AS last_day
  UNION
  SELECT date '2024-02-01', date '2024-02-29'
  UNION
  SELECT date '2024-03-01', date '2024-03-31'
), cross_join AS (
  SELECT * FROM subscriptions CROSS JOIN months
), status AS (
  SELECT subscription_id, first_day AS month,
    CASE WHEN plan_id = 'team' AND started_on < first_day AND (canceled_on > first_day OR canceled_on IS NULL) THEN 1 ELSE 0 END AS is_active_team,
    CASE WHEN plan_id = 'starter' AND started_on < first_day AND (canceled_on > first_day OR canceled_on IS NULL) THEN 1 ELSE 0 END AS is_active_starter,
    CASE WHEN plan_id = 'team' AND canceled_on BETWEEN first_day AND last_day THEN 1 ELSE 0 END AS is_canceled_team,
    CASE WHEN plan_id = 'starter' AND canceled_on BETWEEN first_day AND last_day THEN 1 ELSE 0 END AS is_canceled_starter
  FROM cross_join
), status_aggregate AS (
  SELECT month, SUM(is_active_team) AS active_team, SUM(is_active_starter) AS active_starter, SUM(is_canceled_team) AS canceled_team, SUM(is_canceled_starter) AS canceled_starter
  FROM status
  GROUP BY month
)
SELECT month, 1.0 * canceled_team / active_team AS churn_team, 1.0 * canceled_starter / active_starter AS churn_starter
FROM status_aggregate
ORDER BY month;

-- [b100] users active in a day, a week, a month and a quarter until now, and all; from github gridstatus/gs-internal-analytics, src/sql/active-users.sql
SELECT
  COUNT(*) FILTER (WHERE last_seen_at >= NOW() - INTERVAL '24 hours') AS active_24h,
  COUNT(*) FILTER (WHERE last_seen_at >= NOW() - INTERVAL '7 days') AS active_7d,
  COUNT(*) FILTER (WHERE last_seen_at >= NOW() - INTERVAL '30 days') AS active_30d,
  COUNT(*) FILTER (WHERE last_seen_at >= NOW() - INTERVAL '10 years') AS active_10y,
  (SELECT COUNT(*) FROM app_users WHERE 1=1 AND full_name NOT LIKE 'Bo %') AS total_users
FROM app_users
WHERE 1=1 AND last_seen_at IS NOT NULL AND full_name NOT LIKE 'Bo %';

-- [b101] p50 and p95 of a latency by day; from Grafana run-duration panel
SELECT date_trunc('day', viewed_at) AS time,
  percentile_cont(0.50) WITHIN GROUP (ORDER BY load_ms) AS p50,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY load_ms) AS p95
FROM pageviews
WHERE viewed_at >= '2024-02-01' AND viewed_at < '2024-03-01' AND load_ms IS NOT NULL
GROUP BY 1
ORDER BY 1;

-- [b102] success rate in percent over time; from Grafana test-execution dashboard (success rate panel)
SELECT date_trunc('week', created_at) AS "time",
  COUNT(CASE WHEN state = 'merged' THEN 1 END)::numeric / NULLIF(COUNT(*), 0) * 100 AS "Merge Rate %"
FROM pull_requests
WHERE created_at BETWEEN '2024-01-01T00:00:00Z' AND '2024-12-31T23:59:59Z'
GROUP BY 1 ORDER BY 1;

-- [b103] part of the money that the ten largest clients make; from company health SQL, top customer concentration; github aashkatanvi/d2c-ecommerce, revenue concentration
WITH by_client AS (
  SELECT party_id, SUM(amount) AS total FROM ar_invoices GROUP BY party_id
)
SELECT SUM(total) FILTER (WHERE rn <= 10) / SUM(total) AS top10_share
FROM (SELECT total, ROW_NUMBER() OVER (ORDER BY total DESC) AS rn FROM by_client) r;

-- [b104] trips between boroughs by weekday; from github manluomia/nyc_traffic_data_warehouse, inter-borough trips
WITH trip_locations AS (
  SELECT extract(dow from t.pickup_at) as weekday, s.borough AS start_borough, e.borough AS end_borough
  FROM trips t JOIN zones s ON t.pu_zone_id = s.zone_id JOIN zones e ON t.do_zone_id = e.zone_id
), aggregated_data AS (
  SELECT weekday, COUNT(*) AS total_trips, COUNT(*) FILTER (WHERE start_borough <> end_borough) AS diff_borough_trips FROM trip_locations GROUP BY weekday
)
SELECT weekday, total_trips, diff_borough_trips, ROUND(((diff_borough_trips::FLOAT / total_trips) * 100)::numeric, 2) AS percent_diff_start_end
FROM aggregated_data
ORDER BY weekday;

-- [b105] new and repeat visits a week, in percent; from snowplow guide, bread and butter web analytics
SELECT DATE_TRUNC('week', started_at) AS week, COUNT(DISTINCT visitor_id) AS uniques, COUNT(*) AS visits,
       SUM(CASE WHEN is_repeat = 0 THEN 1 END) / COUNT(*)::REAL AS new_visits_share, COUNT(*) / COUNT(DISTINCT visitor_id)::REAL AS visits_per_unique
FROM web_sessions
WHERE EXTRACT(ISODOW FROM started_at) < 6
GROUP BY 1
ORDER BY 1;

-- [b106] number and median age of pull requests that are open or merged; from cncf/devstats, metrics/shared/prs_age.sql
with tdiffs_groups as (
  select repo, pr_id, extract(epoch from coalesce(merged_at - created_at, timestamp '2025-01-01' - created_at)) / 3600 as age
  from pull_requests
  where created_at >= '2024-01-01' and created_at < '2025-01-01' and (closed_at is null or (closed_at is not null and merged_at is not null))
)
select 'prs_age;' || repo || ';n,m' as name, round((count(distinct pr_id) / 12.0)::numeric, 2) as num, percentile_disc(0.5) within group (order by age asc) as age_median
from tdiffs_groups
group by repo
order by num desc, name asc;

-- [b107] trial balance with debit and credit sides; from JavaTMP, Trial_Balance.sql
select j.account_code as "Acct Code", a.account_name as "Acct Name",
  case when sum(debit - credit) > 0 then sum(debit - credit) else 0 end as "Debit Bal",
  case when sum(debit - credit) < 0 then -sum(debit - credit) else 0 end as "Credit Bal"
from journal_lines j join gl_accounts a on j.account_code = a.account_code
where a.account_type in ('Asset', 'Liability', 'Equity', 'Revenue', 'Expense')
group by a.account_name, j.account_code
union all
select '', 'Total', sum(debit), sum(credit) from journal_lines
order by 1;

-- [b108] categories with the least growth of profit by month; from ammarfarhan.github.io, thelook e-commerce
WITH main AS (
  SELECT p.category, DATE(DATE_TRUNC('month', o.created_at)) AS year_month, SUM(i.sale_price) - SUM(p.cost) AS profit
  FROM shop_orders o JOIN order_items i ON i.order_id = o.order_id JOIN products p ON p.product_id = i.product_id
  WHERE o.status NOT IN ('Cancelled', 'Returned') AND o.created_at BETWEEN '2024-01-01' AND '2024-12-31'
  GROUP BY 1, 2
), growth AS (
  SELECT category, year_month, profit, (profit - LAG(profit) OVER (PARTITION BY category ORDER BY year_month)) / NULLIF(ABS(LAG(profit) OVER (PARTITION BY category ORDER BY year_month)), 0) AS g
  FROM main
)
SELECT category, AVG(g) AS avg_growth FROM growth WHERE g IS NOT NULL GROUP BY category ORDER BY avg_growth ASC LIMIT 5;

-- [b109] a mean that must lie between two numbers; from dbt_expectations, expect_column_mean_to_be_between compiled
with grouped_expression as (
    select (1=1 and avg(lead_score) >= 10 and avg(lead_score) <= 90) as expression from leads
), validation_errors as (
    select * from grouped_expression where not(expression)
)
select count(*) as failures from validation_errors;

-- [b110] first touch and last touch by channel; from github Pro2610/sql-interview-practice, first against last touch
WITH touches_before AS (
  SELECT l.lead_id, l.deal_value, c.channel,
         FIRST_VALUE(c.channel) OVER (PARTITION BY l.lead_id ORDER BY t.touched_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS first_touch,
         LAST_VALUE(c.channel) OVER (PARTITION BY l.lead_id ORDER BY t.touched_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_touch
  FROM leads l JOIN touches t ON t.lead_id = l.lead_id AND t.touched_at <= l.converted_at JOIN campaigns c ON c.campaign_id = t.campaign_id
), per_lead AS (
  SELECT DISTINCT lead_id, deal_value, first_touch, last_touch FROM touches_before
)
SELECT channel, SUM(first_conv) AS first_touch_conversions, SUM(last_conv) AS last_touch_conversions FROM (
  SELECT first_touch AS channel, 1 AS first_conv, 0 AS last_conv FROM per_lead
  UNION ALL
  SELECT last_touch, 0, 1 FROM per_lead
) u
GROUP BY channel
ORDER BY 2 DESC;

-- [b111] passengers and money in three months; from github justin-napolitano/pmc-submission, question 1.1
SELECT date_trunc('month', dropoff_at) AS month, SUM(passenger_count) AS sum_pass, SUM(total_amount) AS total_amount_sum
FROM trips
WHERE date_part('month', dropoff_at) IN (2, 3, 4) AND date_part('year', dropoff_at) = 2024
GROUP BY month;

-- [b112] money a session and money an order by quarter; from lajatto.github.io, Maven Fuzzy Factory, quarterly figures
SELECT EXTRACT(year FROM started_at) AS yr, EXTRACT(quarter FROM started_at) AS qtr,
  COUNT(CASE WHEN goal = 'purchase' THEN 1 END)::float / COUNT(DISTINCT session_id) AS conv_rate,
  SUM(goal_value) / NULLIF(COUNT(CASE WHEN goal = 'purchase' THEN 1 END), 0) AS rev_per_order,
  SUM(goal_value) / COUNT(DISTINCT session_id) AS rev_per_sesh
FROM web_sessions
WHERE started_at <= '2024-12-20'
GROUP BY 1, 2;

-- [b113] reasons to leave with their part; from SaaS template questions, cancellation reasons
SELECT INITCAP(COALESCE(NULLIF(TRIM(cancel_reason), ''), 'no reason given')) AS reason, COUNT(*) AS n, CONCAT(ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 0), '%') AS share
FROM subscriptions
WHERE canceled_on IS NOT NULL
GROUP BY 1
ORDER BY n DESC;

-- [b114] browsers, spelt in one way, by device; from github Nirmit2002 README, Matomo users by browser
SELECT COALESCE(LOWER(browser), 'other') AS browser_name, device_type, COUNT(*) AS visit_count, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY device_type), 2) AS pct_of_device
FROM web_sessions
GROUP BY LOWER(browser), device_type
ORDER BY visit_count DESC;

-- [b115] a rolling count over a series of days; from cube-js/cube issue 2688, generated SQL
SELECT q_0."visits__day", "visits__rolling_members" "visits__rolling_members"
FROM (
  SELECT "visits.visited_on_series"."date_from" "visits__day", count(distinct "visits__rolling_members") "visits__rolling_members"
  FROM (
    SELECT date_from::timestamp, date_to::timestamp
    FROM (VALUES ('2024-05-01T00:00:00.000', '2024-05-01T23:59:59.999'), ('2024-05-02T00:00:00.000', '2024-05-02T23:59:59.999'), ('2024-05-03T00:00:00.000', '2024-05-03T23:59:59.999')) AS dates (date_from, date_to)
  ) AS "visits.visited_on_series"
  LEFT JOIN (
    SELECT ("visits".visited_on::timestamptz AT TIME ZONE 'UTC') "visits__visited_on", "visits".member_id "visits__rolling_members"
    FROM public.visits AS "visits"
  ) AS "visits" ON "visits__visited_on" > "visits.visited_on_series"."date_to" - interval '28 day' AND "visits__visited_on" <= "visits.visited_on_series"."date_to"
  GROUP BY 1
) AS q_0
ORDER BY 1 ASC
LIMIT 10000;

-- [b116] addresses used by more than one customer; from dbt singular test on duplicate emails, as analysts send it
SELECT lower(email) AS email, COUNT(*) AS customers, MIN(created_at) AS first_seen FROM shoppers GROUP BY lower(email) HAVING COUNT(*) > 1 ORDER BY customers DESC;

-- [b117] counts by day with empty days filled; from Grafana time series with generate_series
SELECT d AS "time", count(v.member_id) AS "visits", count(v.member_id) FILTER (WHERE v.mobile) AS "mobile"
FROM generate_series('2024-03-01'::timestamp, '2024-03-31'::timestamp, '1 day') d
LEFT JOIN visits v ON v.visited_on = d::date
GROUP BY 1
ORDER BY 1;

-- [b118] a summary by custom columns; from Metabase docs, aggregations (StandardDeviation, Percentile)
SELECT "public"."pull_requests"."repo" AS "repo", STDDEV_POP("public"."pull_requests"."additions") AS "stddev",
  PERCENTILE_CONT(0.5) within group (order by "public"."pull_requests"."additions") AS "median",
  PERCENTILE_CONT(0.9) within group (order by "public"."pull_requests"."additions") AS "p90"
FROM "public"."pull_requests"
WHERE NOT ("public"."pull_requests"."state" = 'open')
GROUP BY "public"."pull_requests"."repo";

-- [b119] a row a session with its first and last page; from snowplow/dbt-snowplow-web, sessions aggregates
with page_views as (
    select p.*, s.visitor_id,
           row_number() over (partition by p.session_id order by p.viewed_at) as page_view_in_session_index
    from pageviews p join web_sessions s using (session_id)
)
select session_id, min(viewed_at) as start_tstamp, max(viewed_at) as end_tstamp, count(distinct pageview_id) as page_views,
       max(case when page_view_in_session_index = 1 then page_path end) as first_page_path
from page_views
group by session_id;

-- [b120] four numbers under their names, as text with a sign; from NYC Taxi Analytics Dashboard, summary metrics query
SELECT 'Total Trips' as metric, COUNT(*)::text as value FROM trips
UNION ALL
SELECT 'Total Revenue', '$' || ROUND(SUM(total_amount), 2)::text FROM trips
UNION ALL
SELECT 'Average Fare', '$' || ROUND(AVG(fare_amount), 2)::text FROM trips
UNION ALL
SELECT 'Average Trip Distance', ROUND(AVG(trip_distance)::numeric, 2)::text || ' miles' FROM trips;

-- [b121] days to deliver, half and nine tenths; from github henrymarinho90/ecommerceproject, step2 findings
SELECT PERCENTILE_CONT(0.50) WITHIN GROUP (ORDER BY (delivered_at::date - created_at::date)) AS p50_days_to_deliver,
  PERCENTILE_CONT(0.90) WITHIN GROUP (ORDER BY (delivered_at::date - created_at::date)) AS p90_days_to_deliver,
  AVG((delivered_at::date - created_at::date)) AS avg_days_to_deliver
FROM shop_orders
WHERE delivered_at IS NOT NULL AND created_at IS NOT NULL;

-- [b122] values within a range; from dbt_utils accepted_range compiled
select count(*) as failures, count(*) != 0 as should_warn
from (
    with meet_condition as (
        select * from trips
    ), validation_errors as (
        select * from meet_condition
        where not(trip_distance >= 0 and trip_distance <= 20) or not(fare_amount >= 0)
    )
    select * from validation_errors
) dbt_internal_test;

-- [b123] users, orders and money by status and month; from scribd, thelook e-commerce assignment, question 1
SELECT DATE_TRUNC('month', DATE(o.created_at)) AS month_year, o.status AS order_status, COUNT(DISTINCT s.shopper_id) AS total_of_unique_users, COUNT(o.order_id) AS total_orders,
  ROUND(SUM(i.sale_price), 2) AS total_sale_price
FROM shoppers s
INNER JOIN shop_orders o ON s.shopper_id = o.shopper_id
INNER JOIN order_items i ON o.order_id = i.order_id
WHERE DATE(o.created_at) BETWEEN '2023-01-01' AND '2024-08-31'
GROUP BY 1, 2
ORDER BY 1;

-- [b124] sent, opened and clicked by campaign with their rates; from self-made CRM exercise (G-6), campaign open and click rate
WITH campaign_metrics AS (
  SELECT c.campaign_id, c.campaign_name, COUNT(DISTINCT t.touch_id) AS total_sent, COUNT(DISTINCT CASE WHEN t.opened_at IS NOT NULL THEN t.touch_id END) AS total_opened,
         COUNT(DISTINCT CASE WHEN t.clicked_at IS NOT NULL THEN t.touch_id END) AS total_clicked
  FROM campaigns c LEFT JOIN touches t ON c.campaign_id = t.campaign_id AND t.touch_type = 'email' AND NOT t.bounced
  GROUP BY c.campaign_id, c.campaign_name
)
SELECT campaign_name, total_sent, total_opened, ROUND(total_opened * 100.0 / NULLIF(total_sent, 0), 2) AS open_rate, ROUND(total_clicked * 100.0 / NULLIF(total_sent, 0), 2) AS click_rate,
       ROUND(total_clicked * 100.0 / NULLIF(total_opened, 0), 2) AS click_to_open_rate
FROM campaign_metrics
ORDER BY open_rate DESC NULLS LAST;

-- [b125] subscriptions of one account that overlap; from dbt_utils, mutually_exclusive_ranges compiled
with window_functions as (
    select account_id as partition_by_col, started_on as lower_bound, coalesce(canceled_on, date '2099-12-31') as upper_bound,
           lead(started_on) over (partition by account_id order by started_on, coalesce(canceled_on, date '2099-12-31')) as next_lower_bound
    from subscriptions
), calc as (
    select *, coalesce(upper_bound <= next_lower_bound, true) as upper_bound_less_than_next_lower_bound from window_functions
)
select count(*) as failures from calc where not upper_bound_less_than_next_lower_bound;

-- [b126] active subscriptions and their revenue each month of a year; from getdbt.com blog, modeling subscription revenue
WITH util_months AS (
  SELECT cast(d AS date) AS date_month FROM generate_series(date '2024-01-01', date '2024-12-01', interval '1 month') AS g(d)
), fct_mrr AS (
  SELECT m.date_month, s.subscription_id, s.mrr, (s.canceled_on IS NULL OR s.canceled_on > m.date_month) AS is_active
  FROM util_months m INNER JOIN subscriptions s ON s.started_on <= m.date_month
)
SELECT date_month, sum(is_active::integer) AS customers, sum(CASE WHEN is_active THEN mrr END) AS mrr
FROM fct_mrr
GROUP BY 1
ORDER BY 1;

-- [b127] mean and variance of money a visitor by variant; from naildd.com, SQL for A/B tests, continuous metrics
WITH per_user AS (
  SELECT visitor_id, CASE WHEN visitor_id % 2 = 0 THEN 'A' ELSE 'B' END AS variant, COALESCE(SUM(goal_value), 0) AS revenue FROM web_sessions GROUP BY 1, 2
)
SELECT variant, COUNT(*) AS users, AVG(revenue) AS arpu, VAR_SAMP(revenue) AS variance, STDDEV_SAMP(revenue) / SQRT(COUNT(*)) AS se,
       AVG(revenue) - 1.96 * STDDEV_SAMP(revenue) / SQRT(COUNT(*)) AS ci_low, AVG(revenue) + 1.96 * STDDEV_SAMP(revenue) / SQRT(COUNT(*)) AS ci_high
FROM per_user
GROUP BY variant;

-- [b128] the ten best customers with their address; from thelook SQL projects, top customers
SELECT s.full_name, s.email, s.state, COUNT(DISTINCT o.order_id) AS orders, SUM(i.sale_price) AS total_spent
FROM shoppers s JOIN shop_orders o USING (shopper_id) JOIN order_items i USING (order_id)
GROUP BY s.shopper_id, s.full_name, s.email, s.state
ORDER BY total_spent DESC
FETCH FIRST 10 ROWS ONLY;

-- [b129] best-selling category a month; from thelook SQL projects, top category each month by rank
SELECT month, category, revenue FROM (
  SELECT date_trunc('month', o.created_at)::date AS month, p.category, SUM(i.sale_price * i.quantity) AS revenue,
         RANK() OVER (PARTITION BY date_trunc('month', o.created_at) ORDER BY SUM(i.sale_price * i.quantity) DESC) AS rnk
  FROM order_items i JOIN shop_orders o USING (order_id) JOIN products p USING (product_id)
  GROUP BY 1, 2, date_trunc('month', o.created_at)
) r
WHERE rnk = 1
ORDER BY month;

-- [b130] created rows by week, weeks beginning on Sunday; from Metabase-generated SQL, week bucketing (metabase/metabase issues)
SELECT (CAST(date_trunc('week', (CAST("public"."accounts"."created_at" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "created_at", count(*) AS "count"
FROM "public"."accounts"
WHERE "public"."accounts"."is_internal" = FALSE
GROUP BY (CAST(date_trunc('week', (CAST("public"."accounts"."created_at" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day')
ORDER BY (CAST(date_trunc('week', (CAST("public"."accounts"."created_at" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ASC;

-- [b131] return on spend, cost of a customer and status by campaign; from campaign performance SQL, ROAS with a label
WITH spend AS (SELECT campaign_id, SUM(spend) AS spend FROM ad_spend GROUP BY campaign_id),
     won AS (SELECT source_campaign_id AS campaign_id, COUNT(*) AS customers, SUM(deal_value) AS revenue FROM leads WHERE stage = 'customer' GROUP BY 1)
SELECT c.campaign_name, c.channel, s.spend, COALESCE(w.customers, 0) AS customers, ROUND(w.revenue / NULLIF(s.spend, 0), 2) AS roas, ROUND(s.spend / NULLIF(w.customers, 0), 2) AS cac,
       CASE WHEN w.revenue > 3 * s.spend THEN 'scale' WHEN w.revenue > s.spend THEN 'keep' ELSE 'stop' END AS verdict
FROM campaigns c LEFT JOIN spend s USING (campaign_id) LEFT JOIN won w USING (campaign_id)
ORDER BY roas DESC NULLS LAST;

-- [b132] hour of the longest rides in a month; from github justin-napolitano/pmc-submission, longest rides by hour
SELECT EXTRACT(hour FROM pickup_at) AS hour, AVG(dropoff_at - pickup_at) AS avg_ride
FROM trips
WHERE pickup_at BETWEEN '2024-04-01' AND '2024-04-30 23:59:59'
GROUP BY 1
ORDER BY avg_ride DESC NULLS LAST
LIMIT 1;

-- [b133] average speed by hour in a borough; from github le-n-qui/code-bits, nyc_taxi.sql, speed by hour
SELECT date_part('hour', t.pickup_at) AS hour, AVG(t.trip_distance / (EXTRACT(EPOCH FROM t.dropoff_at - t.pickup_at) / 3600)) AS mph, COUNT(*) AS n
FROM trips t JOIN zones z ON z.zone_id = t.pu_zone_id AND z.borough = 'Manhattan'
WHERE t.trip_distance > 0 AND EXTRACT(EPOCH FROM t.dropoff_at - t.pickup_at) BETWEEN 60 AND 7200 AND EXTRACT(ISODOW FROM t.pickup_at) BETWEEN 1 AND 5
GROUP BY 1
ORDER BY 1;

-- [b134] how many read much and write nothing; from github developer-led/community-sql, GetLurkers.sql counted
WITH posts_by_user AS (
    SELECT COUNT(*) AS posts, member_id FROM posts GROUP BY member_id
), posts_read_by_user AS (
    SELECT SUM(posts_read) AS posts_read, member_id FROM visits GROUP BY member_id
)
SELECT COUNT(*) AS lurkers
FROM members u
LEFT JOIN posts_by_user pbu ON pbu.member_id = u.member_id
LEFT JOIN posts_read_by_user prbu ON prbu.member_id = u.member_id
WHERE u.active = true AND posts IS NULL AND posts_read > 100;

-- [b135] a stacked area with a limit of series; from Superset time-series chart, series limit
SELECT DATE_TRUNC('week', o.created_at) AS __timestamp, p.category AS category, sum(i.sale_price) AS "SUM(sale_price)"
FROM public.order_items i
JOIN public.shop_orders o ON o.order_id = i.order_id
JOIN public.products p ON p.product_id = i.product_id
JOIN (
  SELECT p2.category AS category__, sum(i2.sale_price) AS mme_inner__
  FROM public.order_items i2 JOIN public.products p2 ON p2.product_id = i2.product_id
  GROUP BY p2.category
  ORDER BY mme_inner__ DESC
  LIMIT 2
) AS series_limit ON p.category = category__
WHERE o.created_at >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY p.category, DATE_TRUNC('week', o.created_at)
ORDER BY "SUM(sale_price)" DESC
LIMIT 10000;

-- [b136] month-to-date revenue by day; from dbt docs, cumulative metrics grain_to_date
SELECT d.ds AS metric_time__day, SUM(i.sale_price) AS revenue_mtd
FROM (SELECT generate_series(timestamp '2024-03-01', timestamp '2024-03-31', interval '1 day') AS ds) d
INNER JOIN (SELECT o.created_at, oi.sale_price FROM order_items oi JOIN shop_orders o USING (order_id) WHERE o.status NOT IN ('Cancelled', 'Returned')) i
ON DATE_TRUNC('day', i.created_at) <= d.ds AND DATE_TRUNC('day', i.created_at) >= DATE_TRUNC('month', d.ds)
GROUP BY d.ds
ORDER BY 1;

-- [b137] accounts lost of those that were there; from blog.redash.io, SaaS metrics query, churn step
SELECT date_trunc('month', canceled_on)::date AS month,
       count(DISTINCT account_id) FILTER (WHERE status = 'canceled')::float
         / nullif((SELECT count(DISTINCT account_id) FROM subscriptions WHERE status IN ('active', 'canceled')), 0) AS accounts_churn
FROM subscriptions
WHERE canceled_on IS NOT NULL AND canceled_on < '2025-01-01'
GROUP BY 1
ORDER BY 1 DESC
LIMIT 12;

-- [b138] filtered measures in one tile; from Looker-generated SQL, filtered measures
SELECT
  CASE WHEN shoppers.age < 25 THEN 'T01 Below 25' WHEN shoppers.age < 35 THEN 'T02 25 to 34' WHEN shoppers.age < 50 THEN 'T03 35 to 49' WHEN shoppers.age >= 50 THEN 'T04 50 or Above' ELSE 'TXX Undefined' END AS "users.age_tier__sort_",
  COUNT(DISTINCT CASE WHEN shoppers.traffic_source = 'Email' THEN shoppers.shopper_id ELSE NULL END) AS "users.email_count",
  COUNT(DISTINCT CASE WHEN (shoppers.state = 'CA') THEN shoppers.shopper_id ELSE NULL END) AS "users.ca_count"
FROM public.shoppers AS shoppers
WHERE ((UPPER(shoppers.city) LIKE UPPER('%jose%') OR shoppers.city IS NULL))
GROUP BY 1
HAVING COUNT(DISTINCT shoppers.shopper_id) > 2
ORDER BY 1;

-- [b139] deals and rate of winning by salesperson; from github Serenali7/b2b-crm-sales-pipeline, 02_stage_conversion.sql
WITH stage_counts AS (
  SELECT sales_rep, COUNT(*) AS deals_in_stage, SUM(CASE WHEN stage = 'customer' THEN 1 ELSE 0 END) AS won_deals
  FROM leads
  GROUP BY sales_rep
)
SELECT sales_rep, deals_in_stage, won_deals, ROUND(won_deals * 1.0 / deals_in_stage, 4) AS win_rate_in_stage
FROM stage_counts
ORDER BY deals_in_stage DESC;

-- [b140] winback, lost and reduced revenue by lag and lead over an account's periods; from dataintoresults.com, master query for SaaS analytics
WITH lifetime AS (
  SELECT account_id AS customer_id, date_trunc('month', started_on) AS period, sum(mrr) AS mrr FROM subscriptions GROUP BY 1, 2
), lifetime_ext_1 AS (
  SELECT customer_id, period, mrr,
         min(period) OVER (PARTITION BY customer_id) AS cohort,
         lag(period, 1) OVER (PARTITION BY customer_id ORDER BY period ASC) AS prev_period,
         lead(period, 1) OVER (PARTITION BY customer_id ORDER BY period ASC) AS next_period
  FROM lifetime
), lifetime_ext_2 AS (
  SELECT *,
         CASE WHEN prev_period = period - interval '1 month' THEN lag(mrr, 1) OVER (PARTITION BY customer_id ORDER BY period ASC) END AS prev_mrr
  FROM lifetime_ext_1
)
SELECT period,
       sum(CASE WHEN cohort = period THEN mrr END) AS new_mrr,
       sum(CASE WHEN prev_mrr IS NULL AND cohort < period THEN mrr END) AS winback_mrr,
       sum(CASE WHEN next_period IS NULL OR next_period > period + interval '1 month' THEN -mrr END) AS lost_mrr,
       sum(CASE WHEN prev_mrr > mrr THEN mrr - prev_mrr END) AS reduction_mrr
FROM lifetime_ext_2
GROUP BY period
ORDER BY period;

-- [b141] refund reasons by money, Pareto; from e-commerce returns case studies, return reasons
WITH by_reason AS (
  SELECT COALESCE(reason, 'not given') AS reason, COUNT(*) AS refunds, SUM(amount) AS refunded FROM refunds GROUP BY 1
)
SELECT reason, refunds, refunded, SUM(refunded) OVER (ORDER BY refunded DESC) * 100.0 / SUM(refunded) OVER () AS cumulative_pct
FROM by_reason
ORDER BY refunded DESC;

-- [b142] rows that cannot be right, counted by fault; from taxi data quality checks, share of zero and negative entries
SELECT SUM(CASE WHEN trip_distance = 0 THEN 1 ELSE 0 END) AS zero_distance, SUM(CASE WHEN fare_amount < 0 THEN 1 ELSE 0 END) AS negative_fare,
       SUM(CASE WHEN dropoff_at <= pickup_at THEN 1 ELSE 0 END) AS ends_before_start, SUM(CASE WHEN passenger_count IS NULL OR passenger_count = 0 THEN 1 ELSE 0 END) AS no_passengers,
       COUNT(*) FILTER (WHERE rate_code NOT IN (1, 2, 3, 4, 5, 6)) AS odd_rate, COUNT(*) AS n
FROM trips;

-- [b143] an ordered funnel within a day by platform, first times a step; from mitzu.io, funnels with SQL, left joins
SELECT date_trunc('week', s1.occurred_at) AS week, s1.platform, COUNT(DISTINCT s1.user_id) AS step_1, COUNT(DISTINCT s2.user_id) AS step_2, COUNT(DISTINCT s3.user_id) AS step_3,
       COUNT(DISTINCT s3.user_id) * 100.0 / NULLIF(COUNT(DISTINCT s1.user_id), 0) AS conversion
FROM product_events s1
LEFT JOIN product_events s2 ON s2.user_id = s1.user_id AND s2.event_name = 'report_created' AND s2.occurred_at > s1.occurred_at AND s2.occurred_at <= s1.occurred_at + interval '30 day'
LEFT JOIN product_events s3 ON s3.user_id = s2.user_id AND s3.event_name = 'export' AND s3.occurred_at > s2.occurred_at AND s3.occurred_at <= s1.occurred_at + interval '30 day'
WHERE s1.event_name = 'page_viewed'
GROUP BY 1, 2
ORDER BY 1, 2;

-- [b144] sessions with the pages they saw; from github martin-loetzsch/havel-alm.de, page_views.sql
select s.visitor_id, min(p.viewed_at) as timestamp, count(*) as hits, array_agg(p.page_path order by p.viewed_at asc) as pathnames, min(s.browser) as user_agent
from pageviews p join web_sessions s using (session_id)
group by s.visitor_id, s.session_id
order by timestamp asc;

-- [b145] visitors present now; from github Nirmit2002 README, Matomo live users
SELECT COUNT(DISTINCT lv.visitor_id) AS live_user_count
FROM web_sessions lv JOIN visitors v ON lv.visitor_id = v.visitor_id
WHERE v.is_bot = false AND lv.ended_at >= NOW() - INTERVAL '1 minute';

-- [b146] lifetime value from revenue and churn; from usedatabrain.com playbooks, LTV
SELECT (SELECT AVG(mrr) FROM subscriptions WHERE status = 'active' AND mrr > 0)
       / NULLIF((SELECT COUNT(*) FILTER (WHERE status = 'canceled')::numeric / COUNT(*) FROM subscriptions), 0) AS ltv;

-- [b147] monthly revenue by zone with all its parts; from DataTalksClub data-engineering-zoomcamp, dm_monthly_zone_revenue
select z.zone_name as revenue_zone, date_trunc('month', t.pickup_at) as revenue_month, t.vendor_id as service_type,
  sum(fare_amount) as revenue_monthly_fare, sum(tip_amount) as revenue_monthly_tip_amount, sum(tolls_amount) as revenue_monthly_tolls_amount,
  sum(total_amount) as revenue_monthly_total_amount, count(trip_id) as total_monthly_trips,
  avg(passenger_count) as avg_monthly_passenger_count, avg(trip_distance) as avg_monthly_trip_distance
from trips t inner join zones z on z.zone_id = t.pu_zone_id
group by 1, 2, 3;

-- [b148] trips three deviations longer or shorter than is usual between their zones; from github UCHI-DB-COURSES/data342-winter2025-hw2, databricks/2.sql
WITH summary_statistics AS (
  SELECT pu_zone_id, do_zone_id, AVG(elapsed) - 3 * STDDEV(elapsed) AS min_elapsed, AVG(elapsed) + 3 * STDDEV(elapsed) AS max_elapsed
  FROM (
    SELECT pu_zone_id, do_zone_id, EXTRACT(EPOCH FROM dropoff_at - pickup_at) / 60 AS elapsed FROM trips WHERE dropoff_at > pickup_at
  ) e
  GROUP BY pu_zone_id, do_zone_id
)
SELECT *
FROM (
  SELECT NOT (EXTRACT(EPOCH FROM t1.dropoff_at - t1.pickup_at) / 60 BETWEEN min_elapsed AND max_elapsed) AS is_fraud, min_elapsed, max_elapsed, t1.*
  FROM trips AS t1 LEFT JOIN summary_statistics AS t2 USING (pu_zone_id, do_zone_id)
) foo
WHERE is_fraud
LIMIT 10;

-- [b149] leads by the kind of their address; from CRM dashboards, free mail against business mail
SELECT CASE WHEN email IS NULL THEN 'none' WHEN split_part(email, '@', 2) IN ('gmail.com', 'yahoo.com', 'hotmail.com') THEN 'free' ELSE 'business' END AS email_kind,
       COUNT(*) AS leads, AVG(lead_score) AS avg_score, COUNT(converted_at)::float / COUNT(*) AS conversion
FROM leads
GROUP BY 1
ORDER BY leads DESC;

-- [b150] visitors by how often they came back, new and repeat sessions joined; from github longbui23/WebPerformanceAnalytics, ReturnSession.sql
SELECT repeat_sessions, COUNT(DISTINCT visitor_id) AS users
FROM (
  SELECT new_sessions.visitor_id, COUNT(DISTINCT new_sessions.session_id) AS new_sessions, COUNT(DISTINCT web_sessions.session_id) AS repeat_sessions
  FROM (
    SELECT visitor_id, session_id FROM web_sessions WHERE started_at < '2024-11-01' AND started_at >= '2024-01-01' AND is_repeat = 0
  ) AS new_sessions
  LEFT JOIN web_sessions ON web_sessions.visitor_id = new_sessions.visitor_id AND web_sessions.is_repeat = 1
    AND web_sessions.session_id > new_sessions.session_id AND web_sessions.started_at < '2024-11-01' AND web_sessions.started_at >= '2024-01-01'
  GROUP BY 1
  ORDER BY 3 DESC
) AS user_level
GROUP BY 1;

-- [b151] a symmetric aggregate by a hash of the key; from wiki.7fff.com/symmetric, Looker-generated SQL
SELECT
  shop_orders.status AS "shop_orders.status",
  COALESCE(COALESCE(( SUM(DISTINCT (CAST(FLOOR(COALESCE(shop_orders.shipping_fee ,0)*(1000000*1.0)) AS DECIMAL(65,0))) + ('x' || MD5(shop_orders.order_id ::varchar))::bit(64)::bigint::DECIMAL(65,0) *18446744073709551616 + ('x' || SUBSTR(MD5(shop_orders.order_id ::varchar),17))::bit(64)::bigint::DECIMAL(65,0) ) - SUM(DISTINCT ('x' || MD5(shop_orders.order_id ::varchar))::bit(64)::bigint::DECIMAL(65,0) *18446744073709551616 + ('x' || SUBSTR(MD5(shop_orders.order_id ::varchar),17))::bit(64)::bigint::DECIMAL(65,0)) ) / (1000000*1.0), 0), 0) AS "shop_orders.total_shipping",
  COUNT(DISTINCT order_items.item_id) AS "order_items.count"
FROM public.shop_orders AS shop_orders
LEFT JOIN public.order_items AS order_items ON shop_orders.order_id = order_items.order_id
GROUP BY 1
ORDER BY 2 DESC
LIMIT 500;

-- [b152] solved topics and answers of staff by board; from meta.discourse.org, solved topic and moderator response stats by category
SELECT to_char(date_trunc('month', t.created_at), 'YYYY-MM') AS date, t.board AS category_name,
  COUNT(DISTINCT t.topic_id) AS total_topics,
  COUNT(DISTINCT CASE WHEN t.solved_at IS NOT NULL THEN t.topic_id END) AS solved_topics,
  ROUND(COUNT(DISTINCT CASE WHEN t.solved_at IS NOT NULL THEN t.topic_id END) * 100.0 / NULLIF(COUNT(DISTINCT t.topic_id), 0), 1) AS solved_pct,
  COUNT(DISTINCT p.topic_id) FILTER (WHERE m.is_staff) AS staff_answered
FROM topics t
LEFT JOIN posts p ON p.topic_id = t.topic_id AND p.post_number > 1
LEFT JOIN members m ON m.member_id = p.member_id
WHERE t.created_at BETWEEN '2024-01-01' AND '2024-12-31' AND t.deleted_at IS NULL
GROUP BY 1, 2
ORDER BY 1, 2;

-- [b153] margins of the twelve months before the latest order; from github henrymarinho90/ecommerceproject, step2 findings
WITH bounds AS (
  SELECT MAX(created_at)::date AS max_dt FROM shop_orders
), base AS (
  SELECT i.sale_price, p.category, p.cost FROM order_items i JOIN shop_orders o USING (order_id) JOIN products p USING (product_id)
  WHERE o.created_at >= (SELECT max_dt - INTERVAL '12 months' FROM bounds)
)
SELECT category, SUM(sale_price) AS revenue, ROUND((SUM(sale_price - cost) / NULLIF(SUM(sale_price), 0))::numeric, 4) AS margin_rate_proxy
FROM base
GROUP BY 1
ORDER BY revenue DESC
LIMIT 15;

-- [b154] days between the first order and the second; from github hruday-45/SQL-Data-warehouse, average time between first and second purchase
WITH numbered AS (
  SELECT shopper_id, created_at, ROW_NUMBER() OVER (PARTITION BY shopper_id ORDER BY created_at) AS n FROM shop_orders WHERE status = 'Complete'
)
SELECT ROUND(AVG(EXTRACT(EPOCH FROM b.created_at - a.created_at) / 86400)::numeric, 1) AS avg_days, COUNT(*) AS customers
FROM numbered a JOIN numbered b ON a.shopper_id = b.shopper_id AND a.n = 1 AND b.n = 2;

-- [b155] repeat rate of each month's new customers; from github henrymarinho90/ecommerceproject, step2 findings
WITH first_order AS (
  SELECT shopper_id, MIN(created_at)::date AS first_order_date FROM shop_orders GROUP BY 1
), orders_per_user AS (
  SELECT shopper_id, COUNT(*) AS orders FROM shop_orders GROUP BY 1
)
SELECT DATE_TRUNC('month', f.first_order_date)::date AS cohort_month, COUNT(*) AS new_customers, COUNT(*) FILTER (WHERE o.orders >= 2) AS repeat_customers,
  ROUND((100.0 * COUNT(*) FILTER (WHERE o.orders >= 2) / NULLIF(COUNT(*), 0))::numeric, 2) AS repeat_rate_pct
FROM first_order f JOIN orders_per_user o USING (shopper_id)
GROUP BY 1
ORDER BY cohort_month;

-- [b156] cost per acquisition and return on spend by day and source; from elementary-data/jaffle-shop-goes-online, cpa_and_roas.sql
with ad_spend_aggregated as (
    select date_trunc('month', day) as month, channel, sum(spend) as total_spend
    from ad_spend join campaigns using (campaign_id)
    group by 1, 2
), attribution_aggregated as (
    select date_trunc('month', l.converted_at) as month, c.channel, count(*) as attribution_points, sum(l.deal_value) as attribution_revenue
    from leads l join campaigns c on c.campaign_id = l.source_campaign_id
    where l.converted_at is not null
    group by 1, 2
), joined as (
    select *, 1.0 * nullif(total_spend, 0) / attribution_points as cost_per_acquisition,
           1.0 * attribution_revenue / nullif(total_spend, 0) as return_on_advertising_spend
    from attribution_aggregated
    full outer join ad_spend_aggregated using (month, channel)
)
select * from joined order by month, channel;

-- [b157] products sold with the first one; from Maven Fuzzy Factory, cross-sell analysis
SELECT a.product_id AS primary_product_id, COUNT(DISTINCT a.order_id) AS total_orders,
       COUNT(DISTINCT CASE WHEN b.product_id = 1 THEN a.order_id END) AS xsold_p1, COUNT(DISTINCT CASE WHEN b.product_id = 6 THEN a.order_id END) AS xsold_p6
FROM order_items a
LEFT JOIN order_items b ON b.order_id = a.order_id AND b.is_primary = false AND b.item_id <> a.item_id
WHERE a.is_primary = true
GROUP BY 1
ORDER BY 1;

-- [b158] months of many orders, a question with three stages; from Metabase-generated SQL, multi-stage question
SELECT COUNT(*) AS "count", AVG("source"."sum") AS "avg"
FROM (
  SELECT "source"."created_at" AS "created_at", "source"."sum" AS "sum", "source"."count" AS "count"
  FROM (
    SELECT DATE_TRUNC('month', "public"."shop_orders"."created_at") AS "created_at", SUM("public"."shop_orders"."shipping_fee") AS "sum", COUNT(*) AS "count"
    FROM "public"."shop_orders"
    GROUP BY DATE_TRUNC('month', "public"."shop_orders"."created_at")
    ORDER BY DATE_TRUNC('month', "public"."shop_orders"."created_at") ASC
  ) AS "source"
  WHERE "source"."count" > 20
) AS "source";

-- [b159] visits with a purchase by the same person within a week; from dbt docs, conversion metrics with a window
SELECT DATE_TRUNC('week', b.started_at) AS metric_time__week, COUNT(DISTINCT c.session_id)::double precision / NULLIF(COUNT(DISTINCT b.session_id), 0) AS conversion_rate_7_days
FROM web_sessions b
LEFT JOIN web_sessions c ON c.visitor_id = b.visitor_id AND c.goal = 'purchase' AND c.converted_at >= b.started_at AND c.converted_at < b.started_at + INTERVAL '7 day'
GROUP BY 1
ORDER BY 1;

-- [b160] what part of all trips begins in the busiest zones; from faketut.github.io, cabstream, concentration of zones
WITH by_zone AS (
  SELECT z.zone_name, COUNT(*) AS trips FROM trips t JOIN zones z ON z.zone_id = t.pu_zone_id GROUP BY 1
), ranked AS (
  SELECT *, ROW_NUMBER() OVER (ORDER BY trips DESC) AS rn, SUM(trips) OVER () AS total FROM by_zone
)
SELECT SUM(CASE WHEN rn <= 3 THEN trips END)::numeric / MAX(total) AS top3_share, SUM(CASE WHEN rn > 8 THEN trips END)::numeric / MAX(total) AS tail_share
FROM ranked;

-- [b161] the best hour to send, by openings within a day; from github KannanCPrakash/sfmc-qip, 075_send_time_optimization_hourly.sql
SELECT EXTRACT(hour FROM touched_at) AS send_hour, COUNT(*) AS sent, COUNT(opened_at) FILTER (WHERE opened_at - touched_at <= interval '24 hours') AS opened_24h,
       ROUND(COUNT(opened_at) FILTER (WHERE opened_at - touched_at <= interval '24 hours')::numeric / COUNT(*), 3) AS rate
FROM touches
WHERE touch_type = 'email' AND bounced IS FALSE
GROUP BY 1
ORDER BY rate DESC, send_hour
LIMIT 5;

-- [b162] the general ledger of an account with its running balance; from github CamiloEspinoza/Zeru, accountant scripts, general-ledger.sql
SELECT line_id, entry_date, memo, party_id, debit, credit, SUM(debit - credit) OVER (ORDER BY entry_date, line_id) AS running_balance
FROM journal_lines
WHERE account_code = '1100' AND entry_date BETWEEN '2024-01-01' AND '2024-03-31'
ORDER BY entry_date, line_id;

-- [b163] subscriptions by plan, a question of a template; from Metabase SaaS template, subscriptions by plan
SELECT "Plans - Plan"."plan_name" AS "Plans - Plan__plan_name", "public"."subscriptions"."status" AS "status", COUNT(*) AS "count"
FROM "public"."subscriptions"
LEFT JOIN "public"."plans" AS "Plans - Plan" ON "public"."subscriptions"."plan_id" = "Plans - Plan"."plan_id"
WHERE ("Plans - Plan"."is_legacy" = FALSE) AND ("public"."subscriptions"."billing_period" = 'monthly')
GROUP BY "Plans - Plan"."plan_name", "public"."subscriptions"."status"
ORDER BY "count" DESC, "Plans - Plan__plan_name" ASC;

-- [b164] trips and minutes by borough and zone; from github ahmadfaraz2024/cmu95797, trips duration grouped by borough zone
SELECT lo.borough, lo.zone_name as Pickup_Zone, COUNT(*) as trip_count, AVG(taxi.duration_min) as avg_duration_min
FROM (SELECT *, EXTRACT(EPOCH FROM dropoff_at - pickup_at) / 60 AS duration_min FROM trips WHERE dropoff_at > pickup_at) taxi
JOIN zones lo ON taxi.pu_zone_id = lo.zone_id
GROUP BY lo.borough, lo.zone_name
ORDER BY lo.borough ASC, lo.zone_name ASC;

-- [b165] trips that end at an airport; from github jmholler/cmu-95797, taxi trips ending at airport
SELECT tz.service_zone as "Service Zone", count(*) as "Total Trips Ending"
FROM trips tdo JOIN zones tz ON tdo.do_zone_id = tz.zone_id
WHERE tz.service_zone in ('Airports', 'EWR')
GROUP BY tz.service_zone;

-- [b166] the last touch before each conversion; from github JamieChristian22/data-architect-portfolio, last-touch attribution
SELECT lead_id, converted_at, deal_value, COALESCE(channel, 'Unattributed') AS attributed_channel FROM (
  SELECT l.lead_id, l.converted_at, l.deal_value, c.channel, ROW_NUMBER() OVER (PARTITION BY l.lead_id ORDER BY t.touched_at DESC) AS rn
  FROM leads l
  LEFT JOIN touches t ON t.lead_id = l.lead_id AND t.touched_at <= l.converted_at AND t.touched_at >= l.converted_at - INTERVAL '30 days'
  LEFT JOIN campaigns c ON c.campaign_id = t.campaign_id
  WHERE l.converted_at IS NOT NULL
) x
WHERE rn = 1;

-- [b167] sales report by product with margins; from dbt jaffle shop and thelook marts, product margin
select p.category, coalesce(p.brand, 'unbranded') as brand, date_trunc('month', o.created_at) as month,
       sum(i.sale_price) as revenue, sum(i.sale_price) - sum(p.cost) as gross_margin,
       round(((sum(i.sale_price) - sum(p.cost)) / nullif(sum(i.sale_price), 0))::numeric, 4) as gross_margin_pct
from order_items i
inner join shop_orders o on o.order_id = i.order_id
inner join products p on p.product_id = i.product_id
where o.status not in ('Cancelled')
group by 1, 2, 3
order by 3 desc, 4 desc;

-- [b168] mean time to merge and share merged within a day; from GitLab handbook, MR rate and mean time to merge
SELECT repo, DATE_TRUNC('month', merged_at) AS merge_month,
  AVG(EXTRACT(EPOCH FROM (merged_at - created_at)) / 86400) AS mean_days_to_merge,
  COUNT(*)::float / COUNT(DISTINCT author_id) AS mr_rate,
  COUNT(CASE WHEN merged_at - created_at <= INTERVAL '24 hours' THEN 1 END) * 1.0 / COUNT(*) AS merged_within_a_day
FROM pull_requests
WHERE merged_at IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2;

-- [b169] median and 85th percentile of hours to merge, for all and each repository; from cncf/devstats, metrics/shared/time_metrics.sql
with prs_latest as (
  select sub.created_at, sub.merged_at, sub.repo
  from (
    select pr_id, created_at, merged_at, repo, row_number() over (partition by pr_id order by created_at desc) as rank
    from pull_requests
    where created_at >= '2024-03-01' and created_at < '2024-09-01' and merged_at is not null
  ) sub
  where sub.rank = 1
), tdiffs as (
  select repo, extract(epoch from merged_at - created_at) / 3600 as open_to_merge from prs_latest
)
select 'tmet;All;med,p85' as name,
  greatest(percentile_disc(0.5) within group (order by open_to_merge asc), 0) as m_o2m,
  greatest(percentile_disc(0.85) within group (order by open_to_merge asc), 0) as pc_o2m
from tdiffs
union select 'tmet;' || repo || ';med,p85' as name,
  greatest(percentile_disc(0.5) within group (order by open_to_merge asc), 0) as m_o2m,
  greatest(percentile_disc(0.85) within group (order by open_to_merge asc), 0) as pc_o2m
from tdiffs
group by repo
order by name asc;

-- [b170] events with the number of their session; from frogwebp.com, sessionization in SQL
WITH lagged AS (
  SELECT user_id, event_id, occurred_at, LAG(occurred_at) OVER (PARTITION BY user_id ORDER BY occurred_at) AS prev_occurred_at FROM product_events
)
SELECT user_id, event_id, occurred_at,
       SUM(CASE WHEN prev_occurred_at IS NULL OR occurred_at - prev_occurred_at > INTERVAL '30 minutes' THEN 1 ELSE 0 END) OVER (PARTITION BY user_id ORDER BY occurred_at) AS session_seq
FROM lagged
ORDER BY user_id, occurred_at;

-- [b171] are the two groups of the size they should be; from how2.sh, A/B testing, sample ratio mismatch
SELECT SUM(POWER(n - total / 2.0, 2) / (total / 2.0)) AS chi_square
FROM (
  SELECT visitor_id % 2 AS variant, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM visitors WHERE NOT is_bot GROUP BY 1
) g;

-- [b172] a pivot table with totals made by grouping sets; from Superset pivot table (SIP for totals)
SELECT coalesce(stage, 'Total') AS stage, coalesce(company_size, 'n/a') AS company_size, COUNT(*) AS leads, AVG(lead_score) AS avg_score
FROM leads
GROUP BY GROUPING SETS ((stage, company_size), (stage), ())
ORDER BY 1, 2
LIMIT 50000;

-- [b173] a month pivoted by a dimension, ranked four times; from Looker pivot query as in public repositories (an intakes tile, z___pivot_row_rank)
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) as z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) as z__pivot_col_ordering, CASE WHEN z___min_rank = z___rank THEN 1 ELSE 0 END AS z__is_highest_ranked_cell FROM (
SELECT *, MIN(z___rank) OVER (PARTITION BY "trips.pickup_month") as z___min_rank FROM (
SELECT *, RANK() OVER (ORDER BY "trips.pickup_month" DESC, CASE WHEN z__pivot_col_rank=1 THEN 1 ELSE 2 END, CASE WHEN z__pivot_col_rank=1 THEN "trips.count" ELSE NULL END DESC NULLS LAST, "trips.count" DESC, z__pivot_col_rank) AS z___rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY "trips.payment_type" NULLS LAST) AS z__pivot_col_rank FROM (
SELECT
	trips.payment_type  AS "trips.payment_type",
	TO_CHAR(DATE_TRUNC('month', trips.pickup_at ), 'YYYY-MM') AS "trips.pickup_month",
	COUNT(*) AS "trips.count"
FROM public.trips  AS trips
WHERE ((((trips.pickup_at ) >= (TIMESTAMP '2024-01-01') AND (trips.pickup_at ) < (TIMESTAMP '2024-06-01'))))
GROUP BY 1, DATE_TRUNC('month', trips.pickup_at )) ww
) bb WHERE z__pivot_col_rank <= 16384
) aa
) xx
) zz
WHERE (z__pivot_col_rank <= 50 OR z__is_highest_ranked_cell = 1) AND (z___pivot_row_rank <= 500 OR z__pivot_col_ordering = 1) ORDER BY z___pivot_row_rank;

-- [b174] monthly totals from a daily table, with cumulative ones; from fivetran/dbt_stripe, monthly overview and rolling totals
with daily_overview as (
    select issued_on as date, sum(amount) as total_sales, sum(case when paid_on is null then 1 else 0 end) as total_failed_charge_count,
           sum(paid_amount) as total_gross_transaction_amount
    from ar_invoices group by 1
), monthly as (
    select date_trunc('month', date) as month, sum(total_sales) as total_sales, sum(total_failed_charge_count) as failed, sum(total_gross_transaction_amount) as gross
    from daily_overview group by 1
)
select month, total_sales, failed, gross,
       sum(total_sales) over (order by month rows unbounded preceding) as rolling_total_sales,
       sum(gross) over (order by month rows unbounded preceding) as rolling_gross
from monthly;

-- [b175] canceled subscriptions a month against those open when it began, by a correlated subquery; from aifordatabase.com, track SaaS churn
SELECT date_trunc('month', s.canceled_on) AS month, count(*) AS churned_customers,
       round(count(*) * 100.0 / nullif((
         SELECT count(*) FROM subscriptions x
         WHERE x.started_on < date_trunc('month', min(s.canceled_on))
           AND (x.canceled_on IS NULL OR x.canceled_on >= date_trunc('month', min(s.canceled_on)))
       ), 0), 2) AS churn_rate_pct
FROM subscriptions s
WHERE s.status = 'canceled'
GROUP BY date_trunc('month', s.canceled_on)
ORDER BY month;

-- [b176] new, returning, resurrecting and dormant users a week; from PostHog lifecycle insight, translated
WITH weeks AS (
  SELECT DISTINCT user_id, date_trunc('week', occurred_at) AS week FROM product_events WHERE user_id IS NOT NULL
), w AS (
  SELECT user_id, week, MIN(week) OVER (PARTITION BY user_id) AS first_week,
         LAG(week) OVER (PARTITION BY user_id ORDER BY week) AS prev_week, LEAD(week) OVER (PARTITION BY user_id ORDER BY week) AS next_week
  FROM weeks
)
SELECT week, status, COUNT(DISTINCT user_id) AS users FROM (
  SELECT user_id, week, CASE WHEN week = first_week THEN 'new' WHEN prev_week = week - interval '7 day' THEN 'returning' ELSE 'resurrecting' END AS status FROM w
  UNION ALL
  SELECT user_id, week + interval '7 day', 'dormant' FROM w WHERE next_week IS NULL OR next_week > week + interval '7 day'
) s
GROUP BY week, status
ORDER BY week, status;

-- [b177] sessions by half an hour of silence: how many, how long; from cube.dev blog, define user sessions with SQL
WITH lagged AS (
  SELECT user_id, occurred_at, LAG(occurred_at) OVER (PARTITION BY user_id ORDER BY occurred_at) AS prev_occurred_at
  FROM product_events WHERE user_id IS NOT NULL
), boundaries AS (
  SELECT *, CASE WHEN prev_occurred_at IS NULL OR occurred_at - prev_occurred_at > INTERVAL '30 minutes' THEN 1 ELSE 0 END AS is_new_session FROM lagged
), sessions AS (
  SELECT *, SUM(is_new_session) OVER (PARTITION BY user_id ORDER BY occurred_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session_seq FROM boundaries
), per_session AS (
  SELECT MD5(user_id::TEXT || session_seq::TEXT) AS session_id, MIN(occurred_at) AS started, MAX(occurred_at) AS ended, COUNT(*) AS events
  FROM sessions GROUP BY user_id, session_seq
)
SELECT COUNT(*) AS sessions, AVG(events) AS events_per_session, AVG(EXTRACT(EPOCH FROM ended - started)) AS avg_seconds, SUM((events = 1)::int) * 1.0 / COUNT(*) AS bounce
FROM per_session;

-- [b178] customers by named segments of recency, frequency and money; from github trwngmu0i/DA01_sql, rfm.sql
WITH customer_rfm AS (
  SELECT c.shopper_id, DATE '2025-01-01' - MAX(s.created_at)::date AS r, COUNT(DISTINCT s.order_id) AS f, SUM(i.sale_price) AS m
  FROM shoppers AS c JOIN shop_orders AS s ON c.shopper_id = s.shopper_id JOIN order_items i ON i.order_id = s.order_id
  GROUP BY 1
), tab1 AS (
  SELECT *, CAST(r_score * 10 + f_score AS VARCHAR) AS scores
  FROM (
    SELECT shopper_id, ntile(3) OVER (ORDER BY r DESC) AS r_score, ntile(3) OVER (ORDER BY f) AS f_score, ntile(3) OVER (ORDER BY m) AS m_score FROM customer_rfm
  ) AS customer_rfm_index
)
SELECT t2.segment, COUNT(shopper_id)
FROM tab1 AS t1
JOIN (VALUES ('33', 'Champions'), ('32', 'Loyal'), ('31', 'New'), ('23', 'Loyal'), ('22', 'Regular'), ('21', 'Promising'), ('13', 'At Risk'), ('12', 'Hibernating'), ('11', 'Lost')) AS t2(scores, segment) ON t1.scores = t2.scores
GROUP BY 1
ORDER BY 2 DESC;

-- [b179] daily over monthly engaged users by day; from meta.discourse.org, Dashboard Report - DAU/MAU
WITH days AS (
  SELECT date::date AS date FROM generate_series('2024-03-01'::date, '2024-03-31'::date, '1 day') date
), daily AS (
  SELECT d.date, COUNT(DISTINCT v.member_id) AS dau FROM days d LEFT JOIN visits v ON v.visited_on = d.date GROUP BY d.date
), monthly AS (
  SELECT d.date, COUNT(DISTINCT v.member_id) AS mau FROM days d LEFT JOIN visits v ON v.visited_on BETWEEN d.date - 30 AND d.date GROUP BY d.date
)
SELECT daily.date, dau, mau, CASE WHEN mau > 0 THEN ROUND((dau::numeric / mau) * 100, 2) ELSE 0 END AS dau_mau_ratio
FROM daily JOIN monthly USING (date)
ORDER BY date;

-- [b180] the data set in one line; from duckdb.gishub.org, analyzing NYC taxi data
SELECT COUNT(*) as total_trips, MIN(pickup_at) as earliest_trip, MAX(pickup_at) as latest_trip, ROUND(AVG(trip_distance)::numeric, 2) as avg_distance_miles, ROUND(AVG(total_amount), 2) as avg_total_amount
FROM trips;

-- [b181] row counts of two tables with their difference in percent; from dbt_expectations, row count equal to other table compiled
with a as (
    select count(*) * 1 as expression from topics
), b as (
    select count(*) * 1 as expression from posts where post_number = 1
), final as (
    select a.expression, b.expression as compare_expression,
           abs(coalesce(a.expression, 0) - coalesce(b.expression, 0)) as expression_difference,
           abs(coalesce(a.expression, 0) - coalesce(b.expression, 0)) / nullif(a.expression * 1.0, 0) as expression_difference_percent
    from a cross join b
)
select * from final where expression_difference >= 0.0;

-- [b182] referrers by their host; from umami and goatcounter, referrers report
SELECT regexp_replace(split_part(split_part(referrer, '://', 2), '/', 1), '^www\.', '') AS host, COUNT(*) AS visits, COUNT(DISTINCT visitor_id) AS visitors
FROM web_sessions
WHERE referrer IS NOT NULL AND referrer !~ 'bsearch'
GROUP BY 1
ORDER BY visits DESC
LIMIT 10;

-- [b183] refund rates of four products by month; from Maven Fuzzy Factory, product refund rates
select extract(year from o.created_at) as yr, extract(month from o.created_at) as mon,
  count(distinct case when i.product_id = 1 then i.item_id else null end) as p1_orders,
  count(distinct case when i.product_id = 1 then r.item_id else null end)::float / nullif(count(distinct case when i.product_id = 1 then i.item_id else null end), 0) as p1_refund_rate,
  count(distinct case when i.product_id = 2 then i.item_id else null end) as p2_orders,
  count(distinct case when i.product_id = 2 then r.item_id else null end)::float / nullif(count(distinct case when i.product_id = 2 then i.item_id else null end), 0) as p2_refund_rate
from order_items i
join shop_orders o on o.order_id = i.order_id
left join refunds r on i.item_id = r.item_id
where o.created_at < '2024-10-15'
group by 1, 2
order by 1, 2;

-- [b184] change of money from day to day; from github justin-napolitano/pmc-submission, delta of total amount
WITH daily AS (
  SELECT DATE(dropoff_at) AS day, SUM(total_amount) AS total FROM trips WHERE dropoff_at >= '2024-02-01' AND dropoff_at < '2024-03-01' GROUP BY DATE(dropoff_at)
)
SELECT day, total, total - LAG(total, 1) OVER (ORDER BY day) AS delta, CASE WHEN total > LAG(total) OVER (ORDER BY day) THEN 'up' WHEN total < LAG(total) OVER (ORDER BY day) THEN 'down' END AS direction
FROM daily
ORDER BY day;

-- [b185] budget by quarter and department with totals; from Budget vs Actuals projects, budget overview
SELECT COALESCE(department, 'ALL') AS department, COALESCE(to_char(period, '"Q"Q'), 'YEAR') AS quarter, SUM(amount) AS budget
FROM budgets
GROUP BY CUBE (department, to_char(period, '"Q"Q'))
ORDER BY 1, 2;

-- [b186] money at risk by how long accounts were silent; from aifordatabase.com, churn risk by band
WITH last_use AS (
  SELECT a.account_id, MAX(u.last_seen_at) AS last_seen FROM accounts a LEFT JOIN app_users u USING (account_id) GROUP BY 1
)
SELECT CASE WHEN l.last_seen IS NULL THEN 'never' WHEN l.last_seen < timestamp '2024-10-01' THEN 'silent' ELSE 'present' END AS band,
       COUNT(DISTINCT l.account_id) AS accounts, SUM(s.mrr) AS mrr_at_stake
FROM last_use l JOIN subscriptions s ON s.account_id = l.account_id
WHERE s.status = 'active'
GROUP BY 1;

-- [b187] quarters of a date with a calculated field; from Tableau-generated SQL for PostgreSQL
SELECT CAST(TRUNC(EXTRACT(QUARTER FROM "ar_invoices"."issued_on")) AS INTEGER) AS "qr:issued_on:ok",
  SUM((CASE WHEN ("ar_invoices"."currency" = 'EUR') THEN ("ar_invoices"."amount" * 1.1) ELSE "ar_invoices"."amount" END)) AS "sum:Calculation_9321:ok",
  COUNT("ar_invoices"."paid_on") AS "cnt:paid_on:ok"
FROM "public"."ar_invoices" "ar_invoices"
WHERE (("ar_invoices"."issued_on" >= (DATE '2024-01-01')) AND ("ar_invoices"."issued_on" <= (DATE '2024-12-31')))
GROUP BY 1;

-- [b188] what each of the staff read and wrote; from meta.discourse.org, Dashboard Report - Moderator Activity
WITH mods AS (
    SELECT member_id AS user_id, lower(username) AS username FROM members m WHERE m.is_staff = true AND m.member_id > 0
), time_read AS (
    SELECT SUM(uv.time_read) AS time_read, uv.member_id AS user_id
    FROM mods m JOIN visits uv ON m.user_id = uv.member_id
    WHERE uv.visited_on >= '2024-01-01' AND uv.visited_on <= '2024-12-01'
    GROUP BY uv.member_id
), post_count AS (
    SELECT p.member_id AS user_id, COUNT(*) AS post_count FROM mods m JOIN posts p ON p.member_id = m.user_id WHERE p.deleted_at IS NULL GROUP BY p.member_id
)
SELECT m.user_id, m.username, tr.time_read, COALESCE(pc.post_count, 0) AS post_count
FROM mods m
LEFT JOIN time_read tr ON tr.user_id = m.user_id
LEFT JOIN post_count pc ON pc.user_id = m.user_id
ORDER BY m.username ASC;

-- [b189] revenue with the year to date and the mean of three months; from github Trailblazer-Analytics/SQL-Analyst-Pack, revenue trend analysis
SELECT EXTRACT(MONTH FROM entry_date) AS period_month, SUM(credit) AS actual_revenue, SUM(SUM(credit)) OVER (ORDER BY EXTRACT(MONTH FROM entry_date)) AS ytd,
  AVG(SUM(credit)) OVER (ORDER BY EXTRACT(MONTH FROM entry_date) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS three_month_avg,
  LAG(SUM(credit), 1) OVER (ORDER BY EXTRACT(MONTH FROM entry_date)) AS prior_month_actual
FROM journal_lines j JOIN gl_accounts gl ON j.account_code = gl.account_code
WHERE gl.account_type = 'Revenue' AND EXTRACT(YEAR FROM entry_date) = 2024
GROUP BY EXTRACT(MONTH FROM entry_date)
ORDER BY period_month;

-- [b190] the bridge of movements against the change of active revenue; from streaming-analytics gateway test, reconcile query on fct_mrr_monthly
WITH movement AS (
    SELECT date_trunc('month', event_date) AS period_month,
           SUM(e.amount_delta + CASE WHEN e.event_type = 'churn' THEN -s.mrr ELSE 0 END) AS bridge_net
    FROM subscription_events e JOIN subscriptions s USING (subscription_id)
    GROUP BY 1
), active AS (
    SELECT date_trunc('month', started_on) AS period_month,
           SUM(CASE WHEN status = 'active' THEN mrr ELSE 0 END) AS active_mrr
    FROM subscriptions
    GROUP BY 1
), delta AS (
    SELECT period_month, active_mrr, LAG(active_mrr) OVER (ORDER BY period_month) AS prev_active_mrr FROM active
)
SELECT d.period_month, d.active_mrr - d.prev_active_mrr AS actual_change, m.bridge_net
FROM delta d
JOIN movement m USING (period_month)
WHERE d.prev_active_mrr > 0 AND d.active_mrr > 0
ORDER BY d.period_month;

-- [b191] money by channel, shared among all touches of a lead; from getdbt.com blog, modeling marketing attribution, linear points
with sessions_before_conversion as (
    select l.lead_id, l.deal_value, c.channel, t.touched_at,
           count(*) over (partition by l.lead_id) as total_sessions,
           row_number() over (partition by l.lead_id order by t.touched_at) as session_number
    from leads l inner join touches t on t.lead_id = l.lead_id and t.touched_at <= l.converted_at and t.touched_at >= l.converted_at - interval '90 days'
    inner join campaigns c using (campaign_id)
), with_points as (
    select *, case when session_number = 1 then 1.0 else 0.0 end as first_touch_points,
           case when session_number = total_sessions then 1.0 else 0.0 end as last_touch_points,
           case when total_sessions = 1 then 1.0 when total_sessions = 2 then 0.5 when session_number = 1 or session_number = total_sessions then 0.4 else 0.2 / (total_sessions - 2) end as forty_twenty_forty_points,
           1.0 / total_sessions as linear_points
    from sessions_before_conversion
)
select channel, sum(first_touch_points) as first_touch, sum(last_touch_points) as last_touch, sum(forty_twenty_forty_points) as u_shaped, sum(linear_points) as linear, sum(linear_points * deal_value) as linear_revenue
from with_points
group by 1
order by 6 desc;

-- [b192] retained accounts by cohort as a share of the cohort; from repository with member retention on fct_mrr_monthly
with active as (
    select distinct u.account_id, date_trunc('month', e.occurred_at at time zone 'UTC')::date as month_start
    from product_events e join app_users u on u.user_id = e.user_id
), cohorts as (
    select account_id, date_trunc('month', created_at)::date as cohort_month from accounts
), joined as (
    select c.cohort_month, a.account_id,
           (date_part('year', a.month_start) - date_part('year', c.cohort_month)) * 12
             + date_part('month', a.month_start) - date_part('month', c.cohort_month) as months_since_signup
    from active a join cohorts c on a.account_id = c.account_id
    where a.month_start >= c.cohort_month
), cohort_size as (
    select cohort_month, count(distinct account_id) as cohort_members from cohorts group by cohort_month
)
select j.cohort_month, j.months_since_signup, cs.cohort_members, count(distinct j.account_id) as active_members,
       count(distinct j.account_id)::numeric / nullif(cs.cohort_members, 0) as retention_rate
from joined j join cohort_size cs on j.cohort_month = cs.cohort_month
group by j.cohort_month, j.months_since_signup, cs.cohort_members
order by 1, 2;

-- [b193] landing pages without their parameters; from plausible docs and snowplow recipes, page urlpath
SELECT split_part(landing_page, '?', 1) AS page, COUNT(*) AS entrances, COUNT(*) FILTER (WHERE landing_page LIKE '%?ref=%') AS with_ref, SUM(goal_value) AS value
FROM web_sessions
GROUP BY 1
HAVING COUNT(*) >= 10
ORDER BY entrances DESC;

-- [b194] returns before and after a release by source; from github DariaPantiushina, Returns spiked after the app update
SELECT s.traffic_source, CASE WHEN o.created_at < '2024-06-01' THEN 'before' ELSE 'after' END AS period,
       COUNT(DISTINCT o.order_id) AS orders, COUNT(DISTINCT o.order_id) FILTER (WHERE o.status = 'Returned') AS refunds,
       ROUND(COUNT(DISTINCT o.order_id) FILTER (WHERE o.status = 'Returned')::numeric / NULLIF(COUNT(DISTINCT o.order_id), 0), 4) AS return_rate
FROM shop_orders o JOIN shoppers s ON s.shopper_id = o.shopper_id
WHERE o.created_at BETWEEN '2024-04-01' AND '2024-08-01'
GROUP BY 1, 2
ORDER BY 1, 2 DESC;

-- [b195] unpaid invoices with days overdue; from CRM outstanding invoices query
SELECT i.invoice_id, p.party_name, i.issued_on, i.due_on, i.amount, COALESCE(i.paid_amount, 0) AS paid, DATE '2024-12-31' - i.due_on AS days_overdue
FROM ar_invoices i JOIN parties p USING (party_id)
WHERE i.paid_on IS NULL AND i.due_on < '2024-12-31'
ORDER BY i.due_on ASC, i.amount DESC;

-- [b196] what part of the posts the most active tenth wrote; from meta.discourse.org, data explorer, contribution inequality
WITH counts AS (
  SELECT member_id, COUNT(*) AS n FROM posts GROUP BY member_id
), tiles AS (
  SELECT n, NTILE(10) OVER (ORDER BY n DESC) AS tile FROM counts
)
SELECT tile, SUM(n) AS posts, ROUND(SUM(n) * 100.0 / (SELECT SUM(n) FROM counts), 1) AS pct
FROM tiles
GROUP BY tile
ORDER BY tile;

-- [b197] events of a type in time buckets; from Grafana PostgreSQL macro timeGroupAlias, shop events dashboard
SELECT floor(extract(epoch from occurred_at)/21600)*21600 AS "time", event_name AS metric, count(*) AS "count"
FROM product_events
WHERE occurred_at BETWEEN '2024-05-01T00:00:00Z' AND '2024-06-01T00:00:00Z' AND event_name IN ('login', 'export', 'report_created')
GROUP BY 1, 2
ORDER BY 1;

-- [b198] correlation of reports made and days present; from productquant.dev and mode blog, correlating features with retention
SELECT CORR(reports, days) AS r, COUNT(*) AS users, REGR_SLOPE(days, reports) AS slope
FROM (
  SELECT user_id, COUNT(*) FILTER (WHERE event_name = 'report_created') AS reports, COUNT(DISTINCT date_trunc('day', occurred_at)) AS days
  FROM product_events WHERE user_id IS NOT NULL GROUP BY user_id
) u;

-- [b199] authors by merged pull requests; from cncf/devstats, metrics/shared/hist_pr_authors.sql
select m.username as name, count(distinct p.pr_id) as prs
from pull_requests p join members m on m.member_id = p.author_id
where p.state = 'merged' and lower(m.username) not like 'anon%'
group by m.username
having count(distinct p.pr_id) >= 2
order by prs desc, name asc;

-- [b200] a custom expression: the share of rows with a condition; from Metabase docs, Share and CountIf expressions
SELECT "public"."web_sessions"."utm_source" AS "utm_source",
  CAST(SUM(CASE WHEN "public"."web_sessions"."goal" = 'purchase' THEN 1 ELSE 0.0 END) AS float) / NULLIF(CAST(COUNT(*) AS float), 0.0) AS "Share of purchases",
  SUM(CASE WHEN "public"."web_sessions"."is_repeat" = 1 THEN 1 ELSE 0.0 END) AS "Repeat"
FROM "public"."web_sessions"
GROUP BY "public"."web_sessions"."utm_source"
ORDER BY "Share of purchases" DESC;
