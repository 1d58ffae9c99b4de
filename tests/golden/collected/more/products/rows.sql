-- Everything follows from row numbers, in words that PostgreSQL and DuckDB both read.

INSERT INTO plans VALUES ('free', 'Free', 0, 1, false), ('starter', 'Starter', 19, 3, false), ('team', 'Team', 59, 10, false),
  ('business', 'Business', 199, 50, false), ('classic', 'Classic 2019', 35, 5, true);

INSERT INTO accounts SELECT i, CASE i % 4 WHEN 0 THEN 'Acme ' WHEN 1 THEN 'acme ' WHEN 2 THEN 'Globex ' ELSE 'Initech ' END || (i % 90),
  CASE WHEN i % 9 > 0 THEN 'billing' || i || CASE i % 3 WHEN 0 THEN '@gmail.com' WHEN 1 THEN '@acme.io' ELSE '@example.org' END END,
  CASE WHEN i % 10 < 5 THEN 'US' WHEN i % 10 < 7 THEN 'DE' WHEN i % 10 < 9 THEN 'GB' ELSE 'IN' END,
  CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'Retail' WHEN 2 THEN 'Software' WHEN 3 THEN 'Finance' WHEN 4 THEN 'Education' WHEN 5 THEN 'Software' ELSE 'Health' END,
  CASE i % 6 WHEN 0 THEN 'organic' WHEN 1 THEN 'paid_search' WHEN 2 THEN 'referral' WHEN 3 THEN 'partner' WHEN 4 THEN 'organic' END,
  TIMESTAMP '2023-01-02 09:20:00' + (i * 37 % 700) * INTERVAL '1 day' + (i * 7 % 24) * INTERVAL '1 hour', i % 60 = 0
  FROM generate_series(1, 240) AS s(i);

INSERT INTO app_users SELECT i, 1 + i * 29 % 233, CASE i % 5 WHEN 0 THEN 'Ana' WHEN 1 THEN 'Bo' WHEN 2 THEN 'Cem' WHEN 3 THEN 'Dee' ELSE 'Eli' END || ' ' || (i % 180),
  CASE WHEN i % 5 = 0 THEN 'owner' WHEN i % 5 < 3 THEN 'editor' ELSE 'viewer' END,
  CAST(TIMESTAMP '2023-01-03 10:05:00' + (i * 41 % 690) * INTERVAL '1 day' + (i * 5 % 24) * INTERVAL '1 hour' AS timestamptz),
  CASE WHEN i % 12 > 0 THEN CAST(TIMESTAMP '2024-06-01 08:00:00' + (i * 17 % 210) * INTERVAL '1 day' AS timestamptz) END,
  CASE WHEN i % 3 = 0 THEN i * 7 % 11 END FROM generate_series(1, 600) AS s(i);

INSERT INTO subscriptions SELECT i, 1 + i * 19 % 229,
  CASE i % 8 WHEN 0 THEN 'business' WHEN 1 THEN 'team' WHEN 2 THEN 'team' WHEN 3 THEN 'classic' WHEN 4 THEN 'free' ELSE 'starter' END,
  CASE WHEN i % 5 = 0 THEN 'canceled' WHEN i % 11 = 0 THEN 'past_due' WHEN i % 13 = 0 THEN 'trialing' ELSE 'active' END,
  CASE WHEN i % 4 = 0 THEN 'annual' ELSE 'monthly' END, DATE '2023-01-05' + CAST(i * 31 % 680 AS int),
  CASE WHEN i % 3 > 0 THEN DATE '2023-01-05' + CAST(i * 31 % 680 + 14 AS int) END,
  CASE WHEN i % 5 = 0 THEN DATE '2023-01-05' + CAST(i * 31 % 680 + 20 + i * 13 % 300 AS int) END,
  CASE WHEN i % 5 > 0 THEN NULL WHEN i % 4 = 0 THEN 'too expensive' WHEN i % 4 = 1 THEN 'missing feature' WHEN i % 4 = 2 THEN 'switched' END,
  1 + i * 7 % 40, CASE i % 8 WHEN 0 THEN 199 WHEN 1 THEN 59 WHEN 2 THEN 59 WHEN 3 THEN 35 WHEN 4 THEN 0 ELSE 19 END * (1 + i % 3)
  FROM generate_series(1, 320) AS s(i);

