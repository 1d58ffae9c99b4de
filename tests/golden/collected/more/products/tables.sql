-- A subscription business with its product's events, a web site, a shop with returns, a
-- taxi company, marketing, a developers' forum and a ledger.

CREATE TABLE plans (plan_id text PRIMARY KEY, plan_name text NOT NULL, monthly_price numeric(8, 2) NOT NULL,
  seats_included int NOT NULL, is_legacy boolean NOT NULL);

CREATE TABLE accounts (account_id int PRIMARY KEY, account_name text NOT NULL, billing_email text, country text NOT NULL,
  industry text, acquisition_channel text, created_at timestamp NOT NULL, is_internal boolean NOT NULL);

CREATE TABLE app_users (user_id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts, full_name text NOT NULL,
  role text NOT NULL, signed_up_at timestamptz NOT NULL, last_seen_at timestamptz, nps int);

CREATE TABLE subscriptions (subscription_id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts,
  plan_id text NOT NULL REFERENCES plans, status text NOT NULL, billing_period text NOT NULL, started_on date NOT NULL,
  trial_ends_on date, canceled_on date, cancel_reason text, seats int NOT NULL, mrr numeric(8, 2) NOT NULL);

CREATE TABLE subscription_events (event_id int PRIMARY KEY, subscription_id int NOT NULL REFERENCES subscriptions,
  event_type text NOT NULL, event_date date NOT NULL, amount_delta numeric(8, 2) NOT NULL);

CREATE TABLE product_events (event_id int PRIMARY KEY, user_id int REFERENCES app_users, event_name text NOT NULL,
  occurred_at timestamptz NOT NULL, platform text NOT NULL, feature text, duration_s double precision);

CREATE TABLE visitors (visitor_id int PRIMARY KEY, first_seen_at timestamp NOT NULL, country text, is_bot boolean NOT NULL);

CREATE TABLE web_sessions (session_id int PRIMARY KEY, visitor_id int NOT NULL REFERENCES visitors,
  started_at timestamp NOT NULL, ended_at timestamp, device_type text NOT NULL, browser text, utm_source text,
  utm_medium text, utm_campaign text, referrer text, landing_page text NOT NULL, is_repeat int NOT NULL, goal text,
  converted_at timestamp, goal_value numeric(8, 2));

CREATE TABLE pageviews (pageview_id int PRIMARY KEY, session_id int NOT NULL REFERENCES web_sessions,
  viewed_at timestamp NOT NULL, page_path text NOT NULL, load_ms int, scroll_pct double precision);

CREATE TABLE products (product_id int PRIMARY KEY, product_name text NOT NULL, category text NOT NULL, brand text,
  cost numeric(8, 2) NOT NULL, retail_price numeric(8, 2) NOT NULL, launched_on date NOT NULL);

CREATE TABLE shoppers (shopper_id int PRIMARY KEY, full_name text NOT NULL, email text NOT NULL, gender text, age int,
  state text NOT NULL, city text, traffic_source text NOT NULL, created_at timestamptz NOT NULL);

CREATE TABLE shop_orders (order_id int PRIMARY KEY, shopper_id int REFERENCES shoppers, status text NOT NULL,
  created_at timestamp NOT NULL, shipped_at timestamp, delivered_at timestamp, num_items int NOT NULL, coupon text,
  shipping_fee numeric(6, 2) NOT NULL);

CREATE TABLE order_items (item_id int PRIMARY KEY, order_id int NOT NULL REFERENCES shop_orders,
  product_id int NOT NULL REFERENCES products, quantity int NOT NULL, sale_price numeric(8, 2) NOT NULL,
  is_primary boolean NOT NULL);

CREATE TABLE refunds (refund_id int PRIMARY KEY, item_id int NOT NULL REFERENCES order_items,
  refunded_at timestamp NOT NULL, reason text, amount numeric(8, 2) NOT NULL);

CREATE TABLE zones (zone_id int PRIMARY KEY, borough text NOT NULL, zone_name text NOT NULL, service_zone text);

CREATE TABLE riders (rider_id int PRIMARY KEY, phone text, joined_on date NOT NULL, home_zone_id int, is_corporate boolean);

