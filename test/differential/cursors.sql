-- Cursors over ordered queries: every kind, near and far, forward and back.
-- @also jit
-- @device-sorts 26

begin;
declare c cursor for select id, k8 from events order by k8;
fetch 5 from c;
fetch next from c;
move 6000 in c;
fetch 5 from c;
fetch forward all from c;
fetch 1 from c;
close c;
commit;

-- NO SCROLL refuses to go back
begin;
declare c no scroll cursor for select id, few from events order by few, id;
fetch 3 from c;
move 11990 in c;
fetch all from c;
fetch prior from c;
rollback;

-- SCROLL
begin;
declare c scroll cursor for select id, d, filler from events order by d, id;
fetch last from c;
fetch first from c;
fetch prior from c;
fetch next from c;
fetch absolute 6000 from c;
fetch relative 100 from c;
fetch relative -1000 from c;
fetch relative 0 from c;
fetch absolute -1 from c;
fetch absolute -12000 from c;
fetch absolute -12001 from c;
fetch next from c;
fetch backward 3 from c;
fetch forward 3 from c;
fetch absolute 12001 from c;
fetch backward 4 from c;
move absolute 5000 in c;
fetch backward 700 from c;
fetch forward 1400 from c;
move backward all in c;
fetch forward 2 from c;
move forward all in c;
fetch backward 2 from c;
move relative -3000 in c;
fetch 2 from c;
move last in c;
fetch relative 0 from c;
move first in c;
fetch 0 from c;
fetch backward all from c;
fetch forward all from c;
fetch backward all from c;
commit;

-- narrow rows, backward
begin;
declare c scroll cursor for select a, b from narrow order by a desc, b;
fetch last from c;
fetch backward 1000 from c;
move absolute 10000 in c;
fetch backward 5 from c;
fetch forward 5 from c;
fetch absolute 20000 from c;
fetch next from c;
fetch prior from c;
commit;

-- WITH HOLD: at commit the rows are kept
begin;
declare held scroll cursor with hold for select id, tz from events order by tz desc, id;
fetch 3 from held;
commit;
fetch 3 from held;
fetch last from held;
fetch absolute 9000 from held;
fetch backward 3 from held;
close held;
declare held cursor with hold for select id, k4 from events order by k4;
fetch 2 from held;
move 9000 in held;
fetch 2 from held;
close held;
-- a held cursor whose table is gone
begin;
create table short_lived as select * from narrow where a < 100000;
declare held scroll cursor with hold for select a, c from short_lived order by c, a, b;
drop table short_lived;
rollback;
begin;
create table short_lived as select * from narrow where a < 100000;
declare held scroll cursor with hold for select a, c from short_lived order by c, a, b;
commit;
drop table short_lived;
fetch 5 from held;
fetch last from held;
close held;

-- several at once, read by turns
begin;
declare c1 cursor for select id from events order by k2, id;
declare c2 scroll cursor for select id from events order by ts, id;
declare c3 cursor for select a from narrow order by a, b;
fetch 2 from c1;
fetch last from c2;
fetch 2 from c3;
fetch 2 from c1;
fetch prior from c2;
move 4000 in c3;
move 4000 in c1;
fetch 2 from c3;
fetch 2 from c1;
close c1;
fetch backward 2 from c2;
fetch 2 from c3;
close all;
fetch 1 from c2;
rollback;

-- what a cursor saw when it was opened
begin;
create table changing as select i as id, (i * 7919) % 1000 as k from generate_series(1, 3000) i;
declare c scroll cursor for select * from changing order by k, id;
update changing set k = -k;
delete from changing where id % 3 = 0;
fetch 3 from c;
insert into changing select i, 0 from generate_series(4000, 4100) i;
fetch last from c;
move absolute 0 in c;
fetch 3 from c;
declare c2 cursor for select * from changing order by k, id;
fetch 3 from c2;
rollback;

-- a cursor that was opened and never read, closed after one row, closed at its end
begin;
declare c cursor for select * from events order by k8;
close c;
declare c cursor for select id from events order by k8;
fetch 1 from c;
close c;
declare c cursor for select id from events order by k8;
move all in c;
close c;
commit;

-- savepoints with open cursors
begin;
declare outer_one scroll cursor for select id, k8 from events order by k8 desc;
fetch 2 from outer_one;
savepoint s1;
fetch 2 from outer_one;
declare inner_one cursor for select id from events order by o, id;
fetch 2 from inner_one;
rollback to s1;
fetch 2 from outer_one;
fetch 2 from inner_one;
rollback to s1;
fetch 2 from outer_one;
fetch prior from outer_one;
fetch last from outer_one;
savepoint s2;
declare inner_two scroll cursor for select id from events order by d, id;
fetch 2 from inner_two;
release s2;
fetch 2 from inner_two;
fetch last from inner_two;
rollback to s1;
fetch absolute 2000 from outer_one;
commit;

-- first read in a subtransaction that is undone
begin;
declare c scroll cursor for select id, few from events order by few desc, id;
savepoint s;
fetch 3 from c;
rollback to s;
fetch 3 from c;
fetch prior from c;
fetch absolute 7000 from c;
commit;
begin;
savepoint a;
declare c scroll cursor for select id, few from events order by few desc, id;
savepoint b;
fetch 3 from c;
select 1 / 0;
rollback to b;
fetch 2 from c;
move 8000 in c;
fetch 2 from c;
release a;
fetch 2 from c;
commit;

-- cursors over ordered queries with more around them
begin;
declare c scroll cursor for select few, count(*) as n from events group by few order by few desc;
fetch last from c;
fetch backward 3 from c;
fetch first from c;
close c;
declare c scroll cursor for select id from events where few = 3 union all select a from narrow where c = 2 order by 1 desc;
fetch last from c;
fetch backward 2 from c;
fetch absolute 1000 from c;
close c;
declare c scroll cursor for select c.id, c.name, o.amount from customers c join orders o on o.customer = c.id order by o.id desc;
fetch 2 from c;
fetch absolute 15000 from c;
fetch prior from c;
close c;
declare c scroll cursor for select id, row_number() over (order by k8) as n from events order by id;
fetch absolute 300 from c;
fetch prior from c;
close c;
declare c scroll cursor for select * from (select id, k4 from events order by k4) q where id % 2 = 0;
fetch 2 from c;
fetch last from c;
fetch backward 2 from c;
close c;
declare c scroll cursor for select id from events order by k8 offset 11000;
fetch last from c;
fetch absolute 1 from c;
fetch prior from c;
fetch next from c;
close c;
declare c scroll cursor for select id from no_rows order by k, id;
fetch next from c;
fetch prior from c;
fetch last from c;
close c;
declare c scroll cursor for select id from one_row order by k;
fetch last from c;
fetch next from c;
fetch prior from c;
fetch prior from c;
close c;
commit;

-- WHERE CURRENT OF a locking cursor
begin;
declare c cursor for select id, amount from orders where id <= 3000 order by amount, id for update;
fetch 3 from c;
update orders set note = 'here' where current of c;
move 100 in c;
fetch 1 from c;
delete from orders where current of c;
select id, note from orders where note = 'here' order by id;
select count(*) from orders;
rollback;

-- held by name in refcursors
create function opened(ref refcursor, wanted int4) returns refcursor language plpgsql as $$
begin
	open ref scroll for select id, k4 from events where few = wanted order by k4 desc, id;
	return ref;
end $$;
begin;
select opened('one', 1), opened('two', 2);
fetch 3 from one;
fetch last from two;
fetch backward 2 from two;
fetch 3 from one;
commit;
select name, is_holdable from pg_cursors order by name;
