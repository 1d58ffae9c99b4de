// node-postgres on behalf of the tests: node client.mjs TASK ARGUMENTS..., where to connect in NG_*.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const pg = createRequire(`${process.env.NG_MODULES}/`)("pg");
const place = {
  host: "localhost",
  port: Number(process.env.NG_PORT),
  database: "demo",
  user: process.env.NG_USER,
  password: process.env.NG_PASSWORD,
  ssl: { ca: readFileSync(process.env.NG_AUTHORITY) },
  enableChannelBinding: true,
};

const tasks = {
  async tables(client) {
    const sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = $1";
    return (await client.query(sql, ["public"])).rows.map((row) => row.table_name);
  },
  async rows(client, statements) {
    const found = [];
    for (const text of statements) found.push((await client.query({ text, rowMode: "array" })).rows);
    return found;
  },
  async prepared(client, [text, ...values]) {
    const found = [];
    for (const value of values) {
      found.push((await client.query({ name: "above", text, values: [value], rowMode: "array" })).rows[0][0]);
    }
    return found;
  },
  async binary(client, [text]) {
    return (await client.query({ text, values: [], binary: true, rowMode: "array" })).rows;
  },
  async refusal(client, [text]) {
    return client.query(text).then(() => "", (error) => error.code);
  },
  async cancelled(client, [text]) {
    const query = new pg.Query(text);
    const code = new Promise((resolve) => query.on("error", (error) => resolve(error.code)));
    client.query(query);
    await sleep(Number(process.env.NG_RUNNING_MS));
    new pg.Client({ ...place, host: "127.0.0.1", ssl: false }).cancel(client, query); // it cancels without TLS
    const found = await code;
    await client.query("SELECT 1");
    return found;
  },
  async pool(_, [text]) {
    const pool = new pg.Pool({ ...place, max: 4 });
    const found = await Promise.all(Array.from({ length: 8 }, () => pool.query({ text, rowMode: "array" })));
    await pool.end();
    return found.map((answer) => answer.rows[0][0]);
  },
};

const [task, ...rest] = process.argv.slice(2);
const client = new pg.Client(place);
await client.connect();
try {
  process.stdout.write(JSON.stringify(await tasks[task](client, rest)));
} finally {
  await client.end();
}