CREATE TABLE trips (trip_id int PRIMARY KEY, rider_id int REFERENCES riders, driver_id int NOT NULL, vendor_id int NOT NULL,
  pickup_at timestamp NOT NULL, dropoff_at timestamp, pu_zone_id int NOT NULL REFERENCES zones, do_zone_id int,
  passenger_count int, trip_distance double precision NOT NULL, rate_code int NOT NULL, payment_type int NOT NULL,
  fare_amount numeric(8, 2) NOT NULL, tip_amount numeric(8, 2) NOT NULL, tolls_amount numeric(8, 2) NOT NULL,
  total_amount numeric(8, 2) NOT NULL);

CREATE TABLE campaigns (campaign_id int PRIMARY KEY, campaign_name text NOT NULL, channel text NOT NULL,
  started_on date NOT NULL, ended_on date, budget numeric(10, 2) NOT NULL);

CREATE TABLE ad_spend (day date NOT NULL, campaign_id int NOT NULL REFERENCES campaigns, impressions int NOT NULL,
  clicks int NOT NULL, spend numeric(8, 2) NOT NULL, PRIMARY KEY (day, campaign_id));

CREATE TABLE leads (lead_id int PRIMARY KEY, email text, created_at timestamp NOT NULL, country text, company_size text,
  source_campaign_id int REFERENCES campaigns, lead_score int, stage text NOT NULL, converted_at timestamp,
  deal_value numeric(10, 2), sales_rep text NOT NULL);

CREATE TABLE touches (touch_id int PRIMARY KEY, lead_id int NOT NULL REFERENCES leads,
  campaign_id int NOT NULL REFERENCES campaigns, touch_type text NOT NULL, touched_at timestamp NOT NULL,
  opened_at timestamp, clicked_at timestamp, bounced boolean NOT NULL);

CREATE TABLE members (member_id int PRIMARY KEY, username text NOT NULL, joined_at timestamp NOT NULL, trust_level int NOT NULL,
  company text, country text, last_seen_at timestamp, is_staff boolean NOT NULL, active boolean NOT NULL);

CREATE TABLE topics (topic_id int PRIMARY KEY, member_id int NOT NULL REFERENCES members, board text NOT NULL,
  title text NOT NULL, created_at timestamp NOT NULL, views int NOT NULL, posts_count int NOT NULL, solved_at timestamp,
  deleted_at timestamp);

CREATE TABLE posts (post_id int PRIMARY KEY, topic_id int NOT NULL REFERENCES topics, member_id int NOT NULL REFERENCES members,
  post_number int NOT NULL, created_at timestamp NOT NULL, like_count int NOT NULL, word_count int, deleted_at timestamp);

CREATE TABLE visits (member_id int NOT NULL REFERENCES members, visited_on date NOT NULL, posts_read int NOT NULL,
  time_read int NOT NULL, mobile boolean NOT NULL, PRIMARY KEY (member_id, visited_on));

CREATE TABLE pull_requests (pr_id int PRIMARY KEY, repo text NOT NULL, author_id int NOT NULL REFERENCES members,
  state text NOT NULL, created_at timestamp NOT NULL, first_review_at timestamp, merged_at timestamp, closed_at timestamp,
  additions int NOT NULL, deletions int NOT NULL, comments int NOT NULL);

CREATE TABLE gl_accounts (account_code text PRIMARY KEY, account_name text NOT NULL, account_type text NOT NULL,
  parent_code text, is_active boolean NOT NULL);

CREATE TABLE budgets (account_code text NOT NULL REFERENCES gl_accounts, department text NOT NULL, period date NOT NULL,
  amount numeric(12, 2) NOT NULL, PRIMARY KEY (account_code, department, period));

CREATE TABLE parties (party_id int PRIMARY KEY, party_name text NOT NULL, kind text NOT NULL, region text,
  credit_limit numeric(10, 2));

CREATE TABLE ar_invoices (invoice_id int PRIMARY KEY, party_id int NOT NULL REFERENCES parties, issued_on date NOT NULL,
  due_on date NOT NULL, paid_on date, amount numeric(10, 2) NOT NULL, paid_amount numeric(10, 2), currency text NOT NULL);

CREATE TABLE journal_lines (line_id int PRIMARY KEY, entry_id int NOT NULL, entry_date date NOT NULL,
  account_code text NOT NULL REFERENCES gl_accounts, department text, party_id int REFERENCES parties,
  debit numeric(10, 2) NOT NULL, credit numeric(10, 2) NOT NULL, memo text);
