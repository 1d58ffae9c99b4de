// postgres.js on behalf of the tests: node postgres_js.mjs TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const postgres = createRequire(`${process.env.NG_MODULES}/`)("postgres");
const sql = postgres({
  host: "localhost",
  port: Number(process.env.NG_PORT),
  database: "demo",
  user: process.env.NG_USER,
  password: process.env.NG_PASSWORD,
  ssl: { ca: readFileSync(process.env.NG_AUTHORITY) },
  max: 1,
  onnotice: () => {},
});

const tasks = {
  async tables() {
    const found = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = ${"public"}`;
    return found.map((row) => row.table_name);
  },
  async rows(statements) {
    const found = [];
    for (const text of statements) found.push(await sql.unsafe(text).values());
    return found;
  },
  async prepared([text, ...values]) {
    const found = [];
    for (const value of values) found.push((await sql.unsafe(text, [value], { prepare: true }).values())[0][0]);
    return found;
  },
  async tagged([price, statuses]) {
    const above = await sql`SELECT count(*) FROM ${sql("orders")} WHERE o_totalprice > ${price}`;
    const among = await sql`SELECT count(*) FROM orders WHERE o_orderstatus IN ${sql(statuses.split(","))}`;
    return [above[0].count, among[0].count];
  },
  async portions([text]) {
    const sizes = [];
    await sql.unsafe(text).cursor(10, (rows) => void sizes.push(rows.length));
    return sizes;
  },
  async transaction([text]) {
    return sql.begin("read only", async (inside) => (await inside.unsafe(text).values())[0][0]);
  },
  async refusal([text]) {
    return sql.unsafe(text).then(() => "", (error) => error.code);
  },
  async cancelled([text]) {
    const query = sql.unsafe(text);
    const code = query.then(() => "", (error) => error.code);
    await sleep(Number(process.env.NG_RUNNING_MS));
    query.cancel();
    const found = await code;
    await sql`SELECT 1`;
    return found;
  },
};

const [task, ...rest] = process.argv.slice(2);
try {
  process.stdout.write(JSON.stringify(await tasks[task](rest)));
} finally {
  await sql.end();
}
