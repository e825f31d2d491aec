# suite: check
# Many rows copied into an indexed table while a slow VACUUM works on it: the COPY does not wait for the
# VACUUM, nor the VACUUM for it, neither fails, and the list of runs stays short.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

# A million rows are sealed some 2,000 times; runs that could not be merged meanwhile would show.
my $max_runs = 120;
my $rows = few_or_many(100_000, rounds(300_000, 1_000_000));

my $node = new_node('copy', conf => "shared_buffers = 64MB\nautovacuum = off\n");
make_table($node, rows => 100_000, keys => 10_000_000);

# The index has runs from seals beside the one of the build, and everywhere there are dead rows for VACUUM to meet.
$node->safe_psql('postgres', 'INSERT INTO t (k) SELECT i * 1009 % 10000000 FROM generate_series(1, 20000) AS i');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0');

my $file = $node->data_dir . '/copy.txt';
append_to_file($file, join('', map { random_int(0, 10_000_000) . "\n" } 1 .. $rows));

# After a restart only the table is read into the buffers. Pages in the buffers cost VACUUM nothing, others almost half
# a second each. So it is quickly through the table, and then works on the index for longer than the COPY can take. It
# is let go afterwards.
$node->restart;
$node->safe_psql('postgres', 'SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(id) FROM t');
my $vacuum = start_sql($node, q{
SET vacuum_cost_page_hit = 0;
SET vacuum_cost_page_dirty = 0;
SET vacuum_cost_page_miss = 10000;
SET vacuum_cost_limit = 1;
SET vacuum_cost_delay = 100;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) t;
});

# VACUUM must be at the index when the COPY comes.
ok( wait_until(
		sub {
			return sql_value($node, q{SELECT phase FROM pg_stat_progress_vacuum}) eq 'vacuuming indexes'
			  || !$vacuum->{handle}->pumpable;
		}),
	'VACUUM comes to the index');
is(sql_value($node, 'SELECT phase FROM pg_stat_progress_vacuum'), 'vacuuming indexes', 'VACUUM works on the index');

# VACUUM will be there for minutes, so a COPY that waits for it fails. (Not sooner: locks for extending a file are
# waited for, and only briefly.)
my $copy = start_sql($node, "SET lock_timeout = '30s'; COPY t (k) FROM '$file'");
my ($longest, $checks) = (0, 0);
ok( wait_until(
		sub {
			my $runs = sql_value($node, q{SELECT count(*) FROM gpu.runs('t_k')});
			$longest = $runs if $runs > $longest;
			$checks++;
			return !$copy->{handle}->pumpable;
		}),
	'COPY ends');
my $result = finish_sql($copy);
is($result->{err}, '', 'COPY neither waits nor fails');
my $runs = sql_value($node, q{SELECT count(*) FROM gpu.runs('t_k')});
$longest = $runs if $runs > $longest;
cmp_ok($longest, '<', $max_runs, "the list of runs stays short ($longest at most, seen $checks times)");
is(sql_value($node, 'SELECT phase FROM pg_stat_progress_vacuum'), 'vacuuming indexes',
	'VACUUM was at the index all the time');

# Single rows and transactions that are taken back go on as well. (Nobody reads the index here, which would put
# its pages into the buffers and let VACUUM run.)
my $small = start_clients($node, workload('t', insert => 1, insert_one => 2, abort => 1, savepoint => 1),
	clients => 2, seconds => 1, options => '-c lock_timeout=30s');
finish_clients($small);
is(client_errors([$small]), '', 'small writes neither wait nor fail');
cmp_ok(client_transactions([$small]), '>', 1, 'and get through');

# VACUUM is cancelled, and a quick one does the work.
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_stat_progress_vacuum');
is(finish_sql($vacuum)->{code}, '57014', 'VACUUM was waiting for nobody: it ends by our cancel');
check_sound($node, 'after the cancelled VACUUM: gpu.verify finds nothing', 't_k');
check_answers($node, 't', 'after the cancelled VACUUM', keys => 10_000_000);
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
check_usable($node, 't', 'after VACUUM', keys => 10_000_000);

# The other way round: COPY and VACUUM side by side, both to their ends.
for my $round (1 .. rounds(1, 10))
{
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 5 = 1');
	my $second = start_sql($node, "COPY t (k) FROM '$file'");
	my $third = start_sql($node, "SET vacuum_cost_delay = 1; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) t");
	is(finish_sql($second)->{err}, '', "COPY beside VACUUM $round");
	is(finish_sql($third)->{err}, '', "VACUUM beside COPY $round");
	cmp_ok(sql_value($node, q{SELECT count(*) FROM gpu.runs('t_k')}), '<', $max_runs, "few runs $round");
	check_sound($node, "COPY beside VACUUM $round: gpu.verify finds nothing", 't_k');
	$node->safe_psql('postgres', "DELETE FROM t WHERE id > (SELECT max(id) - $rows FROM t); VACUUM (TRUNCATE OFF) t");
}
check_usable($node, 't', 'at the end', keys => 10_000_000);

$node->stop;
done_testing();
