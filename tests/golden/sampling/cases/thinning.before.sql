SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src JOIN knows c ON c.src = a.src AND c.dst = b.dst
