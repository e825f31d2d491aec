# suite: check
# The worker of pg_gpu.auto_columns and partitioned tables: it makes the partitions' indexes beside writers, attaches them, and leaves
# nothing behind that isn't attached.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = configured('--pkglibdir');
plan skip_all => 'pg_stat_statements is not installed' unless -e "$libraries/pg_stat_statements.so";

my $node = new_cluster('auto_partitions', conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\npg_gpu.auto_columns = on\npg_gpu.auto_columns_interval = 1s\n" .
	"max_worker_processes = 12\nmax_parallel_workers_per_gather = 0\npg_gpu.auto_columns_write_share = 1000\n");
sub value { my ($sql) = @_; return $node->safe_psql('postgres', "SET pg_stat_statements.track = none; $sql"); }
sub record { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub await { my ($sql, $name) = @_; ok($node->poll_query_until('postgres', $sql), $name) or diag(value('TABLE gpu.auto_column_state')); return; }
sub await_action { my ($table, $action, $name) = @_; return await("SELECT EXISTS (SELECT FROM gpu.auto_columns WHERE table_name = '$table'::regclass AND action = '$action')", $name); }
# The columns of valid indexes of gpu_column, by table.
my $columns = q{SELECT string_agg(indrelid::regclass || ': ' || (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = indexrelid), ', '
	ORDER BY indrelid::regclass::text, indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam AND amname = 'gpu_column' WHERE indisvalid};
sub await_columns { my ($wanted, $name) = @_; ok($node->poll_query_until('postgres', $columns, $wanted), $name) or diag(value($columns), "\n", value('TABLE gpu.auto_column_state')); return; }

value(q{
	CREATE EXTENSION pg_stat_statements;
	CREATE TABLE visit (region int, day date, guests int, note text) PARTITION BY RANGE (day);
	CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM (MINVALUE) TO ('2026-03-01');
	CREATE TABLE visit_2 (note text, guests int, gone int, day date, region int);
	ALTER TABLE visit_2 DROP COLUMN gone;
	ALTER TABLE visit ATTACH PARTITION visit_2 FOR VALUES FROM ('2026-03-01') TO (MAXVALUE);
	INSERT INTO visit SELECT g % 1000, '2026-01-01'::date + g % 120, g % 7, md5(g::text) FROM generate_series(1, 100000) g;
	CREATE TABLE nested (k int, v int) PARTITION BY RANGE (k);
	CREATE TABLE nested_1 PARTITION OF nested FOR VALUES FROM (0) TO (100000) PARTITION BY RANGE (k);
	CREATE TABLE nested_1_1 PARTITION OF nested_1 FOR VALUES FROM (0) TO (100000);
	INSERT INTO nested SELECT g, g % 10 FROM generate_series(1, 90000) g;
	VACUUM ANALYZE});

# ---- made -----------------------------------------------------------------------------------------------------------

# A transaction that has written holds a lock that the parent's index waits for. Others go on writing meanwhile.
my $writer = new_session($node);
$writer->query_safe(q{SET pg_stat_statements.track = none; BEGIN; INSERT INTO visit VALUES (1, '2026-01-01', 1, 'one')});
record(q{SELECT region, sum(guests) FROM visit WHERE day > '2026-01-05' GROUP BY region});
record('SELECT v, sum(k) FROM nested GROUP BY v');
await_action('visit', 'advised', 'a partitioned table is found');
await_action('nested', 'left to you', 'and one whose partitions are partitioned is not for the worker');
value(q{INSERT INTO visit VALUES (2, '2026-01-02', 2, 'two')}) foreach 1 .. 5;
pass('others write meanwhile');
$writer->query_safe('COMMIT');
await_columns('visit: region day guests, visit_1: region day guests, visit_2: region day guests', 'when the writer has ended all partitions get an index');
await_action('visit', 'made', 'which is told');
is(value(q{SELECT count(*) FROM pg_partition_tree('visit_gpu')}), 3, 'and they are attached');
value('VACUUM ANALYZE visit');
like(value(q{EXPLAIN SELECT region, sum(guests) FROM visit WHERE day > '2026-01-05' GROUP BY region}), qr/GpuQuery.*visit_1_gpu, visit_2_gpu/s, 'and used');
value(q{CREATE TABLE visit_3 PARTITION OF visit DEFAULT; DROP TABLE visit_3});

# ---- replaced -------------------------------------------------------------------------------------------------------

record('SELECT note, count(*) FROM visit GROUP BY note ORDER BY 2 DESC LIMIT 3');
await_columns('visit: region day guests note, visit_1: region day guests note, visit_2: region day guests note', 'columns that are missing follow');
is(value(q{SELECT count(*) FROM pg_partition_tree((SELECT indexrelid FROM pg_index WHERE indrelid = 'visit'::regclass))}), 3, 'in one index');

# ---- what was not finished ------------------------------------------------------------------------------------------

# A reader with an older snapshot keeps the command at its end, and somebody changes the partition.
my $reader = new_session($node);
value('ALTER TABLE visit ADD COLUMN grade int; UPDATE visit SET grade = region % 5; VACUUM ANALYZE visit');
$reader->query_safe('SET pg_stat_statements.track = none; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM nested');
record('SELECT grade, count(*) FROM visit GROUP BY grade');
await(q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns' AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock')},
	'the worker waits for an older snapshot');
