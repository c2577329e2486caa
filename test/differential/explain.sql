-- EXPLAIN in every form: plans are not compared, but running one must not fail or change
-- what follows.
-- @device-sorts 28

explain select id, k8 from events order by k8;
explain (verbose, costs off) select * from events order by few, k8 desc;
explain analyze select id, k8 from events order by k8;
explain (analyze, buffers, timing off, summary off) select * from events order by d, id;
explain (analyze, verbose, format json) select few, count(*) from events group by few order by few;
explain (analyze, format xml) select * from narrow order by b;
explain (analyze, format yaml) select * from narrow order by a limit 5;
explain (analyze, settings, wal) insert into one_row select id, k8 from events order by k8;
select count(*) from one_row;
explain (analyze) create table made as select id, k8 from events order by k8;
select md5(string_agg(m::text, ' ')) from (select * from made order by ctid) m;
explain (analyze) update made set k8 = 0 where id in (select id from made order by k8 limit 10);
select count(*) from made where k8 = 0;
explain analyze select 1 / (id - 7) from events order by k8;
explain (analyze, costs off) select c.id, (select array_agg(o.id) from (select id from orders where customer = c.id order by amount) o) from customers c where id < 20 order by c.since;
explain (analyze) select * from measures order by value;
explain (analyze) select * from no_rows order by k;
begin;
explain (analyze) declare c cursor for select id from events order by k8;
declare c scroll cursor for select id from events order by k8;
explain (analyze) select id from events order by k4;
fetch 3 from c;
fetch last from c;
commit;
explain (analyze) execute missing_one;
select id, k8 from events where id < 1000 order by k8;
