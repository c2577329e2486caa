# TpcTables.pm
#	  The tables of the public TPC-H and TPC-DS specifications, as PostgreSQL makes them; and which files
#	  hold their rows.
#
# In:  a workload, 'tpc-h' or 'tpc-ds'; a folder of files as the TPC's own tools write them.
# Out: statements that make the tables, and their keys and indexes; for each file its table, and
#	  whether a line ends with a separator.
#
# Only primary keys are there, and one index without which two queries of TPC-H read a large table
# once for each row of another.  The tables are unlogged, as those of bench/table.sh.
package TpcTables;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(tpc_tables tpc_table_statement tpc_key_statements tpc_files);

# For each table: the prefix of its columns' names, its primary key, and its columns in their order.
# A column without a type is an int4.
my %tables_of = ('tpc-h' => {
	region => [ 'r', 'regionkey', 'regionkey, name char(25), comment varchar(152)' ],
	nation => [ 'n', 'nationkey', 'nationkey, name char(25), regionkey, comment varchar(152)' ],
	supplier => [ 's', 'suppkey',
		'suppkey, name char(25), address varchar(40), nationkey, phone char(15), acctbal numeric(15,2),
		 comment varchar(101)' ],
	part => [ 'p', 'partkey',
		'partkey, name varchar(55), mfgr char(25), brand char(10), type varchar(25), size, container char(10),
		 retailprice numeric(15,2), comment varchar(23)' ],
	partsupp => [ 'ps', 'partkey suppkey',
		'partkey, suppkey, availqty, supplycost numeric(15,2), comment varchar(199)' ],
	customer => [ 'c', 'custkey',
		'custkey, name varchar(25), address varchar(40), nationkey, phone char(15), acctbal numeric(15,2),
		 mktsegment char(10), comment varchar(117)' ],
	orders => [ 'o', 'orderkey',
		'orderkey, custkey, orderstatus char(1), totalprice numeric(15,2), orderdate date,
		 orderpriority char(15), clerk char(15), shippriority, comment varchar(79)' ],
	lineitem => [ 'l', 'orderkey linenumber',
		'orderkey, partkey, suppkey, linenumber, quantity numeric(15,2), extendedprice numeric(15,2),
		 discount numeric(15,2), tax numeric(15,2), returnflag char(1), linestatus char(1), shipdate date,
		 commitdate date, receiptdate date, shipinstruct char(25), shipmode char(10), comment varchar(44)' ],
}, 'tpc-ds' => {
	customer_address => [ 'ca', 'address_sk',
		'address_sk, address_id char(16), street_number char(10), street_name varchar(60), street_type char(15),
		 suite_number char(10), city varchar(60), county varchar(30), state char(2), zip char(10),
		 country varchar(20), gmt_offset numeric(5,2), location_type char(20)' ],
	customer_demographics => [ 'cd', 'demo_sk',
		'demo_sk, gender char(1), marital_status char(1), education_status char(20), purchase_estimate,
		 credit_rating char(10), dep_count, dep_employed_count, dep_college_count' ],
	date_dim => [ 'd', 'date_sk',
		'date_sk, date_id char(16), date date, month_seq, week_seq, quarter_seq, year, dow, moy, dom, qoy,
		 fy_year, fy_quarter_seq, fy_week_seq, day_name char(9), quarter_name char(6), holiday char(1),
		 weekend char(1), following_holiday char(1), first_dom, last_dom, same_day_ly, same_day_lq,
		 current_day char(1), current_week char(1), current_month char(1), current_quarter char(1),
		 current_year char(1)' ],
	warehouse => [ 'w', 'warehouse_sk',
		'warehouse_sk, warehouse_id char(16), warehouse_name varchar(20), warehouse_sq_ft,
		 street_number char(10), street_name varchar(60), street_type char(15), suite_number char(10),
		 city varchar(60), county varchar(30), state char(2), zip char(10), country varchar(20),
		 gmt_offset numeric(5,2)' ],
	ship_mode => [ 'sm', 'ship_mode_sk',
		'ship_mode_sk, ship_mode_id char(16), type char(30), code char(10), carrier char(20), contract char(20)' ],
	time_dim => [ 't', 'time_sk',
		'time_sk, time_id char(16), time, hour, minute, second, am_pm char(2), shift char(20),
		 sub_shift char(20), meal_time char(20)' ],
	reason => [ 'r', 'reason_sk',
		'reason_sk, reason_id char(16), reason_desc char(100)' ],
	income_band => [ 'ib', 'income_band_sk',
		'income_band_sk, lower_bound, upper_bound' ],
	item => [ 'i', 'item_sk',
		'item_sk, item_id char(16), rec_start_date date, rec_end_date date, item_desc varchar(200),
		 current_price numeric(7,2), wholesale_cost numeric(7,2), brand_id, brand char(50), class_id,
		 class char(50), category_id, category char(50), manufact_id, manufact char(50), size char(20),
		 formulation char(20), color char(20), units char(10), container char(10), manager_id,
		 product_name char(50)' ],
	store => [ 's', 'store_sk',
		'store_sk, store_id char(16), rec_start_date date, rec_end_date date, closed_date_sk,
		 store_name varchar(50), number_employees, floor_space, hours char(20), manager varchar(40), market_id,
		 geography_class varchar(100), market_desc varchar(100), market_manager varchar(40), division_id,
		 division_name varchar(50), company_id, company_name varchar(50), street_number varchar(10),
		 street_name varchar(60), street_type char(15), suite_number char(10), city varchar(60),
		 county varchar(30), state char(2), zip char(10), country varchar(20), gmt_offset numeric(5,2),
		 tax_precentage numeric(5,2)' ],
	call_center => [ 'cc', 'call_center_sk',
		'call_center_sk, call_center_id char(16), rec_start_date date, rec_end_date date, closed_date_sk,
		 open_date_sk, name varchar(50), class varchar(50), employees, sq_ft, hours char(20),
		 manager varchar(40), mkt_id, mkt_class char(50), mkt_desc varchar(100), market_manager varchar(40),
		 division, division_name varchar(50), company, company_name char(50), street_number char(10),
		 street_name varchar(60), street_type char(15), suite_number char(10), city varchar(60),
		 county varchar(30), state char(2), zip char(10), country varchar(20), gmt_offset numeric(5,2),
		 tax_percentage numeric(5,2)' ],
	customer => [ 'c', 'customer_sk',
		'customer_sk, customer_id char(16), current_cdemo_sk, current_hdemo_sk, current_addr_sk,
		 first_shipto_date_sk, first_sales_date_sk, salutation char(10), first_name char(20),
		 last_name char(30), preferred_cust_flag char(1), birth_day, birth_month, birth_year,
		 birth_country varchar(20), login char(13), email_address char(50), last_review_date_sk' ],
	web_site => [ 'web', 'site_sk',
		'site_sk, site_id char(16), rec_start_date date, rec_end_date date, name varchar(50), open_date_sk,
		 close_date_sk, class varchar(50), manager varchar(40), mkt_id, mkt_class varchar(50),
		 mkt_desc varchar(100), market_manager varchar(40), company_id, company_name char(50),
		 street_number char(10), street_name varchar(60), street_type char(15), suite_number char(10),
		 city varchar(60), county varchar(30), state char(2), zip char(10), country varchar(20),
		 gmt_offset numeric(5,2), tax_percentage numeric(5,2)' ],
	store_returns => [ 'sr', 'item_sk ticket_number',
		'returned_date_sk, return_time_sk, item_sk, customer_sk, cdemo_sk, hdemo_sk, addr_sk, store_sk,
		 reason_sk, ticket_number, return_quantity, return_amt numeric(7,2), return_tax numeric(7,2),
		 return_amt_inc_tax numeric(7,2), fee numeric(7,2), return_ship_cost numeric(7,2),
		 refunded_cash numeric(7,2), reversed_charge numeric(7,2), store_credit numeric(7,2),
		 net_loss numeric(7,2)' ],
	household_demographics => [ 'hd', 'demo_sk',
		'demo_sk, income_band_sk, buy_potential char(15), dep_count, vehicle_count' ],
	web_page => [ 'wp', 'web_page_sk',
		'web_page_sk, web_page_id char(16), rec_start_date date, rec_end_date date, creation_date_sk,
		 access_date_sk, autogen_flag char(1), customer_sk, url varchar(100), type char(50), char_count,
		 link_count, image_count, max_ad_count' ],
	promotion => [ 'p', 'promo_sk',
		'promo_sk, promo_id char(16), start_date_sk, end_date_sk, item_sk, cost numeric(15,2), response_target,
		 promo_name char(50), channel_dmail char(1), channel_email char(1), channel_catalog char(1),
		 channel_tv char(1), channel_radio char(1), channel_press char(1), channel_event char(1),
		 channel_demo char(1), channel_details varchar(100), purpose char(15), discount_active char(1)' ],
	catalog_page => [ 'cp', 'catalog_page_sk',
		'catalog_page_sk, catalog_page_id char(16), start_date_sk, end_date_sk, department varchar(50),
		 catalog_number, catalog_page_number, description varchar(100), type varchar(100)' ],
	inventory => [ 'inv', 'date_sk item_sk warehouse_sk',
		'date_sk, item_sk, warehouse_sk, quantity_on_hand' ],
	catalog_returns => [ 'cr', 'item_sk order_number',
		'returned_date_sk, returned_time_sk, item_sk, refunded_customer_sk, refunded_cdemo_sk,
		 refunded_hdemo_sk, refunded_addr_sk, returning_customer_sk, returning_cdemo_sk, returning_hdemo_sk,
		 returning_addr_sk, call_center_sk, catalog_page_sk, ship_mode_sk, warehouse_sk, reason_sk,
		 order_number, return_quantity, return_amount numeric(7,2), return_tax numeric(7,2),
		 return_amt_inc_tax numeric(7,2), fee numeric(7,2), return_ship_cost numeric(7,2),
		 refunded_cash numeric(7,2), reversed_charge numeric(7,2), store_credit numeric(7,2),
		 net_loss numeric(7,2)' ],
	web_returns => [ 'wr', 'item_sk order_number',
		'returned_date_sk, returned_time_sk, item_sk, refunded_customer_sk, refunded_cdemo_sk,
		 refunded_hdemo_sk, refunded_addr_sk, returning_customer_sk, returning_cdemo_sk, returning_hdemo_sk,
		 returning_addr_sk, web_page_sk, reason_sk, order_number, return_quantity, return_amt numeric(7,2),
		 return_tax numeric(7,2), return_amt_inc_tax numeric(7,2), fee numeric(7,2),
		 return_ship_cost numeric(7,2), refunded_cash numeric(7,2), reversed_charge numeric(7,2),
		 account_credit numeric(7,2), net_loss numeric(7,2)' ],
	web_sales => [ 'ws', 'item_sk order_number',
		'sold_date_sk, sold_time_sk, ship_date_sk, item_sk, bill_customer_sk, bill_cdemo_sk, bill_hdemo_sk,
		 bill_addr_sk, ship_customer_sk, ship_cdemo_sk, ship_hdemo_sk, ship_addr_sk, web_page_sk, web_site_sk,
		 ship_mode_sk, warehouse_sk, promo_sk, order_number, quantity, wholesale_cost numeric(7,2),
		 list_price numeric(7,2), sales_price numeric(7,2), ext_discount_amt numeric(7,2),
		 ext_sales_price numeric(7,2), ext_wholesale_cost numeric(7,2), ext_list_price numeric(7,2),
		 ext_tax numeric(7,2), coupon_amt numeric(7,2), ext_ship_cost numeric(7,2), net_paid numeric(7,2),
		 net_paid_inc_tax numeric(7,2), net_paid_inc_ship numeric(7,2), net_paid_inc_ship_tax numeric(7,2),
		 net_profit numeric(7,2)' ],
	catalog_sales => [ 'cs', 'item_sk order_number',
		'sold_date_sk, sold_time_sk, ship_date_sk, bill_customer_sk, bill_cdemo_sk, bill_hdemo_sk, bill_addr_sk,
		 ship_customer_sk, ship_cdemo_sk, ship_hdemo_sk, ship_addr_sk, call_center_sk, catalog_page_sk,
		 ship_mode_sk, warehouse_sk, item_sk, promo_sk, order_number, quantity, wholesale_cost numeric(7,2),
		 list_price numeric(7,2), sales_price numeric(7,2), ext_discount_amt numeric(7,2),
		 ext_sales_price numeric(7,2), ext_wholesale_cost numeric(7,2), ext_list_price numeric(7,2),
		 ext_tax numeric(7,2), coupon_amt numeric(7,2), ext_ship_cost numeric(7,2), net_paid numeric(7,2),
		 net_paid_inc_tax numeric(7,2), net_paid_inc_ship numeric(7,2), net_paid_inc_ship_tax numeric(7,2),
		 net_profit numeric(7,2)' ],
	store_sales => [ 'ss', 'item_sk ticket_number',
		'sold_date_sk, sold_time_sk, item_sk, customer_sk, cdemo_sk, hdemo_sk, addr_sk, store_sk, promo_sk,
		 ticket_number, quantity, wholesale_cost numeric(7,2), list_price numeric(7,2),
		 sales_price numeric(7,2), ext_discount_amt numeric(7,2), ext_sales_price numeric(7,2),
		 ext_wholesale_cost numeric(7,2), ext_list_price numeric(7,2), ext_tax numeric(7,2),
		 coupon_amt numeric(7,2), net_paid numeric(7,2), net_paid_inc_tax numeric(7,2), net_profit numeric(7,2)' ],
});
my %indexes_of = ('tpc-h' => ['lineitem (l_partkey, l_suppkey)'], 'tpc-ds' => []);

# The tables of a workload; an empty list for one that is not known.
sub tpc_tables
{
	my ($workload) = @_;

	return sort keys %{ $tables_of{$workload} // {} };
}

# The columns of a table, each as [name, type].
sub columns_of
{
	my ($workload, $table) = @_;
	my ($prefix, undef, $columns) = @{ $tables_of{$workload}{$table} };

	return map { my ($name, $type) = split ' ', $_, 2; [ "${prefix}_$name", $type // 'int4' ] }
	  split /,\s+/, $columns;
}

sub tpc_table_statement
{
	my ($workload, $table) = @_;

	return "create unlogged table $table ("
	  . join(', ', map { "$_->[0] $_->[1]" } columns_of($workload, $table)) . ')';
}

# One for each table, and one for each index, to be run when the rows are there.
sub tpc_key_statements
{
	my ($workload) = @_;
	my @keys;

	for my $table (tpc_tables($workload))
	{
		my ($prefix, $key) = @{ $tables_of{$workload}{$table} };
		push @keys, "alter table $table add primary key (" . join(', ', map { "${prefix}_$_" } split ' ', $key) . ')';
	}
	return (@keys, map { "create index on $_" } @{ $indexes_of{$workload} });
}

# Files named after a table, TABLE.tbl, TABLE.tbl.1, TABLE.dat or TABLE_1_8.dat, as lines of
# table, tab, file, tab, 1 where each line ends with a separator.  Dies where a table has none.
sub tpc_files
{
	my ($workload, $folder) = @_;
	my @files;

	for my $table (tpc_tables($workload))
	{
		my $n_columns = () = columns_of($workload, $table);
		my @of_table = grep { m{/\Q$table\E(\.tbl(\.\d+)?|(_\d+_\d+)?\.dat)$} } glob "$folder/$table*";

		die "no file of table $table in $folder\n" unless @of_table;
		for my $file (@of_table)
		{
			open(my $rows, '<', $file) or die "$file: $!\n";
			my $row = <$rows> // next;
			push @files, join("\t", $table, $file, $row =~ tr/|// == $n_columns ? 1 : 0);
		}
	}
	return @files;
}

1;
