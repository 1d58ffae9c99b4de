// lib/pq under database/sql on behalf of the tests: lib_pq TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/lib/pq"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func code(err error) string {
	var refused *pq.Error
	if errors.As(err, &refused) {
		return string(refused.Code)
	}
	must(err)
	return ""
}

func all(rows *sql.Rows, err error) [][]string {
	must(err)
	defer rows.Close()
	names, err := rows.Columns()
	must(err)
	found := [][]string{}
	for rows.Next() {
		cells, places := make([]sql.NullString, len(names)), make([]interface{}, len(names))
		for at := range cells {
			places[at] = &cells[at]
		}
		must(rows.Scan(places...))
		texts := make([]string, len(names)) // of NULL, such as questions_left before the first one, it is empty
		for at, cell := range cells {
			texts[at] = cell.String
		}
		found = append(found, texts)
	}
	must(rows.Err())
	return found
}

func prepared(connection *sql.DB, text string, values []string) []int64 {
	statement, err := connection.Prepare(text)
	must(err)
	defer statement.Close()
	found := []int64{}
	for _, value := range values {
		number, err := strconv.ParseInt(value, 10, 64)
		must(err)
		var count int64
		must(statement.QueryRow(number).Scan(&count))
		found = append(found, count)
	}
	return found
}

func do(connection *sql.DB, task string, rest []string) interface{} {
	switch task {
	case "tables":
		text := "SELECT table_name FROM information_schema.tables WHERE table_schema = $1"
		found := []string{}
		for _, row := range all(connection.Query(text, "public")) {
			found = append(found, row[0])
		}
		return found
	case "rows":
		found := [][][]string{}
		for _, text := range rest {
			found = append(found, all(connection.Query(text)))
		}
		return found
	case "prepared":
		return prepared(connection, rest[0], rest[1:])
	case "transaction":
		inside, err := connection.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
		must(err)
		found := all(inside.Query(rest[0]))
		must(inside.Commit())
		return found
	case "refusal":
		_, err := connection.Exec(rest[0])
		return code(err)
	case "cancelled":
		running, err := strconv.Atoi(os.Getenv("NG_RUNNING_MS"))
		must(err)
		until, stop := context.WithTimeout(context.Background(), time.Duration(running)*time.Millisecond)
		defer stop()
		_, err = connection.ExecContext(until, rest[0])
		found := code(err)
		all(connection.Query("SELECT 1"))
		return found
	}
	panic(task)
}

func main() {
	place := fmt.Sprintf("host=localhost port=%s dbname=demo user=%s password=%s sslmode=verify-full sslrootcert=%s",
		os.Getenv("NG_PORT"), os.Getenv("NG_USER"), os.Getenv("NG_PASSWORD"), os.Getenv("NG_AUTHORITY"))
	connection, err := sql.Open("postgres", place)
	must(err)
	defer connection.Close()
	must(json.NewEncoder(os.Stdout).Encode(do(connection, os.Args[1], os.Args[2:])))
}
