-- Expressions and functions that grow their arguments or go through them for long, one bomb a line (see main.rs).
SELECT LENGTH(HEX(HEX(HEX(HEX(HEX(HEX(HEX(HEX(HEX(HEX(REPEAT('a', 1000000)))))))))))
