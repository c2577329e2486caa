-- FOR UPDATE and its kin above a sort, SKIP LOCKED, several relations, subqueries.
-- @device-sorts 21

begin;
select id, amount from orders where id <= 3000 order by amount, id for update;
select id, amount from orders where id <= 3000 order by amount desc nulls last, id for share;
select id from orders where customer < 30 order by placed, id for no key update;
select id from orders where customer < 30 order by placed desc, id for key share;
select c.id, o.id from customers c join orders o on o.customer = c.id where c.id < 40 order by o.placed, o.id for update of o;
select c.id, o.id from customers c join orders o on o.customer = c.id where c.id < 40 order by c.since, o.id for share of c for update of o nowait;
select id, amount from orders order by amount, id limit 10 for update;
select id, amount from orders order by amount, id limit 2000 for update skip locked;
select id, amount from orders order by amount, id offset 14900 for update nowait;
select * from (select id, amount from orders where id < 500 order by amount, id for update) q where amount < 100 order by id;
select id from (select id, k8 from events order by k8 limit 100 for update) q order by id;
commit;
begin;
update orders set amount = 0 where id in (select id from orders where status = 'new' order by placed, id limit 20 for update skip locked) returning id;
delete from orders where id = any (array(select id from orders where status = 'lost' order by placed desc, id limit 20 for update)) returning id;
select count(*), sum(amount) from orders;
rollback;
-- rows of system columns and whole rows under locks
begin;
select o.id, o from orders o where id < 60 order by amount, id for update;
select tableoid::regclass, id from orders where id < 60 order by placed, id for update;
select id, ctid from orders where id < 60 order by amount, id for share;
rollback;
begin isolation level repeatable read;
select id from orders where id <= 1000 order by amount, id for update;
update orders set amount = amount + 1 where id <= 500;
select id, amount from orders where id <= 1000 order by amount, id for update;
rollback;
begin isolation level serializable;
select md5(string_agg(q::text, ' ')) from (select id from orders order by placed, id) q;
insert into orders select 100000 + id, customer, amount, placed, status from orders order by amount, id limit 50;
select id from orders where id > 100000 order by id for update;
rollback;
begin read only;
select id from orders where id < 100 order by amount, id;
select id from orders where id < 100 order by amount, id for update;
rollback;
-- inheritance and partitions
begin;
select tableoid::regclass, id, weight from animals order by weight nulls first, id for update;
select at, id from measures where value > 40000 order by at, id for update;
rollback;
