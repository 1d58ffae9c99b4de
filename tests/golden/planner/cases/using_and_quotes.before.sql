SELECT count(*) AS "Pairs" FROM public.knows K1 JOIN knows AS "K2" USING (src) WHERE src <> "K2".dst;
