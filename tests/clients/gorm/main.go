// Everyday work of Go programs through GORM against a running server: migration of tables from structures, twice,
// relations, existing rows, batches, locks.
//
// Environment: LEAFLINE_PORT; root has no password. Creates the database `clients_gorm` anew. Exits with 1 and a
// message on failure.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Author has books.
type Author struct {
	gorm.Model
	Name  string `gorm:"size:60;uniqueIndex;not null"`
	Born  *time.Time
	Score float64 `gorm:"type:decimal(10,2);default:1.5"`
	Flag  bool
	Raw   []byte
	Books []Book `gorm:"constraint:OnDelete:CASCADE"`
}

// Book is of an author, and has tags.
type Book struct {
	ID       uint64 `gorm:"primaryKey"`
	AuthorID uint
	Title    string `gorm:"type:text"`
	Price    int    `gorm:"index:by_kind,priority:2;check:price >= 0"`
	Kind     string `gorm:"type:enum('a','b');default:'a';index:by_kind,priority:1"`
	Tags     []Tag  `gorm:"many2many:book_tags"`
}

// Tag is a word.
type Tag struct {
	ID   uint
	Word string `gorm:"size:20"`
}

func main() {
	if err := work("root@tcp(127.0.0.1:" + os.Getenv("LEAFLINE_PORT") + ")/"); err != nil {
		fmt.Println("GORM: FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("GORM: ok")
}

func work(server string) error {
	root, err := gorm.Open(mysql.Open(server), &gorm.Config{})
	if err != nil {
		return err
	}
	for _, statement := range []string{"DROP DATABASE IF EXISTS clients_gorm", "CREATE DATABASE clients_gorm"} {
		if err := root.Exec(statement).Error; err != nil {
			return err
		}
	}
	config := gorm.Config{Logger: logger.Default.LogMode(logger.Warn), PrepareStmt: true}
	db, err := gorm.Open(mysql.Open(server+"clients_gorm?charset=utf8mb4&parseTime=True&loc=Local"), &config)
	if err != nil {
		return err
	}
	if err := tables(db); err != nil {
		return err
	}
	if err := rows(db); err != nil {
		return err
	}
	migrator := db.Migrator()
	return errors.Join(
		migrator.RenameColumn(&Tag{}, "word", "name"),
		migrator.DropColumn(&Tag{}, "name"),
		migrator.DropTable("book_tags", &Book{}, &Author{}, &Tag{}),
	)
}

// Migration compares the tables with the structures: the second time it finds nothing to do.
func tables(db *gorm.DB) error {
	migrator := db.Migrator()
	for range 2 {
		if err := db.AutoMigrate(&Author{}, &Book{}, &Tag{}); err != nil {
			return err
		}
	}
	for _, table := range []any{&Author{}, &Book{}} {
		if _, err := migrator.ColumnTypes(table); err != nil {
			return err
		}
		if _, err := migrator.GetIndexes(table); err != nil {
			return err
		}
		if _, err := migrator.TableType(table); err != nil {
			return err
		}
	}
	if !migrator.HasConstraint(&Author{}, "Books") || !migrator.HasIndex(&Book{}, "by_kind") || !migrator.HasColumn(&Book{}, "Title") {
		return errors.New("a key, an index or a column is not found")
	}
	return nil
}

func rows(db *gorm.DB) error {
	ann := Author{Name: "ann", Books: []Book{{Title: "x", Tags: []Tag{{Word: "w"}}}, {Title: "y", Price: 3}}}
	if err := db.Create(&ann).Error; err != nil {
		return err
	}
	if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Author{Name: "ann", Score: 9}).Error; err != nil {
		return err
	}
	if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Author{Name: "ann"}).Error; err != nil {
		return err
	}
	tags := make([]Tag, 500)
	for at := range tags {
		tags[at].Word = fmt.Sprint(at)
	}
	if err := db.CreateInBatches(tags, 100).Error; err != nil {
		return err
	}
	var last Tag
	if err := db.Last(&last).Error; err != nil {
		return err
	}
	if last.ID != tags[499].ID || last.Word != "499" {
		return fmt.Errorf("%+v instead of %+v", last, tags[499])
	}
	var found []Author
	joined := db.Preload("Books.Tags").Joins("LEFT JOIN books ON books.author_id = authors.id").Where("authors.name = ?", "ann")
	if err := joined.Group("authors.id").Find(&found).Error; err != nil {
		return err
	}
	if len(found) != 1 || len(found[0].Books) != 2 || found[0].Score != 9 || found[0].Books[0].Tags[0].Word != "w" {
		return fmt.Errorf("%+v", found)
	}
	return db.Transaction(func(tx *gorm.DB) error {
		var book Book
		if err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).First(&book).Error; err != nil {
			return err
		}
		return tx.Model(&book).Update("price", gorm.Expr("price + ?", 2)).Error
	})
}
