// Everyday work of Go programs through go-sql-driver against a running server: logins over each transport, prepared
// statements, many rows, errors, transactions, compression.
//
// Environment: LEAFLINE_PORT, LEAFLINE_SOCKET, LEAFLINE_PASSWORD, LEAFLINE_CA. Exits with 1 and a message on failure.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
)

func main() {
	pem, err := os.ReadFile(os.Getenv("LEAFLINE_CA"))
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	if err := mysql.RegisterTLSConfig("own", &tls.Config{RootCAs: roots, ServerName: "localhost"}); err != nil {
		panic(err)
	}
	tcp := "tcp(127.0.0.1:" + os.Getenv("LEAFLINE_PORT") + ")"
	sources := map[string]string{
		"tcp":             tcp + "/?",
		"tcp, compressed": tcp + "/?compress=true&",
		"tls":             tcp + "/?tls=own&",
		"tls, compressed": tcp + "/?tls=own&compress=true&",
		"socket":          "unix(" + os.Getenv("LEAFLINE_SOCKET") + ")/?",
	}
	warnings := &counter{}
	if err := mysql.SetLogger(warnings); err != nil {
		panic(err)
	}
	failed := false
	for name, source := range sources {
		dsn := "root:" + os.Getenv("LEAFLINE_PASSWORD") + "@" + source + "multiStatements=true"
		err := work(dsn)
		if err == nil && warnings.last != nil {
			err = fmt.Errorf("the driver warns: %v", warnings.last)
		}
		if err != nil {
			failed = true
			fmt.Printf("Go, %s: FAILED: %v\n", name, err)
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Println("Go, go-sql-driver: ok")
}

// The driver's own log messages about the protocol.
type counter struct{ last []any }

func (c *counter) Print(v ...any) { c.last = v }

func work(dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE DATABASE IF NOT EXISTS clients; DROP TABLE IF EXISTS clients.g; CREATE TABLE clients.g (id INT PRIMARY KEY, t VARCHAR(40), b BLOB)"); err != nil {
		return err
	}
	insert, err := db.Prepare("INSERT INTO clients.g VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	for id := 1; id <= 500; id++ {
		if _, err := insert.Exec(id, fmt.Sprintf("é🦀 %d", id), []byte{0, 255}); err != nil {
			return err
		}
	}
	var text string
	var bytes []byte
	if err := db.QueryRow("SELECT t, b FROM clients.g WHERE id = ?", 7).Scan(&text, &bytes); err != nil {
		return err
	}
	if text != "é🦀 7" || len(bytes) != 2 || bytes[1] != 255 {
		return fmt.Errorf("%q %v", text, bytes)
	}
	transaction, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := transaction.Exec("DELETE FROM clients.g"); err != nil {
		return err
	}
	if err := transaction.Rollback(); err != nil {
		return err
	}
	rows, err := db.Query("SELECT a.id, b.t FROM clients.g a, clients.g b")
	if err != nil {
		return err
	}
	count := 0
	for rows.Next() {
		count++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if count != 250000 {
		return fmt.Errorf("%d rows", count)
	}
	_, err = db.Exec("INSERT INTO clients.g (id) VALUES (1)")
	var known *mysql.MySQLError
	if !errors.As(err, &known) || known.Number != 1062 {
		return fmt.Errorf("a key twice: %v", err)
	}
	return nil
}
