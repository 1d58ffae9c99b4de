// pgx on behalf of the tests: pgx TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func code(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	must(err)
	return ""
}

func numbers(texts []string) []int64 {
	found := []int64{}
	for _, text := range texts {
		number, err := strconv.ParseInt(text, 10, 64)
		must(err)
		found = append(found, number)
	}
	return found
}

func cell(value interface{}) string {
	if number, ok := value.(pgtype.Numeric); ok { // pgx leaves its digits and its exponent apart
		var plain float64
		must(number.AssignTo(&plain))
		return fmt.Sprint(plain)
	}
	return fmt.Sprint(value)
}

func all(rows pgx.Rows, err error) [][]string {
	must(err)
	defer rows.Close()
	found := [][]string{}
	for rows.Next() {
		values, err := rows.Values()
		must(err)
		cells := []string{}
		for _, value := range values {
			cells = append(cells, cell(value))
		}
		found = append(found, cells)
	}
	must(rows.Err())
	return found
}

func batch(connection *pgx.Conn, statements []string) [][][]string {
	asked := &pgx.Batch{}
	for _, sql := range statements {
		asked.Queue(sql)
	}
	answers := connection.SendBatch(context.Background(), asked)
	defer answers.Close()
	found := [][][]string{}
	for range statements {
		found = append(found, all(answers.Query()))
	}
	return found
}

func cancelled(connection *pgx.Conn, sql string) string {
	running, err := strconv.Atoi(os.Getenv("NG_RUNNING_MS"))
	must(err)
	time.AfterFunc(time.Duration(running)*time.Millisecond, func() {
		must(connection.PgConn().CancelRequest(context.Background()))
	})
	_, err = connection.Exec(context.Background(), sql)
	found := code(err)
	all(connection.Query(context.Background(), "SELECT 1"))
	return found
}

func do(connection *pgx.Conn, task string, rest []string) interface{} {
	background := context.Background()
	switch task {
	case "tables":
		sql := "SELECT table_name FROM information_schema.tables WHERE table_schema = $1"
		found := []string{}
		for _, row := range all(connection.Query(background, sql, "public")) {
			found = append(found, row[0])
		}
		return found
	case "rows":
		found := [][][]string{}
		for _, sql := range rest {
			found = append(found, all(connection.Query(background, sql)))
		}
		return found
	case "prepared", "simple":
		_, err := connection.Prepare(background, "above", rest[0])
		must(err)
		found := []int64{}
		for _, number := range numbers(rest[1:]) {
			var count int64
			if task == "simple" {
				must(connection.QueryRow(background, rest[0], pgx.QuerySimpleProtocol(true), number).Scan(&count))
			} else {
				must(connection.QueryRow(background, "above", number).Scan(&count))
			}
			found = append(found, count)
		}
		return found
	case "batch":
		return batch(connection, rest)
	case "refusal":
		_, err := connection.Exec(background, rest[0])
		return code(err)
	case "cancelled":
		return cancelled(connection, rest[0])
	}
	panic(task)
}

func main() {
	place := fmt.Sprintf("host=localhost port=%s dbname=demo user=%s password=%s sslmode=verify-full sslrootcert=%s",
		os.Getenv("NG_PORT"), os.Getenv("NG_USER"), os.Getenv("NG_PASSWORD"), os.Getenv("NG_AUTHORITY"))
	connection, err := pgx.Connect(context.Background(), place)
	must(err)
	defer connection.Close(context.Background())
	must(json.NewEncoder(os.Stdout).Encode(do(connection, os.Args[1], os.Args[2:])))
}