INSERT INTO subscription_events SELECT i, i, 'new', DATE '2023-01-05' + CAST(i * 31 % 680 AS int), 19 * (1 + i % 6) FROM generate_series(1, 320) AS s(i);
INSERT INTO subscription_events SELECT 1000 + i, 1 + i * 7 % 320,
  CASE i % 5 WHEN 0 THEN 'churn' WHEN 1 THEN 'expansion' WHEN 2 THEN 'contraction' WHEN 3 THEN 'expansion' ELSE 'reactivation' END,
  DATE '2023-03-01' + CAST(i * 23 % 660 AS int), CASE i % 5 WHEN 0 THEN -38 WHEN 1 THEN 19 + i % 60 WHEN 2 THEN -19 WHEN 3 THEN 10 ELSE 57 END
  FROM generate_series(1, 260) AS s(i);

INSERT INTO product_events SELECT i, CASE WHEN i % 23 > 0 THEN 1 + i * 7 % 587 END,
  CASE WHEN i % 10 < 4 THEN 'page_viewed' WHEN i % 10 < 6 THEN 'report_created' WHEN i % 10 < 7 THEN 'report_shared' WHEN i % 10 < 8 THEN 'login' WHEN i % 10 < 9 THEN 'export' ELSE 'invite_sent' END,
  CAST(TIMESTAMP '2024-01-01 00:11:00' + (i * 131 % 8700) * INTERVAL '1 hour' + (i % 50) * INTERVAL '1 minute' AS timestamptz),
  CASE i % 7 WHEN 0 THEN 'ios' WHEN 1 THEN 'android' ELSE 'web' END,
  CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'dashboards' WHEN 2 THEN 'alerts' ELSE 'sql_editor' END,
  CASE WHEN i % 31 > 0 THEN (i * 53 % 36000) * 0.1 END FROM generate_series(1, 550) AS s(i);
INSERT INTO product_events SELECT 1000 + i, 1 + i * 3 % 40, CASE i % 3 WHEN 0 THEN 'login' WHEN 1 THEN 'page_viewed' ELSE 'report_created' END,
  CAST(TIMESTAMP '2024-05-06 07:30:00' + (i * 11 % 900) * INTERVAL '20 minutes' AS timestamptz), CASE i % 2 WHEN 0 THEN 'web' ELSE 'ios' END,
  CASE i % 3 WHEN 0 THEN 'alerts' ELSE 'dashboards' END, (i * 37 % 18000) * 0.1 FROM generate_series(1, 450) AS s(i);

INSERT INTO visitors SELECT i, TIMESTAMP '2024-01-01 00:30:00' + (i * 61 % 8000) * INTERVAL '1 hour',
  CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'US' WHEN 2 THEN 'US' WHEN 3 THEN 'FR' WHEN 4 THEN 'BR' ELSE 'IN' END, i % 37 = 0
  FROM generate_series(1, 420) AS s(i);

INSERT INTO web_sessions SELECT i, 1 + i * 13 % 409, TIMESTAMP '2024-01-02 01:10:00' + (i * 79 % 8500) * INTERVAL '1 hour',
  CASE WHEN i % 8 > 0 THEN TIMESTAMP '2024-01-02 01:10:00' + (i * 79 % 8500) * INTERVAL '1 hour' + (i * 17 % 2400) * INTERVAL '1 second' END,
  CASE i % 5 WHEN 0 THEN 'tablet' WHEN 1 THEN 'mobile' WHEN 2 THEN 'mobile' ELSE 'desktop' END,
  CASE i % 4 WHEN 0 THEN 'Chrome' WHEN 1 THEN 'Safari' WHEN 2 THEN 'chrome' END,
  CASE i % 6 WHEN 0 THEN 'gsearch' WHEN 1 THEN 'gsearch' WHEN 2 THEN 'bsearch' WHEN 3 THEN 'newsletter' END,
  CASE i % 6 WHEN 0 THEN 'cpc' WHEN 1 THEN 'cpc' WHEN 2 THEN 'cpc' WHEN 3 THEN 'email' END,
  CASE i % 6 WHEN 0 THEN 'brand' WHEN 1 THEN 'nonbrand' WHEN 2 THEN 'nonbrand' WHEN 3 THEN 'may_news' END,
  CASE i % 5 WHEN 0 THEN 'https://www.gsearch.com/q' WHEN 1 THEN 'https://news.site.org/a/1' WHEN 2 THEN 'https://www.bsearch.com' END,
  CASE i % 4 WHEN 0 THEN '/' WHEN 1 THEN '/lander-1' WHEN 2 THEN '/blog/post-' || (i % 9) ELSE '/pricing?ref=' || (i % 5) END,
  CASE WHEN i % 3 = 0 THEN 1 ELSE 0 END, CASE WHEN i % 14 = 0 THEN 'purchase' WHEN i % 14 = 1 THEN 'signup' END,
  CASE WHEN i % 14 < 2 THEN TIMESTAMP '2024-01-02 01:20:00' + (i * 79 % 8500) * INTERVAL '1 hour' END,
  CASE WHEN i % 14 = 0 THEN 10 + i * 7 % 290 END FROM generate_series(1, 900) AS s(i);

