-- Statements that ask for more memory or time than a server has, one bomb a line; `;;` stands between the statements of one bomb.
-- Each may give rows or an error; the server goes on (see main.rs, which also makes the tables).
-- Values that grow.
SELECT REPEAT('a', 67000000)
SELECT LENGTH(REPEAT(REPEAT('ab', 1000000), 30))
SELECT REPEAT('a', 1 << 40)
SELECT REPEAT(x, 5) FROM long_values
SELECT HEX(x) FROM long_values
SELECT HEX(HEX(HEX(x))) FROM long_values
SELECT CONCAT(x, x, x, x, x) FROM long_values
SELECT CONCAT(a.x, b.x) FROM long_values a, long_values b
SELECT TO_BASE64(x), QUOTE(x), REVERSE(x), UPPER(x), LOWER(x) FROM long_values
SELECT REPLACE(x, 'a', 'aaaaaaaaaa') FROM long_values
SELECT REGEXP_REPLACE(x, 'a', 'bbbbbbbbbb') FROM long_values
SELECT LPAD(x, 60000000, 'xyz'), RPAD(x, 60000000, 'xyz') FROM long_values
SELECT SPACE(60000000), id FROM t
SELECT REPEAT(v, 100000) FROM t
SELECT REPEAT('x', 1000000) FROM t
SELECT id, REPEAT('x', 1000000) AS r FROM t ORDER BY r
SELECT REPEAT(v, 60000) AS r, COUNT(*) FROM t GROUP BY r
SELECT DISTINCT REPEAT(v, 60000) FROM t
SELECT COUNT(DISTINCT REPEAT(v, 60000)) FROM t
SELECT MAX(REPEAT(v, 60000)), MIN(REPEAT(v, 50000)) FROM t
SELECT g, MAX(REPEAT(v, 60000)) FROM t GROUP BY g
SELECT id FROM t WHERE REPEAT(v, 100000) LIKE '%zz%'
UPDATE t SET v = REPEAT(v, 1000000)
INSERT INTO sink (x) SELECT REPEAT('x', 30000000) FROM t
INSERT INTO sink (x) SELECT x FROM long_values
DELETE FROM t WHERE REPEAT(v, 500000) = 'x'
-- Long values through every operator.
SELECT * FROM long_values
SELECT x FROM long_values ORDER BY x
SELECT x FROM long_values ORDER BY x DESC LIMIT 3
SELECT x, COUNT(*) FROM long_values GROUP BY x
SELECT x, MAX(b) FROM long_values GROUP BY x
SELECT DISTINCT x FROM long_values
SELECT COUNT(DISTINCT x) FROM long_values
SELECT COUNT(DISTINCT x, b) FROM long_values
SELECT MIN(x), MAX(x) FROM long_values
SELECT x FROM long_values UNION SELECT x FROM long_values
SELECT x FROM long_values UNION ALL SELECT CONCAT(x, 'y') FROM long_values
SELECT x FROM long_values INTERSECT SELECT x FROM long_values
SELECT x FROM long_values EXCEPT SELECT CONCAT(x, 'y') FROM long_values
SELECT a.x, b.x FROM long_values a JOIN long_values b ON a.x = b.x
SELECT a.x, b.x FROM long_values a, long_values b
SELECT a.x, t.v FROM long_values a, t
SELECT t.v, a.x FROM t JOIN long_values a ON a.id = t.g
SELECT a.x, t.id FROM long_values a JOIN t ON t.g = a.id
SELECT t.id, a.x FROM t LEFT JOIN long_values a ON a.x > t.v
SELECT x, ROW_NUMBER() OVER (ORDER BY x) FROM long_values
SELECT x, LAG(x, 1) OVER (ORDER BY id), LEAD(x, 2) OVER (ORDER BY id) FROM long_values
SELECT MAX(x) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) FROM long_values
WITH c AS (SELECT x FROM long_values) SELECT a.x, b.x FROM c a, c b
SELECT (SELECT x FROM long_values b WHERE b.id = a.id) FROM long_values a
SELECT id FROM long_values WHERE x IN (SELECT x FROM long_values)
SELECT id FROM long_values WHERE x IN (SELECT CONCAT(x, '') FROM long_values)
SELECT x FROM long_values WHERE x LIKE '%a%b%c%d%e%f%g%'
SELECT x FROM long_values a WHERE EXISTS (SELECT 1 FROM long_values b WHERE b.x = a.x AND b.id <> a.id)
SELECT * FROM (SELECT x FROM long_values LIMIT 100) d ORDER BY x
SELECT * FROM long_values a JOIN LATERAL (SELECT CONCAT(a.x, b.x) AS y FROM long_values b) l
CREATE TABLE copied AS SELECT x, CONCAT(x, x) AS y FROM long_values ;; DROP TABLE IF EXISTS copied
SELECT x FROM long_values FOR UPDATE
UPDATE long_values SET x = CONCAT(x, x)
SELECT x INTO @x FROM long_values LIMIT 1 ;; SELECT CONCAT(@x, @x, @x), HEX(@x)
-- Aggregates that put values together.
SET SESSION group_concat_max_len = 4294967295 ;; SELECT GROUP_CONCAT(x) FROM long_values
SET SESSION group_concat_max_len = 4294967295 ;; SELECT GROUP_CONCAT(x ORDER BY x DESC SEPARATOR '---') FROM long_values
SET SESSION group_concat_max_len = 4294967295 ;; SELECT GROUP_CONCAT(DISTINCT x ORDER BY id) FROM long_values
SET SESSION group_concat_max_len = 4294967295 ;; SELECT GROUP_CONCAT(a.v, b.v, c.v) FROM t a, t b, t c
SET SESSION group_concat_max_len = 18446744073709551615 ;; SELECT GROUP_CONCAT(REPEAT(v, 100000)) FROM t
SET SESSION group_concat_max_len = 4294967295 ;; SELECT g, GROUP_CONCAT(REPEAT(v, 10000) ORDER BY id) FROM t GROUP BY g
SELECT JSON_ARRAYAGG(x) FROM long_values
SELECT JSON_OBJECTAGG(id, x) FROM long_values
SELECT JSON_ARRAYAGG(REPEAT(v, 10000)) FROM t
SELECT JSON_OBJECTAGG(CONCAT(a.id, '-', b.id), a.v) FROM t a, t b
SELECT g, JSON_ARRAYAGG(REPEAT(v, 1000)) FROM t GROUP BY g
SELECT JSON_ARRAYAGG(v) OVER (ORDER BY id) FROM t
-- Joins without conditions, sorts and groups of many rows.
SELECT COUNT(*) FROM t a, t b, t c
SELECT * FROM t a, t b
SELECT * FROM t a, t b ORDER BY a.v, b.v DESC
SELECT a.v, b.v, COUNT(*) FROM t a, t b GROUP BY a.v, b.v
SELECT DISTINCT a.v, b.v FROM t a, t b
SELECT COUNT(DISTINCT a.v, b.v) FROM t a, t b
SELECT a.id, b.id, SUM(a.g) OVER (ORDER BY b.g) FROM t a, t b
SELECT a.id, RANK() OVER (PARTITION BY a.g ORDER BY b.v) FROM t a, t b
SELECT * FROM t a JOIN t b ON a.g < b.g JOIN t c ON b.g < c.g ORDER BY c.v
SELECT a.v FROM t a, t b UNION SELECT b.v FROM t a, t b
SELECT a.id, b.id FROM t a, t b INTERSECT SELECT b.id, a.id FROM t a, t b
SELECT COUNT(*) FROM t a WHERE a.v > ALL (SELECT CONCAT(b.v, c.v) FROM t b, t c)
SELECT COUNT(*) FROM t a LEFT JOIN t b ON a.v < b.v LEFT JOIN t c ON b.v < c.v
SELECT a.g, b.g, c.g, COUNT(*) FROM t a, t b, t c GROUP BY a.g, b.g, c.g WITH ROLLUP
INSERT INTO sink (x) SELECT CONCAT(a.v, b.v) FROM t a, t b
CREATE TABLE copied AS SELECT a.* FROM t a, t b ;; DROP TABLE IF EXISTS copied
UPDATE t a, t b SET a.v = CONCAT(a.v, b.v) WHERE a.g < b.g
DELETE a FROM t a, t b, t c WHERE a.v = CONCAT(b.v, c.v)
SELECT COUNT(*) FROM t a NATURAL JOIN t b, t c, t d, t e
SELECT * FROM t a, t b FOR UPDATE
-- Recursion.
SET SESSION cte_max_recursion_depth = 4294967295 ;; WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
SET SESSION cte_max_recursion_depth = 4294967295 ;; WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
SET SESSION cte_max_recursion_depth = 4294967295 ;; WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r ORDER BY n DESC
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n * 2 FROM r JOIN t ON t.id > r.n) SELECT COUNT(*) FROM r
WITH RECURSIVE r AS (SELECT CAST('a' AS CHAR(60000000)) AS s UNION ALL SELECT CONCAT(s, s) FROM r) SELECT LENGTH(s) FROM r
WITH RECURSIVE r AS (SELECT 1 AS n, CAST(REPEAT('x', 1000000) AS CHAR(2000000)) AS s UNION ALL SELECT n + 1, s FROM r WHERE n < 900) SELECT COUNT(*), MAX(s) FROM r
WITH RECURSIVE r AS (SELECT id, v FROM t UNION ALL SELECT t.id, t.v FROM t, r) SELECT COUNT(*) FROM r
WITH RECURSIVE r AS (SELECT id, v FROM t UNION SELECT t.id + r.id, CONCAT(r.v, t.v) FROM t, r) SELECT COUNT(*) FROM r
WITH a AS (SELECT * FROM t), b AS (SELECT x.id FROM a x, a y), c AS (SELECT x.id FROM b x, b y) SELECT COUNT(*) FROM c x, c y
-- Patterns.
SELECT COUNT(*) FROM t WHERE v LIKE CONCAT(REPEAT('%a', 3000), '%')
SELECT REPEAT('a', 100000) LIKE CONCAT(REPEAT('%a', 5000), 'b')
SELECT REPEAT('a', 1000000) LIKE CONCAT(REPEAT('%a_', 1000), 'b')
SELECT x LIKE CONCAT(REPEAT('%a%b', 1000), '%') FROM long_values
SELECT REPEAT('a', 50000) REGEXP '(a*)*b'
SELECT REPEAT('a', 1000000) REGEXP '(a|aa)+$b'
SELECT x REGEXP '(.*)(.*)(.*)(.*)z' FROM long_values
SELECT 'a' REGEXP REPEAT('(a|b)', 100000)
SELECT 'a' REGEXP CONCAT(REPEAT('(', 50000), REPEAT(')', 50000))
SELECT 'a' REGEXP '((((a{1,1000}){1,1000}){1,1000}){1,1000})'
SELECT 'a' REGEXP 'a{1000000000}'
SELECT REGEXP_INSTR(x, 'b+c+d+') FROM long_values
SELECT COUNT(*) FROM t WHERE v REGEXP CONCAT('^', REPEAT('(x?)', 500), v)
SELECT LOCATE(REPEAT('ab', 500000), REPEAT('ab', 10000000))
SELECT INSTR(x, REPEAT('a', 1000000)), SUBSTRING_INDEX(x, 'abc', -100000) FROM long_values
-- JSON.
SELECT JSON_LENGTH(CONCAT(REPEAT('[', 100000), REPEAT(']', 100000)))
SELECT JSON_VALID(CONCAT(REPEAT('{"a":', 100000), '1', REPEAT('}', 100000)))
SELECT JSON_DEPTH(CAST(CONCAT(REPEAT('[', 99), REPEAT(']', 99)) AS JSON))
SELECT JSON_ARRAY(x, x, x, x) FROM long_values
SELECT JSON_OBJECT('a', x, 'b', x, 'c', JSON_ARRAY(x, x)) FROM long_values
SELECT JSON_MERGE_PRESERVE(j, j, j, j), JSON_MERGE_PATCH(j, j) FROM long_values
SELECT JSON_PRETTY(JSON_ARRAY(j, j, j)) FROM long_values
SELECT JSON_EXTRACT(j, '$**.a', '$**.b', '$[*]', '$[*][*]') FROM long_values
SELECT JSON_SEARCH(j, 'all', '%') FROM long_values
SELECT JSON_CONTAINS(j, j), JSON_OVERLAPS(j, j) FROM long_values
SELECT JSON_SET(j, '$[1]', j, '$[2]', j, '$[3]', j), JSON_ARRAY_APPEND(j, '$', j) FROM long_values
SELECT COUNT(*) FROM long_values, JSON_TABLE(j, '$[*]' COLUMNS (a JSON PATH '$')) a, JSON_TABLE(j, '$[*]' COLUMNS (a JSON PATH '$')) b
SELECT * FROM JSON_TABLE(CONCAT('[', REPEAT('1,', 5000000), '1]'), '$[*]' COLUMNS (n INT PATH '$')) a
SELECT JSON_KEYS(j), JSON_QUOTE(x), JSON_UNQUOTE(x), JSON_STORAGE_SIZE(j) FROM long_values
SELECT JSON_SCHEMA_VALID('{"type":"array","items":{"type":"array","uniqueItems":true}}', j) FROM long_values
SELECT j FROM long_values ORDER BY j
SELECT j, COUNT(*) FROM long_values GROUP BY j
SELECT DISTINCT j FROM long_values
-- What a session keeps.
SET @a = REPEAT('a', 60000000) ;; SET @b = REPEAT('b', 60000000) ;; SET @c = REPEAT('c', 60000000) ;; SET @d = REPEAT('d', 60000000) ;; SET @e = REPEAT('e', 60000000) ;; SET @f = CONCAT(@a, @b)
SET @v = REPEAT('a', 30000000) ;; SET @v = CONCAT(@v, @v) ;; SET @v = CONCAT(@v, @v) ;; SELECT HEX(@v)
SET @v = 'a' ;; SELECT @v := CONCAT(@v, @v) FROM t
SET @s = CONCAT('SELECT ', REPEAT('1,', 2000000), '1') ;; PREPARE p FROM @s ;; EXECUTE p
SET @s = CONCAT('SELECT ', REPEAT('1+', 1000000), '1') ;; PREPARE p FROM @s ;; EXECUTE p
SET @s = CONCAT('SELECT 1 WHERE 1 IN (', REPEAT('1,', 2000000), '1)') ;; PREPARE p FROM @s ;; EXECUTE p
SET @s = CONCAT('SELECT ', REPEAT('(', 1000000), '1', REPEAT(')', 1000000)) ;; PREPARE p FROM @s
SET @s = CONCAT('SELECT ', REPEAT('NOT ', 5000000), '1') ;; PREPARE p FROM @s
SET @s = CONCAT('SELECT 1', REPEAT(' UNION ALL SELECT 1', 300000)) ;; PREPARE p FROM @s ;; EXECUTE p
SET @s = CONCAT('SELECT * FROM t WHERE id = 1', REPEAT(' OR id = 1', 500000)) ;; PREPARE p FROM @s ;; EXECUTE p
SET @s = CONCAT('INSERT INTO sink (x) VALUES ', REPEAT('(1),', 2000000), '(1)') ;; PREPARE p FROM @s ;; EXECUTE p
-- Much that is locked, sorted or changed.
ALTER TABLE long_values ADD KEY (x(700)), ADD KEY (b(3000)) ;; ALTER TABLE long_values DROP KEY x, DROP KEY b
ANALYZE TABLE long_values
CHECK TABLE long_values
SELECT MD5(x), SHA2(x, 512), CRC32(x), COMPRESS(x), AES_ENCRYPT(x, 'k') FROM long_values
SELECT UNCOMPRESS(COMPRESS(x)) FROM long_values
SELECT WEIGHT_STRING(x), SOUNDEX(x), UNHEX(HEX(x)) FROM long_values
SELECT EXPORT_SET(-1, x, x, x, 64) FROM long_values
SELECT ELT(2, x, CONCAT(x, x)), FIELD(x, x, x), MAKE_SET(7, x, x, x), INSERT(x, 5, 5, x) FROM long_values
SELECT SLEEP(10), BENCHMARK(1000000000, MD5('a'))
SELECT BENCHMARK(1000000000, REPEAT('a', 1000000))
SELECT CAST(x AS JSON) FROM long_values
SELECT CAST(x AS DECIMAL(65, 30)), x + 1, CONV(x, 36, 10) FROM long_values
SELECT CONVERT(x USING latin1), CONVERT(b USING utf8mb4) FROM long_values
SELECT TRIM(BOTH 'a' FROM x), SUBSTRING(x, 5), LEFT(x, 9000000), RIGHT(x, 9000000) FROM long_values
SELECT * FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c