my $offset = -s $node->logfile;
value('ALTER TABLE visit_1 SET (fillfactor = 90); ALTER TABLE visit_1 ALTER note SET STORAGE main');
ok($node->wait_for_log(qr/pg_gpu columns of table public\.visit: failed after \d+ ms/, $offset), 'it gives way to who changes a partition');
$reader->query_safe('COMMIT');
await_columns('visit: region day guests note grade, visit_1: region day guests note grade, visit_2: region day guests note grade', 'and tries again');
is(value(q{SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam AND amname = 'gpu_column'}), 3, 'without what was left over');

# ---- what goes meanwhile --------------------------------------------------------------------------------------------

# The worker is held before a command, by no lock, since it doesn't wait long for these.
value(q{CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS
		$$ BEGIN WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP PERFORM pg_sleep(0.1); END LOOP; END $$;
	CREATE EVENT TRIGGER hold ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION hold();
	ALTER TABLE visit ADD COLUMN passing int; UPDATE visit SET passing = region % 3; VACUUM ANALYZE visit});
my $holder = new_session($node);
$holder->query_safe('SET pg_stat_statements.track = none; SELECT pg_advisory_lock(1)');
my $held = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns' AND wait_event = 'PgSleep' AND query LIKE 'CREATE INDEX %'};
record('SELECT passing, count(*) FROM visit GROUP BY passing');
await("SELECT EXISTS ($held)", 'the worker begins to make an index');
$offset = -s $node->logfile;
value('ALTER TABLE visit DROP COLUMN passing');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
ok($node->wait_for_log(qr/pg_gpu columns of table public\.visit: failed after \d+ ms\n.*Columns: region, day, guests, note, grade\. Reason: column "passing" does not exist/, $offset),
	'a column that goes meanwhile is told as what failed');

value(q{
	CREATE TABLE passing (k int, v int) PARTITION BY RANGE (k);
	CREATE TABLE passing_1 PARTITION OF passing FOR VALUES FROM (0) TO (30000);
	CREATE TABLE passing_2 PARTITION OF passing FOR VALUES FROM (30000) TO (100000);
	INSERT INTO passing SELECT g, g % 10 FROM generate_series(1, 60000) g;
	VACUUM ANALYZE passing;
	CREATE OR REPLACE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS
		$$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND query LIKE '%CONCURRENTLY%') AND NOT pg_try_advisory_xact_lock_shared(1)
			LOOP PERFORM pg_sleep(0.1); END LOOP; END $$});
$holder->query_safe('SELECT pg_advisory_lock(1)');
record('SELECT v, sum(k) FROM passing GROUP BY v');
await("SELECT EXISTS ($held)", 'the worker is at the first partition');
my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns'});
$offset = -s $node->logfile;
value('DROP TABLE passing');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
await("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)", 'it ends when the table went meanwhile');
unlike(slurp_file($node->logfile, $offset), qr/cache lookup failed/, 'and asks no more for its columns');
$holder->quit;
value('DROP EVENT TRIGGER hold');

# ---- a table that becomes a partition -------------------------------------------------------------------------------

my $last_look = q{SELECT looked_at FROM gpu.auto_column_state WHERE table_oid = 'visit'::regclass};
value(q{
	CREATE TABLE log (k int, v int) PARTITION BY RANGE (k);
	CREATE TABLE log_1 AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 50000) g;
	BEGIN;
	CREATE INDEX log_1_former ON log_1 USING gpu_column (k, v) WITH (made_by = worker);
	ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (0) TO (100000);
	COMMIT;
	VACUUM ANALYZE log});
foreach (1 .. 2)
{
	my $last = value($last_look);
	$node->poll_query_until('postgres', "SELECT ($last_look) > '$last'") or die 'no look';
}
is(value(q{SELECT to_regclass('log_1_former')}), 'log_1_former', 'an index of a table that becomes a partition stays');
record('SELECT v, sum(k) FROM log GROUP BY v');
await_action('log', 'made', 'until statements ask for one of the partitioned table');
await(q{SELECT to_regclass('log_1_former') IS NULL}, 'which takes its place');
is(value(q{SELECT count(*) FROM pg_partition_tree('log_gpu')}), 2, 'with a part of its own');
value('DROP TABLE log');

# ---- unused ---------------------------------------------------------------------------------------------------------

value(q{ALTER SYSTEM SET pg_gpu.auto_columns_unused = '3s'});
$node->reload;
await_action('visit', 'dropped', 'an index that nobody uses is dropped');
is(value($columns), '', 'with those of its partitions');

$node->stop;
done_testing();