INSERT INTO pageviews SELECT i, 1 + i * 11 % 877, TIMESTAMP '2024-01-02 01:10:00' + ((1 + i * 11 % 877) * 79 % 8500) * INTERVAL '1 hour' + (i * 7 % 1500) * INTERVAL '1 second',
  CASE i % 7 WHEN 0 THEN '/' WHEN 1 THEN '/lander-1' WHEN 2 THEN '/products' WHEN 3 THEN '/products/' || (i % 12) WHEN 4 THEN '/cart' WHEN 5 THEN '/billing' ELSE '/thank-you' END,
  CASE WHEN i % 13 > 0 THEN 120 + i * 37 % 4800 END, CASE WHEN i % 5 > 0 THEN (i * 29 % 101) * 0.01 END FROM generate_series(1, 600) AS s(i);
INSERT INTO pageviews SELECT 1000 + i, 1 + i * 5 % 120, TIMESTAMP '2024-01-02 01:10:00' + ((1 + i * 5 % 120) * 79 % 8500) * INTERVAL '1 hour' + (i * 13 % 1700) * INTERVAL '1 second',
  CASE i % 5 WHEN 0 THEN '/products' WHEN 1 THEN '/cart' WHEN 2 THEN '/billing' WHEN 3 THEN '/thank-you' ELSE '/' END,
  150 + i * 31 % 3000, (i * 17 % 101) * 0.01 FROM generate_series(1, 400) AS s(i);

INSERT INTO products SELECT i, 'Item ' || i, CASE i % 4 WHEN 0 THEN 'Jeans' WHEN 1 THEN 'Sweaters' WHEN 2 THEN 'Active' ELSE 'Socks' END,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'Levi' WHEN 2 THEN 'Nordic' ELSE 'Basix' END, i * 1.85, i * 4.10, DATE '2022-06-01' + CAST(i * 45 % 900 AS int)
  FROM generate_series(1, 24) AS s(i);

INSERT INTO shoppers SELECT i, CASE i % 4 WHEN 0 THEN 'Kim' WHEN 1 THEN 'Lou' WHEN 2 THEN 'Max' ELSE 'Noa' END || ' ' || i, 's' || (i % 280) || '@mail.example',
  CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'F' WHEN 2 THEN 'F' WHEN 4 THEN 'F' WHEN 6 THEN 'F' ELSE 'M' END, CASE WHEN i % 14 > 0 THEN 16 + i * 7 % 70 END,
  CASE i % 5 WHEN 0 THEN 'CA' WHEN 1 THEN 'TX' WHEN 2 THEN 'NY' WHEN 3 THEN 'CA' ELSE 'WA' END,
  CASE i % 6 WHEN 0 THEN 'San Jose' WHEN 1 THEN 'Austin' WHEN 2 THEN 'New York' WHEN 3 THEN ' san jose' WHEN 4 THEN 'Seattle' END,
  CASE i % 5 WHEN 0 THEN 'Search' WHEN 1 THEN 'Organic' WHEN 2 THEN 'Facebook' WHEN 3 THEN 'Email' ELSE 'Search' END,
  CAST(TIMESTAMP '2022-11-01 12:00:00' + (i * 43 % 760) * INTERVAL '1 day' AS timestamptz) FROM generate_series(1, 300) AS s(i);

