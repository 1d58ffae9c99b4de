// A question as a command for other tools; each names the environment variable of the key.

// Quoted for sh and for fish, in which a backslash counts within quotes.
const shell = (text) => `'${text.replace(/['\\]/g, (sign) => `'\\${sign}'`)}'`;

// Quoted for libpq, within what is quoted for the shell.
const value = (text) => `'${String(text).replace(/['\\]/g, (sign) => `\\${sign}`)}'`;
const body = ({ sql, epsilon, delta, max_relative_error: within, practice }) => JSON.stringify({ sql, epsilon, delta, max_relative_error: within, practice });

export function asCurl(question) {
  return [
    `curl ${location.origin}/v1/query \\`,
    `  -H "Authorization: Bearer $NOISEGATE_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${shell(body(question))}`,
  ].join("\n");
}

export function asPython(question) {
  return [
    "import json, os, urllib.request",
    "",
    `question = json.loads(${JSON.stringify(body(question))})`,
    `asked = urllib.request.Request("${location.origin}/v1/query", json.dumps(question).encode(),`,
    `    {"Authorization": f"Bearer {os.environ['NOISEGATE_KEY']}", "Content-Type": "application/json"})`,
    "answer = json.load(urllib.request.urlopen(asked))",
    `for row, intervals in zip(answer["rows"], answer["intervals"]):`,
    "    print(row, intervals)",
  ].join("\n");
}

// The wire protocol has no accuracy target, so the copy uses the epsilon.
export function asPsql({ sql, epsilon, practice }, { name, dataset }) {
  const where = `host=${value(location.hostname)} port=6432 dbname=${value(practice ? `${dataset}_practice` : dataset)} user=${value(name)}`;
  return [
    `PGPASSWORD="$NOISEGATE_KEY" psql ${shell(where)} \\`,
    `  -c ${shell(`SET noisegate.epsilon = ${epsilon}`)} -c ${shell(sql)}`,
  ].join("\n");
}
