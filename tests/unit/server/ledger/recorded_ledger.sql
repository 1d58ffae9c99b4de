-- A ledger with an entry of every kind, as the proxy wrote it before entry kinds were a closed type.
-- `enabled` with 0, charges without a request hash and a policy without ownership are the oldest ledgers' own.
PRAGMA application_id = 1313295431;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    accounting TEXT NOT NULL CHECK (accounting IN ('basic', 'zcdp', 'renyi')),
    nano_epsilon INTEGER NOT NULL CHECK (nano_epsilon > 0),
    atto_delta INTEGER NOT NULL CHECK (atto_delta >= 0),
    event_atto INTEGER NOT NULL CHECK (event_atto BETWEEN 0 AND atto_delta),
    window_ms INTEGER CHECK (window_ms > 0),
    nano_cap INTEGER CHECK (nano_cap > 0),
    started_ms INTEGER NOT NULL,
    spent TEXT NOT NULL
, renew TEXT CHECK (renew IN ('day', 'week', 'month', 'quarter', 'year')), most_nano INTEGER CHECK (most_nano > 0), most_atto INTEGER CHECK (most_atto >= 0), progress TEXT NOT NULL DEFAULT '{}') STRICT;
INSERT INTO "accounts" VALUES('analyst:ada','basic',1500000000,1000000000000,0,NULL,NULL,1800000000000,'{"version":1,"atto_delta":0,"currency":"basic","nano_epsilon":359375000}',NULL,NULL,NULL,'{}');
INSERT INTO "accounts" VALUES('group:lab','zcdp',2000000000,1000000000000,0,86400000,NULL,1800018180000,'{"version":1,"atto_delta":0,"currency":"zcdp","femto_rho":11365142155311}',NULL,NULL,NULL,'{"basic":[359375000,0]}');
INSERT INTO "accounts" VALUES('dataset','renyi',5000000000,1000000000000,0,NULL,1000000000,1800000180000,'{"version":1,"atto_delta":0,"currency":"renyi","orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"femto":[4452969383096,4675444301496,4897888185579,5120299066819,5342674979074,5787314044887,6231789707277,6676086338231,7120188362196,8007746577403,8894340975117,9779849312841,10664150626637,12428655552404,14186918806807,15938032367152,17681120908468,21139905194500,24557042675698,27927003610947,31245006879243,37709871906092,43928647450315,49889557244085,55590262937211,66236140591811,75957689481962,84878916162656,93125061864777,108023462451071,121346650203623,133557783269852,144962420167660,166110877528843,185800649631231,204560582696385,222693760992270,257757879738009,291838794161735,325337068400400,358464591758763,424045780846898,489100550059685,553854031233459,618419150946776,747210320587501,875737767153674,1004114514703123,1132397075365245,1388792660292216,1645056383576863,1901244757351612,2157386037682673,2669583830146159,3181715691788482,3693809878675856,4205880518841388,5229979415073129,6254045345894291,7278092439337979,8302127759420743,10350177207536615,12398210172947196,14446233719669039,16494251379710422,9000000000000000000]}',NULL,NULL,NULL,'{"basic":[234375000,0]}');
INSERT INTO "accounts" VALUES('analyst:eve','basic',1000000000,0,0,NULL,NULL,1800000180000,'{"version":1,"atto_delta":0,"currency":"basic","nano_epsilon":125000000}',NULL,NULL,NULL,'{}');
CREATE TABLE analysts (
    name TEXT PRIMARY KEY,
    key_hash TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
    scram_verifier TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'auditor', 'admin')),
    belongs_to TEXT,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1))
) STRICT;
INSERT INTO "analysts" VALUES('ada','b13ad376d6be57bd3ce4f7dc3d0db99f21caa4e5e21877a3a09b2fb0c1b73d8b','','analyst','lab',1);
INSERT INTO "analysts" VALUES('eve','3972c35e6b73e1634a28e9d035b437b23465ddd21e0a018b163563ecf1d2e8cc','','analyst','lab',0);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY REFERENCES charges (number),
    answer_key TEXT NOT NULL CHECK (answer_key <> ''),
    answer BLOB NOT NULL
) STRICT;
INSERT INTO "answers" VALUES(1,'question',X'6E6F697379');
CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL REFERENCES entries (number),
    analyst TEXT NOT NULL REFERENCES analysts (name),
    plan_hash TEXT NOT NULL,
    answer_key TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    repeats INTEGER REFERENCES charges (number),
    instance TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'failed', 'released', 'crashed')),
    settled_by INTEGER REFERENCES entries (number),
    CHECK ((state = 'reserved') = (settled_by IS NULL))
) STRICT;
INSERT INTO "charges" VALUES(1,7,'ada','plan','question','',NULL,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','committed',8);
INSERT INTO "charges" VALUES(2,20,'eve','plan','question','k1',1,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','committed',21);
INSERT INTO "charges" VALUES(3,22,'ada','plan','','',NULL,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','failed',23);
INSERT INTO "charges" VALUES(4,24,'ada','plan','','',NULL,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','failed',25);
INSERT INTO "charges" VALUES(5,26,'ada','plan','','',NULL,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','released',27);
INSERT INTO "charges" VALUES(6,29,'ada','plan','','',NULL,'1d7f76d5-0d8f-4195-b571-5dd9d6a1a019','crashed',31);
INSERT INTO "charges" VALUES(7,32,'ada','plan','','',NULL,'259b2543-444a-4ab5-979e-1fab9aa4d57a','reserved',NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    instance TEXT NOT NULL,
    operation INTEGER NOT NULL,
    content TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
INSERT INTO "entries" VALUES(1,1800000000000,'opened','fbbe5d29-75aa-41ea-969d-6f6ee07135f7',0,'{"ledger":"fbbe5d29-75aa-41ea-969d-6f6ee07135f7"}',X'B1ACD71537B24AFAD68D0A87A1A0F5162DA0342F9AD5272774C6D5E2ADF94A89');
INSERT INTO "entries" VALUES(2,1800000000000,'analyst','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',1,'{"analyst":"ada","by":"cli","credentials":"7b1f735f06ea0c060797a1f1c5263862b9a39bea5ce48c0127b2126ff29e6a00","group":null,"reason":"","role":"analyst"}',X'7962ABEC2BA3116BD9CDC9EDEDE930BD880B1F2B598921D932F067DA1696F378');
INSERT INTO "entries" VALUES(3,1800000000000,'grant','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',1,'{"account":"analyst:ada","accounting":"basic","atto_delta":1000000000000,"by":"cli","event_atto":0,"nano_cap":null,"nano_epsilon":1000000000,"reason":"","window_ms":null}',X'EF86B8750C70F317EF74135B6862E49F445754D1156ED4042C7B2DA56CF33DF7');
INSERT INTO "entries" VALUES(4,1800000060000,'enabled','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',2,'{"analyst":"ada","by":"grace","enabled":0,"reason":"a test"}',X'89ECBAD917221F9CCB706AA5DBD41A36AF2DDEA64126BEBFA895C62DD785649B');
INSERT INTO "entries" VALUES(5,1800000060000,'enabled','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',3,'{"analyst":"ada","by":"grace","enabled":1,"reason":"a test"}',X'DD7A56CF4735C8D2DA7C8B8B3DDB5AAB4DB3CC2E35AE96F34E14BC5E60779F01');
INSERT INTO "entries" VALUES(6,1800000060000,'policy','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',4,'{"by":"grace","policy_hash":"policy","reason":"a test","weakens":["weaker"]}',X'C8C4F85CDC8F240720A4DB0F1E8F1F5E453CD03032D3F5B8BBDE6D18170C3FA5');
INSERT INTO "entries" VALUES(7,1800000120000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',5,'{"accounts":{"analyst:ada":["basic",1800000000000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":125000000,"version":1}},"analyst":"ada","answer_key":"question","atto_delta":0,"charge":1,"event":null,"idempotency_key":"","mechanism":"gem","nano_epsilon":125000000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_id":"request-1"}',X'DEC5831EEC7C90CD5DB882589F3E0D6999058F46C46C30483D1331B699BDA1A8');
INSERT INTO "entries" VALUES(8,1800000120000,'committed','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',6,'{"answer":"acd6beff7c3430bfed5d69f86c5c9e6a32ad2a27a2c2a1e8763ce08f6c3da5ec","charge":1}',X'5D5060BB698948DFEC2B67EB858E9CD76BF793D83D18DF9E2C251A5DBBE58189');
INSERT INTO "entries" VALUES(9,1800000180000,'grant','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',7,'{"account":"group:lab","accounting":"zcdp","atto_delta":1000000000000,"by":"grace","event_atto":0,"nano_cap":null,"nano_epsilon":2000000000,"reason":"a test","window_ms":86400000}',X'5519B4443460998CC378B09730F7FC6A1E9D81673DD9B5CA8E646251A8A6DF84');
INSERT INTO "entries" VALUES(10,1800000180000,'grant','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',8,'{"account":"dataset","accounting":"renyi","atto_delta":1000000000000,"by":"grace","event_atto":0,"nano_cap":1000000000,"nano_epsilon":5000000000,"reason":"a test","window_ms":null}',X'BB0FC8B30630592C3F2F23119CD3CABDCD0E1940F31D85989226BA306F4EC203');
INSERT INTO "entries" VALUES(11,1800000180000,'analyst','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',9,'{"analyst":"eve","by":"cli","credentials":"f95e2c9c4d37dbd68e54e37b1560afa116fafd9555393999b57400bf64de9067","group":"lab","reason":"","role":"analyst"}',X'EC6A3EFE3E75FD70161FF61362EA98D57525AF72EC2C68889EF010F722901A8B');
INSERT INTO "entries" VALUES(12,1800000180000,'grant','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',9,'{"account":"analyst:eve","accounting":"basic","atto_delta":0,"by":"cli","event_atto":0,"nano_cap":null,"nano_epsilon":1000000000,"reason":"","window_ms":null}',X'E0465D892551529D64AC9BB2241B8196647D2695FEA35131E6465409E26A237E');
INSERT INTO "entries" VALUES(13,1800000240000,'policy','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',10,'{"by":"grace","ownership":["orders by customer"],"policy_hash":"policy2","reason":"a test","weakens":[]}',X'AF23185AC1F0D305A315A5358B57F418EE23F13F60595497812787275B90003C');
INSERT INTO "entries" VALUES(14,1800000240000,'group','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',11,'{"analyst":"ada","by":"grace","group":"lab","reason":"a test"}',X'F3091C822CFD4B8B49072769DA8FDDBBDCD7CADB68D2C1B2966291F548B38B46');
INSERT INTO "entries" VALUES(15,1800000240000,'role','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',12,'{"analyst":"eve","by":"grace","reason":"a test","role":"auditor"}',X'F61692340096C230B8AB5AAB6B7816AF2A1601DEEFF3EB830FBCA816B1BE00FC');
INSERT INTO "entries" VALUES(16,1800000240000,'role','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',13,'{"analyst":"eve","by":"grace","reason":"a test","role":"analyst"}',X'9C9D39686A21020FD4DDDAE46FE4792114D0194B6ACBF233A46EC2B8CD9043FF');
INSERT INTO "entries" VALUES(17,1800000240000,'key','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',14,'{"analyst":"eve","by":"grace","credentials":"cae8c71e1449b636dd6cf5ee4137ea4356fa008647839e2c2e9f8ae365ce8533","reason":"a test"}',X'02EE7651273BFEAB26B4757CAC1F0D9CAFA9D7AABCDEEAF25264516F0A6B82C0');
INSERT INTO "entries" VALUES(18,1800000240000,'grant','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',15,'{"account":"analyst:ada","accounting":"basic","atto_delta":1000000000000,"by":"grace","event_atto":0,"nano_cap":null,"nano_epsilon":1500000000,"reason":"a test","window_ms":null}',X'AE9C6F5AA91EF7299E3882CD714209CED275706DD8A2BF9BD35C6284B1D74A1C');
INSERT INTO "entries" VALUES(19,1800000300000,'data','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',16,'{"by":"grace","reason":"a test","version":2}',X'470AE9589F971484DD2E35F85F96838AE1A14C9A7C95D4AA5BACAA2E18101612');
INSERT INTO "entries" VALUES(20,1800000300000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',17,'{"accounts":{"analyst:eve":["basic",1800000180000],"group:lab":["zcdp",1800000180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":125000000,"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":7802343343447,"version":1}},"analyst":"eve","answer_key":"question","atto_delta":0,"charge":2,"event":null,"idempotency_key":"k1","mechanism":"gem","nano_epsilon":125000000,"plan_hash":"plan","policy_hash":"policy","repeats":1,"request_hash":"h","request_id":"request-1"}',X'8340935581F76979D89CAB0A6D20D3D0A79D1A88F98C76DC28EEE83D6F52A3DA');
INSERT INTO "entries" VALUES(21,1800000300000,'committed','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',18,'{"answer":null,"charge":2}',X'93EC20B915D6362A59E7DBD9A7A969C85FC3FFCA5C405B67B5D31CC35F816C8E');
INSERT INTO "entries" VALUES(22,1800000360000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',19,'{"accounts":{"analyst:ada":["basic",1800000000000],"dataset":["renyi",1800000180000],"group:lab":["zcdp",1800000180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":125000000,"version":1},"renyi":{"atto_delta":0,"currency":"renyi","femto":[1250000000000,1312500000000,1375000000000,1437500000000,1500000000000,1625000000000,1750000000000,1875000000000,2000000000000,2250000000000,2500000000000,2750000000000,3000000000000,3500000000000,4000000000000,4500000000000,5000000000000,6000000000000,7000000000000,8000000000000,9000000000000,11000000000000,13000000000000,15000000000000,17000000000000,21000000000000,25000000000000,29000000000000,33000000000000,41000000000000,49000000000000,57000000000000,65000000000000,81000000000000,97000000000000,113000000000000,129000000000000,161000000000000,193000000000000,225000000000000,257000000000000,321000000000000,385000000000000,449000000000000,513000000000000,641000000000000,769000000000000,897000000000000,1025000000000000,1281000000000000,1537000000000000,1793000000000000,2049000000000000,2561000000000000,3073000000000000,3585000000000000,4097000000000000,5121000000000000,6145000000000000,7169000000000000,8193000000000000,10241000000000000,12289000000000000,14337000000000000,16385000000000000,9000000000000000000],"orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":1000000000000,"version":1}},"analyst":"ada","answer_key":"","atto_delta":0,"charge":3,"event":{"kind":"ZCDP","rho":"0.001"},"idempotency_key":"","mechanism":"gem","nano_epsilon":125000000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_hash":"","request_id":"request-1"}',X'65D5CCF9DE941FB6C2B074F29379054A44DF03616C4287CE55C41D9CBBEE7EB0');
INSERT INTO "entries" VALUES(23,1800000360000,'failed','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',20,'{"analyst":"ada","answer":null,"charge":3,"plan_hash":"plan"}',X'D2E4B6A162E97C337AB2C915BEDE5005510425B3C0D76911D861CA8162BBDC5A');
INSERT INTO "entries" VALUES(24,1800000360000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',21,'{"accounts":{"analyst:ada":["basic",1800000000000],"dataset":["renyi",1800000180000],"group:lab":["zcdp",1800000180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":62500000,"version":1},"renyi":{"atto_delta":0,"currency":"renyi","femto":[2440115675608,2561958727655,2683772681885,2805555693186,2927305918790,3170700654464,3413942199327,3657015910771,3899907197823,4385084420710,4869358347384,5352614574422,5834739956452,6795152712832,7749721718874,8697600520674,9637974809347,11493132979201,13309441630205,15081832177792,16805969439195,20095912575285,23159479835170,25987755115140,28580892677033,33094887149917,36805185196338,39842411385164,42333569437541,46098109613935,48748760060329,50686980085244,52155151655851,54220715825298,55600212391498,56585851774970,57325115026297,58360091372419,59050076133792,59542922400246,59912557100220,60430045680187,60775038066832,61021461200150,61206278550139,61465022840122,61637519033445,61760730600104,61853139275098,61982511420090,62068759516751,62130365300081,62176569637578,62241255710074,62284379758404,62315182650069,62338284818818,62370627855065,62392189879231,62407591325063,62419142409437,62435313927561,62446094939644,62453795662560,62459571204747,62500000000000],"orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":1952489465379,"version":1}},"analyst":"ada","answer_key":"","atto_delta":0,"charge":4,"event":null,"idempotency_key":"","mechanism":"gem","nano_epsilon":62500000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_hash":"","request_id":"request-1"}',X'D4DBB09DD54F555C3C0B745297E1B15FF70108F0A30EABA635E4D8DF91BFE81A');
INSERT INTO "entries" VALUES(25,1800000360000,'failed','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',22,'{"answer":null,"charge":4}',X'34C34F994F4556B5EF68C792F72A04C5FE814EF2C9E5AE52E96C820E795F6CEB');
INSERT INTO "entries" VALUES(26,1800000360000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',23,'{"accounts":{"analyst:ada":["basic",1800000000000],"dataset":["renyi",1800000180000],"group:lab":["zcdp",1800000180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":62500000,"version":1},"renyi":{"atto_delta":0,"currency":"renyi","femto":[2440115675608,2561958727655,2683772681885,2805555693186,2927305918790,3170700654464,3413942199327,3657015910771,3899907197823,4385084420710,4869358347384,5352614574422,5834739956452,6795152712832,7749721718874,8697600520674,9637974809347,11493132979201,13309441630205,15081832177792,16805969439195,20095912575285,23159479835170,25987755115140,28580892677033,33094887149917,36805185196338,39842411385164,42333569437541,46098109613935,48748760060329,50686980085244,52155151655851,54220715825298,55600212391498,56585851774970,57325115026297,58360091372419,59050076133792,59542922400246,59912557100220,60430045680187,60775038066832,61021461200150,61206278550139,61465022840122,61637519033445,61760730600104,61853139275098,61982511420090,62068759516751,62130365300081,62176569637578,62241255710074,62284379758404,62315182650069,62338284818818,62370627855065,62392189879231,62407591325063,62419142409437,62435313927561,62446094939644,62453795662560,62459571204747,62500000000000],"orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":1952489465379,"version":1}},"analyst":"ada","answer_key":"","atto_delta":0,"charge":5,"event":null,"idempotency_key":"","mechanism":"gem","nano_epsilon":62500000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_hash":"","request_id":"request-1"}',X'80697EBA2183FE82DDCC5B4CB30346C8EA97AAA991A47FD77E06296FC62BF4CB');
INSERT INTO "entries" VALUES(27,1800000360000,'released','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',24,'{"answer":null,"charge":5}',X'7C0F3F45EC337485987465F2B7FB1E7DC3E859A81698E804900601EAB370EBD0');
INSERT INTO "entries" VALUES(28,1800000420000,'disabled','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',25,'{"analyst":"eve","by":"grace","enabled":0,"reason":"a test"}',X'129E3504FBA77D52BFCCE46D7C6C438DDAF07395E9DF13A425AA4F4CF36193F4');
INSERT INTO "entries" VALUES(29,1800000420000,'reserved','1d7f76d5-0d8f-4195-b571-5dd9d6a1a019',26,'{"accounts":{"analyst:ada":["basic",1800000000000],"dataset":["renyi",1800000180000],"group:lab":["zcdp",1800000180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":31250000,"version":1},"renyi":{"atto_delta":0,"currency":"renyi","femto":[610270861316,640774221946,671275760045,701775359472,732272904122,793261364879,854240214310,915208525154,976165370963,1098040966215,1219859607638,1341613920630,1463296550778,1706417459954,1949163992650,2191478278039,2433302989325,2915257524885,3394582504388,3870845853571,4343630466144,5277180362689,6192257400937,7086219526062,7956785038490,9620474569112,11172524112210,12607663063790,13925297970693,16222721243366,18114227070136,19664355766657,20936752364671,22860814550077,24216201684619,25207492768387,25958444084205,27014998476568,27720633902377,28224806071630,28602952590523,29132361737815,29485301443076,29737401236847,29926476082243,30191180865800,30367650721505,30493700618437,30588238041136,30720590432915,30808825360767,30871850309233,30919119020582,30985295216472,31029412680398,31060925154631,31084559510306,31117647608250,31139706340213,31155462577330,31167279755167,31183823804140,31194853170121,31202731288679,31208639877598,31250000000000],"orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":488241517451,"version":1}},"analyst":"ada","answer_key":"","atto_delta":0,"charge":6,"event":null,"idempotency_key":"","mechanism":"gem","nano_epsilon":31250000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_hash":"","request_id":"request-1"}',X'3A2C38AA519978B2A18239B557A33528994665BE8B27723BB4D9498EEC020CAB');
INSERT INTO "entries" VALUES(30,1800000420000,'clock','259b2543-444a-4ab5-979e-1fab9aa4d57a',2,'{"behind_ms":18000000,"by":"proxy","offset_ms":18000000,"reason":"the clock is behind the ledger"}',X'F8E83D458D6384CBC0E502C84246D9F349EC99FDCE0A5D74C63CD8EBC6817D6F');
INSERT INTO "entries" VALUES(31,1800000420000,'crashed','259b2543-444a-4ab5-979e-1fab9aa4d57a',1,'{"analyst":"ada","answer":null,"charge":6,"plan_hash":"plan"}',X'F618029A7CAB16193A8EC165CD5AD95B588F7BFE95BE0E0B34AB4A67A6B91F8F');
INSERT INTO "entries" VALUES(32,1800000480000,'reserved','259b2543-444a-4ab5-979e-1fab9aa4d57a',3,'{"accounts":{"analyst:ada":["basic",1800000000000],"dataset":["renyi",1800000180000],"group:lab":["zcdp",1800018180000]},"amounts":{"basic":{"atto_delta":0,"currency":"basic","nano_epsilon":15625000,"version":1},"renyi":{"atto_delta":0,"currency":"renyi","femto":[152582846172,160211351895,167839743649,175468014161,183096156162,198352025544,213607293640,228861902306,244115793410,274621190478,305123020095,335620817789,366114119407,427085379618,488033095283,548953568439,609843109796,731514690414,853018541105,974325579584,1095406973904,1336778968118,1576910214208,1815582602883,2052585221688,2520778872782,2979980173414,3428841713702,3866194456543,4702631593770,5483663073158,6206447417951,6870516147138,8029347153468,8984235555114,9767238153028,10410201881768,11382789889022,12068084125566,12569339928524,12949082068020,13483373428896,13840210549777,14095168796462,14286396314394,14554116881579,14732597398724,14860083484582,14955698049011,15089558439211,15178798699345,15242541742298,15290349024513,15357279219613,15401899349680,15433770871156,15457674512264,15491139609814,15513449674847,15529385435586,15541337256139,15558069804914,15569224837431,15577192717800,15583168628077,15625000000000],"orders":["1.25","1.3125","1.375","1.4375","1.5","1.625","1.75","1.875","2.0","2.25","2.5","2.75","3.0","3.5","4.0","4.5","5.0","6.0","7.0","8.0","9.0","11.0","13.0","15.0","17.0","21.0","25.0","29.0","33.0","41.0","49.0","57.0","65.0","81.0","97.0","113.0","129.0","161.0","193.0","225.0","257.0","321.0","385.0","449.0","513.0","641.0","769.0","897.0","1025.0","1281.0","1537.0","1793.0","2049.0","2561.0","3073.0","3585.0","4097.0","5121.0","6145.0","7169.0","8193.0","10241.0","12289.0","14337.0","16385.0","inf"],"version":1},"zcdp":{"atto_delta":0,"currency":"zcdp","femto_rho":122067829034,"version":1}},"analyst":"ada","answer_key":"","atto_delta":0,"charge":7,"event":null,"idempotency_key":"","mechanism":"gem","nano_epsilon":15625000,"plan_hash":"plan","policy_hash":"policy","repeats":null,"request_hash":"","request_id":"request-1"}',X'2BBE97C27B1EC689BEC9C9F14CE5B7295A8FEC4FC7697362A34B754256820139');
INSERT INTO "entries" VALUES(33,1800000480000,'restored','259b2543-444a-4ab5-979e-1fab9aa4d57a',4,'{"by":"grace","missing":3,"reason":"restored"}',X'0B22DC436CB3C196FC19A789556FF02CC200B5359C6B54D8421F7D915BD65435');
CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL CHECK (length(id) = 36)
) STRICT;
INSERT INTO "identity" VALUES(1,'fbbe5d29-75aa-41ea-969d-6f6ee07135f7');
CREATE INDEX entries_by_operation ON entries (instance, operation);
CREATE INDEX acts ON entries (kind, number) WHERE kind NOT IN ('reserved', 'committed', 'failed', 'released', 'crashed');
CREATE INDEX failures ON entries (at_ms, number) WHERE kind IN ('failed', 'crashed') AND substr(content, 1, 11) = '{"analyst":';
CREATE INDEX open_charges ON charges (number) WHERE state = 'reserved';
CREATE INDEX charges_of_analyst ON charges (analyst, number);
CREATE UNIQUE INDEX idempotent_requests ON charges (analyst, idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX paid_answers ON charges (answer_key, analyst, number) WHERE state = 'committed' AND answer_key <> '';
CREATE INDEX answered_plans ON charges (plan_hash, analyst, number) WHERE state = 'committed' AND answer_key <> '';
CREATE INDEX answers_by_key ON answers (answer_key, number);
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
    OR NEW.at_ms < (SELECT at_ms FROM entries ORDER BY number DESC LIMIT 1)
BEGIN SELECT RAISE(ABORT, 'an entry has the next number, and is not older than the last'); END;
CREATE TRIGGER charge_begins_reserved BEFORE INSERT ON charges
WHEN NEW.state <> 'reserved' OR NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM charges)
    OR (NEW.idempotency_key <> '' AND EXISTS (
        SELECT 1 FROM charges WHERE analyst = NEW.analyst AND idempotency_key = NEW.idempotency_key))
BEGIN SELECT RAISE(ABORT, 'a charge begins reserved, with the next number'); END;
CREATE TRIGGER charge_is_settled_once BEFORE UPDATE ON charges
WHEN OLD.state <> 'reserved' OR NEW.state = 'reserved'
    OR NEW.number IS NOT OLD.number OR NEW.entry IS NOT OLD.entry OR NEW.analyst IS NOT OLD.analyst OR NEW.plan_hash IS NOT OLD.plan_hash OR NEW.answer_key IS NOT OLD.answer_key OR NEW.idempotency_key IS NOT OLD.idempotency_key OR NEW.repeats IS NOT OLD.repeats OR NEW.instance IS NOT OLD.instance
BEGIN SELECT RAISE(ABORT, 'a charge changes once, from reserved to settled'); END;
CREATE TRIGGER analyst_keeps_name BEFORE UPDATE ON analysts WHEN NEW.name IS NOT OLD.name
    OR EXISTS (SELECT 1 FROM analysts WHERE key_hash = NEW.key_hash AND name <> OLD.name)
BEGIN SELECT RAISE(ABORT, 'an analyst keeps the name, and shares no key'); END;
CREATE TRIGGER account_keeps_name BEFORE UPDATE ON accounts
WHEN NEW.name IS NOT OLD.name OR NEW.accounting IS NOT OLD.accounting
BEGIN SELECT RAISE(ABORT, 'an account keeps its name and its accounting'); END;
CREATE TRIGGER account_is_not_overspent BEFORE UPDATE OF spent ON accounts
WHEN NEW.accounting = 'basic' AND (
    NEW.spent ->> 'nano_epsilon' > max(NEW.nano_epsilon, OLD.spent ->> 'nano_epsilon')
    OR NEW.spent ->> 'atto_delta' > max(NEW.atto_delta, OLD.spent ->> 'atto_delta')
    OR NEW.spent ->> 'nano_epsilon' < 0 OR NEW.spent ->> 'atto_delta' < 0)
BEGIN SELECT RAISE(ABORT, 'an account never spends more than it was granted'); END;
CREATE TRIGGER identity_are_kept BEFORE DELETE ON identity
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER analysts_are_kept BEFORE DELETE ON analysts
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER accounts_are_kept BEFORE DELETE ON accounts
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER charges_are_kept BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER answers_are_kept BEFORE DELETE ON answers
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
CREATE TRIGGER identity_do_not_change BEFORE UPDATE ON identity
BEGIN SELECT RAISE(ABORT, 'this is never changed'); END;
CREATE TRIGGER entries_do_not_change BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'this is never changed'); END;
CREATE TRIGGER answers_do_not_change BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'this is never changed'); END;
CREATE TRIGGER analysts_are_made_once BEFORE INSERT ON analysts WHEN EXISTS (SELECT 1 FROM analysts WHERE name = NEW.name OR key_hash = NEW.key_hash)
BEGIN SELECT RAISE(ABORT, 'this is there already'); END;
CREATE TRIGGER accounts_are_made_once BEFORE INSERT ON accounts WHEN EXISTS (SELECT 1 FROM accounts WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'this is there already'); END;
CREATE TRIGGER answers_are_made_once BEFORE INSERT ON answers WHEN EXISTS (SELECT 1 FROM answers WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'this is there already'); END;
CREATE TRIGGER identity_are_made_once BEFORE INSERT ON identity WHEN EXISTS (SELECT 1 FROM identity WHERE only_row = NEW.only_row)
BEGIN SELECT RAISE(ABORT, 'this is there already'); END;
COMMIT;