INSERT INTO shop_orders SELECT i, CASE WHEN i % 41 > 0 THEN 1 + i * 17 % 263 END,
  CASE i % 10 WHEN 0 THEN 'Cancelled' WHEN 1 THEN 'Returned' WHEN 2 THEN 'Processing' WHEN 3 THEN 'Shipped' ELSE 'Complete' END,
  TIMESTAMP '2023-01-01 00:40:00' + (i * 29 % 17000) * INTERVAL '1 hour',
  CASE WHEN i % 10 NOT IN (0, 2) THEN TIMESTAMP '2023-01-01 00:40:00' + (i * 29 % 17000 + 12 + i % 70) * INTERVAL '1 hour' END,
  CASE WHEN i % 10 NOT IN (0, 2, 3) THEN TIMESTAMP '2023-01-01 00:40:00' + (i * 29 % 17000 + 60 + i * 5 % 180) * INTERVAL '1 hour' END,
  1 + i % 3, CASE i % 7 WHEN 0 THEN 'WELCOME10' WHEN 1 THEN 'SPRING' END, CASE WHEN i % 3 = 0 THEN 0 ELSE 4.95 END
  FROM generate_series(1, 620) AS s(i);

INSERT INTO order_items SELECT i, 1 + i * 7 % 613, 1 + i * 5 % 24, CASE WHEN i % 9 = 0 THEN 1 + i % 6 ELSE 1 END, (1 + i * 5 % 24) * 4.10 - CASE WHEN i % 6 = 0 THEN 2 ELSE 0 END, i % 2 = 0
  FROM generate_series(1, 1000) AS s(i);

INSERT INTO refunds SELECT i, 1 + i * 23 % 997, TIMESTAMP '2023-02-01 09:00:00' + (i * 97 % 16800) * INTERVAL '1 hour',
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'wrong size' WHEN 2 THEN 'damaged' WHEN 3 THEN 'wrong size' ELSE 'changed mind' END, 2 + i * 7 % 90
  FROM generate_series(1, 140) AS s(i);

INSERT INTO zones VALUES (1, 'Manhattan', 'Midtown', 'Yellow Zone'), (2, 'Manhattan', 'Harlem', 'Boro Zone'), (3, 'Manhattan', 'SoHo', 'Yellow Zone'),
  (4, 'Queens', 'JFK Airport', 'Airports'), (5, 'Queens', 'LaGuardia Airport', 'Airports'), (6, 'Queens', 'Astoria', 'Boro Zone'),
  (7, 'Brooklyn', 'Park Slope', 'Boro Zone'), (8, 'Brooklyn', 'Red Hook', 'Boro Zone'), (9, 'Bronx', 'Riverdale', 'Boro Zone'),
  (10, 'EWR', 'Newark Airport', 'EWR'), (11, 'Staten Island', 'Arden Heights', 'Boro Zone'), (12, 'Unknown', 'NV', NULL);

INSERT INTO riders SELECT i, CASE WHEN i % 8 > 0 THEN '+1212555' || (1000 + i) END, DATE '2022-01-10' + CAST(i * 19 % 900 AS int), CASE WHEN i % 6 > 0 THEN 1 + i % 11 END,
  CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END FROM generate_series(1, 350) AS s(i);

INSERT INTO trips SELECT i, CASE WHEN i % 17 > 0 THEN 1 + i * 11 % 331 END, 100 + i * 7 % 43, 1 + i % 2, TIMESTAMP '2024-01-01 00:03:00' + (i * 89 % 4300) * INTERVAL '1 hour' + (i * 7 % 60) * INTERVAL '1 minute',
  CASE WHEN i % 29 > 0 THEN TIMESTAMP '2024-01-01 00:03:00' + (i * 89 % 4300) * INTERVAL '1 hour' + (i * 7 % 60) * INTERVAL '1 minute' + (i * 13 % 4000 - CASE WHEN i % 97 = 0 THEN 4000 ELSE 0 END) * INTERVAL '1 second' END,
  1 + i * 5 % 12, CASE WHEN i % 19 = 0 THEN 264 WHEN i % 23 = 0 THEN NULL ELSE 1 + i * 7 % 12 END, CASE WHEN i % 15 = 0 THEN NULL WHEN i % 31 = 0 THEN 0 ELSE 1 + i % 5 END,
  CASE WHEN i % 37 = 0 THEN 0 ELSE (i * 53 % 2200) * 0.01 END, CASE WHEN i % 12 = 0 THEN 2 WHEN i % 50 = 0 THEN 99 ELSE 1 END, 1 + i % 4,
  CASE WHEN i % 83 = 0 THEN -5 ELSE 3 + (i * 53 % 2200) * 0.03 END, CASE WHEN i % 4 = 0 THEN (i * 31 % 1500) * 0.01 ELSE 0 END, CASE WHEN i % 9 = 0 THEN 6.94 ELSE 0 END,
  CASE WHEN i % 83 = 0 THEN -5 ELSE 3 + (i * 53 % 2200) * 0.03 END + CASE WHEN i % 4 = 0 THEN (i * 31 % 1500) * 0.01 ELSE 0 END + CASE WHEN i % 9 = 0 THEN 6.94 ELSE 0 END
  FROM generate_series(1, 1000) AS s(i);

