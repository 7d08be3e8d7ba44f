//! Tests snapshots, and streams that are not read to their end.

use crate::support::{Home, numbers, rows};
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;

async fn planned(
    home: &Home,
    tables: &[&str],
    sql: &str,
) -> (Arc<dyn ExecutionPlan>, Arc<datafusion::execution::TaskContext>) {
    let context = home.context(tables);
    let frame = context.sql(sql).await.expect("a query");
    let plan = frame.create_physical_plan().await.expect("a plan");
    (plan, context.task_ctx())
}

#[tokio::test]
async fn all_pieces_of_all_tables_are_of_one_moment() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 3000);
    numbers(&mut home, "u", 3000);
    let sql = "SELECT count(*), sum(t.id), sum(u.id) FROM t JOIN u ON t.id = u.id";
    let (plan, task) = planned(&home, &["t", "u"], sql).await;
    assert_eq!(connections(&mut home, 1).await, 1, "both tables are planned at one snapshot");
    home.run("DELETE FROM t WHERE id < 1000");
    home.run("UPDATE u SET id = id + 100000 WHERE id > 2000 ORDER BY id DESC");
    home.run("INSERT INTO u VALUES (5000, 1, 'new')");
    for _ in 0..2 {
        let batches = collect(plan.clone(), task.clone()).await.expect("rows");
        assert_eq!(crate::support::texts(&batches), [["3000", "4498500", "4498500"]]);
    }
    drop(plan);
    // A query that is planned later sees the changes.
    let context = home.context(&["t", "u"]);
    assert_eq!(rows(&context, sql).await, [["1001", "1501500", "1501500"]]);
}

#[tokio::test]
async fn a_table_that_was_changed_is_not_read_as_if_it_were_not() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 100);
    let context = home.context(&["t"]);
    home.run("ALTER TABLE t MODIFY third VARCHAR(10), ADD extra INT");
    let error =
        context.sql("SELECT third FROM t").await.expect("a query").collect().await.expect_err("another type");
    assert!(error.to_string().contains("open it again"), "{error}");
    home.run("ALTER TABLE t MODIFY third INT");
    assert_eq!(rows(&context, "SELECT id, third FROM t WHERE id < 2").await.len(), 2);
    home.run("ALTER TABLE t MODIFY third INT, MODIFY name VARCHAR(20) COLLATE utf8mb4_0900_bin NOT NULL");
    let error = context
        .sql("SELECT id FROM t")
        .await
        .expect("a query")
        .collect()
        .await
        .expect_err("another collation");
    assert!(error.to_string().contains("column 'name'"), "{error}");
    home.run("ALTER TABLE t DROP third");
    assert!(context.sql("SELECT third FROM t").await.expect("a query").collect().await.is_err());
    home.run("DROP TABLE t");
    assert!(context.sql("SELECT id FROM t").await.expect("a query").collect().await.is_err());
}

/// Returns the number of connections besides the asking one, once there are at most `most`.
async fn connections(home: &mut Home, most: usize) -> usize {
    let mut count = usize::MAX;
    // A thread that does not end fails the test; one that takes long does not.
    for _ in 0..3000 {
        count = home.connection.query("SHOW PROCESSLIST", ()).expect("connections").count() - 1;
        if count <= most {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_stream_ends_its_threads() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 5000);
    // A stream that is read in part.
    let (plan, task) = planned(&home, &["t"], "SELECT * FROM t").await;
    let mut stream = execute_stream(plan.clone(), task.clone()).expect("a stream");
    let first = stream.next().await.expect("rows").expect("a batch");
    assert!(first.num_rows() > 0);
    assert!(connections(&mut home, 5).await > 1, "the plan's own, and those that read");
    drop(stream);
    assert_eq!(connections(&mut home, 1).await, 1, "the plan's own");
    drop(plan);
    assert_eq!(connections(&mut home, 0).await, 0);

    // A stream that finds nothing for a long time.
    home.run("CREATE VIEW slow AS SELECT id FROM t WHERE SLEEP(3600) = 1");
    let (plan, task) = planned(&home, &["slow"], "SELECT * FROM slow").await;
    let mut stream = execute_stream(plan.clone(), task).expect("a stream");
    assert!(tokio::time::timeout(Duration::from_millis(100), stream.next()).await.is_err());
    drop((stream, plan));
    assert_eq!(connections(&mut home, 0).await, 0);
}

#[tokio::test]
async fn one_thread_of_a_runtime_can_wait_for_many_pieces() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 5000);
    let context = home.context(&["t"]);
    // A separate thread reads each piece, so that none blocks a runtime of one thread.
    let ticks = tokio::spawn(async {
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(rows(&context, "SELECT count(*) FROM t a JOIN t b ON a.id = b.third").await, [["4500"]]);
    ticks.await.expect("the other task");
}

#[tokio::test]
async fn errors_of_a_piece_end_the_query() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 100);
    home.run("CREATE VIEW broken AS SELECT id, (SELECT a.id FROM t a WHERE a.id < t.id) AS several FROM t");
    let context = home.context(&["broken"]);
    let failed = context.sql("SELECT several FROM broken").await.expect("a query").collect().await;
    let error = failed.expect_err("more than one row").to_string();
    assert!(error.contains("more than 1 row"), "{error}");
}
