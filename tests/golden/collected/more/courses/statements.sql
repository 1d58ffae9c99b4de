-- tutorials, exercises, interview questions, forums, courses, projects and open notebooks.

-- [a01] error of forecasting a month by the one before; from stratascratch, naive forecasting (github Ryan-Ashton)
SELECT ROUND(SQRT(AVG(POWER(actual - forecast, 2))), 2) AS rmse
FROM (
  SELECT to_char(txn_at, 'YYYY-MM') AS year_month_, SUM(amount) / COUNT(*) AS actual,
         LAG(SUM(amount) / COUNT(*)) OVER (ORDER BY to_char(txn_at, 'YYYY-MM')) AS forecast
  FROM txns
  GROUP BY year_month_
) sub_q;

-- [a02] how many can retire soon; from github Ryndine/sql_employee_database, simple queries
SELECT COUNT(first_name)
FROM staff
WHERE (birth_date BETWEEN '1955-01-01' AND '1962-12-31') AND (hire_date BETWEEN '1998-01-01' AND '2008-12-31');

-- [a03] the stores against each other, by month and year; from Udacity, investigate a relational database 4 (github julianestebanquintana)
SELECT DATE_PART('month', r.rental_date) AS rental_month, DATE_PART('year', r.rental_date) AS rental_year, i.store_id, COUNT(*) AS count_rentals
FROM rental r
JOIN inventory i ON i.inventory_id = r.inventory_id
GROUP BY 1, 2, 3
ORDER BY count_rentals DESC;

-- [a04] share who stayed, by department, in whole percent; from github HalimatThanni/Human-Resource-SQL-Analysis, 7b
SELECT dept_no, (COUNT(CASE WHEN termination_date IS NULL THEN 1 END) * 100 / COUNT(emp_no)) AS retention_rate
FROM staff
GROUP BY dept_no
ORDER BY retention_rate DESC;

-- [a05] who rated the same film twice and better the second time; from Stanford DB5, movie ratings 6 (github timothylu/SQL-Practice)
SELECT c.first_name, c.last_name, f.title
FROM customer c
JOIN (
  SELECT higher.customer_id, higher.film_id FROM ratings higher, ratings lower_
  WHERE higher.customer_id = lower_.customer_id AND higher.film_id = lower_.film_id
    AND higher.stars > lower_.stars AND higher.rated_on > lower_.rated_on
) AS r ON c.customer_id = r.customer_id
JOIN film f ON f.film_id = r.film_id;

-- [a06] departments ranked by the share that stayed; from github adarshkumar-analyst/hr-analytics-attrition (RANK question)
WITH retention AS (
  SELECT d.dept_name, COUNT(*) AS total, SUM(CASE WHEN s.termination_date IS NULL THEN 1 ELSE 0 END) AS stayed
  FROM staff s JOIN departments d USING (dept_no)
  GROUP BY d.dept_name
)
SELECT dept_name, ROUND(stayed * 100.0 / total, 2) AS retention_pct, RANK() OVER (ORDER BY stayed * 1.0 / total DESC) AS retention_rank
FROM retention;

-- [a07] patients by weight in tens; from sql-practice.com hospital, hard 1 (github Anini-A/SQL-Challenge)
SELECT COUNT(patient_id) AS patient_in_group, FLOOR(weight_kg / 10) * 10 AS weight_group
FROM patients
GROUP BY weight_group
ORDER BY weight_group DESC;

-- [a08] how many left within half a year; from github Aypaul95/data-analytics-portfolio, attrition 5
SELECT COUNT(*) AS early_attrition_count
FROM staff
WHERE termination_date IS NOT NULL AND termination_date < hire_date + INTERVAL '6 months';

-- [a09] every pupil's rank in the class as a percentage; from hashl.com, rank as a percentage (leetcode)
SELECT p.pupil_id, p.class,
       ROUND(COALESCE((RANK() OVER (PARTITION BY p.class ORDER BY a.mark DESC) - 1) * 100.0
             / NULLIF(COUNT(*) OVER (PARTITION BY p.class) - 1, 0), 0), 2) AS percentage
FROM pupils p
JOIN (SELECT pupil_id, AVG(mark) AS mark FROM marks GROUP BY pupil_id) a USING (pupil_id);

-- [a10] how many minutes a visit takes, by membership; from github Ada-Apprenticeships/fittrackpro, membership management 5.2
SELECT m.membership AS membership_type,
       AVG(EXTRACT(EPOCH FROM (c.checked_out_at - c.checked_in_at)) / 60) AS avg_visit_duration_minutes
FROM checkins AS c
JOIN members AS m ON c.memid = m.memid
GROUP BY m.membership
ORDER BY membership_type;

-- [a11] months until a facility has paid for itself; from github tlgs/pgexercises, aggregates 21
WITH booking_costs AS (
  SELECT f.name, f.monthlymaintenance, f.initialoutlay,
         CASE b.memid WHEN 0 THEN b.slots * f.guestcost ELSE b.slots * f.membercost END AS cost
  FROM bookings AS b
  INNER JOIN facilities AS f USING (facid)
)
SELECT name, initialoutlay / (SUM(cost) / 6.0 - monthlymaintenance) AS months
FROM booking_costs
GROUP BY name, initialoutlay, monthlymaintenance
ORDER BY name;

-- [a12] customers whose latest five rentals were mostly action; from github sjanefullerton/pagila-hw3, 12
SELECT c.customer_id, c.first_name, c.last_name
FROM customer c
JOIN LATERAL (
  SELECT cat.name FROM rental
  JOIN inventory USING (inventory_id)
  JOIN film_category USING (film_id)
  JOIN category cat USING (category_id)
  WHERE customer_id = c.customer_id
  ORDER BY rental_date DESC
  LIMIT 5
) AS t ON true
WHERE t.name = 'Action'
GROUP BY c.customer_id
HAVING COUNT(*) >= 4;

-- [a13] mean mark by subject and exam; from github RameshMedaboina/school-db-assignment, reports 7
SELECT sub.subject_name, m.exam, ROUND(AVG(m.mark), 2) AS avg_marks
FROM marks m
JOIN subjects sub ON m.subject_id = sub.subject_id
GROUP BY sub.subject_name, m.exam
ORDER BY m.exam, avg_marks DESC;

-- [a14] mail addresses that occur more than once; from quipoin.com, interview queries: duplicates
SELECT lower(email) AS email, COUNT(*) FROM staff GROUP BY lower(email) HAVING COUNT(*) > 1;

-- [a15] stays by band of length, grouped by the band's alias; from github mohitkumar7-123/hospital-readmission, Q16
SELECT CASE WHEN discharge_time - admit_time > INTERVAL '10 days' THEN 'Long'
            WHEN discharge_time - admit_time > INTERVAL '3 days' THEN 'Moderate'
            WHEN discharge_time IS NOT NULL THEN 'Short'
            ELSE 'Still in' END AS los_category,
       COUNT(*) AS stay_count, ROUND(AVG(expire_flag) * 100, 1) AS death_rate, ROUND(AVG(total_bill), 0) AS avg_cost
FROM stays
GROUP BY los_category
ORDER BY los_category;

-- [a16] which patients are obese, as 0 or 1; from sql-practice.com hospital, hard 2 (github Anini-A/SQL-Challenge)
SELECT patient_id, weight_kg, height_cm, CASE WHEN weight_kg / POWER((height_cm / 100.0), 2) >= 30 THEN 1 ELSE 0 END AS is_obese
FROM patients;

-- [a17] share of employees who left; from github Aypaul95/data-analytics-portfolio, attrition 2
SELECT COUNT(t.emp_no) * 100.0 / COUNT(e.emp_no) AS attrition_rate_percentage
FROM staff e
LEFT JOIN (SELECT emp_no FROM staff WHERE termination_date IS NOT NULL) t ON e.emp_no = t.emp_no;

-- [a18] income of each month beside the month before, by a subquery; from github bibajz/mastery-with-sql, 7.11
WITH monthly_income AS (
  SELECT date_trunc('month', payment_date) AS month, sum(amount) AS income FROM payment GROUP BY month
), prev_month_income AS (
  SELECT mi.month, mi.income,
         (SELECT income FROM monthly_income WHERE monthly_income.month < mi.month ORDER BY monthly_income.month DESC LIMIT 1) AS prev_month_income
  FROM monthly_income AS mi
)
SELECT month, income, prev_month_income, income - prev_month_income AS change
FROM prev_month_income
ORDER BY month;

-- [a19] bookings of one day that cost more than thirty; from github tlgs/pgexercises, joins 6
SELECT m.firstname || ' ' || m.surname AS member, f.name AS facility,
       CASE WHEN m.memid = 0 THEN b.slots * f.guestcost ELSE b.slots * f.membercost END AS cost
FROM members m
INNER JOIN bookings b ON m.memid = b.memid
INNER JOIN facilities f ON b.facid = f.facid
WHERE b.starttime >= '2024-09-14' AND b.starttime < '2024-09-15'
  AND ((m.memid = 0 AND b.slots * f.guestcost > 30) OR (m.memid <> 0 AND b.slots * f.membercost > 30))
ORDER BY cost DESC;

-- [a20] leavers by years with the company; from github KOTTIVINAY/retail-performance-analysis, hr_attrition.sql
SELECT DATE_PART('year', AGE(COALESCE(termination_date, DATE '2024-12-31'), hire_date)) AS years_at_company,
       SUM(CASE WHEN termination_date IS NOT NULL THEN 1 ELSE 0 END) AS employees_left
FROM staff
GROUP BY years_at_company
ORDER BY years_at_company;

-- [a21] the facility with most slots booked, by a rank over sums; from github tlgs/pgexercises, aggregates 17
SELECT facid, total FROM (
  SELECT facid, sum(slots) AS total, rank() OVER (ORDER BY sum(slots) DESC) AS rank
  FROM bookings
  GROUP BY facid
) AS ranked
WHERE rank = 1;

-- [a22] transactions by month and type, with their median; from github Prashu94/Notes, PostgreSQL exercises 3.4.1
SELECT DATE_TRUNC('month', t.txn_at)::date AS month, t.txn_type, COUNT(*) AS transaction_count, SUM(ABS(t.amount)) AS total_volume,
       AVG(ABS(t.amount))::numeric(10, 2) AS avg_amount, MIN(t.amount) AS min_amount, MAX(t.amount) AS max_amount,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ABS(t.amount)) AS median_amount
FROM txns t
WHERE t.txn_at >= '2024-01-01 00:00+00'
GROUP BY DATE_TRUNC('month', t.txn_at), t.txn_type
ORDER BY month DESC, total_volume DESC;

-- [a23] patients with diabetes by band of age, side by side; from MIT-LCP/mimic-code, cookbook icd9vagehistogram.sql
WITH diatbl AS (
  SELECT DISTINCT ON (s.patient_id) s.patient_id, s.admit_time
  FROM stay_diagnoses dia
  INNER JOIN stays s ON dia.stay_id = s.stay_id
  WHERE dia.icd_code LIKE 'E11%'
), agetbl AS (
  SELECT dt.patient_id, (dt.admit_time::date - p.birth_date) / 365.25 AS age
  FROM diatbl dt INNER JOIN patients p ON dt.patient_id = p.patient_id
)
SELECT COUNT(*) AS total,
       COUNT(CASE WHEN age >= 0 AND age < 16 THEN '0 - 15' END) AS "0-15",
       COUNT(CASE WHEN age >= 16 AND age < 41 THEN '16 - 40' END) AS "16-40",
       COUNT(CASE WHEN age >= 41 AND age < 66 THEN '41 - 65' END) AS "41-65",
       COUNT(CASE WHEN age >= 66 THEN 'Over 65' END) AS ">65"
FROM agetbl;

-- [a24] loans paid back by gender, with the total; from PKDD'99 bank project (github DominikaDziedzic/SQL, 4)
SELECT c.gender, sum(l.amount) AS amount
FROM loans l
INNER JOIN clients c ON l.client_id = c.client_id
WHERE l.status IN ('A', 'C')
GROUP BY ROLLUP (c.gender);

-- [a25] rentals and income by rating; from github sulmar/sulmar-dsm-sql, challenge 3
SELECT film.rating, sum(p.amount) AS total_revenue, count(*) AS total_rental
FROM film
INNER JOIN inventory AS i ON i.film_id = film.film_id
INNER JOIN rental AS r ON r.inventory_id = i.inventory_id
INNER JOIN payment AS p ON p.rental_id = r.rental_id
GROUP BY film.rating;

-- [a26] the three countries with most customers and their share; from github bibajz/mastery-with-sql, 7.13
WITH customer_count AS (SELECT count(*) FROM customer)
SELECT country, count(*) AS "num customers", round(100 * count(*) / (SELECT count FROM customer_count)) AS percent
FROM customer
GROUP BY country
ORDER BY "num customers" DESC
LIMIT 3;

-- [a27] stays by quartile of how much was tested: length, deaths, readmissions; from clinsql hard 029 (github hannesill/m4)
WITH readmission AS (
  SELECT stay_id,
         CASE WHEN LEAD(admit_time) OVER (PARTITION BY patient_id ORDER BY admit_time) - discharge_time <= INTERVAL '30 days' THEN 1 ELSE 0 END AS is_readmitted
  FROM stays
), first_stay AS (
  SELECT s.*, ROW_NUMBER() OVER (PARTITION BY s.patient_id ORDER BY s.admit_time) AS rn
  FROM stays s JOIN patients p ON p.patient_id = s.patient_id
  WHERE p.sex = 'M'
), tests AS (
  SELECT stay_id, COUNT(*) AS lab_count FROM labs GROUP BY stay_id
), load AS (
  SELECT f.stay_id, f.expire_flag, f.discharge_time::date - f.admit_time::date AS los, COALESCE(t.lab_count, 0) AS procedure_count,
         COALESCE(r.is_readmitted, 0) AS is_readmitted
  FROM first_stay f
  LEFT JOIN tests t ON f.stay_id = t.stay_id
  LEFT JOIN readmission r ON f.stay_id = r.stay_id
  WHERE f.rn = 1
), stratified AS (
  SELECT *, NTILE(4) OVER (ORDER BY procedure_count) AS quartile FROM load
)
SELECT quartile, COUNT(*) AS num_patients, ROUND(AVG(procedure_count), 2) AS avg_tests, ROUND(AVG(los), 2) AS avg_los,
       ROUND(AVG(expire_flag::numeric) * 100, 2) AS mortality_pct, ROUND(AVG(is_readmitted::numeric) * 100, 2) AS readmission_pct
