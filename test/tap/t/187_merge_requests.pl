# suite: check
# Merge workers for many indexes at once: few of them work, one an index, so that others find free slots, and they come to
# all indexes in the end, in other databases too. With and without shared_preload_libraries.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my @columns = ('a' .. 'f');
my $node = new_node('requests', conf => "shared_buffers = 128MB\nautovacuum = off\npg_gpu.insert_memory = 64MB\nlog_min_messages = debug1\ndeadlock_timeout = 1ms\nmax_worker_processes = 8\n");
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');

# Neither the workers of a parallel VACUUM nor its leader merge, so they ask for a worker for each index.
my %columns_in = (postgres => \@columns, other => [ 'a', 'b' ]);
my $vacuum = 'SET min_parallel_index_scan_size = 0; VACUUM (PARALLEL 1, INDEX_CLEANUP ON) many';

sub make_table_in
{
	my ($database) = @_;
	my @its = @{ $columns_in{$database} };
	my $columns = join ', ', map { "$_ int8" } @its;
	my $values = join ', ', ('i') x @its;
	my $indexes = join ' ', map { "CREATE INDEX many_$_ ON many USING gpu_kary ($_);" } @its;
	$node->safe_psql($database, "DROP TABLE IF EXISTS many;
CREATE TABLE many ($columns);
INSERT INTO many SELECT $values FROM generate_series(1, 60000) AS i;
$indexes
DELETE FROM many WHERE a % 3 = 0");
	return;
}

sub have_no_dead
{
	my ($database) = @_;
	my $runs = join ' UNION ALL ', map { "SELECT dead FROM gpu.runs('many_$_')" } @{ $columns_in{$database} };
	return $node->safe_psql($database, "SELECT sum(dead) FROM ($runs) AS r") eq '0';
}

sub registered { my ($from) = @_; my $times = () = slurp_file($node->logfile, $from) =~ /DEBUG:  registering background worker "pg_gpu merge"/g; return $times; }

my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge'};

foreach my $library ('pg_gpu_test', 'pg_gpu, pg_gpu_test')
{
	my $what = $library =~ /pg_gpu,/ ? 'preloaded' : 'not preloaded';
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$library'");
	$node->restart;
	make_table_in($_) foreach sort keys %columns_in;
	my $log_size = -s $node->logfile;
	change_setting($node, 'pg_gpu_test.hold_merge_workers', 'on');
	$node->safe_psql('postgres', $vacuum);
	$node->safe_psql('other', $vacuum);
	ok(wait_until(sub { return sql_value($node, "$workers AND wait_event = 'Extension'") eq '2' }), "$what: two workers merge");
	ok(!have_no_dead('postgres'), "$what: others wait");
	# Who asks again a while later is told that they are at it.
	$node->safe_psql('postgres', "SELECT pg_sleep(1.1); $vacuum");
	is(registered($log_size), 2, "$what: no more were asked for");
	change_setting($node, 'pg_gpu_test.hold_merge_workers', 'off');
	ok(wait_until(sub { return have_no_dead('postgres') }), "$what: all indexes are merged");
	ok(wait_until(sub { return have_no_dead('other') }), "$what: those of the other database, too");
	ok(wait_until(sub { return sql_value($node, $workers) eq '0' }), "$what: the workers end");
	# Each that ends may have asked for one for the other database.
	cmp_ok(registered($log_size), '<=', 4, "$what: few workers did all");
}

# ---- others' locks ----------------------------------------------------------------------------------------------

# VACUUM waits for a merge's end, however short its patience with locks is: that is about tables.
sub held { return sql_value($node, "$workers AND wait_event = 'Extension' AND backend_xmin IS NULL") eq '1'; }
sub victim_waits { return sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Lock'}) eq '1'; }

# Four runs of so many rows are for a worker. A statement's first 32 go to the tail.
$node->safe_psql('postgres', q{
CREATE TABLE long (k int8, filler text);
CREATE INDEX long_k ON long USING gpu_column (k, filler) WITH (fanout = 4);
CREATE FUNCTION add_run() RETURNS void LANGUAGE sql AS $$ INSERT INTO long SELECT i * 7919 % 20011, repeat(md5(i::text), 4) FROM generate_series(1, 20000) AS i $$});
sub add_runs { my ($number) = @_; $node->safe_psql('postgres', "LOAD 'pg_gpu'; SELECT add_run()") for 1 .. $number; return; }
sub runs { return sql_value($node, q{SELECT string_agg(entries::text, ' ' ORDER BY entries) FROM gpu.runs('long_k') WHERE entries > 10000}); }

change_setting($node, 'pg_gpu_test.hold_merge_workers', 'on');
add_runs(4);
ok(wait_until(\&held), 'a worker merges');
$node->safe_psql('postgres', 'DELETE FROM long WHERE k < 100');
my $vacuum_beside = start_sql($node, q{SET lock_timeout = '10ms'; VACUUM (INDEX_CLEANUP ON, PARALLEL 0) long});
ok(wait_until(sub { return victim_waits() || !$vacuum_beside->{handle}->pumpable }), 'VACUUM waits beside it');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.1)');
change_setting($node, 'pg_gpu_test.hold_merge_workers', 'off');
is(finish_sql($vacuum_beside)->{code}, '', 'and is done, in spite of lock_timeout');
ok(wait_until(sub { return sql_value($node, $workers) eq '0' }), 'the worker ends');

# After a merge that gave way the next one is of half as many runs, so that less is lost where that happens again and again.
$node->safe_psql('postgres', 'TRUNCATE long');
change_setting($node, 'pg_gpu_test.hold_merge_workers', 'on');
add_runs(4);
ok(wait_until(\&held), 'a worker merges again');
my $lock = start_sql($node, 'BEGIN; LOCK TABLE long IN ACCESS EXCLUSIVE MODE; COMMIT');
ok(wait_until(\&victim_waits), 'somebody waits for the table');
change_setting($node, 'pg_gpu_test.hold_merge_workers', 'off');
is(finish_sql($lock)->{code}, '', 'and gets it');
ok(wait_until(sub { return sql_value($node, $workers) eq '0' }), 'the worker has given way');
is(runs(), '19968 19968 19968 19968', 'the runs are as they were');
# A second later it may be tried again.
sql_value($node, 'SELECT pg_sleep(1.1)');
add_runs(1);
ok(wait_until(sub { return runs() eq '19968 39936 39936' }), 'a later worker merges two and two of the five');
ok(wait_until(sub { return sql_value($node, $workers) eq '0' }), 'which is all that is due');
check_sound($node, 'gpu.verify finds nothing', 'long_k');

is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
