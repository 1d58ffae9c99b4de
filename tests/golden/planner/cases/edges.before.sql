SELECT count(*) FROM knows k JOIN customer a ON k.src = a.c_custkey JOIN customer b ON k.dst = b.c_custkey;