FROM stratified
GROUP BY quartile
ORDER BY quartile;

-- [a28] what one client has; from github Sanaurrehmanarain/Bank-Vault-Core-SQL, 3
SELECT SUM(balance) AS total_wealth FROM accounts WHERE client_id = 1;

-- [a29] the three pupils of a class with the best mean mark, a missing mark as zero; from github TatianaKoma/school, select_tables.sql
SELECT a.pupil_id, AVG(COALESCE(a.mark, 0)) AS avg_mark
FROM marks AS a
JOIN pupils AS s ON s.pupil_id = a.pupil_id
WHERE s.class = '8B'
GROUP BY a.pupil_id
ORDER BY avg_mark DESC
LIMIT 3;

-- [a30] the sex that each service sees most; from tryexponent.com, patient visits 3 (github adiag321)
WITH sex_rnk AS (
  SELECT s.service, p.sex AS majority_sex, COUNT(p.sex) AS majority_count,
         DENSE_RANK() OVER (PARTITION BY s.service ORDER BY COUNT(p.sex) DESC) AS rnk
  FROM stays s
  JOIN patients p ON s.patient_id = p.patient_id
  GROUP BY 1, 2
)
SELECT service, CASE WHEN majority_sex = 'F' THEN 'female' ELSE 'male' END AS majority_sex, majority_count
FROM sex_rnk WHERE rnk = 1 ORDER BY service;

-- [a31] correlation of pay and tenure, by the formula; from stratascratch, driver salary and tenure (github Ryan-Ashton)
SELECT ((COUNT(*) * SUM(tenure * salary)) - (SUM(tenure) * SUM(salary)))
       / SQRT((COUNT(*) * SUM(POWER(tenure, 2)) - POWER(SUM(tenure), 2)) * (COUNT(*) * SUM(POWER(salary, 2)) - POWER(SUM(salary), 2))) AS corr
FROM (
  SELECT p.salary::numeric AS salary, COALESCE(e.termination_date, DATE '2024-12-31') - e.hire_date AS tenure
  FROM staff e JOIN salaries p ON p.emp_no = e.emp_no
  WHERE p.to_date = '9999-01-01'
) sub_q;

-- [a32] what patients pay themselves if a fifth, by insurer; from github mohitkumar7-123/hospital-readmission, Q17
SELECT p.insurance, COUNT(*) AS stays, ROUND(AVG(s.total_bill), 0) AS avg_bill,
       ROUND(AVG(s.total_bill * 0.2), 0) AS avg_patient_payment, ROUND(AVG(s.total_bill * (1 - 0.2)), 0) AS avg_insurance_payment
FROM stays s
JOIN patients p ON p.patient_id = s.patient_id
WHERE s.total_bill IS NOT NULL
GROUP BY p.insurance
ORDER BY avg_insurance_payment DESC;

-- [a33] loans granted by year, quarter and month, with subtotals; from PKDD'99 bank project (github DominikaDziedzic/SQL, 1)
SELECT extract(year FROM l.granted_on) AS year_date, extract(quarter FROM l.granted_on) AS quarter_date, extract(month FROM l.granted_on) AS month_date,
       sum(l.amount), avg(l.amount), count(l.amount)
FROM loans l
GROUP BY ROLLUP (1, 2, 3)
ORDER BY 1, 2, 3;

-- [a34] pauses between visits, in weeks; from stackoverflow.com 8800253, grouped gaps in time
SELECT gap_days / 7 AS weeks, COUNT(*) AS gaps
FROM (
  SELECT memid, CAST(checked_in_at AS date) - CAST(LAG(checked_in_at) OVER (PARTITION BY memid ORDER BY checked_in_at) AS date) AS gap_days
  FROM checkins
  WHERE memid IS NOT NULL
) g
WHERE gap_days IS NOT NULL
GROUP BY gap_days / 7
ORDER BY weeks;

-- [a35] median tenure in years of those who left; from github ajm-data/HR_analytics_company_department, churn analysis
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY (termination_date - hire_date) / 365.25) AS median_company_tenure
FROM staff
WHERE termination_date IS NOT NULL;

-- [a36] employees by calendar year of their pay and gender, from one year on; from github ThakurDiksha/Data-Visualization--Tableau, task 1
SELECT EXTRACT(YEAR FROM p.from_date) AS calendar_year, e.gender, COUNT(e.emp_no) AS num_of_employees
FROM staff e
INNER JOIN salaries p ON p.emp_no = e.emp_no
GROUP BY calendar_year, e.gender
HAVING EXTRACT(YEAR FROM p.from_date) >= 2021
ORDER BY 1, 2;

-- [a37] admissions by year of age; from MIT-LCP/mimic-code, cookbook age_hist.sql
WITH agetbl AS (
  SELECT (extract(DAY FROM s.admit_time - p.birth_date) + extract(HOUR FROM s.admit_time - p.birth_date) / 24) / 365.25 AS age
  FROM stays s
  INNER JOIN patients p ON s.patient_id = p.patient_id
), agebin AS (
  SELECT age, width_bucket(age, 15, 100, 85) AS bucket FROM agetbl
)
SELECT bucket + 15 AS age, count(*) FROM agebin GROUP BY bucket ORDER BY bucket;

-- [a38] sum of marks by date, where at least four were given; from semestr.com.ua, correlated subqueries in HAVING
SELECT taken_on, SUM(mark)
FROM marks a
GROUP BY taken_on
HAVING 4 <= (SELECT COUNT(mark) FROM marks b WHERE a.taken_on = b.taken_on);

-- [a39] days between leaving and coming back, in bands; from github mohitkumar7-123/hospital-readmission, Q36
SELECT CASE WHEN days_gap <= 7 THEN 'up to 7 days' WHEN days_gap <= 14 THEN '8-14 days' WHEN days_gap <= 30 THEN '15-30 days' ELSE 'over 30 days' END AS readmission_window,
       COUNT(*) AS stay_count, ROUND(AVG(days_gap), 1) AS avg_days_gap, MIN(days_gap) AS min_days, MAX(days_gap) AS max_days,
       ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 2) AS pct
FROM (
  SELECT patient_id, admit_time::date - LAG(discharge_time::date) OVER (PARTITION BY patient_id ORDER BY admit_time) AS days_gap FROM stays
) gaps
WHERE days_gap IS NOT NULL
GROUP BY readmission_window
ORDER BY MIN(CASE WHEN days_gap <= 7 THEN 1 WHEN days_gap <= 14 THEN 2 WHEN days_gap <= 30 THEN 3 ELSE 4 END);

-- [a40] patients with obesity and too much fat in the blood; from MIT-LCP/mimic-code, cookbook icd9vicd9count.sql
SELECT COUNT(DISTINCT sa.patient_id) AS "Obesity and Dyslipidemia"
FROM stay_diagnoses a
INNER JOIN stays sa ON sa.stay_id = a.stay_id
INNER JOIN stays sb ON sb.patient_id = sa.patient_id
INNER JOIN stay_diagnoses b ON b.stay_id = sb.stay_id
WHERE a.icd_code LIKE 'E66%' AND b.icd_code LIKE 'E78%';

-- [a41] employees of each hiring year who have left; from github Aypaul95/data-analytics-portfolio, attrition 10
SELECT EXTRACT(YEAR FROM e.hire_date) AS hire_year, COUNT(t.emp_no) AS employees_left
FROM staff e
LEFT JOIN staff t ON e.emp_no = t.emp_no AND t.termination_date IS NOT NULL
GROUP BY EXTRACT(YEAR FROM e.hire_date)
ORDER BY hire_year;

-- [a42] rentals in each month of a year; from github bibajz/mastery-with-sql, 6.10
SELECT t, count(rental.rental_id)
FROM generate_series('2023-01-01'::timestamptz, '2023-12-01'::timestamptz, interval '1 month') AS t
LEFT OUTER JOIN rental ON date_trunc('month', rental.rental_date) = t
GROUP BY t;

-- [a43] share of urgent stays in ninety days, by service; from tryexponent.com, patient visits 2 (github adiag321)
SELECT v.service, SUM(CASE WHEN v.admission_type = 'urgent' THEN 1 ELSE 0 END) * 100.0 / COUNT(v.doctor_id) AS urgent_percentage
FROM stays v
WHERE v.admit_time::date BETWEEN '2024-04-30'::date - INTERVAL '90 day' AND '2024-04-30'::date
GROUP BY v.service;

-- [a44] kinds of bonus that a leaver had, on average; from github ajm-data/HR_analytics_company_department, churn analysis (distinct titles)
WITH churned AS (
  SELECT emp_no FROM staff WHERE termination_date IS NOT NULL
), kind_count AS (
  SELECT emp_no, COUNT(DISTINCT kind) AS kinds
  FROM bonuses AS b
  WHERE EXISTS (SELECT 1 FROM churned WHERE b.emp_no = churned.emp_no)
  GROUP BY emp_no
)
SELECT AVG(kinds) AS average_kind_count FROM kind_count;

-- [a45] films that share two categories with a given one; from github sjanefullerton/pagila-hw3, 05e
SELECT f2.title
FROM film f1
JOIN film_category fc1 ON f1.film_id = fc1.film_id
JOIN film_category fc2 ON fc1.category_id = fc2.category_id
JOIN film f2 ON f2.film_id = fc2.film_id
WHERE f1.title = 'ACADEMY INTRIGUE'
GROUP BY f2.title
HAVING COUNT(*) >= 2
ORDER BY f2.title;

-- [a46] pupils in the best tenth by mean mark, by a percentile; from medium.com lchanmann, PostgreSQL percentile query
WITH averages AS (SELECT pupil_id, avg(coalesce(mark, 0)) AS score FROM marks GROUP BY pupil_id)
SELECT pupil_id, score FROM averages
WHERE score >= (SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY score) FROM averages)
ORDER BY score DESC;

-- [a47] how many pupils have marks in as many subjects as there are; from NoCOUG mini-challenge, count comparison
SELECT COUNT(*)
FROM pupils s
WHERE (SELECT COUNT(DISTINCT e.subject_id) FROM marks e, subjects r WHERE e.subject_id = r.subject_id AND e.pupil_id = s.pupil_id)
    = (SELECT COUNT(*) FROM subjects r WHERE r.subject_name <> 'Latin');

-- [a48] the pupil who missed most days; from github TatianaKoma/school, select_tables.sql
SELECT pupil_id, COUNT(ALL status) AS truants
FROM attendance
WHERE status = 'absent'
GROUP BY pupil_id
ORDER BY truants DESC
LIMIT 1;

-- [a49] the most and the fewest loans granted in a quarter, by type; from datalemur, cards issued difference
WITH issued AS (
  SELECT loan_type, DATE_TRUNC('quarter', granted_on) AS quarter, COUNT(*) AS issued_amount FROM loans GROUP BY 1, 2
)
SELECT loan_type, MAX(issued_amount) - MIN(issued_amount) AS difference FROM issued GROUP BY loan_type ORDER BY difference DESC;

-- [a50] mean balance and number of loans by region, each from a subquery; from smashcompany.com, one outer join that matches more than once
SELECT r.region_name, x.avg_balance, y.n_loans
FROM regions r
LEFT OUTER JOIN (SELECT c.region_id, AVG(a.balance) AS avg_balance FROM accounts a JOIN clients c USING (client_id) GROUP BY c.region_id) x ON r.region_id = x.region_id
LEFT OUTER JOIN (SELECT c.region_id, COUNT(l.loan_id) AS n_loans FROM loans l JOIN clients c USING (client_id) GROUP BY c.region_id) y ON r.region_id = y.region_id;

-- [a51] median days of women with pneumonia; from clinsql easy 023 (github hannesill/m4)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.discharge_time::date - s.admit_time::date) AS median_los_days
FROM patients p
JOIN stays s ON p.patient_id = s.patient_id
JOIN stay_diagnoses d ON s.stay_id = d.stay_id
WHERE p.sex = 'F' AND d.seq_num = 1 AND SUBSTR(d.icd_code, 1, 3) BETWEEN 'J12' AND 'J18'
  AND s.discharge_time IS NOT NULL AND s.discharge_time::date - s.admit_time::date >= 0;

-- [a52] how many have had a bonus and how many have not; from stratascratch, bonus received (github Ryan-Ashton/100_hard_sql_stratascratch)
WITH grouped AS (
  SELECT t1.emp_no AS id, SUM(t2.amount) AS bonus
  FROM staff t1
  LEFT JOIN bonuses t2 ON t1.emp_no = t2.emp_no
  GROUP BY t1.emp_no
), calc AS (
  SELECT CASE WHEN bonus IS NULL THEN 0 ELSE 1 END AS has_bonus FROM grouped
)
SELECT has_bonus, COUNT(has_bonus) AS n_employees FROM calc GROUP BY has_bonus;

