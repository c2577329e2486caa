-- The tables that the examples of README.md and doc/ sort, in the database postgres.
--
-- t has 400,000 rows: k8 is uniform over all of int8, d has 1,000 values, c has 8; arr has no
-- words to be sorted by.
CREATE EXTENSION gpusort;
CREATE UNLOGGED TABLE t (id int8, k8 int8, k4 int4, v int4, d int4, c int4, s text, arr int4[]);
INSERT INTO t
	SELECT i, hashint8extended(i, 1), hashint8(i), i, i % 1000, i % 8,
		rpad(to_hex(hashint8extended(i, 2)), 20, 'x'), array[hashint8(i) % 10, (i % 7)::int4]
	FROM generate_series(1, 400000::int8) i;
VACUUM (FREEZE, ANALYZE) t;
