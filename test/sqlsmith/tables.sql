-- Tables for sqlsmith's statements: keys of many types, with ties and NULLs, and sorts below nodes of many kinds.
CREATE TABLE mixed AS
SELECT i AS id, i % 17 AS few, (i * 7919) % 1000 AS v, md5(i::text) AS t, (i % 13)::numeric / 7 AS n,
	timestamptz '2026-01-01 00:00+00' + (i % 100) * interval '1 hour' AS ts, date '2000-01-01' + i % 400 AS d, i % 5 = 0 AS b,
	md5((i % 50)::text)::uuid AS u, ARRAY[i % 3, i % 5] AS arr, CASE WHEN i % 7 > 0 THEN i::float8 / 3 END AS f,
	inet '10.0.0.0' + i % 99 AS ip, (i % 11)::text COLLATE "C" AS tc, int8range(i % 9, i % 9 + 5) AS rg,
	jsonb_build_object('a', i % 6) AS j
FROM generate_series(1, 3000) i;
CREATE TABLE other AS
SELECT i AS id, i % 29 AS few, md5((i % 100)::text) AS t, (i % 70)::int8 AS big, i::float4 AS f4,
	interval '1 min' * (i % 40) AS iv, (i % 21)::int2 AS s2, nullif(i % 4, 0) AS holes
FROM generate_series(1, 2000) i;
CREATE TABLE part (k int, t text, v numeric) PARTITION BY RANGE (k);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (500);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (500) TO (1000);
INSERT INTO part SELECT i, md5(i::text), i / 3.0 FROM generate_series(0, 999) i;
CREATE INDEX ON mixed (v);
CREATE INDEX ON other (few);
CREATE INDEX ON part (k);
CREATE VIEW windows AS
SELECT few, v, row_number() OVER (PARTITION BY few ORDER BY v, t) AS place, lag(t) OVER (PARTITION BY few ORDER BY v) AS before FROM mixed;
CREATE VIEW grouped AS
SELECT few, count(DISTINCT t) AS n, array_agg(v ORDER BY t DESC) AS a, string_agg(t, ',' ORDER BY n) AS s FROM mixed GROUP BY few;
CREATE VIEW united AS SELECT few, t FROM mixed UNION SELECT few, t FROM other;
CREATE VIEW excepted AS SELECT t FROM mixed EXCEPT SELECT t FROM other;
CREATE VIEW joined AS SELECT m.id, o.big, m.t FROM mixed m JOIN other o ON m.few = o.few AND m.t > o.t ORDER BY m.t, o.big LIMIT 50;
CREATE VIEW sets AS SELECT few, b, count(*) AS n FROM mixed GROUP BY GROUPING SETS ((few), (b, few), ());
CREATE VIEW pages AS SELECT * FROM part ORDER BY v DESC, t OFFSET 20 FETCH FIRST 30 ROWS WITH TIES;
ANALYZE;