-- [a53] critical laboratory values in three days: kidney injury against control; from clinsql hard 011 (github hannesill/m4)
WITH aki AS (
  SELECT DISTINCT stay_id FROM stay_diagnoses WHERE icd_code IN ('5845', '5849') OR icd_code LIKE 'N17%'
), base AS (
  SELECT s.patient_id, s.stay_id, s.admit_time, s.discharge_time, s.expire_flag,
         CASE WHEN aki.stay_id IS NOT NULL THEN 1 ELSE 0 END AS is_aki
  FROM stays AS s
  INNER JOIN patients AS p ON s.patient_id = p.patient_id
  LEFT JOIN aki ON s.stay_id = aki.stay_id
  WHERE p.sex = 'M' AND DATE_PART('year', AGE(s.admit_time, p.birth_date)) BETWEEN 40 AND 80
), abnormal AS (
  SELECT b.stay_id,
         CASE WHEN l.test = 'sodium' AND (l.value < 125 OR l.value > 155) THEN 1
              WHEN l.test = 'creatinine' AND l.value > 2.0 THEN 1
              WHEN l.test = 'platelet' AND l.value < 50 THEN 1
              ELSE 0 END AS is_critical
  FROM labs AS l
  INNER JOIN base AS b ON l.patient_id = b.patient_id
  WHERE l.taken_at BETWEEN b.admit_time AND b.admit_time + INTERVAL '72 hours' AND l.value IS NOT NULL
), per_stay AS (
  WITH critical AS (SELECT stay_id, SUM(is_critical) AS score, COUNT(*) AS tests FROM abnormal GROUP BY stay_id)
  SELECT b.stay_id, b.is_aki, COALESCE(c.score, 0) AS instability_score, COALESCE(c.tests, 0) AS total_tests,
         b.discharge_time::date - b.admit_time::date AS los_days, b.expire_flag
  FROM base AS b
  LEFT JOIN critical AS c ON b.stay_id = c.stay_id
)
SELECT CASE WHEN is_aki = 1 THEN 'AKI' ELSE 'Control' END AS cohort,
       COUNT(DISTINCT stay_id) AS number_of_stays,
       AVG(instability_score) AS avg_score,
       percentile_disc(0.25) WITHIN GROUP (ORDER BY instability_score) AS p25,
       percentile_disc(0.75) WITHIN GROUP (ORDER BY instability_score) AS p75,
       SUM(instability_score)::numeric / NULLIF(SUM(total_tests), 0) AS critical_event_frequency,
       AVG(los_days) AS avg_los_days, AVG(expire_flag) AS mortality
FROM per_stay
GROUP BY is_aki
ORDER BY is_aki DESC;

-- [a54] leavers by job title as a share of all who were hired in some years; from github HalimatThanni/Human-Resource-SQL-Analysis, 7a
SELECT job_title, (COUNT(CASE WHEN termination_date IS NOT NULL THEN 1 END) * 100 / SUM(COUNT(emp_no)) OVER ()) AS churn_rate
FROM staff
WHERE hire_date BETWEEN '2010-01-01' AND '2015-12-31'
GROUP BY job_title
ORDER BY churn_rate DESC;

-- [a55] share of girls by class; from github jmvjmv1234/2ID70, q2Queries.sql
SELECT P.class, AVG(CASE P.gender WHEN 'F' THEN 1 ELSE 0 END) * 100 AS percentage FROM pupils AS P GROUP BY P.class;

-- [a56] regions' shares of all loans; from PKDD'99 bank project (github DominikaDziedzic/SQL, 7)
WITH cte AS (
  SELECT r.region_name, count(DISTINCT c.client_id) AS customer_amount, sum(l.amount) AS loans_given_amount, count(l.amount) AS loans_given_count
  FROM loans AS l
  INNER JOIN clients AS c USING (client_id)
  INNER JOIN regions AS r USING (region_id)
  WHERE True AND l.status IN ('A', 'C')
  GROUP BY r.region_name
)
SELECT *, loans_given_amount / SUM(loans_given_amount) OVER () AS share FROM cte ORDER BY share DESC;

-- [a57] one pupil's attendance in percent, with a cast; from student app (code search, getOverallAttendance)
SELECT SUM(CASE WHEN status = 'present' THEN 1 ELSE 0 END)::int AS total_present, COUNT(*)::int AS total_classes,
       ROUND((SUM(CASE WHEN status = 'present' THEN 1 ELSE 0 END)::numeric / NULLIF(COUNT(*), 0)) * 100, 2) AS attendance_percentage
FROM attendance
WHERE pupil_id = 17;

-- [a58] the fourth highest pay; from tech-recipes.com, nth highest salary
SELECT salary FROM (
  SELECT DISTINCT salary, DENSE_RANK() OVER (ORDER BY salary DESC) AS rnk FROM salaries WHERE to_date = '9999-01-01'
) t WHERE rnk = 4;

-- [a59] deposits of a client, their number and sum on average; from 8weeksqlchallenge.com case 4 B2 (github pedropalmier)
WITH total_deposits AS (
  SELECT a.client_id, COUNT(t.txn_type) AS unique_count, SUM(t.amount) AS total_amount
  FROM txns t JOIN accounts a USING (account_id)
  WHERE t.txn_type = 'deposit'
  GROUP BY a.client_id
)
SELECT ROUND(AVG(unique_count), 0) AS avg_total_deposit, ROUND(AVG(total_amount), 2) AS avg_total_amount FROM total_deposits;

-- [a60] how many pupils have a classmate with a scholarship; from profs.info.uaic.ro, lab 10 EXISTS
SELECT COUNT(*) FROM pupils s1
WHERE EXISTS (SELECT * FROM pupils s2 WHERE s2.scholarship IS NOT NULL AND s1.class = s2.class AND s1.pupil_id <> s2.pupil_id);

-- [a61] share of clients whose balance once grew by more than a twentieth in a month; from 8weeksqlchallenge.com case 4 B5 (github pedropalmier)
WITH monthly AS (
  SELECT client_id, DATE_TRUNC('month', txn_at) AS month_date, SUM(CASE WHEN txn_type = 'deposit' THEN amount ELSE amount * (-1) END) AS net
  FROM txns JOIN accounts USING (account_id)
  GROUP BY client_id, DATE_TRUNC('month', txn_at)
), closing AS (
  SELECT client_id, month_date, SUM(net) OVER (PARTITION BY client_id ORDER BY month_date) AS closing_balance FROM monthly
), variation AS (
  SELECT client_id, closing_balance, LAG(closing_balance) OVER (PARTITION BY client_id ORDER BY month_date) AS prev_balance FROM closing
), stats AS (
  SELECT COUNT(DISTINCT client_id) FILTER (WHERE prev_balance > 0 AND (closing_balance - prev_balance) / prev_balance > 0.05) AS qualified,
         COUNT(DISTINCT client_id) FILTER (WHERE prev_balance > 0) AS eligible
  FROM variation
)
SELECT ROUND(100.0 * qualified::numeric / NULLIF(eligible, 0), 2) AS pct_customers_increase_over_5 FROM stats;

-- [a62] one row for the directors, of four single rows; from github mohitkumar7-123/hospital-readmission, Q45
WITH financials AS (SELECT SUM(total_bill) AS rev FROM stays),
     volume AS (SELECT COUNT(*) AS vol FROM stays),
     rates AS (SELECT AVG(expire_flag) AS rate FROM stays),
     top_diag AS (SELECT diagnosis FROM stays GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1)
SELECT rev AS "Total Revenue", vol AS "Total Patients", ROUND(rate * 100, 2) AS "Death %", diagnosis AS "Top Driver"
FROM financials, volume, rates, top_diag;

-- [a63] pupils with poor attendance and poor marks, two child tables joined at once; from github RameshMedaboina/school-db-assignment, reports 11
SELECT s.pupil_id, s.name,
       ROUND(SUM(CASE WHEN a.status = 'present' THEN 1 ELSE 0 END)::numeric / COUNT(*) * 100, 2) AS attendance_pct,
       ROUND(AVG(m.mark), 2) AS avg_marks
FROM pupils s
LEFT JOIN attendance a ON s.pupil_id = a.pupil_id
LEFT JOIN marks m ON s.pupil_id = m.pupil_id
GROUP BY s.pupil_id, s.name
HAVING ROUND(SUM(CASE WHEN a.status = 'present' THEN 1 ELSE 0 END)::numeric / COUNT(*) * 100, 2) < 80 AND AVG(m.mark) < 40;

-- [a64] each manager beside every calendar year, active or not; from MySQL and Tableau course (code search, t_dept_manager CROSS JOIN years)
SELECT d.dept_name, m.gender, m.emp_no, m.hire_date, m.termination_date, e.calendar_year,
       CASE WHEN COALESCE(EXTRACT(YEAR FROM m.termination_date), 9999) >= e.calendar_year
             AND EXTRACT(YEAR FROM m.hire_date) <= e.calendar_year THEN 1 ELSE 0 END AS active
FROM (SELECT EXTRACT(YEAR FROM hire_date) AS calendar_year FROM staff GROUP BY calendar_year) e
CROSS JOIN staff m
JOIN departments d ON d.dept_no = m.dept_no
WHERE m.emp_no IN (SELECT manager_no FROM staff)
ORDER BY m.emp_no, calendar_year;

-- [a65] the three facilities with most revenue, ties included; from github tlgs/pgexercises, aggregates 19
SELECT name, rank FROM (
  SELECT f.name AS name,
         rank() OVER (ORDER BY sum(CASE WHEN memid = 0 THEN slots * f.guestcost ELSE slots * membercost END) DESC) AS rank
  FROM bookings b
  INNER JOIN facilities f ON b.facid = f.facid
  GROUP BY f.name
) AS subq
WHERE rank <= 3
ORDER BY rank, name;

-- [a66] genders side by side, by department, with a needless DISTINCT; from github HalimatThanni/Human-Resource-SQL-Analysis, 8a
SELECT DISTINCT(dept_no),
       COUNT(CASE WHEN gender = 'M' THEN 1 END) AS male,
       COUNT(CASE WHEN gender = 'F' THEN 1 END) AS female,
       COUNT(CASE WHEN gender IS NULL THEN 1 END) AS unknown
FROM staff
GROUP BY dept_no;

-- [a67] number and volume of transactions by day; from github Sanaurrehmanarain/Bank-Vault-Core-SQL, 9
SELECT DATE(txn_at) AS date, COUNT(*) AS num_trans, SUM(ABS(amount)) AS volume FROM txns GROUP BY DATE(txn_at);

-- [a68] gender in percent; from github HalimatThanni/Human-Resource-SQL-Analysis, 12
SELECT gender, (COUNT(gender) * 100.0 / SUM(COUNT(gender)) OVER ()) AS percentage
FROM staff
GROUP BY gender
ORDER BY percentage DESC;

-- [a69] diagnoses' parts of all bills; from github mohitkumar7-123/hospital-readmission, Q40
SELECT diagnosis, COUNT(*) AS case_count, SUM(total_bill) AS total_revenue,
       ROUND(SUM(total_bill) / SUM(SUM(total_bill)) OVER () * 100, 2) AS pct_of_total_revenue
FROM stays
WHERE total_bill IS NOT NULL
GROUP BY diagnosis
ORDER BY total_revenue DESC;

-- [a70] the three longest runs of days present; from stratascratch, user streaks (github Ryan-Ashton)
WITH base AS (
  SELECT pupil_id, day FROM attendance WHERE status IN ('present', 'late') GROUP BY pupil_id, day
), calc AS (
  SELECT *, day - CAST(row_number() OVER (PARTITION BY pupil_id ORDER BY day) AS int) AS flag FROM base
), calc2 AS (
  SELECT pupil_id, flag, COUNT(flag) AS streak_count FROM calc GROUP BY pupil_id, flag
)
SELECT pupil_id, MAX(streak_count) AS streak_length FROM calc2 GROUP BY pupil_id ORDER BY streak_length DESC LIMIT 3;

-- [a71] death, bill and length by how many diagnoses a stay has; from github mohitkumar7-123/hospital-readmission, Q14
SELECT n.comorbidity_score, COUNT(*) AS stays, ROUND(AVG(s.expire_flag) * 100, 1) AS death_rate,
       ROUND(AVG(s.total_bill), 0) AS avg_cost, ROUND(AVG(s.discharge_time::date - s.admit_time::date), 1) AS avg_los
FROM stays s
JOIN (SELECT stay_id, COUNT(*) AS comorbidity_score FROM stay_diagnoses GROUP BY stay_id) n USING (stay_id)
GROUP BY n.comorbidity_score
ORDER BY n.comorbidity_score;

-- [a72] the largest transaction of each category; from stackoverflow, first row in each group (itecnote.com); github Prashu94/Notes 3.2.4
SELECT DISTINCT ON (category) category, txn_id, account_id, amount, merchant
FROM txns
WHERE category IS NOT NULL
ORDER BY category, amount DESC NULLS LAST, txn_id;

-- [a73] customers, films and rentals in all, each by a subquery; from DVD rental script (code search: total counts of key entities)
SELECT (SELECT COUNT(DISTINCT customer_id) FROM customer) AS total_customers,
       (SELECT COUNT(DISTINCT film_id) FROM film) AS total_films,
       (SELECT COUNT(rental_id) FROM rental) AS total_rentals;

-- [a74] loans paid back, not paid back and all; from PKDD'99 bank project (github Anikacod/Project-SQL-loans)
SELECT 'Repaid loans' AS status_group, count(CASE WHEN status IN ('A', 'C') THEN loan_id END) AS total_loans FROM loans
UNION ALL
SELECT 'Unpaid loans' AS status_group, count(CASE WHEN status IN ('B', 'D') THEN loan_id END) AS total_loans FROM loans
UNION ALL
SELECT 'Total' AS status_group, count(loan_id) AS total_loans FROM loans;

-- [a75] copies, rentals and income of the ten films that brought least; from carolinapachonportfolio.com, Rockbuster
SELECT f.title, COUNT(DISTINCT i.inventory_id) AS number_copies, COUNT(r.rental_id) AS rental_count, ROUND(SUM(p.amount), 0) AS revenue
FROM film f
JOIN inventory i ON f.film_id = i.film_id
JOIN rental r ON i.inventory_id = r.inventory_id
JOIN payment p ON r.rental_id = p.rental_id
GROUP BY f.film_id
ORDER BY SUM(p.amount)
LIMIT 10;

-- [a76] income of one store by rating in some weeks, tables joined by commas; from code search: DVD rental class notes (IN, comparison operators, HAVING)
SELECT i.store_id AS store, f.rating AS movie_rating, sum(p.amount) AS store_revenue
FROM film f, payment p, inventory i, rental r
WHERE p.rental_id = r.rental_id AND r.inventory_id = i.inventory_id AND i.film_id = f.film_id
  AND i.store_id = 1 AND f.rating IN ('R', 'PG-13') AND r.rental_date BETWEEN '2023-06-08' AND '2023-12-19'
GROUP BY 1, 2
ORDER BY 3 DESC;

