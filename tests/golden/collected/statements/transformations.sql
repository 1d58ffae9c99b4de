-- Models and data tests as dbt compiles them.

-- [dbt01] a mart of customers with their orders
with customer_orders as (
    select customer_id, min(order_date) as first_order_date, max(order_date) as most_recent_order_date,
           count(order_id) as number_of_orders
    from orders
    group by 1
)
select c.customer_id, c.name, co.first_order_date, co.most_recent_order_date, coalesce(co.number_of_orders, 0) as number_of_orders
from customers c left join customer_orders co using (customer_id);

-- [dbt02] orders with their payments pivoted by method
with order_payments as (
    select order_id,
           sum(case when method = 'card' then amount else 0 end) as card_amount,
           sum(case when method = 'transfer' then amount else 0 end) as transfer_amount,
           sum(amount) as total_amount
    from payments
    group by order_id
)
select sum(card_amount) as card, sum(transfer_amount) as transfer, sum(total_amount) as total from order_payments;

-- [dbt03] a metric by day and dimension
with orders as (select * from public.orders),
customers as (select * from public.customers)
select orders.order_date as date_day, customers.plan, count(distinct orders.order_id) as order_count
from orders
left join customers on orders.customer_id = customers.customer_id
group by 1, 2;

-- [dbt04] a test that a column is never missing
select count(*) as failures from (select * from orders where customer_id is null) dbt_internal_test;

-- [dbt05] a test that a column is unique
select count(*) as failures, count(*) != 0 as should_warn
from (select order_id from orders where order_id is not null group by order_id having count(*) > 1) dbt_internal_test;

-- [dbt06] a test of accepted values
with all_values as (select status as value_field, count(*) as n_records from orders group by status)
select * from all_values where value_field not in ('placed', 'shipped', 'cancelled', 'returned');

-- [dbt07] a test of a relationship
select count(*) as failures
from (
    select child.from_field
    from (select customer_id as from_field from orders where customer_id is not null) child
    left join (select customer_id as to_field from customers) parent on child.from_field = parent.to_field
    where parent.to_field is null
) dbt_internal_test;
