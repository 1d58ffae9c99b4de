// Evidence's source on behalf of the tests: node evidence.mjs TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
// It passes on the words of an error only.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const runQuery = createRequire(`${process.env.NG_MODULES}/`)("@evidence-dev/postgres");
const place = {
  host: "localhost",
  port: Number(process.env.NG_PORT),
  database: "demo",
  user: process.env.NG_USER,
  password: process.env.NG_PASSWORD,
  ssl: { ca: readFileSync(process.env.NG_AUTHORITY) },
};
const asked = async (text) => {
  const { rows, columnTypes } = await runQuery(text, place);
  const found = [];
  for await (const portion of rows()) found.push(...portion.map((row) => Object.values(row)));
  return [found, columnTypes.map(({ name, evidenceType }) => [name, evidenceType])];
};

const tasks = {
  async tables() {
    const sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'";
    return (await asked(sql))[0].map((row) => row[0]);
  },
  async rows(statements) {
    const found = [];
    for (const text of statements) found.push((await asked(text))[0]);
    return found;
  },
  async prepared([text, ...values]) {
    const found = [];
    for (const value of values) found.push((await asked(text.replace("{}", value)))[0][0][0]);
    return found;
  },
  async typed([text]) {
    return (await asked(text))[1];
  },
  async refusal([text]) {
    return asked(text).then(() => "", (error) => error.message);
  },
};

const [task, ...rest] = process.argv.slice(2);
// A query that failed leaves its pool open, for which node would wait.
process.stdout.write(JSON.stringify(await tasks[task](rest)), () => process.exit());
