SELECT count(*)
FROM knows k1
JOIN knows k2 ON k1.dst = k2.src
JOIN knows k3 ON k3.src = k1.src AND k3.dst = k2.dst;
