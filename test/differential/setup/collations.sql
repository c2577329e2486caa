-- The collations of the corpus: those of the C library that the machine has (test/get-locales),
-- those of ICU where PostgreSQL was built with it.
create table collations(name name primary key, provider text, locale text, is_there bool not null default false);
insert into collations values
	('en_us', 'libc', 'en_US.UTF-8'), ('de_de', 'libc', 'de_DE.UTF-8'), ('sv_se', 'libc', 'sv_SE.UTF-8'),
	('ja_jp', 'libc', 'ja_JP.UTF-8'), ('c_utf8', 'libc', 'C.UTF-8'), ('builtin_utf8', 'builtin', 'C.UTF-8'),
	('icu_en', 'icu', 'en'), ('icu_de', 'icu', 'de-u-co-phonebk'), ('icu_sv', 'icu', 'sv'), ('icu_ja', 'icu', 'ja'),
	('icu_numeric', 'icu', 'en-u-kn-true'), ('icu_shifted', 'icu', 'en-u-ka-shifted'), ('icu_upper', 'icu', 'en-u-kf-upper'),
	('icu_no_case', 'icu', 'und-u-ks-level2'), ('icu_no_accent', 'icu', 'und-u-ks-level1');
do $$
declare
	c record;
begin
	for c in select * from collations loop
		begin
			execute format('create collation %I (provider = %s, locale = %L%s)', c.name, c.provider, c.locale,
						   case when c.name ~ '_no_' then ', deterministic = false' else '' end);
			update collations set is_there = true where name = c.name;
		exception when others then null;
		end;
	end loop;
end $$;
-- a collation's name, or that of C if there is none such
create function or_c(wanted name) returns text language sql stable as
	$$select coalesce((select quote_ident(name) from collations where name = wanted and is_there), '"C"')$$;
create function there_are(wanted text) returns bool language sql stable as
	$$select count(*) > 1 and bool_and(is_there) from collations where provider = wanted$$;
