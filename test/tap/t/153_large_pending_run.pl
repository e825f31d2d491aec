# suite: long
# A statement whose pending rows become one run of more than 260 MB is cancelled, or its session ends, before the file has been made longer for them. Others'
# INSERTs go on, and nothing is taken for damage. 151 does the same with small runs; here nothing that depends on the size of a run is left out.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::WaitingRows;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('large', conf => "autovacuum = off\nshared_buffers = 128MB\nmax_wal_size = 4GB\nsynchronous_commit = off\npg_gpu.insert_memory = 1200MB\n");
$node->safe_psql('postgres', $waiting_table);
my $rows = 300_000;
my $insert = "INSERT INTO waiting SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, $rows) AS g";
my $held = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event = 'advisory'};
my $state = q{SELECT state FROM gpu.indexes WHERE index_name = 'waiting_i'::regclass};
add_beside($node, 1000);

my %codes = (cancel => '57014', terminate => '57P01');
foreach my $end (sort keys %codes)
{
	my $holder = new_session($node);
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	my $statement = start_sql($node, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_extensions = 1; $insert");
	wait_until(sub { return sql_value($node, $held) ne '' }) or die "the statement doesn't stand still: $end";
	is(reserved_pages($node, 'waiting_i'), '', "$end: nothing is reserved that the file hasn't");
	sql_value($node, "SELECT pg_${end}_backend(pid) FROM ($held) AS s");
	is(finish_sql($statement)->{code}, $codes{$end}, "$end: the statement's end");
	$holder->quit;
	cmp_ok(pages_of_index($node, 'waiting_i'), '<', 200, "$end: nothing of it is in the file");
	# Enough that tails are sealed and merged: others need pages.
	add_beside($node, 5000);
	is(sql_value($node, $state), 'ready', "$end: the index is not called damaged");
	has_rows($node, 0, "$end, and others came");
	check_sound($node, "$end: gpu.verify", 'waiting_i');
}

# What was cancelled would have been so large, and can be written.
is(sql($node, "LOAD 'pg_gpu'; $insert")->{code}, '', 'the statement to its end');
cmp_ok(sql_value($node, q{SELECT max(pages) * current_setting('block_size')::int8 FROM gpu.runs('waiting_i')}), '>', 260 * 1024 * 1024, 'its run has more than 260 MB');
has_rows($node, $rows, 'the statement to its end');
check_sound($node, 'the statement to its end: gpu.verify', 'waiting_i');
is(bad_log_lines($node, qr/corrupt|damaged/), '', 'nobody met damage');
$node->stop;
done_testing();
