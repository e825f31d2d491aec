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
my $node = new_node('requests', conf => "shared_buffers = 128MB\nautovacuum = off\nlog_min_messages = debug1\nmax_worker_processes = 8\n");
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

is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