INSERT INTO campaigns VALUES (1, 'Spring Launch', 'paid_search', DATE '2024-02-01', DATE '2024-04-30', 12000), (2, 'Webinar Series', 'event', DATE '2024-03-01', NULL, 8000),
  (3, 'Retargeting', 'display', DATE '2024-01-15', NULL, 15000), (4, 'Newsletter', 'email', DATE '2023-06-01', NULL, 2000), (5, 'Partner Push', 'partner', DATE '2024-05-01', DATE '2024-08-31', 6000),
  (6, 'Summer Sale', 'social', DATE '2024-06-01', DATE '2024-07-31', 9000), (7, 'Brand Search', 'paid_search', DATE '2023-01-01', NULL, 20000), (8, 'Old Banner', 'display', DATE '2023-01-01', DATE '2023-03-01', 500);

INSERT INTO ad_spend SELECT DATE '2024-01-01' + CAST(i % 180 AS int), 1 + i % 7, i * 71 % 9000, i * 13 % 300, (i * 37 % 40000) * 0.01 FROM generate_series(1, 900) AS s(i);

INSERT INTO leads SELECT i, CASE WHEN i % 10 > 0 THEN 'lead' || (i % 230) || CASE i % 3 WHEN 0 THEN '@gmail.com' ELSE '@corp' || (i % 40) || '.com' END END,
  TIMESTAMP '2024-01-03 10:00:00' + (i * 41 % 340) * INTERVAL '1 day' + (i % 24) * INTERVAL '1 hour',
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'US' WHEN 2 THEN 'US' WHEN 3 THEN 'DE' ELSE 'IN' END, CASE i % 4 WHEN 0 THEN '1-10' WHEN 1 THEN '11-50' WHEN 2 THEN '51-200' END,
  CASE WHEN i % 9 > 0 THEN 1 + i % 7 END, CASE WHEN i % 11 > 0 THEN i * 13 % 101 END,
  CASE i % 6 WHEN 0 THEN 'customer' WHEN 1 THEN 'mql' WHEN 2 THEN 'sql' WHEN 3 THEN 'lost' ELSE 'lead' END,
  CASE WHEN i % 6 = 0 THEN TIMESTAMP '2024-01-03 10:00:00' + (i * 41 % 340 + i * 7 % 60) * INTERVAL '1 day' END, CASE WHEN i % 6 = 0 THEN 400 + i * 97 % 9000 END,
  CASE i % 3 WHEN 0 THEN 'R. Ortiz' WHEN 1 THEN 'S. Lang' ELSE 'T. Ode' END FROM generate_series(1, 260) AS s(i);

INSERT INTO touches SELECT i, 1 + i * 7 % 251, 1 + i * 5 % 7, CASE i % 4 WHEN 0 THEN 'ad_click' WHEN 1 THEN 'email' WHEN 2 THEN 'webinar' ELSE 'email' END,
  TIMESTAMP '2024-01-02 08:00:00' + (i * 67 % 350) * INTERVAL '1 day' + (i * 5 % 24) * INTERVAL '1 hour',
  CASE WHEN i % 4 IN (1, 3) AND i % 3 > 0 THEN TIMESTAMP '2024-01-02 08:00:00' + (i * 67 % 350) * INTERVAL '1 day' + (i * 5 % 24 + i % 40) * INTERVAL '1 hour' END,
  CASE WHEN i % 4 IN (1, 3) AND i % 3 > 0 AND i % 5 = 0 THEN TIMESTAMP '2024-01-02 08:00:00' + (i * 67 % 350) * INTERVAL '1 day' + (i * 5 % 24 + i % 40 + 1) * INTERVAL '1 hour' END,
  i % 26 = 1 FROM generate_series(1, 900) AS s(i);

