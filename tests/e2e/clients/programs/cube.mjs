// Cube's driver on behalf of the tests: node cube.mjs TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { PostgresDriver } = createRequire(`${process.env.NG_MODULES}/`)("@cubejs-backend/postgres-driver");
const driver = (more = {}) => new PostgresDriver({
  host: "localhost",
  port: Number(process.env.NG_PORT),
  database: "demo",
  user: process.env.NG_USER,
  password: process.env.NG_PASSWORD,
  ssl: { ca: readFileSync(process.env.NG_AUTHORITY) },
  ...more,
});
const cells = (rows) => rows.map((row) => Object.values(row));

const tasks = {
  async tables(cube) {
    await cube.testConnection();
    return Object.keys((await cube.tablesSchema()).public);
  },
  async columns(cube, [table]) {
    return (await cube.tablesSchema()).public[table];
  },
  async rows(cube, statements) {
    const found = [];
    for (const text of statements) found.push(cells(await cube.query(text, [])));
    return found;
  },
  async prepared(cube, [text, ...values]) {
    const found = [];
    for (const value of values) found.push(cells(await cube.query(text, [value]))[0][0]);
    return found;
  },
  async download(cube, [text]) {
    const { rows, types } = await cube.downloadQueryResults(text, [], {});
    return [types, cells(rows)];
  },
  async stream(cube, [text]) {
    const { rowStream, types, release } = await cube.stream(text, [], { highWaterMark: 10 });
    const found = [];
    for await (const row of rowStream) found.push(Object.values(row));
    await release();
    return [types, found];
  },
  async refusal(cube, [text]) {
    return cube.query(text, []).then(() => "", (error) => error.code);
  },
};

const [task, ...rest] = process.argv.slice(2);
// It cancels by the time that a query may take, which it sets before each.
const timed = { executionTimeout: Number(process.env.NG_RUNNING_MS) / 1000 };
const cube = driver(task === "cancelled" ? timed : {});
try {
  const found = task === "cancelled" ? await tasks.refusal(cube, rest) : await tasks[task](cube, rest);
  if (task === "cancelled") await cube.query("SELECT 1", []);
  process.stdout.write(JSON.stringify(found));
} finally {
  await cube.release();
}
