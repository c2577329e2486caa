-- in_turn(query, rounds, round_ms): runs a query with gpusort.enabled off and on in turn, so that what else the
-- machine does meets both.  Returns the medians of one run, off and on, in microseconds: by the clock, and the time
-- on processors of the session and the service; the ratios on / off of both; runs in a round; rounds.  Parallel
-- workers' time is not in it.
create type times as (us float8, cpu_us float8);
-- The service's threads; there is no service where no device serves.
create function service_cpu_us() returns float8 language sql as $$
	select coalesce(sum(split_part(pg_read_file(format('/proc/%s/task/%s/schedstat', service_pid, thread), 0, 100, true), ' ', 1)::float8), 0) / 1000
		from (select distinct service_pid from gpusort_devices where service_pid is not null) s, pg_ls_dir(format('/proc/%s/task', service_pid)) thread
$$;
-- The kernel brings the figure up to date when a process gives its processor up, and else some times a second.
create function cpu_us() returns float8 language plpgsql as $$
declare
	service_us float8 := service_cpu_us();
begin
	perform pg_sleep(0.00005);
	return service_us + split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1000;
end $$;
create function on_side(side text, query text, loops int) returns times language plpgsql as $$
declare
	began timestamptz;
	cpu float8;
begin
	perform set_config('gpusort.enabled', side, true);
	cpu := cpu_us();
	began := clock_timestamp();
	for i in 1 .. loops loop
		execute query;
	end loop;
	return (extract(epoch from clock_timestamp() - began) * 1e6 / loops, (cpu_us() - cpu) / loops)::times;
end $$;
create function median(v float8[]) returns numeric language sql as $$
	select round(percentile_cont(0.5) within group (order by x)::numeric, 2) from unnest(v) x
$$;
create function in_turn(query text, rounds int, round_ms int) returns text language plpgsql as $$
declare
	sides text[] := '{off,on}';
	t times;
	us float8[];
	cpu float8[];
	loops int;
	medians numeric[];
begin
	t := on_side('off', query, 1);
	perform on_side('on', query, 1);
	-- the first run of a session takes longer than others
	if t.us < 10 * round_ms * 1000 then
		t := on_side('off', query, 2);
	end if;
	loops := greatest(1, least(10000, round(round_ms * 1000 / t.us)));
	us := array_fill(0::float8, array[2, rounds]);
	cpu := us;
	for i in 1 .. rounds loop
		for s in 1 .. 2 loop
			t := on_side(sides[1 + (i + s) % 2], query, loops);
			us[1 + (i + s) % 2][i] := t.us;
			cpu[1 + (i + s) % 2][i] := t.cpu_us;
		end loop;
	end loop;
	medians := array[median(us[1:1]), median(us[2:2]), median(cpu[1:1]), median(cpu[2:2])];
	return array_to_string(medians || round(medians[2] / medians[1], 3) || coalesce(round(medians[4] / nullif(medians[3], 0), 3), 1) || loops::numeric || rounds::numeric, ',');
end $$;
