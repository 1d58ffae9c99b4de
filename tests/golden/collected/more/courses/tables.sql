-- A bookings club, a company's staff, a school, a hospital, a film rental, a bank.

-- Bookings club
CREATE TABLE facilities (facid int PRIMARY KEY, name text NOT NULL, kind text NOT NULL, membercost numeric(6, 2) NOT NULL, guestcost numeric(6, 2) NOT NULL, initialoutlay numeric(8, 2) NOT NULL, monthlymaintenance numeric(8, 2) NOT NULL);
CREATE TABLE members (memid int PRIMARY KEY, surname text NOT NULL, firstname text NOT NULL, address text NOT NULL, zipcode int NOT NULL, telephone text NOT NULL, recommendedby int, joindate timestamp NOT NULL, birth_year int, membership text);
CREATE TABLE bookings (bookid int PRIMARY KEY, facid int NOT NULL REFERENCES facilities, memid int NOT NULL REFERENCES members, starttime timestamp NOT NULL, slots int NOT NULL);
CREATE TABLE checkins (checkin_id int PRIMARY KEY, memid int REFERENCES members, checked_in_at timestamptz NOT NULL, checked_out_at timestamptz);

-- Human resources
CREATE TABLE departments (dept_no text PRIMARY KEY, dept_name text NOT NULL);
CREATE TABLE staff (emp_no int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, email text NOT NULL, gender text, birth_date date, hire_date date NOT NULL, termination_date date, exit_type text, dept_no text REFERENCES departments, manager_no int, job_title text NOT NULL, city text, overtime boolean NOT NULL, satisfaction int);
CREATE TABLE salaries (emp_no int NOT NULL REFERENCES staff, salary int NOT NULL, from_date date NOT NULL, to_date date NOT NULL, PRIMARY KEY (emp_no, from_date));
CREATE TABLE bonuses (bonus_id int PRIMARY KEY, emp_no int NOT NULL REFERENCES staff, paid_on date NOT NULL, kind int NOT NULL, amount numeric(8, 2) NOT NULL);

-- School
CREATE TABLE subjects (subject_id int PRIMARY KEY, subject_name text NOT NULL, pass_mark int NOT NULL);
CREATE TABLE pupils (pupil_id int PRIMARY KEY, name text NOT NULL, gender text NOT NULL, birth_date date NOT NULL, class text NOT NULL, joined_on date NOT NULL, scholarship numeric(7, 2), district text);
CREATE TABLE marks (mark_id int PRIMARY KEY, pupil_id int NOT NULL REFERENCES pupils, subject_id int NOT NULL REFERENCES subjects, exam text NOT NULL, mark numeric(4, 1), max_mark int NOT NULL, taken_on date NOT NULL);
CREATE TABLE attendance (pupil_id int NOT NULL REFERENCES pupils, day date NOT NULL, status text NOT NULL, minutes_late int, PRIMARY KEY (pupil_id, day));

-- Hospital
CREATE TABLE patients (patient_id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, birth_date date NOT NULL, death_date date, province text, city text, insurance text, height_cm int, weight_kg double precision, allergies text);
CREATE TABLE stays (stay_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, service text NOT NULL, doctor_id int NOT NULL, admit_time timestamp NOT NULL, discharge_time timestamp, admission_type text NOT NULL, diagnosis text, total_bill numeric(10, 2), expire_flag int NOT NULL);
CREATE TABLE stay_diagnoses (stay_id int NOT NULL REFERENCES stays, seq_num int NOT NULL, icd_code text NOT NULL, PRIMARY KEY (stay_id, seq_num));
CREATE TABLE labs (lab_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, stay_id int, test text NOT NULL, value double precision, taken_at timestamptz NOT NULL);

-- Film rental
CREATE TABLE category (category_id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE film (film_id int PRIMARY KEY, title text NOT NULL, rating text, length int, rental_rate numeric(4, 2) NOT NULL, rental_duration int NOT NULL, replacement_cost numeric(5, 2) NOT NULL, release_year int NOT NULL);
CREATE TABLE film_category (film_id int NOT NULL REFERENCES film, category_id int NOT NULL REFERENCES category, PRIMARY KEY (film_id, category_id));
CREATE TABLE inventory (inventory_id int PRIMARY KEY, film_id int NOT NULL REFERENCES film, store_id int NOT NULL);
CREATE TABLE customer (customer_id int PRIMARY KEY, store_id int NOT NULL, first_name text NOT NULL, last_name text NOT NULL, email text, country text NOT NULL, city text, active boolean NOT NULL, create_date date NOT NULL);
CREATE TABLE rental (rental_id int PRIMARY KEY, rental_date timestamp NOT NULL, inventory_id int NOT NULL REFERENCES inventory, customer_id int NOT NULL REFERENCES customer, return_date timestamp, staff_id int NOT NULL);
CREATE TABLE payment (payment_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, rental_id int, amount numeric(5, 2) NOT NULL, payment_date timestamp NOT NULL);
CREATE TABLE ratings (rating_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, film_id int NOT NULL REFERENCES film, stars int NOT NULL, rated_on date);

-- Bank
CREATE TABLE regions (region_id int PRIMARY KEY, region_name text NOT NULL);
CREATE TABLE clients (client_id int PRIMARY KEY, name text NOT NULL, gender text, birth_date date NOT NULL, region_id int NOT NULL REFERENCES regions, joined_on date NOT NULL, segment text, credit_score int, annual_income double precision);
CREATE TABLE accounts (account_id int PRIMARY KEY, client_id int NOT NULL REFERENCES clients, account_type text NOT NULL, opened_on date NOT NULL, closed_on date, balance numeric(12, 2) NOT NULL, status text NOT NULL);
CREATE TABLE txns (txn_id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts, txn_at timestamptz NOT NULL, txn_type text NOT NULL, amount numeric(10, 2) NOT NULL, channel text NOT NULL, category text, merchant text);
CREATE TABLE loans (loan_id int PRIMARY KEY, client_id int NOT NULL REFERENCES clients, loan_type text NOT NULL, amount numeric(12, 2) NOT NULL, interest_rate numeric(5, 4) NOT NULL, term_months int NOT NULL, granted_on date NOT NULL, status text NOT NULL, paid numeric(12, 2));
CREATE TABLE client_nodes (client_id int NOT NULL REFERENCES clients, region_id int NOT NULL REFERENCES regions, node_id int NOT NULL, start_date date NOT NULL, end_date date NOT NULL, PRIMARY KEY (client_id, start_date));
