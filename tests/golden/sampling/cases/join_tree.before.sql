SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src
