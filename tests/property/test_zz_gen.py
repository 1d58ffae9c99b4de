from tests.property.test_generated_questions import *
from tests.property.test_generated_questions import _differences
from collections import Counter
import os
def test_it(both):
    text = Text(random.Random(int(os.environ.get("GEN","5"))))
    bad=Counter(); n_planned=0; refused=Counter()
    for n in range(int(os.environ.get("NUM","400"))):
        sql=text.question()
        try: expected=both[0].run(sql)
        except psycopg.Error as e: expected=None
        for schema,run,dialect in both:
            try:
                plan=planned(sql,schema,POLICY); query=rewrite(plan,dialect=dialect,schema=schema)
            except PlannerError as e:
                refused[str(e)[:60]]+=1; continue
            except Exception as e:
                print("CRASH",dialect,sql,type(e),str(e)[:200],flush=True); continue
            n_planned+=1
            try:
                answer=untruncated(plan,run,query)
                if expected is not None:
                    d=list(_differences(answer,plan,expected))
                    if d: print("DIFF",n,dialect,sql,d[:2],flush=True)
            except Exception as e:
                print("FAIL",n,dialect,sql,type(e).__name__,str(e)[:600],flush=True); bad[type(e).__name__]+=1
    print("planned",n_planned,bad); print(refused.most_common(25))