INSERT INTO members SELECT i, CASE i % 3 WHEN 0 THEN 'dev_' WHEN 1 THEN 'Coder' ELSE 'anon-' END || i, TIMESTAMP '2022-01-05 07:00:00' + (i * 47 % 1000) * INTERVAL '1 day', i * 3 % 5,
  CASE i % 5 WHEN 0 THEN 'Google' WHEN 1 THEN 'Red Hat' WHEN 2 THEN NULL WHEN 3 THEN 'google' ELSE 'Independent' END,
  CASE i % 6 WHEN 0 THEN 'US' WHEN 1 THEN 'DE' WHEN 2 THEN 'US' WHEN 3 THEN 'IN' WHEN 4 THEN 'FR' END,
  CASE WHEN i % 9 > 0 THEN TIMESTAMP '2024-03-01 07:00:00' + (i * 13 % 300) * INTERVAL '1 day' END, i % 45 = 0, i % 16 > 0 FROM generate_series(1, 320) AS s(i);

INSERT INTO topics SELECT i, 1 + i * 13 % 307, CASE i % 5 WHEN 0 THEN 'support' WHEN 1 THEN 'support' WHEN 2 THEN 'feature-requests' WHEN 3 THEN 'general' ELSE 'showcase' END,
  CASE i % 3 WHEN 0 THEN 'How to fix error ' || i WHEN 1 THEN 'Question about v' || (i % 4) ELSE 'My project ' || i END, TIMESTAMP '2024-01-01 05:00:00' + (i * 71 % 8600) * INTERVAL '1 hour', i * 37 % 2500, 1 + i % 9,
  CASE WHEN i % 5 < 2 AND i % 3 > 0 THEN TIMESTAMP '2024-01-01 05:00:00' + (i * 71 % 8600 + 1 + i % 200) * INTERVAL '1 hour' END,
  CASE WHEN i % 33 = 0 THEN TIMESTAMP '2024-01-02 05:00:00' + (i * 71 % 8600) * INTERVAL '1 hour' END FROM generate_series(1, 380) AS s(i);

INSERT INTO posts SELECT i, i, 1 + i * 13 % 307, 1, TIMESTAMP '2024-01-01 05:00:00' + (i * 71 % 8600) * INTERVAL '1 hour', i * 7 % 12, CASE WHEN i % 21 > 0 THEN 10 + i * 31 % 900 END, NULL FROM generate_series(1, 380) AS s(i);
INSERT INTO posts SELECT 400 + i, 1 + i * 11 % 353, 1 + i * 17 % 311, 2 + CAST((i - i % 310) / 310 AS int), TIMESTAMP '2024-01-01 05:00:00' + ((1 + i * 11 % 353) * 71 % 8600 + 1 + i * 7 % 240) * INTERVAL '1 hour',
  CASE WHEN i % 3 = 0 THEN i * 5 % 9 ELSE 0 END, CASE WHEN i % 21 > 0 THEN 5 + i * 19 % 600 END, CASE WHEN i % 40 = 0 THEN TIMESTAMP '2024-12-28 00:00:00' END FROM generate_series(1, 620) AS s(i);

INSERT INTO visits SELECT 1 + i * 7 % 313, DATE '2024-01-01' + CAST((i - i % 3) / 3 AS int), i * 11 % 80, i * 37 % 5400, i % 3 = 0 FROM generate_series(1, 1000) AS s(i);

INSERT INTO pull_requests SELECT i, CASE i % 4 WHEN 0 THEN 'core' WHEN 1 THEN 'docs' WHEN 2 THEN 'core' ELSE 'website' END, 1 + i * 19 % 240,
  CASE i % 5 WHEN 0 THEN 'open' WHEN 1 THEN 'closed' ELSE 'merged' END, TIMESTAMP '2024-01-01 12:00:00' + (i * 53 % 8500) * INTERVAL '1 hour',
  CASE WHEN i % 6 > 0 THEN TIMESTAMP '2024-01-01 12:00:00' + (i * 53 % 8500 + 1 + i % 90) * INTERVAL '1 hour' END,
  CASE WHEN i % 5 > 1 THEN TIMESTAMP '2024-01-01 12:00:00' + (i * 53 % 8500 + 2 + i * 7 % 400) * INTERVAL '1 hour' END,
  CASE WHEN i % 5 > 0 THEN TIMESTAMP '2024-01-01 12:00:00' + (i * 53 % 8500 + 2 + i * 7 % 400) * INTERVAL '1 hour' END,
  i * 43 % 1800, i * 17 % 700, i * 3 % 25 FROM generate_series(1, 450) AS s(i);

