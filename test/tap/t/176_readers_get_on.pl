# suite: check
# Readers whose pages are taken away after every view they take: all runs are merged and their pages used again, until the
# reader is done. It must get on, in a few views, with the right answer and without a lock that others wait for: on the
# primary and on a standby that tells the primary nothing.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

# Readers that never get on, or only by means of a lock, take more views than this.
use constant { MAX_VIEWS => 7, FIRST_KEY => 4000 };

my $primary = new_node('primary', streaming => 1, conf => "pg_gpu.path = paged\nfsync = off\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");
$standby->start;

# Indexes of a few pages are copied into memory at once; larger ones aren't, and their readers put pages aside into
# files. Nobody cuts an index's end off: on the standby replay would wait for the reader.
my %rows = (few => 3_000, many => 60_000);
foreach my $name (sort keys %rows)
{
	$primary->safe_psql('postgres', qq{
CREATE TABLE $name (k int8, n int4, words tsvector) WITH (vacuum_truncate = off);
INSERT INTO $name SELECT i, i % 10, to_tsvector('simple', 'w' || i % 10 || ' v' || i) FROM generate_series(1, $rows{$name}) AS i;
CREATE INDEX ${name}_kary ON $name USING gpu_kary (k) WITH (fanout = 2);
CREATE INDEX ${name}_grid ON $name USING gpu_grid (k, n);
CREATE INDEX ${name}_column ON $name USING gpu_column (k, n);
CREATE INDEX ${name}_text ON $name USING gpu_text (words);
VACUUM ANALYZE $name;
});
}

my $bitmap = 'SET pg_gpu.enable_count_scan = off; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;';
my $plain = 'SET pg_gpu.enable_count_scan = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';

# Each has an index, settings and a question. Rows that are added meanwhile have keys below 0 and another word.
my @readers = (
	[ kary => $bitmap, 'SELECT count(*) FROM TABLE WHERE k > 0' ],
	[ kary => $plain, 'SELECT count(*) FROM (SELECT k FROM TABLE WHERE k > 0 ORDER BY k) AS q' ],
	[ kary => $plain, 'SELECT count(*) FROM (SELECT k FROM TABLE WHERE k > 0 ORDER BY k DESC) AS q' ],
	[ kary => '', q{SELECT gpu.count('TABLE_kary', ARRAY[1::int8], ARRAY[1000000::int8])} ],
	[ kary => '', q{SELECT count(*) FROM gpu.lookup('TABLE_kary', ARRAY(SELECT generate_series(1::int8, 3000)))} ],
	[ grid => $bitmap, 'SELECT count(*) FROM TABLE WHERE k > 0 AND n >= 0' ],
	[ grid => $plain, 'SELECT count(*) FROM TABLE WHERE k > 0 AND n >= 0' ],
	[ grid => '', q{SELECT count(*) FROM gpu.lookup('TABLE_grid', ARRAY(SELECT row(i, (i % 10)::int4) FROM generate_series(1::int8, 300) AS i))} ],
	[ column => $bitmap, 'SELECT count(*) FROM TABLE WHERE n = 3 AND k > 0' ],
	[ column => '', q{SELECT sum(count) FROM gpu.histogram('TABLE_column', 'n', 4, 0, 10, 'k > 0')} ],
	[ text => $bitmap, q{SELECT count(*) FROM TABLE WHERE words @@ 'w3'} ],
	[ text => '', q{SELECT count(*) FROM gpu.search('TABLE_text', 'w3', 200)} ]);

# Keeps other indexes out of the planner's way by marking them invalid.
sub only_index
{
	my ($table, $index) = @_;
	$primary->safe_psql('postgres', qq{UPDATE pg_index SET indisvalid = indexrelid = '${table}_$index'::regclass
		WHERE indrelid = '$table'::regclass});
	return;
}

# Makes all runs one, in other pages; lets new rows fill the old pages; and does so once more.
sub take_pages_away
{
	my ($table, $index) = @_;
	$primary->safe_psql('postgres', qq{
SET lock_timeout = '30s';
SELECT gpu.merge('${table}_$index');
INSERT INTO $table SELECT -i, 100 + i % 7, to_tsvector('simple', 'x' || i % 5) FROM generate_series(1, 4000) AS i;
SELECT gpu.merge('${table}_$index');
INSERT INTO $table SELECT -i, 100 + i % 7, to_tsvector('simple', 'x' || i % 5) FROM generate_series(1, 1000) AS i;
});
	$primary->wait_for_catchup($standby);
	return;
}

sub waits_for
{
	my ($node, $key) = @_;
	return sql_value($node, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $key") eq '1';
}

# In a short run each of them reads one of the tables, on the primary or on the standby.
my $number = 0;
foreach my $node ($primary, $standby)
{
	my $gate = new_session($node);
	$gate->query_safe('SELECT pg_advisory_lock(' . (FIRST_KEY + $_) . ')') for 0, 1;
	foreach my $table (sort keys %rows)
	{
		foreach my $reader (@readers)
		{
			my $which = $number++ % @readers;
			my $tried = $which % 2 == ($node == $primary ? 0 : 1) && int($which / 2) % 2 == ($table eq 'few' ? 0 : 1);
			next unless few_or_many($tried, 1);
			my ($index, $settings, $question) = @$reader;
			$question =~ s/TABLE/$table/g;
			my $what = $node->name . ": $question";
			only_index($table, $index);
			$primary->wait_for_catchup($standby);
			my $right = sql($node, "$settings $question")->{out};
			my $run = start_sql($node, "SET work_mem = '64kB'; $settings
LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_readers = " . FIRST_KEY . "; $question");
			my $views = 0;
			for (;;)
			{
				my $key = FIRST_KEY + $views % 2;
				wait_until(sub { return waits_for($node, $key) || !$run->{handle}->pumpable }) or die 'the reader is stuck';
				last unless $run->{handle}->pumpable;
				last if ++$views > 2 * MAX_VIEWS;
				take_pages_away($table, $index);
				$gate->query_safe("SELECT pg_advisory_unlock($key), pg_advisory_lock($key)");
			}
			cmp_ok($views, '<=', MAX_VIEWS, "$what: ends after $views views");
			cmp_ok($views, '>', 1, "$what: its pages were taken away");
			if ($views > MAX_VIEWS)
			{
				sql_value($node, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'});
				finish_sql($run);
				next;
			}
			my $found = finish_sql($run);
			is($found->{err} . $found->{out} =~ s/\n$//r, $right, "$what: is right");
			is(temporary_files($node), 0, "$what: leaves no file");
		}
	}
	$gate->quit;
}
$primary->safe_psql('postgres', q{UPDATE pg_index SET indisvalid = true WHERE NOT indisvalid});
check_sound($primary, 'gpu.verify finds nothing', map { my $t = $_; map { "${t}_$_" } qw(kary grid column text) } sort keys %rows);

is(bad_log_lines($primary), '', 'no process died');
$standby->stop;
$primary->stop;
done_testing();