-- [a77] mortality with its confidence interval by length of stay and burden of disease; from clinsql medium 015 (github hannesill/m4)
WITH cohort AS (
  SELECT p.patient_id, s.stay_id, s.expire_flag, s.discharge_time::date - s.admit_time::date AS length_of_stay
  FROM patients AS p
  INNER JOIN stays AS s ON p.patient_id = s.patient_id
  WHERE p.sex = 'F' AND s.discharge_time IS NOT NULL
    AND EXISTS (SELECT 1 FROM stay_diagnoses AS d WHERE s.stay_id = d.stay_id AND (d.icd_code LIKE 'I6%' OR d.icd_code LIKE 'I5%' OR d.icd_code = 'I10'))
), burden AS (
  SELECT c.stay_id, COUNT(DISTINCT d.icd_code) AS diagnosis_count
  FROM cohort AS c INNER JOIN stay_diagnoses AS d ON c.stay_id = d.stay_id
  GROUP BY c.stay_id
), classified AS (
  SELECT c.stay_id, c.expire_flag,
         CASE WHEN c.length_of_stay <= 5 THEN '<=5 days' ELSE '>5 days' END AS los_category,
         CASE NTILE(3) OVER (ORDER BY b.diagnosis_count) WHEN 1 THEN 'Low' WHEN 2 THEN 'Medium' ELSE 'High' END AS burden
  FROM cohort AS c INNER JOIN burden AS b ON c.stay_id = b.stay_id
)
SELECT los_category, burden, COUNT(*) AS total, SUM(expire_flag) AS deaths,
       ROUND(SUM(expire_flag) * 100.0 / COUNT(*), 2) AS mortality_pct,
       ROUND(GREATEST(0, (AVG(expire_flag) - 1.96 * SQRT(AVG(expire_flag) * (1 - AVG(expire_flag)) / COUNT(*))) * 100.0), 2) AS ci_low,
       ROUND(LEAST(100, (AVG(expire_flag) + 1.96 * SQRT(AVG(expire_flag) * (1 - AVG(expire_flag)) / COUNT(*))) * 100.0), 2) AS ci_high
FROM classified
GROUP BY los_category, burden
ORDER BY los_category, CASE burden WHEN 'Low' THEN 1 WHEN 'Medium' THEN 2 ELSE 3 END;

-- [a78] members ranked by the hours they booked, rounded to ten; from github tlgs/pgexercises, aggregates 18
SELECT firstname, surname, ((sum(b.slots) + 10) / 20) * 10 AS hours,
       rank() OVER (ORDER BY ((sum(b.slots) + 10) / 20) * 10 DESC) AS rank
FROM bookings b
INNER JOIN members m ON b.memid = m.memid
GROUP BY m.memid
ORDER BY rank, surname, firstname;

-- [a79] whether a department was paid more or less than the company, by month of the bonus; from leetcode 615 (github shawlu95/Beyond-LeetCode-SQL)
SELECT a.pay_month, a.dept_no,
       CASE WHEN a.dept_avg < b.corp_avg THEN 'lower' WHEN a.dept_avg = b.corp_avg THEN 'same' ELSE 'higher' END AS comparison
FROM (
  SELECT to_char(paid_on, 'YYYY-MM') AS pay_month, e.dept_no, AVG(s.amount) AS dept_avg
  FROM bonuses AS s JOIN staff AS e ON s.emp_no = e.emp_no
  GROUP BY pay_month, e.dept_no
) AS a
JOIN (SELECT to_char(paid_on, 'YYYY-MM') AS pay_month, AVG(amount) AS corp_avg FROM bonuses GROUP BY pay_month) AS b
  ON a.pay_month = b.pay_month
ORDER BY pay_month, dept_no;

-- [a80] how often each film of the family kinds was rented; from Udacity, investigate a relational database 1 (github rubanasser77/Sakila-DVD-Rental-database)
SELECT f.title, c.name, COUNT(r.rental_id)
FROM film_category fc
JOIN category c ON c.category_id = fc.category_id
JOIN film f ON f.film_id = fc.film_id
JOIN inventory i ON i.film_id = f.film_id
JOIN rental r ON r.inventory_id = i.inventory_id
WHERE c.name IN ('Animation', 'Children', 'Comedy', 'Family', 'Music')
GROUP BY 1, 2
ORDER BY 2, 1;

-- [a81] clients with an open account at each month's end, and the change in percent; from nerchukoacademy.in, active customers month over month
WITH months AS (
  SELECT CAST(m AS date) AS month_start FROM generate_series(timestamp '2023-01-01', timestamp '2024-12-01', interval '1 month') AS g(m)
), month_ends AS (
  SELECT month_start, (month_start + INTERVAL '1 month' - INTERVAL '1 day')::date AS month_end FROM months
), active AS (
  SELECT me.month_start, COUNT(DISTINCT a.client_id) AS active_customers
  FROM month_ends me
  LEFT JOIN accounts a ON a.opened_on <= me.month_end AND (a.closed_on IS NULL OR a.closed_on >= me.month_end) AND a.status <> 'frozen'
  GROUP BY me.month_start
)
SELECT month_start, active_customers,
       ROUND((active_customers - LAG(active_customers) OVER (ORDER BY month_start)) * 100.0
             / NULLIF(LAG(active_customers) OVER (ORDER BY month_start), 0), 2) AS mom_growth_pct
FROM active
ORDER BY month_start;

-- [a82] what men earn more than women, by department, in percent; from calculator.city gender salary ratio; forum question on pivots
SELECT d.dept_name,
       AVG(CASE WHEN e.gender = 'M' THEN p.salary END) AS avg_male,
       AVG(CASE WHEN e.gender = 'F' THEN p.salary END) AS avg_female,
       ROUND((AVG(CASE WHEN e.gender = 'M' THEN p.salary END) - AVG(CASE WHEN e.gender = 'F' THEN p.salary END))
             / NULLIF(AVG(CASE WHEN e.gender = 'M' THEN p.salary END), 0) * 100, 2) AS gap_pct
FROM staff e
JOIN salaries p ON p.emp_no = e.emp_no
LEFT JOIN departments d ON d.dept_no = e.dept_no
WHERE p.to_date > CURRENT_DATE
GROUP BY d.dept_name
ORDER BY gap_pct DESC NULLS LAST;

-- [a83] patients who came back three times or more; from github mohitkumar7-123/hospital-readmission, Q38
SELECT patient_id, COUNT(*) AS total_readmissions, ROUND(AVG(days_gap), 1) AS avg_days, MIN(days_gap) AS fastest,
       ROUND(100.0 * SUM(CASE WHEN days_gap <= 30 THEN 1 ELSE 0 END) / COUNT(*), 0) AS pct_rapid
FROM (
  SELECT patient_id, admit_time::date - LAG(discharge_time::date) OVER (PARTITION BY patient_id ORDER BY admit_time) AS days_gap FROM stays
) gaps
WHERE days_gap IS NOT NULL
GROUP BY patient_id
HAVING COUNT(*) >= 3
ORDER BY total_readmissions DESC
LIMIT 10;

-- [a84] visits on every date; from github SudhinPillai26/The_Gym_Group_UK, problem 9
SELECT CAST(checked_in_at AS date) AS visit_date, COUNT(*) AS total_visits
FROM checkins
GROUP BY 1
ORDER BY 1;

-- [a85] a first password of every admitted patient; from sql-practice.com hospital, hard 4 (github Anini-A/SQL-Challenge)
SELECT DISTINCT p.patient_id, CONCAT(p.patient_id, LENGTH(split_part(p.name, ' ', 1)), EXTRACT(YEAR FROM p.birth_date)) AS temp_password
FROM patients p
JOIN stays s ON p.patient_id = s.patient_id;

-- [a86] how many are in at the same time, for every hour of some days; from stackoverflow.com 66416245, concurrent sessions per hour
SELECT h.hour, COUNT(DISTINCT c.memid) AS sessions
FROM generate_series(timestamptz '2024-05-01 00:00:00+00', timestamptz '2024-05-07 23:00:00+00', interval '1 hour') AS h(hour)
LEFT JOIN checkins c ON c.checked_in_at < h.hour + interval '1 hour' AND c.checked_out_at >= h.hour
GROUP BY h.hour
ORDER BY h.hour;

-- [a87] patients there are and patients with a stay; from MIMIC-III cohort script (code search: SELECT 'patients' UNION 'icustays')
SELECT 'patients' AS src, COUNT(DISTINCT patient_id) AS n_pt FROM patients
UNION
SELECT 'stays' AS src, COUNT(DISTINCT patient_id) AS n_pt FROM stays;

-- [a88] readmitted within thirty days, with median stays of both groups; from clinsql hard 004 (github hannesill/m4)
WITH all_stays AS (
  SELECT p.patient_id, p.sex, p.insurance, s.stay_id, s.admit_time, s.discharge_time, s.admission_type,
         LEAD(s.admit_time, 1) OVER (PARTITION BY s.patient_id ORDER BY s.admit_time) AS next_admit_time
  FROM stays AS s
  INNER JOIN patients AS p ON s.patient_id = p.patient_id
), index_stays AS (
  SELECT a.stay_id, EXTRACT(EPOCH FROM (a.discharge_time - a.admit_time)) / 86400.0 AS los_days,
         (a.next_admit_time IS NOT NULL AND a.next_admit_time > a.discharge_time
          AND a.next_admit_time::date - a.discharge_time::date <= 30) AS is_readmitted_30_days
  FROM all_stays AS a
  INNER JOIN stay_diagnoses AS d ON a.stay_id = d.stay_id
  WHERE a.sex = 'F' AND UPPER(a.insurance) LIKE '%MEDIC%' AND d.seq_num = 1 AND d.icd_code LIKE 'I%' AND a.discharge_time IS NOT NULL
)
SELECT COUNT(stay_id) AS total_stays,
       COUNT(*) FILTER (WHERE is_readmitted_30_days) * 100.0 / NULLIF(COUNT(stay_id), 0) AS readmission_rate_30_day_pct,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY los_days) FILTER (WHERE is_readmitted_30_days) AS median_los_readmitted,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY los_days) FILTER (WHERE NOT is_readmitted_30_days) AS median_los_not_readmitted,
       COUNT(*) FILTER (WHERE los_days > 7) * 100.0 / NULLIF(COUNT(stay_id), 0) AS pct_los_gt_7_days
FROM index_stays;

-- [a89] services ranked by how fast the old among their patients grow; from tryexponent.com, patient visits 5 (github adiag321)
WITH cte1 AS (
  SELECT s.service, to_char(s.admit_time, 'YYYY-MM') AS mnth_yr, COUNT(*) AS patients_seen
  FROM stays s
  JOIN patients pa ON s.patient_id = pa.patient_id
  WHERE EXTRACT(YEAR FROM AGE(s.admit_time, pa.birth_date)) > 65
  GROUP BY 1, 2
), growth AS (
  SELECT *, patients_seen - COALESCE(LAG(patients_seen) OVER (PARTITION BY service ORDER BY mnth_yr), 0) AS mom_growth FROM cte1
)
SELECT service, mnth_yr, mom_growth, DENSE_RANK() OVER (PARTITION BY service ORDER BY mom_growth DESC) AS rnk FROM growth;

-- [a90] admissions by month with its name; from github mohitkumar7-123/hospital-readmission, Q18
SELECT EXTRACT(MONTH FROM admit_time) AS month, TO_CHAR(admit_time, 'Month') AS month_name, COUNT(*) AS admissions,
       ROUND(AVG(expire_flag) * 100, 1) AS death_rate
FROM stays
GROUP BY EXTRACT(MONTH FROM admit_time), TO_CHAR(admit_time, 'Month')
ORDER BY EXTRACT(MONTH FROM admit_time);

-- [a91] dashboard of current pay by gender: count, share, mean, extremes, median, quartiles, spread; from github ajm-data/HR_analytics_company_department, aggregated views, company
SELECT s.gender, COUNT(*) AS employee_count,
       ROUND(100 * COUNT(*)::numeric / SUM(COUNT(*)) OVER ()) AS employee_percentage,
       ROUND(AVG(p.salary)) AS avg_salary,
       ROUND(MIN(p.salary)) AS min_salary,
       ROUND(MAX(p.salary)) AS max_salary,
       ROUND(PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY p.salary)) AS median_salary,
       ROUND(PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY p.salary) - PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY p.salary)) AS inter_quartile_range,
       ROUND(STDDEV(p.salary)) AS stddev_salary
FROM staff s
JOIN salaries p ON p.emp_no = s.emp_no AND p.to_date = '9999-01-01'
WHERE s.termination_date IS NULL
GROUP BY s.gender;

-- [a92] all dates of one October; from github tlgs/pgexercises, dates 3
SELECT generate_series(timestamp '2024-10-01', timestamp '2024-10-31', interval '1 day') AS ts;

-- [a93] pay and bonus of one department, pay kept single by DISTINCT; from SQL Cookbook 3.9 (fliphtml5.com, microcodes.blogspot.com)
SELECT dept_no, SUM(DISTINCT salary) AS total_sal, SUM(bonus) AS total_bonus
FROM (
  SELECT e.emp_no, p.salary, e.dept_no,
         p.salary * CASE WHEN b.kind = 1 THEN .1 WHEN b.kind = 2 THEN .2 ELSE .3 END AS bonus
  FROM staff e, salaries p, bonuses b
  WHERE e.emp_no = b.emp_no AND p.emp_no = e.emp_no AND p.to_date = '9999-01-01' AND e.dept_no = 'd003'
) x
GROUP BY dept_no;

-- [a94] films by rating drawn as text; from github bibajz/mastery-with-sql, 4.14
SELECT rating, repeat('$', (count(*) / 2)::int) AS "count/2" FROM film WHERE rating IS NOT NULL GROUP BY rating;

-- [a95] share of each gender within its department; from github ajm-data/HR_analytics_company_department, aggregated views, department
SELECT s.gender, d.dept_name, COUNT(*) AS employee_count,
       ROUND(100 * COUNT(*)::numeric / SUM(COUNT(*)) OVER (PARTITION BY d.dept_name)) AS employee_percentage,
       ROUND(AVG(EXTRACT(YEAR FROM AGE(DATE '2024-12-31', s.hire_date)))) AS company_tenure