INSERT INTO gl_accounts VALUES ('1000', 'Cash', 'Asset', NULL, true), ('1100', 'Accounts Receivable', 'Asset', NULL, true), ('2000', 'Accounts Payable', 'Liability', NULL, true),
  ('3000', 'Retained Earnings', 'Equity', NULL, true), ('4000', 'Sales', 'Revenue', NULL, true), ('4100', 'Services', 'Revenue', '4000', true), ('5000', 'Cost of Goods Sold', 'Expense', NULL, true),
  ('6000', 'Salaries', 'Expense', NULL, true), ('6100', 'Travel', 'Expense', '6000', true), ('6200', 'Software', 'Expense', '6000', true), ('9999', 'Suspense', 'Asset', NULL, false);

INSERT INTO budgets SELECT CASE i % 4 WHEN 0 THEN '4000' WHEN 1 THEN '5000' WHEN 2 THEN '6100' ELSE '6200' END,
  CASE CAST((i - i % 4) / 4 AS int) % 3 WHEN 0 THEN 'Sales' WHEN 1 THEN 'Ops' ELSE 'R&D' END, CAST(DATE '2024-01-01' + CAST((i - i % 12) / 12 AS int) * INTERVAL '1 month' AS date), 2000 + i * 137 % 6000 FROM generate_series(0, 143) AS s(i);

INSERT INTO parties SELECT i, CASE i % 3 WHEN 0 THEN 'Client ' WHEN 1 THEN 'Dr. ' ELSE 'Studio ' END || i, CASE WHEN i % 5 = 0 THEN 'supplier' ELSE 'client' END,
  CASE i % 4 WHEN 0 THEN 'North' WHEN 1 THEN 'South' WHEN 2 THEN 'West' END, CASE WHEN i % 6 > 0 THEN 1000 * (1 + i % 9) END FROM generate_series(1, 180) AS s(i);

INSERT INTO ar_invoices SELECT i, 1 + i * 11 % 173, DATE '2024-01-02' + CAST(i * 7 % 350 AS int), DATE '2024-02-01' + CAST(i * 7 % 350 AS int),
  CASE WHEN i % 4 > 0 THEN DATE '2024-01-02' + CAST(i * 7 % 350 + i * 13 % 95 AS int) END, 50 + (i * 7919 % 400000) * 0.01,
  CASE WHEN i % 4 = 1 THEN 25 WHEN i % 4 > 0 THEN 50 + (i * 7919 % 400000) * 0.01 END, CASE WHEN i % 8 = 0 THEN 'EUR' ELSE 'USD' END FROM generate_series(1, 480) AS s(i);

INSERT INTO journal_lines SELECT i, CAST((i + i % 2) / 2 AS int), DATE '2024-01-01' + CAST((i + i % 2) / 2 AS int) * 17 % 366,
  CASE WHEN i % 2 = 1 THEN CASE CAST((i - i % 2) / 2 AS int) % 4 WHEN 0 THEN '1100' WHEN 1 THEN '5000' WHEN 2 THEN '6100' ELSE '6200' END ELSE CASE CAST((i - i % 2) / 2 AS int) % 3 WHEN 0 THEN '4000' WHEN 1 THEN '1000' ELSE '2000' END END,
  CASE CAST((i - i % 2) / 2 AS int) % 4 WHEN 0 THEN 'Sales' WHEN 1 THEN 'Ops' WHEN 2 THEN 'R&D' END, CASE WHEN i % 7 > 0 THEN 1 + i * 3 % 171 END,
  CASE WHEN i % 2 = 1 THEN 10 + CAST((i + i % 2) / 2 AS int) * 37 % 3000 ELSE 0 END, CASE WHEN i % 2 = 0 THEN 10 + CAST((i + i % 2) / 2 AS int) * 37 % 3000 - CASE WHEN i % 302 = 0 THEN 5 ELSE 0 END ELSE 0 END,
  CASE i % 3 WHEN 0 THEN 'invoice' WHEN 1 THEN NULL ELSE 'accrual' END FROM generate_series(1, 1000) AS s(i);
