-- Analyses of hospitals' data.

-- [rep01] stays by their length
SELECT discharged_on - admitted_on AS days, COUNT(*) AS stays FROM admissions GROUP BY 1 ORDER BY 1;

-- [rep02] average length of stay by department
SELECT department, ROUND(AVG(discharged_on - admitted_on), 1) AS avg_stay, COUNT(*) AS n
FROM admissions
GROUP BY department
HAVING COUNT(*) > 10
ORDER BY avg_stay DESC;

-- [rep03] laboratory tests by gender
SELECT p.gender, ROUND(AVG(l.value), 1) AS avg_value
FROM patients p JOIN lab_results l ON p.patient_id = l.patient_id
WHERE l.test = 'glucose'
GROUP BY p.gender;

-- [rep04] patients back within thirty days
SELECT COUNT(DISTINCT a.patient_id)
FROM admissions a
JOIN admissions b ON b.patient_id = a.patient_id
WHERE b.admitted_on > a.discharged_on AND b.admitted_on <= a.discharged_on + INTERVAL '30 days';

-- [rep05] age bands of those admitted
SELECT CASE WHEN DATE_PART('year', AGE(a.admitted_on, p.birth_date)) < 18 THEN 'child'
            WHEN DATE_PART('year', AGE(a.admitted_on, p.birth_date)) < 65 THEN 'adult'
            ELSE 'senior' END AS band,
       COUNT(*) AS admissions, SUM(a.cost) AS cost
FROM admissions a JOIN patients p ON p.patient_id = a.patient_id
GROUP BY 1;

-- [rep06] what a diagnosis costs, as a share of everything
SELECT diagnosis, SUM(cost) AS total, SUM(cost) / (SELECT SUM(cost) FROM admissions) AS share
FROM admissions
GROUP BY diagnosis
ORDER BY total DESC
LIMIT 10;

-- [rep07] patients with emergency stays only
SELECT COUNT(*) FROM patients p
WHERE EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.patient_id AND a.kind = 'emergency')
  AND NOT EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.patient_id AND a.kind <> 'emergency');

-- [rep08] one text of each patient
SELECT CONCAT('Patient ', patient_id, ' was ', gender, ' and lives in ', city) AS summary FROM patients;

-- [rep09] patients by part of town, where it is known
SELECT TRIM(LOWER(city)) AS city, COUNT(*) FROM patients WHERE city IS NOT NULL AND TRIM(city) <> '' GROUP BY TRIM(LOWER(city));

-- [rep10] cost by gender and department as a pivot
SELECT a.department,
       SUM(a.cost) FILTER (WHERE p.gender = 'F') AS women,
       SUM(a.cost) FILTER (WHERE p.gender = 'M') AS men,
       SUM(a.cost) AS everybody
FROM admissions a JOIN patients p USING (patient_id)
GROUP BY a.department
ORDER BY a.department;