FROM staff s
JOIN departments d USING (dept_no)
WHERE s.termination_date IS NULL
GROUP BY s.gender, d.dept_name;

-- [a96] letter grades as a share of all marks; from stackoverflow, percentage with a SQL statement (universal version)
WITH t(grade, grade_count) AS (
  SELECT CASE WHEN mark >= 90 THEN 'A' WHEN mark >= 75 THEN 'B' WHEN mark >= 60 THEN 'C' WHEN mark >= 50 THEN 'D' ELSE 'F' END, COUNT(*)
  FROM marks
  WHERE mark IS NOT NULL
  GROUP BY 1
)
SELECT grade, grade_count * 100.0 / (SELECT SUM(grade_count) FROM t) AS score FROM t ORDER BY grade;

-- [a97] admissions by day and their mean over seven days; from github mohitkumar7-123/hospital-readmission, Q25
SELECT admit_time::date AS admission_date, COUNT(*) AS daily_admissions,
       AVG(COUNT(*)) OVER (ORDER BY admit_time::date ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS moving_avg_7day
FROM stays
GROUP BY admit_time::date
ORDER BY admission_date;

-- [a98] rentals by year and month with subtotals; from github tylerheadley/pagila-hw2, 13
SELECT EXTRACT(YEAR FROM rental_date) AS "Year", EXTRACT(MONTH FROM rental_date) AS "Month", COUNT(rental_id) AS "Total Rentals"
FROM rental
GROUP BY ROLLUP (EXTRACT(YEAR FROM rental_date), EXTRACT(MONTH FROM rental_date))
ORDER BY "Year", "Month";

-- [a99] glucose tests a stay by its length, in quartiles; from clinsql medium 009 (github hannesill/m4)
WITH selected AS (
  SELECT DISTINCT p.patient_id, s.stay_id,
         CASE WHEN s.discharge_time::date - s.admit_time::date BETWEEN 1 AND 4 THEN '1-4 Days'
              WHEN s.discharge_time::date - s.admit_time::date BETWEEN 5 AND 7 THEN '5-7 Days' END AS stay_category
  FROM patients AS p
  INNER JOIN stays AS s ON p.patient_id = s.patient_id
  INNER JOIN stay_diagnoses AS d ON s.stay_id = d.stay_id
  WHERE p.sex = 'F' AND (d.icd_code LIKE 'E11%' OR d.icd_code LIKE 'E66%')
), counted AS (
  SELECT t.stay_id, t.stay_category, COUNT(l.lab_id) AS test_count
  FROM selected AS t
  LEFT JOIN labs AS l ON t.stay_id = l.stay_id AND l.test = 'glucose'
  WHERE t.stay_category IS NOT NULL
  GROUP BY t.stay_id, t.stay_category
)
SELECT stay_category, COUNT(stay_id) AS stays,
       percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY test_count) AS quartiles
FROM counted
GROUP BY stay_category
ORDER BY stay_category;

-- [a100] pupils with at least the mean scholarship of their class; from profs.info.uaic.ro, lab 10 correlated subqueries
SELECT name, class, scholarship FROM pupils s1
WHERE scholarship >= (SELECT AVG(scholarship) FROM pupils s2 GROUP BY class HAVING s1.class = s2.class);

-- [a101] rentals and copies by title, by category; from github.com/tuckercp/Udacity-Programming-for-Data-Science-ND, question 1
WITH copies AS (
  SELECT c.name, COUNT(DISTINCT i.inventory_id) AS n_copies, COUNT(DISTINCT i.film_id) AS n_titles
  FROM category c JOIN film_category fc USING (category_id) JOIN inventory i USING (film_id)
  GROUP BY c.name
), rented AS (
  SELECT c.name, COUNT(r.rental_id) AS n_rentals
  FROM category c JOIN film_category fc USING (category_id) JOIN inventory i USING (film_id) JOIN rental r USING (inventory_id)
  GROUP BY c.name
)
SELECT name, ROUND(n_copies::numeric / n_titles, 2) AS copies_per_title, ROUND(n_rentals::numeric / n_titles, 2) AS rentals_per_title
FROM copies JOIN rented USING (name)
ORDER BY rentals_per_title DESC;

-- [a102] how many have the longest and the shortest tenure, and the days between; from stratascratch, most senior and junior employee (github Ryan-Ashton)
WITH base AS (
  SELECT emp_no, DATE '2024-12-31' - hire_date AS diff FROM staff WHERE termination_date IS NULL
), calc AS (
  SELECT *, MIN(diff) OVER () AS minimum, MAX(diff) OVER () AS maximum FROM base
)
SELECT SUM(CASE WHEN minimum = diff THEN 1 ELSE 0 END) AS shortest_tenured_count,
       SUM(CASE WHEN maximum = diff THEN 1 ELSE 0 END) AS longest_tenured_count,
       maximum - minimum AS days_diff
FROM calc
GROUP BY maximum, minimum;

-- [a103] median pay by job title, by the middle row numbers; from stratascratch, median job salaries (github Ryan-Ashton)
WITH calc AS (
  SELECT e.job_title, p.salary,
         ROW_NUMBER() OVER (PARTITION BY e.job_title ORDER BY p.salary DESC) AS median_helper,
         COUNT(*) OVER (PARTITION BY e.job_title) AS total
  FROM staff e JOIN salaries p USING (emp_no)
  WHERE p.to_date = '9999-01-01'
)
SELECT job_title, AVG(salary) AS median_pay
FROM calc
WHERE CASE WHEN total % 2 = 0 THEN total / 2 ELSE CEILING(total / 2.0) END = median_helper
   OR CASE WHEN total % 2 = 0 THEN total / 2 + 1 ELSE CEILING(total / 2.0) END = median_helper
GROUP BY job_title
ORDER BY median_pay DESC;

-- [a104] months from hiring to leaving, on average; from github Aypaul95/data-analytics-portfolio, attrition 4
SELECT AVG(EXTRACT(YEAR FROM AGE(termination_date, hire_date)) * 12 + EXTRACT(MONTH FROM AGE(termination_date, hire_date))) AS avg_tenure_months
FROM staff
WHERE termination_date IS NOT NULL;

-- [a105] quartiles of mean marks: how many and between what; from github analyst-Riya/student-management, quartile banding
WITH averages AS (
  SELECT pupil_id, AVG(mark) AS avg_mark FROM marks GROUP BY pupil_id
), banded AS (
  SELECT avg_mark, NTILE(4) OVER (ORDER BY avg_mark DESC) AS quartile FROM averages WHERE avg_mark IS NOT NULL
)
SELECT quartile, COUNT(*) AS pupils, ROUND(MIN(avg_mark), 1) AS lowest, ROUND(MAX(avg_mark), 1) AS highest
FROM banded
GROUP BY quartile
ORDER BY quartile;

-- [a106] rolling average of daily revenue over fifteen days; from github tlgs/pgexercises, aggregates 22
WITH daily_totals AS (
  SELECT CAST(b.starttime AS date) AS day,
         SUM(CASE b.memid WHEN 0 THEN b.slots * f.guestcost ELSE b.slots * f.membercost END) AS revenue
  FROM bookings AS b
  INNER JOIN facilities AS f USING (facid)
  GROUP BY day
), rolling AS (
  SELECT CAST(d.day AS date) AS day, AVG(t.revenue) OVER (ORDER BY d.day ROWS 14 PRECEDING) AS revenue
  FROM generate_series(DATE '2024-07-18', DATE '2024-08-31', INTERVAL '1 day') AS d(day)
  LEFT OUTER JOIN daily_totals AS t ON t.day = d.day
)
SELECT * FROM rolling WHERE day >= '2024-08-01' ORDER BY day;

-- [a107] mean mark by subject by a right join, by column numbers; from github giroevskaya-victoria/innowise_laboratory, lecture 4
SELECT subject_name, ROUND(AVG(mark), 1)
FROM marks RIGHT JOIN subjects ON marks.subject_id = subjects.subject_id
GROUP BY 1;

-- [a108] pupils of every year, without the letter of the class; from github prog-1/databases-ex03, exercise 2
SELECT substring(class FROM '^[0-9]+')::int AS year, count(*) FROM pupils GROUP BY 1 ORDER BY 1;

-- [a109] share of active patients with a glucose test in a year, by band of age; from Synthea flu shot dashboard (github pantaparna, CNormx: objectives)
WITH active AS (
  SELECT DISTINCT p.patient_id, p.birth_date
  FROM patients p JOIN stays s ON s.patient_id = p.patient_id
  WHERE s.admit_time BETWEEN '2023-01-01' AND '2024-12-31' AND p.death_date IS NULL
), tested AS (
  SELECT patient_id, MIN(taken_at) AS earliest FROM labs
  WHERE test = 'glucose' AND taken_at BETWEEN '2024-01-01 00:00+00' AND '2024-12-31 23:59+00'
  GROUP BY patient_id
)
SELECT CASE WHEN DATE_PART('year', AGE(DATE '2024-12-31', a.birth_date)) < 18 THEN '0-17'
            WHEN DATE_PART('year', AGE(DATE '2024-12-31', a.birth_date)) < 65 THEN '18-64' ELSE '65+' END AS age_group,
       COUNT(*) AS patients, SUM(CASE WHEN t.patient_id IS NOT NULL THEN 1 ELSE 0 END) AS tested,
       ROUND(AVG(CASE WHEN t.patient_id IS NOT NULL THEN 100.0 ELSE 0 END), 1) AS pct
FROM active a
LEFT JOIN tested t USING (patient_id)
GROUP BY 1
ORDER BY 1;

-- [a110] customers who rented one film and later another; from github bibajz/mastery-with-sql, 7.10
WITH rental_detail AS (
  SELECT r.customer_id, r.rental_date, f.title
  FROM rental AS r
  INNER JOIN inventory AS i USING (inventory_id)
  INNER JOIN film AS f USING (film_id)
)
SELECT rd1.customer_id
FROM rental_detail AS rd1
INNER JOIN rental_detail AS rd2 ON rd1.customer_id = rd2.customer_id
WHERE rd1.rental_date < rd2.rental_date AND rd1.title = 'BRIDE INTRIGUE' AND rd2.title = 'STAR OPERATION';

-- [a111] leavers by city against those who were there before; from github HalimatThanni/Human-Resource-SQL-Analysis, 15
SELECT city,
       COUNT(CASE WHEN termination_date IS NOT NULL THEN 1 END) * 100.0
         / (SELECT COUNT(*) FROM staff WHERE hire_date <= '2010-01-01') AS churn_rate
FROM staff
WHERE termination_date BETWEEN '2010-01-01' AND '2019-12-31'
GROUP BY city
ORDER BY churn_rate DESC;

-- [a112] years of tenure by department, grouped by the hire date as well; from github HalimatThanni/Human-Resource-SQL-Analysis, 7c
SELECT dept_no, EXTRACT(YEAR FROM AGE(DATE '2024-12-31', hire_date)) AS avg_tenure
FROM staff
GROUP BY dept_no, hire_date
ORDER BY avg_tenure DESC;

-- [a113] histogram of marks with labels and empty buckets; from crunchydata.com / cetyler.github.io, creating histograms
WITH settings AS (
  SELECT 5 AS bucket_count, 0 AS min_value, 100 AS max_value
), histogram AS (
  SELECT width_bucket(m.mark, s.min_value, s.max_value + 1, s.bucket_count) AS bucket, COUNT(m.mark) AS frequency
  FROM marks m, settings s
  WHERE m.mark IS NOT NULL
  GROUP BY 1
), all_buckets AS (
  SELECT b.bucket, s.min_value + (b.bucket - 1) * (s.max_value - s.min_value) / s.bucket_count AS lower_edge
  FROM settings s, generate_series(1, 5) AS b(bucket)
)
SELECT a.bucket, a.lower_edge, COALESCE(h.frequency, 0) AS frequency
FROM all_buckets a
LEFT JOIN histogram h USING (bucket)
ORDER BY a.bucket;

-- [a114] who recommended whom, upward from one member; from github tlgs/pgexercises, recursive 1
WITH RECURSIVE recommenders(recommender) AS (
  SELECT recommendedby FROM members WHERE memid = 27
  UNION ALL
  SELECT m.recommendedby FROM recommenders r INNER JOIN members m ON m.memid = r.recommender
)
SELECT r.recommender, m.firstname, m.surname
FROM recommenders r
INNER JOIN members m ON r.recommender = m.memid
ORDER BY memid DESC;

-- [a115] films of the family kinds by quartile of their allowed days; from Udacity, investigate a relational database 3 (github rubanasser77/Sakila-DVD-Rental-database)
SELECT t1.name, t1.standard_quartile, COUNT(t1.standard_quartile)
FROM (
  SELECT f.title, c.name, f.rental_duration, NTILE(4) OVER (ORDER BY f.rental_duration) AS standard_quartile
  FROM film_category fc
  JOIN category c ON c.category_id = fc.category_id
  JOIN film f ON f.film_id = fc.film_id
  WHERE c.name IN ('Animation', 'Children', 'Comedy', 'Family', 'Music')
) t1
GROUP BY 1, 2
ORDER BY 1, 2;

-- [a116] mean mark by month and the mean so far; from github analyst-Riya/student-management, running averages
SELECT month, avg_mark, ROUND(AVG(avg_mark) OVER (ORDER BY month), 2) AS running_avg
FROM (SELECT date_trunc('month', taken_on) AS month, ROUND(AVG(mark), 2) AS avg_mark FROM marks GROUP BY 1) AS monthly
ORDER BY month;

-- [a117] balances by region, repeated by the loans joined beside them; from explainanalyze.com, joins that lie
SELECT c.region_id, SUM(a.balance) AS total_balance, COUNT(l.loan_id) AS loans
FROM clients c
JOIN accounts a ON a.client_id = c.client_id
LEFT JOIN loans l ON l.client_id = c.client_id
GROUP BY c.region_id;

-- [a118] customers who rented, by month and year; from github enterthematrix/toolkit, DVD rental sample queries
SELECT EXTRACT(YEAR FROM rental_date) AS year, EXTRACT(MONTH FROM rental_date) AS mon, COUNT(DISTINCT customer_id) AS uu_cnt
FROM rental
GROUP BY year, mon;

-- [a119] each department's part of the payroll; from crunchydata.com, percentage calculations
SELECT d.dept_name, SUM(p.salary) AS payroll, ROUND(100.0 * SUM(p.salary) / SUM(SUM(p.salary)) OVER (), 1) AS percent
FROM salaries p
JOIN staff e ON e.emp_no = p.emp_no
JOIN departments d ON d.dept_no = e.dept_no
WHERE p.to_date = '9999-01-01'
GROUP BY d.dept_name
ORDER BY percent DESC;

-- [a120] copies of every film in every store, none included; from github bibajz/mastery-with-sql, 6.9
SELECT f.film_id, s.store_id, count(i.inventory_id) AS stock
FROM film AS f
CROSS JOIN (SELECT DISTINCT store_id FROM inventory) AS s
LEFT JOIN inventory AS i ON f.film_id = i.film_id AND i.store_id = s.store_id
GROUP BY f.film_id, s.store_id
ORDER BY stock, f.film_id, s.store_id;

-- [a121] freeze overdrawn accounts; from bank projects: data modification (github Sanaurrehmanarain/Bank-Vault-Core-SQL, 14: an INSERT)
UPDATE accounts SET status = 'frozen' WHERE balance < -1000;

-- [a122] mean loan by status; from github Sanaurrehmanarain/Bank-Vault-Core-SQL, 10
SELECT status, ROUND(AVG(amount), 2) AS avg_loan FROM loans GROUP BY status;

-- [a123] spending by category and month, with all totals and which is which; from github Prashu94/Notes, PostgreSQL exercises 3.4.4
SELECT COALESCE(t.category, 'ALL CATEGORIES') AS category, COALESCE(DATE_TRUNC('month', t.txn_at)::date::text, 'ALL MONTHS') AS month,
       COUNT(*) AS transaction_count, SUM(ABS(t.amount)) AS total_spent, COUNT(DISTINCT t.account_id) AS unique_accounts,
       GROUPING(t.category, DATE_TRUNC('month', t.txn_at)) AS grouping_level
FROM txns t
WHERE t.category IS NOT NULL AND t.txn_at >= '2024-07-01 00:00+00'
GROUP BY GROUPING SETS ((t.category, DATE_TRUNC('month', t.txn_at)), (t.category), (DATE_TRUNC('month', t.txn_at)), ())
ORDER BY grouping_level, category, month;

-- [a124] how much better old films were rated than new ones, film by film; from Stanford DB5, movie ratings 9 (github timothylu/SQL-Practice)
SELECT AVG(pre.stars) - AVG(post.stars)
FROM (
  SELECT AVG(ratings.stars) AS stars FROM ratings JOIN film ON ratings.film_id = film.film_id WHERE film.release_year < 1990 GROUP BY ratings.film_id
) AS pre
CROSS JOIN (
  SELECT AVG(ratings.stars) AS stars FROM ratings JOIN film ON ratings.film_id = film.film_id WHERE film.release_year > 1990 GROUP BY ratings.film_id
) AS post;

-- [a125] customers by the first letter of the name; from tomchoi91.github.io, practice question 13
WITH cte1 AS (
  SELECT *, CASE WHEN first_name LIKE 'A%' THEN 'a_customers' WHEN first_name LIKE 'B%' THEN 'b_customers'
                 WHEN first_name LIKE 'C%' THEN 'c_customers' ELSE 'other_customers' END AS customer_category
  FROM customer
)
SELECT customer_category, COUNT(*) FROM cte1 GROUP BY customer_category;

-- [a126] customers who always paid more than two; from github bibajz/mastery-with-sql, 4.13
SELECT customer_id FROM payment GROUP BY customer_id HAVING bool_and(amount > 2);

-- [a127] employees active in each month of a year, by their end; from buildbetter606.pages.dev after a stackoverflow question, active systems by month
SELECT months.month_number,
       SUM(CASE WHEN months.month_number <= COALESCE(EXTRACT(MONTH FROM e.termination_date), 12) THEN 1 ELSE 0 END) AS active
FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12)) AS months(month_number)
CROSS JOIN staff AS e
WHERE e.hire_date < '2018-01-01' AND (e.termination_date IS NULL OR e.termination_date BETWEEN '2018-01-01' AND '2018-12-31')
GROUP BY months.month_number
ORDER BY 1;

-- [a128] patients by service; from tryexponent.com, patient visits 1 (github adiag321)
SELECT stays.service, COUNT(DISTINCT stays.patient_id) AS total_visits
FROM stays
JOIN patients ON stays.patient_id = patients.patient_id
GROUP BY 1;

-- [a129] how many subjects have had an exam; from github prog-1/databases-ex03, exercise 4
SELECT count(DISTINCT subject_id) FROM marks WHERE exam <> 'test';

-- [a130] mean pay by gender, department and year up to a year; from github ThakurDiksha/Data-Visualization--Tableau, task 2
SELECT e.gender, d.dept_name, ROUND(AVG(s.salary), 2) AS salary, EXTRACT(YEAR FROM s.from_date) AS calendar_year
FROM salaries s
JOIN staff e ON s.emp_no = e.emp_no
JOIN departments d ON d.dept_no = e.dept_no
GROUP BY d.dept_no, d.dept_name, e.gender, calendar_year
HAVING EXTRACT(YEAR FROM s.from_date) <= 2022
ORDER BY d.dept_no;

-- [a131] every stay with its number of the patient and whether it is the first; from MIT-LCP/mimic-code, icustay_detail.sql
SELECT s.patient_id, s.stay_id, p.sex, s.admit_time, CAST(s.discharge_time AS date) - CAST(s.admit_time AS date) AS los_hospital,
       DENSE_RANK() OVER (PARTITION BY s.patient_id ORDER BY s.admit_time NULLS FIRST) AS hospstay_seq,
       CASE WHEN DENSE_RANK() OVER (PARTITION BY s.patient_id ORDER BY s.admit_time NULLS FIRST) = 1 THEN TRUE ELSE FALSE END AS first_hosp_stay
FROM stays AS s
INNER JOIN patients AS p ON s.patient_id = p.patient_id;

-- [a132] weighted share of the points, for two subjects; from sqlzoo, NSS 6 (github EspiranTo/Learn-SQL)
SELECT subject_id, ROUND(SUM(mark) / SUM(max_mark) * 100, 0)
FROM marks
WHERE exam = 'final' AND (subject_id = 1 OR subject_id = 3) AND mark IS NOT NULL
GROUP BY subject_id;

-- [a133] what the dearest hundredth of patients cost; from github mohitkumar7-123/hospital-readmission, Q43
WITH patient_spend AS (SELECT patient_id, SUM(total_bill) AS total_spend FROM stays GROUP BY patient_id)
SELECT SUM(total_spend) FILTER (WHERE ntile_rank = 1) AS top_1_percent_cost, SUM(total_spend) AS total_hospital_revenue
FROM (SELECT total_spend, NTILE(100) OVER (ORDER BY total_spend DESC) AS ntile_rank FROM patient_spend) sub;

-- [a134] attrition by quartile of pay; from github adarshkumar-analyst/hr-analytics-attrition (NTILE question)
WITH quartiles AS (
  SELECT e.emp_no, e.termination_date, NTILE(4) OVER (ORDER BY p.salary) AS salary_quartile
  FROM staff e JOIN salaries p ON p.emp_no = e.emp_no AND p.to_date = DATE '9999-01-01'
)
SELECT salary_quartile, COUNT(*) AS employees,
       ROUND(SUM(CASE WHEN termination_date IS NOT NULL THEN 1 ELSE 0 END) * 100.0 / COUNT(*), 2) AS attrition_rate
FROM quartiles
GROUP BY salary_quartile
ORDER BY salary_quartile;

-- [a135] histogram of glucose of adults, with rows repeated by the join; from MIT-LCP/mimic-code, cookbook glucose.sql
WITH agetbl AS (
  SELECT s.patient_id, s.stay_id
  FROM stays s
  INNER JOIN patients p ON s.patient_id = p.patient_id
  WHERE (extract(DAY FROM s.admit_time - p.birth_date) / 365.25) > 15
)
SELECT bucket, count(*) FROM (
  SELECT width_bucket(value, 0.5, 1000, 100) AS bucket
  FROM labs le INNER JOIN agetbl ON le.patient_id = agetbl.patient_id
  WHERE test IN ('glucose') AND value IS NOT NULL
) AS glucose
GROUP BY bucket
ORDER BY bucket;

-- [a136] the fullest hour, by entries less exits; from devgem.io, maximum occupancy of a building by hour
WITH moves AS (
  SELECT checked_in_at AS at, 1 AS delta FROM checkins
  UNION ALL
  SELECT checked_out_at, -1 FROM checkins WHERE checked_out_at IS NOT NULL
), hourly AS (
  SELECT date_trunc('hour', at) AS hour, SUM(delta) AS net FROM moves GROUP BY 1
), cumulated AS (
  SELECT hour, SUM(net) OVER (ORDER BY hour) AS users FROM hourly
)
SELECT EXTRACT(HOUR FROM hour) AS hour_of_day, MAX(users) AS max_users
FROM cumulated
GROUP BY 1
ORDER BY 1;

-- [a137] every client's balance at the end of each month; from 8weeksqlchallenge.com case 4 B4 (github pedropalmier)
WITH monthly AS (
  SELECT client_id, DATE_TRUNC('month', txn_at) AS month_date, SUM(CASE WHEN txn_type = 'deposit' THEN amount ELSE amount * (-1) END) AS net
  FROM txns JOIN accounts USING (account_id)
  GROUP BY DATE_TRUNC('month', txn_at), client_id
)
SELECT client_id, month_date, SUM(net) OVER (PARTITION BY client_id ORDER BY month_date) AS closing_balance
FROM monthly
ORDER BY client_id, month_date;

-- [a138] clients who joined by month, and all so far; from sqlmaxx.com, cumulative users by month
SELECT DATE_TRUNC('month', joined_on) AS signup_month, COUNT(*) AS new_users,
       SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', joined_on) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cumulative_users
FROM clients
GROUP BY DATE_TRUNC('month', joined_on)
ORDER BY signup_month;

-- [a139] members who signed up but never came; from github jasminesis/gym-erd, queries.sql
SELECT * FROM members LEFT JOIN checkins ON checkins.memid = members.memid WHERE checkins.memid IS NULL;

-- [a140] the worst twentieth of clients by credit score, in each region; from stratascratch, top percentile fraud (github Ryan-Ashton)
SELECT client_id, region_id, annual_income, credit_score
FROM (SELECT *, NTILE(100) OVER (PARTITION BY region_id ORDER BY credit_score) AS percentile FROM clients WHERE credit_score IS NOT NULL) sub_q
WHERE percentile <= 5;

-- [a141] all deposits against all open loans; from github Sanaurrehmanarain/Bank-Vault-Core-SQL, 18
SELECT (SELECT SUM(balance) FROM accounts) AS total_deposits,
       (SELECT SUM(amount) FROM loans WHERE status IN ('C', 'D')) AS total_outstanding_loans;

-- [a142] the bank's months: transactions, channels, new accounts and clients, changes in percent; from github Prashu94/Notes, PostgreSQL exercises 3.4.2
WITH monthly_metrics AS (
  SELECT DATE_TRUNC('month', t.txn_at)::date AS month, COUNT(*) AS total_transactions, COUNT(DISTINCT t.account_id) AS active_accounts,
         SUM(t.amount) FILTER (WHERE t.txn_type = 'deposit') AS total_deposits,
         SUM(ABS(t.amount)) FILTER (WHERE t.txn_type = 'fee') AS fee_revenue,
         COUNT(*) FILTER (WHERE t.channel = 'mobile_app') AS mobile_transactions
  FROM txns t
  GROUP BY DATE_TRUNC('month', t.txn_at)
), account_metrics AS (
  SELECT DATE_TRUNC('month', a.opened_on)::date AS month, COUNT(*) AS new_accounts FROM accounts a GROUP BY 1
), client_metrics AS (
  SELECT DATE_TRUNC('month', c.joined_on)::date AS month, COUNT(*) AS new_customers FROM clients c GROUP BY 1
)
SELECT mm.month, mm.total_transactions, mm.active_accounts, TO_CHAR(mm.total_deposits, 'FM$999,999,999.00') AS deposits,
       TO_CHAR(mm.fee_revenue, 'FM$999,999.00') AS fee_revenue,
       ROUND(mm.mobile_transactions::numeric / NULLIF(mm.total_transactions, 0) * 100, 1) AS mobile_pct,
       COALESCE(am.new_accounts, 0) AS new_accounts, COALESCE(cm.new_customers, 0) AS new_customers,
       ROUND((mm.total_transactions - LAG(mm.total_transactions) OVER (ORDER BY mm.month))::numeric
             / NULLIF(LAG(mm.total_transactions) OVER (ORDER BY mm.month), 0) * 100, 1) AS txn_mom_pct
FROM monthly_metrics mm
LEFT JOIN account_metrics am ON mm.month = am.month
LEFT JOIN client_metrics cm ON mm.month = cm.month
ORDER BY mm.month DESC;

-- [a143] pupils by district beside those with a scholarship, by a correlated subquery in the select list; from sqlzoo, NSS 8 (github EspiranTo/Learn-SQL)
SELECT district, COUNT(*) AS pupils,
       (SELECT COUNT(*) FROM pupils y WHERE x.district = y.district AND y.scholarship IS NOT NULL) AS funded
FROM pupils x
WHERE district LIKE '%orth%'
GROUP BY district;

-- [a144] employees who left, by department; from github Aypaul95/data-analytics-portfolio, attrition 3
SELECT d.dept_name, COUNT(e.emp_no) AS employees_left
FROM staff e
JOIN departments d ON e.dept_no = d.dept_no
WHERE e.termination_date IS NOT NULL
GROUP BY d.dept_name
ORDER BY employees_left DESC;

-- [a145] attrition by department from a subquery with a flag and SELECT *; from HR attrition README (code search, is_attrition flag)
SELECT dept_no, COUNT(*) AS total_employees, SUM(is_attrition) AS total_attrition,
       ROUND(100.0 * SUM(is_attrition) / COUNT(*), 2) AS attrition_rate_percent
FROM (SELECT *, CASE WHEN termination_date IS NOT NULL THEN 1 ELSE 0 END AS is_attrition FROM staff) AS attrition_flag
GROUP BY dept_no;

-- [a146] how much of the opening hours each facility was booked, by month; from pgexercises.com, dates: utilisation per month
SELECT name, month,
       round((100 * slots) / cast(25 * (cast((month + interval '1 month') AS date) - cast(month AS date)) AS numeric), 1) AS utilisation
FROM (
  SELECT f.name AS name, date_trunc('month', starttime) AS month, sum(slots) AS slots
  FROM bookings b
  INNER JOIN facilities f ON b.facid = f.facid
  GROUP BY f.facid, month
) AS inn
ORDER BY name, month;

-- [a147] share of leavers whose pay was ever cut; from github ajm-data/HR_analytics_company_department, churn analysis (pay decrease)
WITH steps AS (
  SELECT emp_no, salary - LAG(salary) OVER (PARTITION BY emp_no ORDER BY from_date) AS change FROM salaries
), decreases AS (
  SELECT emp_no, MAX(CASE WHEN change < 0 THEN 1 ELSE 0 END) AS salary_decrease_flag
  FROM steps AS t1
  WHERE EXISTS (SELECT 1 FROM staff t2 WHERE t2.termination_date IS NOT NULL AND t2.emp_no = t1.emp_no)
  GROUP BY emp_no
)
SELECT ROUND(100 * SUM(salary_decrease_flag) / COUNT(*)::numeric) AS percentage_decrease FROM decreases;

-- [a148] five customers to look at; from DVD rental script (code search: sample 5 customer records)
SELECT * FROM customer ORDER BY customer_id LIMIT 5;

-- [a149] facilities classed high, average or low by revenue; from github tlgs/pgexercises, aggregates 20
SELECT name, CASE WHEN class = 1 THEN 'high' WHEN class = 2 THEN 'average' ELSE 'low' END AS revenue
FROM (
  SELECT f.name AS name,
         ntile(3) OVER (ORDER BY sum(CASE WHEN memid = 0 THEN slots * f.guestcost ELSE slots * membercost END) DESC) AS class
  FROM bookings b
  INNER JOIN facilities f ON b.facid = f.facid
  GROUP BY f.name
) AS subq
ORDER BY class, name;

-- [a150] longest pause between rentals of each customer; from github bibajz/mastery-with-sql, 8.8
SELECT customer_id, max(break) AS "longest break"
FROM (
  SELECT customer_id, lead(rental_date) OVER (PARTITION BY customer_id ORDER BY rental_date) - rental_date AS break FROM rental
) AS t
GROUP BY customer_id
ORDER BY customer_id;

-- [a151] clients still active, by the quarter they joined and months since; from github Prashu94/Notes, PostgreSQL exercises 3.4.3
WITH cohorts AS (
  SELECT c.client_id, DATE_TRUNC('quarter', c.joined_on)::date AS cohort, DATE_TRUNC('quarter', t.txn_at)::date AS activity
  FROM clients c
  JOIN accounts a ON c.client_id = a.client_id
  JOIN txns t ON a.account_id = t.account_id
), sizes AS (
  SELECT cohort, COUNT(DISTINCT client_id) AS cohort_size FROM cohorts GROUP BY cohort
), active AS (
  SELECT cohort, activity, COUNT(DISTINCT client_id) AS active_customers FROM cohorts GROUP BY cohort, activity
)
SELECT ca.cohort, cs.cohort_size, ca.activity, EXTRACT(YEAR FROM AGE(ca.activity, ca.cohort))::int * 12 + EXTRACT(MONTH FROM AGE(ca.activity, ca.cohort))::int AS months_since_join,
       ca.active_customers, ROUND(ca.active_customers::numeric / cs.cohort_size * 100, 1) AS retention_rate
FROM active ca
JOIN sizes cs ON ca.cohort = cs.cohort
WHERE ca.activity >= ca.cohort
ORDER BY ca.cohort, ca.activity;

-- [a152] insurers' parts of all patients; from github mohitkumar7-123/hospital-readmission, Q12
SELECT insurance, COUNT(*) AS total_patients, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 1) AS market_share
FROM patients
GROUP BY insurance
ORDER BY total_patients DESC;

-- [a153] percentage of patients with a date of death; from MIMIC-III cohort script (code search: percentage of patients with valid date of death)
SELECT COUNT(*) AS n, SUM(CASE WHEN death_date IS NULL THEN 0 ELSE 1 END) AS n_dead,
       SUM(CASE WHEN death_date IS NULL THEN 0 ELSE 1 END) * 100.0 / COUNT(*) AS perc_dead
FROM patients
LIMIT 10;

-- [a154] mean length of stay by month; from github heathion333/Healthcare-Analytics, dashboard queries
SELECT TO_CHAR(admit_time, 'yyyy-MM') AS month, ROUND(AVG(EXTRACT(EPOCH FROM discharge_time - admit_time) / 86400), 1) AS avg_recovery_days
FROM stays
GROUP BY TO_CHAR(admit_time, 'yyyy-MM')
ORDER BY month;

-- [a155] what each patient spent, as JSON; from github mohitkumar7-123/hospital-readmission, Q46
SELECT patient_id, json_build_object('total_spent', SUM(total_bill), 'visits', COUNT(*)) AS patient_summary
FROM stays
GROUP BY patient_id;

-- [a156] films rented by at least three who rented a given one; from github sjanefullerton/pagila-hw3, 08
SELECT title FROM (
  SELECT DISTINCT title, customer_id
  FROM film JOIN inventory USING (film_id) JOIN rental USING (inventory_id)
  WHERE customer_id IN (
      SELECT customer_id FROM film JOIN inventory USING (film_id) JOIN rental USING (inventory_id) WHERE title = 'BUCKET BROTHERHOOD')
    AND NOT title = 'BUCKET BROTHERHOOD'
) selected
GROUP BY title
HAVING COUNT(title) >= 3
ORDER BY title;

-- [a157] different nodes in every region; from 8weeksqlchallenge.com case 4 A2 (github pedropalmier)
SELECT r.region_name, COUNT(DISTINCT node_id) AS nodes_count, COUNT(*) AS allocations
FROM client_nodes n
JOIN regions r ON r.region_id = n.region_id
GROUP BY r.region_name
ORDER BY nodes_count DESC;

-- [a158] accounts with unusually many transactions, by z-score; from github Prashu94/Notes, PostgreSQL exercises 3.5.1
WITH account_stats AS (
  SELECT account_id, COUNT(*) AS txn_count, AVG(COUNT(*)) OVER () AS avg_txn_count, STDDEV(COUNT(*)) OVER () AS stddev_txn_count
  FROM txns
  GROUP BY account_id
)
SELECT a.account_id, c.name, s.txn_count, ROUND((s.txn_count - s.avg_txn_count) / NULLIF(s.stddev_txn_count, 0), 2) AS z_score
FROM account_stats s
JOIN accounts a ON s.account_id = a.account_id
JOIN clients c ON a.client_id = c.client_id
WHERE (s.txn_count - s.avg_txn_count) / NULLIF(s.stddev_txn_count, 0) > 2
ORDER BY z_score DESC;

-- [a159] days between two purchases, on average, by segment; from sqlgrowth.com, purchase intervals with LAG; itprotoday.com, days between orders
WITH lagged AS (
  SELECT c.client_id, c.segment, t.txn_at::date AS day,
         LAG(t.txn_at::date) OVER (PARTITION BY c.client_id ORDER BY t.txn_at) AS prev_day
  FROM txns t JOIN accounts a USING (account_id) JOIN clients c USING (client_id)
  WHERE t.txn_type = 'purchase'
)
SELECT segment, COUNT(*) AS intervals, ROUND(AVG(day - prev_day), 1) AS avg_days
FROM lagged
WHERE prev_day IS NOT NULL
GROUP BY segment
ORDER BY avg_days;

-- [a160] patients in the house, hour by hour, from comings and goings; from Teradata forum, patient census by hour of day
SELECT ts, SUM(cnt) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING) AS census
FROM (
  SELECT ts, SUM(cnt) AS cnt
  FROM (
    SELECT date_trunc('hour', admit_time) AS ts, 1 AS cnt FROM stays
    UNION ALL
    SELECT date_trunc('hour', discharge_time), -1 FROM stays WHERE discharge_time IS NOT NULL
  ) moves
  GROUP BY ts
  HAVING SUM(cnt) <> 0
) dt
ORDER BY ts;

-- [a161] what part of the leavers were men; from github ajm-data/HR_analytics_company_department, churn analysis
WITH churned_gender AS (
  SELECT gender, (100 * COUNT(*)) / (SUM(COUNT(*)) OVER ())::numeric AS employees_churned
  FROM staff
  WHERE termination_date IS NOT NULL
  GROUP BY gender
)
SELECT * FROM churned_gender WHERE gender = 'M';

-- [a162] histogram of marks between the lowest and the highest; from zerokspot.com, histograms with PostgreSQL
SELECT width_bucket(mark, (SELECT min(mark) FROM marks), (SELECT max(mark) FROM marks), 10) AS bucket, count(*)
FROM marks
WHERE mark IS NOT NULL
GROUP BY bucket
ORDER BY bucket;

-- [a163] customers who rented in one year and not in the next; from github bibajz/mastery-with-sql, 7.12
WITH rentals_2023 AS (
  SELECT DISTINCT customer_id FROM rental AS r WHERE date_trunc('year', r.rental_date) = '2023-01-01'
), rentals_2024 AS (
  SELECT DISTINCT customer_id FROM rental AS r WHERE date_trunc('year', r.rental_date) = '2024-01-01'
)
SELECT * FROM rentals_2023 EXCEPT SELECT * FROM rentals_2024 ORDER BY customer_id;

-- [a164] rentals brought back early, on time and late, by rating; from DVD rental analyses, late returns (github julianestebanquintana; github.com/tuckercp: questions)
WITH t1 AS (
  SELECT f.rating, f.rental_duration, DATE_PART('day', r.return_date - r.rental_date) AS date_difference
  FROM rental r
  JOIN inventory i USING (inventory_id)
  JOIN film f USING (film_id)
)
SELECT rating,
       CASE WHEN rental_duration > date_difference THEN 'Returned early' WHEN rental_duration = date_difference THEN 'Returned on time'
            WHEN date_difference IS NULL THEN 'Not returned' ELSE 'Returned late' END AS return_status,
       COUNT(*) AS total_no_of_films
FROM t1
GROUP BY 1, 2
ORDER BY 1, 3 DESC;

-- [a165] income of each month and all before, by a correlated subquery; from github bibajz/mastery-with-sql, 7.14
WITH monthly_income AS (
  SELECT date_trunc('month', payment_date) AS month, sum(amount) AS income FROM payment GROUP BY month
)
SELECT mi.month, mi.income, (SELECT sum(m.income) FROM monthly_income AS m WHERE m.month <= mi.month) AS "cumulative income"
FROM monthly_income AS mi
ORDER BY mi.month;

-- [a166] mean, passed, failed and missed, by exam; from github prog-1/databases-ex03, exercise 5
SELECT s.subject_name, m.exam, avg(m.mark) AS average_grade,
       count(*) FILTER (WHERE m.mark >= s.pass_mark) AS passed,
       count(*) FILTER (WHERE m.mark < s.pass_mark) AS failed,
       count(*) FILTER (WHERE m.mark IS NULL) AS did_not_attend
FROM marks m
JOIN subjects s USING (subject_id)
GROUP BY s.subject_name, m.exam
ORDER BY 1, 2;

-- [a167] monthly payments of the ten who paid most; from Udacity, investigate a relational database 5 (github rubanasser77/Sakila-DVD-Rental-database)
SELECT DATE_TRUNC('month', p.payment_date) AS pay_month, c.first_name || ' ' || c.last_name AS full_name, COUNT(p.amount) AS pay_count, SUM(p.amount) AS pay_amount
FROM customer c
JOIN payment p ON p.customer_id = c.customer_id
WHERE c.first_name || ' ' || c.last_name IN (
    SELECT t1.full_name FROM (
      SELECT c.first_name || ' ' || c.last_name AS full_name, SUM(p.amount) AS amount_total
      FROM customer c JOIN payment p ON p.customer_id = c.customer_id
      GROUP BY 1 ORDER BY 2 DESC LIMIT 10
    ) t1)
  AND p.payment_date BETWEEN '2023-01-01' AND '2024-01-01'
GROUP BY 2, 1
ORDER BY 2, 1;

-- [a168] classes a member attended by month, with a running total; from github benkaan001/SQL-Daily-Practice, gym question 6
WITH monthly AS (
  SELECT m.firstname || ' ' || m.surname AS member_name, to_char(c.checked_in_at, 'YYYY-MM') AS year_and_month,
         COUNT(*) AS monthly_visits
  FROM checkins c JOIN members m ON m.memid = c.memid
  GROUP BY m.memid, m.firstname, m.surname, to_char(c.checked_in_at, 'YYYY-MM')
)
SELECT member_name, year_and_month, monthly_visits,
       SUM(monthly_visits) OVER (PARTITION BY member_name ORDER BY year_and_month) AS cumulative_visits
FROM monthly
ORDER BY member_name, year_and_month;

-- [a169] days until a client is moved to another node, on average; from 8weeksqlchallenge.com case 4 A4 (github pedropalmier)
WITH node_days AS (
  SELECT client_id, node_id, (end_date - start_date) AS days_in_node FROM client_nodes WHERE end_date != '9999-12-31'
), total_node_days AS (
  SELECT client_id, node_id, SUM(days_in_node) AS total_days FROM node_days GROUP BY client_id, node_id
)
SELECT ROUND(AVG(total_days), 0) AS avg_days_in_node FROM total_node_days;

-- [a170] overtime and satisfaction against leaving; from github KOTTIVINAY/retail-performance-analysis, hr_attrition.sql
SELECT overtime, satisfaction, COUNT(*) AS employees,
       SUM(CASE WHEN termination_date IS NOT NULL THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS attrition_rate_percent
FROM staff
GROUP BY overtime, satisfaction
ORDER BY overtime, satisfaction;

-- [a171] clients with much money or large loans; from github Sanaurrehmanarain/Bank-Vault-Core-SQL, 16
SELECT DISTINCT c.name
FROM clients c
JOIN accounts a ON c.client_id = a.client_id
LEFT JOIN loans l ON c.client_id = l.client_id
WHERE a.balance > 30000 OR l.amount > 200000;

-- [a172] money in and money out by channel and day, joined from both sides; from sql-tutorial.ru, exercise 30
WITH income AS (
  SELECT channel, txn_at::date AS day, SUM(amount) AS inc FROM txns WHERE txn_type = 'deposit' GROUP BY 1, 2
), outcome AS (
  SELECT channel, txn_at::date AS day, SUM(amount) AS out FROM txns WHERE txn_type = 'withdrawal' GROUP BY 1, 2
)
SELECT income.channel, income.day, out, inc FROM income LEFT JOIN outcome ON income.channel = outcome.channel AND income.day = outcome.day
UNION
SELECT outcome.channel, outcome.day, out, inc FROM outcome LEFT JOIN income ON income.channel = outcome.channel AND income.day = outcome.day;

-- [a173] which diagnosis brings people back soonest; from github mohitkumar7-123/hospital-readmission, Q37
SELECT diagnosis, COUNT(*) AS readmission_count, ROUND(AVG(days_gap), 1) AS avg_days_to_readmit,
       ROUND((PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY days_gap))::numeric, 1) AS median_days
FROM (
  SELECT patient_id, diagnosis, admit_time::date - LAG(discharge_time::date) OVER (PARTITION BY patient_id ORDER BY admit_time) AS days_gap FROM stays
) gaps
WHERE days_gap IS NOT NULL
GROUP BY diagnosis
ORDER BY avg_days_to_readmit ASC;

-- [a174] clients with more than one deposit and something spent in one month, by month; from 8weeksqlchallenge.com case 4 B3 (github pedropalmier)
WITH txn_count AS (
  SELECT DATE_TRUNC('month', txn_at) AS month_date, TRIM(TO_CHAR(DATE_TRUNC('month', txn_at), 'YYYY Month')) AS month, client_id,
         SUM(CASE WHEN txn_type = 'deposit' THEN 1 ELSE 0 END) AS deposit_count,
         SUM(CASE WHEN txn_type = 'purchase' THEN 1 ELSE 0 END) AS purchase_count,
         SUM(CASE WHEN txn_type = 'withdrawal' THEN 1 ELSE 0 END) AS withdrawal_count
  FROM txns JOIN accounts USING (account_id)
  GROUP BY DATE_TRUNC('month', txn_at), client_id
)
SELECT month, COUNT(client_id)
FROM txn_count
WHERE deposit_count > 1 AND (purchase_count >= 1 OR withdrawal_count >= 1)
GROUP BY month, month_date
ORDER BY month_date;

-- [a175] visits and members by day of the week; from gym dashboard's queries in JavaScript (code search, gymUsageByDayOfWeek)
SELECT extract(DOW FROM checked_in_at) AS day_of_week,
       count(*) AS total_visits,
       count(DISTINCT memid) AS unique_members
FROM checkins
WHERE checked_in_at >= timestamptz '2024-09-01 00:00:00+00' - interval '30 days'
GROUP BY day_of_week
ORDER BY day_of_week;

-- [a176] films by the spread of their stars; from Stanford DB5, movie ratings 8 (github timothylu/SQL-Practice)
SELECT film.title, MAX(ratings.stars) - MIN(ratings.stars) AS rating_spread
FROM film
JOIN ratings ON film.film_id = ratings.film_id
GROUP BY film.film_id
ORDER BY MAX(ratings.stars) - MIN(ratings.stars) DESC, film.title;

-- [a177] what each customer paid to each clerk; from github ProjectCodeML/SQL_for_DS, grouping.sql
SELECT r.staff_id, p.customer_id, sum(p.amount) FROM payment p JOIN rental r ON r.rental_id = p.rental_id GROUP BY p.customer_id, r.staff_id;

-- [a178] clients by band of income; from github shawlu95/Beyond-LeetCode-SQL, group by bins
SELECT CASE WHEN annual_income BETWEEN 0 AND 50000 THEN '0 ~ 50k' WHEN annual_income BETWEEN 50001 AND 100000 THEN '50 ~ 100k' ELSE '> 100k' END AS income_range,
       COUNT(*) AS client_tally
FROM clients
GROUP BY income_range;

-- [a179] median and high percentiles of days in a node, by region; from 8weeksqlchallenge.com case 4 A5 (github pedropalmier)
WITH region_days AS (SELECT region_id, (end_date - start_date) AS days_in_node FROM client_nodes WHERE end_date != '9999-12-31')
SELECT rd.region_id, r.region_name,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY days_in_node) AS median,
       PERCENTILE_CONT(0.8) WITHIN GROUP (ORDER BY days_in_node) AS p80,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY days_in_node) AS p95
FROM region_days rd
INNER JOIN regions r ON rd.region_id = r.region_id
GROUP BY rd.region_id, r.region_name;

-- [a180] share that passed, by subject; from github jmvjmv1234/2ID70, q2Queries.sql
SELECT M.subject_id, AVG(CASE WHEN M.mark > 50 THEN 1 ELSE 0 END) AS percentagePassing
FROM marks AS M
GROUP BY M.subject_id;

-- [a181] third quartile of platelets on the day of leaving, women with strokes; from clinsql easy 012 (github hannesill/m4)
SELECT percentile_cont(0.75) WITHIN GROUP (ORDER BY l.value) AS percentile_75th_platelet_count
FROM labs AS l
JOIN stays AS s ON l.stay_id = s.stay_id
JOIN patients AS p ON l.patient_id = p.patient_id
JOIN stay_diagnoses AS dx ON s.stay_id = dx.stay_id
WHERE p.sex = 'F' AND l.test = 'platelet' AND (dx.icd_code LIKE 'I63%' OR dx.icd_code LIKE 'I5%')
  AND l.value IS NOT NULL AND l.value BETWEEN 10 AND 1000;

-- [a182] attendance by weekday; from Student Records Management, phase 5 (code search)
SELECT to_char(day, 'Dy') AS weekday, status, COUNT(*) AS n,
       ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY to_char(day, 'Dy')), 1) AS pct
FROM attendance
GROUP BY to_char(day, 'Dy'), status
ORDER BY weekday, n DESC;

-- [a183] insurers as they are written and as they should be; from github mohitkumar7-123/hospital-readmission, Q3
SELECT DISTINCT insurance AS raw_input, INITCAP(LOWER(TRIM(insurance))) AS standardized_insurance FROM patients;

-- [a184] bill by day of stay, by service; from github mohitkumar7-123/hospital-readmission, Q42
SELECT service, ROUND(AVG(total_bill), 0) AS revenue,
       ROUND(AVG(discharge_time::date - admit_time::date), 1) AS days,
       ROUND(AVG(total_bill) / NULLIF(AVG(discharge_time::date - admit_time::date), 0), 0) AS rev_per_day
FROM stays
GROUP BY service
ORDER BY rev_per_day DESC;

-- [a185] resignations against layoffs; from github Aypaul95/data-analytics-portfolio, attrition 7
SELECT exit_type, COUNT(*) AS exit_count FROM staff WHERE exit_type IS NOT NULL GROUP BY exit_type;

-- [a186] the job title that lost most; from github ajm-data/HR_analytics_company_department, churn analysis
SELECT job_title, COUNT(*) AS number_churned
FROM staff
WHERE termination_date IS NOT NULL
GROUP BY job_title
ORDER BY number_churned DESC
LIMIT 1;

-- [a187] mean age of borrowers by gender, from a table of ages; from PKDD'99 bank project (github DominikaDziedzic/SQL, 5)
WITH ages AS (
  SELECT c.gender, 2024 - extract(year FROM c.birth_date) AS age, count(l.amount) AS n_loans
  FROM loans l INNER JOIN clients c USING (client_id)
  WHERE l.status IN ('A', 'C')
  GROUP BY c.gender, 2
)
SELECT ages.gender, avg(age), sum(n_loans) FROM ages GROUP BY gender;

-- [a188] days present, absent and late of every pupil; from github RameshMedaboina/school-db-assignment, reports 3
SELECT s.pupil_id, s.name,
       SUM(CASE WHEN a.status = 'present' THEN 1 ELSE 0 END) AS present_days,
       SUM(CASE WHEN a.status = 'absent' THEN 1 ELSE 0 END) AS absent_days,
       COUNT(*) AS total_days,
       ROUND(SUM(CASE WHEN a.status = 'present' THEN 1 ELSE 0 END)::numeric / COUNT(*) * 100, 2) AS attendance_pct
FROM pupils s
JOIN attendance a ON s.pupil_id = a.pupil_id
GROUP BY s.pupil_id, s.name
ORDER BY attendance_pct DESC;

-- [a189] hours booked by facility as padded text; from github tlgs/pgexercises, aggregates 13
SELECT f.facid, f.name, trim(to_char(sum(b.slots) / 2.0, '9999999999999999D99')) AS "Total Hours"
FROM bookings b
INNER JOIN facilities f ON f.facid = b.facid
GROUP BY f.facid, f.name
ORDER BY f.facid;

-- [a190] patients by band of age and of weight; from github mohitkumar7-123/hospital-readmission, Q19
SELECT CASE WHEN 2024 - EXTRACT(YEAR FROM birth_date) < 40 THEN 'Under 40'
            WHEN 2024 - EXTRACT(YEAR FROM birth_date) BETWEEN 40 AND 64 THEN '40-64' ELSE '65+' END AS age_group,
       CASE WHEN weight_kg < 50 THEN 'Light' WHEN weight_kg BETWEEN 50 AND 90 THEN 'Middle' ELSE 'Heavy' END AS weight_level,
       COUNT(*) AS patient_count
FROM patients
WHERE weight_kg IS NOT NULL
GROUP BY age_group, weight_level
ORDER BY age_group, weight_level;

-- [a191] first quartile of different diagnoses a patient; from clinsql easy 030 (github hannesill/m4)
SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY code_count) AS p25_codes
FROM (
  SELECT p.patient_id, COUNT(DISTINCT d.icd_code) AS code_count
  FROM patients p
  JOIN stays s ON p.patient_id = s.patient_id
  JOIN stay_diagnoses d ON d.stay_id = s.stay_id
  WHERE p.sex = 'F' AND EXTRACT(YEAR FROM p.birth_date) BETWEEN 1930 AND 1970
  GROUP BY p.patient_id
) patient_codes;

-- [a192] all films ranked by income, those without included; from github tylerheadley/pagila-hw2, 16
SELECT RANK() OVER (ORDER BY COALESCE("sum", 0.00) DESC) AS "rank", title, COALESCE("sum", 0.00) AS revenue
FROM (
  SELECT f.title, SUM(p.amount)
  FROM film f
  LEFT JOIN inventory i USING (film_id)
  LEFT JOIN rental r USING (inventory_id)
  LEFT JOIN payment p USING (rental_id)
  GROUP BY title
) subquery
ORDER BY revenue DESC;

-- [a193] the sum of every pupil's best marks, without zeros; from hackerrank, contest leaderboard
SELECT p.pupil_id, p.name, SUM(best.sc) AS total_score
FROM pupils p
INNER JOIN (SELECT MAX(s.mark) AS sc, s.pupil_id FROM marks s GROUP BY s.subject_id, s.pupil_id HAVING MAX(s.mark) > 0) AS best
  ON p.pupil_id = best.pupil_id
GROUP BY p.pupil_id, p.name
ORDER BY total_score DESC, p.pupil_id ASC;

-- [a194] how a film's price goes with what it costs to replace; from cjakuc.github.io, SQL practice report
SELECT corr(rental_rate, replacement_cost), corr(length, replacement_cost), corr(rental_duration, replacement_cost) FROM film;

-- [a195] remove the later of two equal bonuses; from quipoin.com, interview queries: remove duplicates
DELETE FROM bonuses WHERE bonus_id IN (
  SELECT bonus_id FROM (
    SELECT bonus_id, ROW_NUMBER() OVER (PARTITION BY emp_no, paid_on ORDER BY bonus_id) AS rn FROM bonuses
  ) t WHERE rn > 1
);

-- [a196] mean length with and without missing lengths, by three formulas; from github bibajz/mastery-with-sql, 4.11
SELECT 1.0 * sum(length) / count(*) AS avg1, 1.0 * avg(length) AS avg2, sum(length), count(*),
       1.0 * sum(length) / (count(*) - count(CASE WHEN length IS NULL THEN 1 END))
FROM film;

-- [a197] numbers of rentals that are missing; from github bibajz/mastery-with-sql, 7.15
SELECT id FROM generate_series(1, 1000) AS gen(id) LEFT JOIN rental ON gen.id = rental.rental_id WHERE rental.rental_id IS NULL;

-- [a198] years of films that someone rated four or five; from Stanford DB5, movie ratings 2 (github timothylu/SQL-Practice)
SELECT DISTINCT release_year FROM film WHERE film_id IN (SELECT film_id FROM ratings WHERE stars BETWEEN 4 AND 5) ORDER BY release_year;

-- [a199] bookings in each month; from github tlgs/pgexercises, dates 9
SELECT date_trunc('month', starttime) AS month, count(*) FROM bookings GROUP BY month ORDER BY month;

-- [a200] how many clients called, that is paid, three times or more; from datalemur, frequent callers (github ggeerraarrdd/sql-everyday 069)
SELECT COUNT(client_id) AS client_count
FROM (
  SELECT client_id, COUNT(txn_id) AS txn_count
  FROM txns JOIN accounts USING (account_id)
  WHERE category = 'dining'
  GROUP BY client_id
  HAVING COUNT(txn_id) >= 3
) AS call_records;
