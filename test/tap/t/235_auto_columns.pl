# suite: check
# The worker of pg_gpu.auto_columns: it advises, makes and drops indexes by what statements ask for, within its budgets, and is in nobody's
# way: sessions that wait for its locks, DROP DATABASE, DROP EXTENSION, crashes. Other people's indexes stay.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = configured('--pkglibdir');
plan skip_all => 'pg_stat_statements is not installed' unless -e "$libraries/pg_stat_statements.so";

my $node = new_cluster('auto_columns', streaming => 1, conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\npg_gpu.auto_columns_interval = 1s\nmax_worker_processes = 12\n" .
	"max_parallel_workers_per_gather = 0\nrestart_after_crash = on\nlog_min_messages = log\n");

sub value { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', "SET pg_stat_statements.track = none; $sql"); }
sub record { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub configure
{
	my ($setting, $new) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET pg_gpu.$setting = $new");
	$node->reload;
	return;
}
sub await { my ($sql, $name) = @_; ok($node->poll_query_until('postgres', $sql), $name) or diag(value('TABLE gpu.auto_column_state')); return; }
sub await_action { my ($table, $action, $name) = @_; return await("SELECT EXISTS (SELECT FROM gpu.auto_columns WHERE table_name = '$table'::regclass AND action = '$action')", $name); }
# How often the worker has looked: each look writes down when it was.
sub await_looks
{
	my ($table) = @_;
	foreach (1 .. 2)
	{
		my $last = value("SELECT looked_at FROM gpu.auto_column_state WHERE table_oid = '$table'::regclass");
		$node->poll_query_until('postgres', "SELECT looked_at > '$last' FROM gpu.auto_column_state WHERE table_oid = '$table'::regclass") or die 'no look';
	}
	return;
}
sub indexes { my ($table) = @_; return value("SELECT coalesce(string_agg(pg_get_indexdef(indexrelid), E'\\n' ORDER BY indexrelid), '') FROM pg_index WHERE indrelid = '$table'::regclass"); }

value(q{
	CREATE EXTENSION pg_stat_statements;
	CREATE TABLE sale (id int, city text, product int, price numeric(10, 2), at timestamptz, note text);
	INSERT INTO sale SELECT g, 'city ' || g % 50, g * 7919 % 20000, g % 1000, '2026-01-01'::timestamptz + g * interval '1 minute', md5(g::text)
		FROM generate_series(1, 100000) g;
	CREATE TABLE own (k int, v int);
	INSERT INTO own SELECT g, g % 10 FROM generate_series(1, 50000) g;
	CREATE INDEX own_i ON own USING gpu_column (k, v);
	VACUUM ANALYZE});
sub ask { record('SELECT city, sum(price) FROM sale GROUP BY city'); record('SELECT v, sum(k) FROM own GROUP BY v'); return; }

# ---- off, and advice ----------------------------------------------------------------------------------------------------

ask();
await(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns launcher'}, 'there is a launcher');
is(value('SELECT count(*) FROM gpu.auto_columns'), 0, 'which does nothing while the worker is off');
configure('auto_columns', 'advise');
await_action('sale', 'advised', 'with advise it tells what it would do');
is(value('SELECT columns FROM gpu.auto_columns'), 'city, price', 'of tables that lack columns');
await_looks('sale');
is(indexes('sale'), '', 'and does not');
my $log = slurp_file($node->logfile);
is(() = $log =~ /pg_gpu columns of table public\.sale: advised\n.*DETAIL:  Columns: city, price\. Reason: \d+ calls took/g, 1, 'the log has it once');

value(q{BEGIN; CREATE INDEX sale_left ON sale USING gpu_column (city) WITH (made_by = worker);
	UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sale_left'::regclass; COMMIT});
await(q{SELECT to_regclass('sale_left') IS NULL}, 'but what was left over is dropped, since writers pay for it');

value('CREATE ROLE owner; CREATE ROLE stranger; CREATE ROLE watcher IN ROLE pg_read_all_stats; ALTER TABLE sale OWNER TO owner');
is(value("SET ROLE $_->[0]; SELECT count(*) FROM gpu.auto_columns"), $_->[1], "$_->[0] sees what is allowed") foreach [ owner => 1 ], [ watcher => 1 ], [ stranger => 0 ];

# ---- budgets ------------------------------------------------------------------------------------------------------------

configure('auto_columns_space', "'1MB'");
configure('auto_columns', 'on');
await_action('sale', 'too large', 'an index that would be too large is not made');
configure('auto_columns_write_share', 0);
value(q{UPDATE sale SET note = 'x' WHERE id < 10});
configure('auto_columns_space', "'1GB'");
await_action('sale', 'too dear', 'nor one that writers would pay too much for');
is(indexes('sale'), '', 'so there is none');
configure('auto_columns_write_share', 1000);

# ---- made, and replaced ---------------------------------------------------------------------------------------------------

await_action('sale', 'made', 'within the budgets it is made');
is(indexes('sale'), "CREATE INDEX sale_gpu ON public.sale USING gpu_column (city, price) WITH (made_by=worker)", 'with the columns that are read');
is(value(q{SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'sale_gpu'}), 'owner', 'for the owner');
value('VACUUM ANALYZE sale');
like(value('EXPLAIN SELECT city, sum(price) FROM sale GROUP BY city'), qr/GpuQuery/, 'and used');
is(indexes('own'), 'CREATE INDEX own_i ON public.own USING gpu_column (k, v)', "a user's index needs none beside it");
value('ALTER TABLE sale ADD COLUMN grade int; UPDATE sale SET grade = id % 5; VACUUM ANALYZE sale');
record('SELECT grade, count(*) FROM sale GROUP BY grade');
await(q{SELECT count(*) = 1 AND bool_and(indisvalid) AND bool_and(pg_get_indexdef(indexrelid) LIKE '%(city, price, grade)%') FROM pg_index WHERE indrelid = 'sale'::regclass},
	'a column that was added follows');
await_action('sale', 'made', 'which is told');
$node->restart;
await_looks('sale');
like(indexes('sale'), qr/\(city, price, grade\)/, 'and stays after a restart');

value('CREATE INDEX sale_former ON sale USING gpu_column (city) WITH (made_by = worker)');
await(q{SELECT to_regclass('sale_former') IS NULL}, 'one that it was to have replaced is dropped');
value('CREATE INDEX sale_odd ON sale USING gpu_column ((product % 10)) WITH (made_by = worker)');
await_looks('sale');
is(value(q{SELECT to_regclass('sale_odd')}), 'sale_odd', 'but none of a kind that it does not make');
value('DROP INDEX sale_odd');

# ---- in nobody's way ------------------------------------------------------------------------------------------------------

# A reader with an older snapshot holds the command at its last wait. Whoever changes the table meanwhile gets on.
my $reader = new_session($node);
$reader->query_safe("SET pg_stat_statements.track = none; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM own");
record('SELECT product, count(*) FROM sale GROUP BY product');
my $at_work = q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns' AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock')};
await($at_work, 'the worker waits for an older snapshot');
value(q{INSERT INTO sale (id, city) VALUES (0, 'city 0')});
is(value('SELECT count(*) FROM sale WHERE id = 0'), 1, 'readers and writers get on meanwhile');
value('ALTER TABLE sale ADD COLUMN later int');
pass('and so does who changes the table');
ok($node->wait_for_log(qr/pg_gpu columns of table public\.sale: failed after \d+ ms\n.*Reason: canceling statement due to user request/), 'the worker gave up for them');
$reader->query_safe('COMMIT');
await(q{SELECT count(*) = 1 AND bool_and(indisvalid) AND bool_and(pg_get_indexdef(indexrelid) LIKE '%(city, product, price, grade)%') FROM pg_index WHERE indrelid = 'sale'::regclass},
	'later it tries again, and leaves nothing behind');

# A database that is wanted, while a trigger keeps the worker there for long.
value('CREATE DATABASE wanted');
value(q{
	CREATE EXTENSION pg_gpu;
	CREATE EXTENSION pg_stat_statements;
	CREATE TABLE t AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 100000) g;
	VACUUM ANALYZE t;
	CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); END';
	CREATE EVENT TRIGGER hold ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION hold()}, 'wanted');
$node->safe_psql('wanted', 'SELECT v, sum(k) FROM t GROUP BY v');
await(q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'wanted' AND backend_type = 'pg_gpu columns' AND wait_event = 'PgSleep')}, 'the worker is at work in another database');
# It waits for five seconds at a time.
my $dropped = 0;
foreach (1 .. 20) { last if ($dropped = $node->psql('postgres', 'DROP DATABASE wanted') == 0); }
ok($dropped, 'which can be dropped');

# ---- crashes --------------------------------------------------------------------------------------------------------------

$reader->query_safe("SET pg_stat_statements.track = none; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM own");
record('SELECT note, count(*) FROM sale GROUP BY note');
await($at_work, 'the worker is at work');
my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns'});
my $before_crash = -s $node->logfile;
kill 'KILL', $pid;
eval { $reader->quit };
# Until the postmaster learns of the crash it lets sessions in.
ok(wait_for_log($node, qr/all server processes terminated; reinitializing/, $before_crash), 'PostgreSQL learns of a crash of the worker');
ok($node->poll_query_until('postgres', 'SELECT 1', '1'), 'PostgreSQL restarts after a crash of the worker');
# With the crash the records went.
record('SELECT note, count(*) FROM sale GROUP BY note');
await(q{SELECT count(*) = 1 AND bool_and(indisvalid) AND bool_and(pg_get_indexdef(indexrelid) LIKE '%(city, product, price, note, grade)%') FROM pg_index WHERE indrelid = 'sale'::regclass},
	'what was not finished is dropped, and made anew');
like(slurp_file($node->logfile), qr/an index that was left over is dropped/, 'which is told');

# ---- unused ---------------------------------------------------------------------------------------------------------------

value(q{SELECT gpu.accelerate('own', '{k}')});
await_action('sale', 'made', 'which is told, too');
my $state_of_sale = q{gpu.auto_column_state SET %s WHERE table_oid = 'sale'::regclass};
value('UPDATE ' . sprintf($state_of_sale, q{not_before = now() + interval '1 hour'}));
configure('auto_columns_unused', "'3s'");
await_action('sale', 'failed', 'what failed a while ago is not tried again yet');
isnt(indexes('sale'), '', 'nor is it a drop');
value('UPDATE ' . sprintf($state_of_sale, 'not_before = NULL'));
await_action('sale', 'dropped', 'an index that nobody uses is dropped');
is(indexes('sale'), '', 'so there is none');
await_looks('sale');
is(indexes('sale'), '', 'and it is not made again for statements of long ago');
value('UPDATE ' . sprintf($state_of_sale, 'calls = calls + 100'));
await_looks('sale');
is(indexes('sale'), '', 'of which fewer may be recorded by now');
is(indexes('own'), "CREATE INDEX own_i ON public.own USING gpu_column (k, v)\nCREATE INDEX own_gpu ON public.own USING gpu_column (k) WITH (made_by=accelerate)",
	'what others made is theirs, used or not');
configure('auto_columns_unused', "'7d'");
record('SELECT city, sum(price) FROM sale GROUP BY city');
await_action('sale', 'made', 'but once they are asked again');

# ---- the end ---------------------------------------------------------------------------------------------------------------

my $backup = 'auto_columns';
$node->backup($backup);
my $standby = PostgreSQL::Test::Cluster->new('auto_columns_standby');
$standby->init_from_backup($node, $backup, has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg_gpu columns%'}), 0, 'a standby has no launcher');
$standby->promote;
ok($standby->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_gpu columns launcher'}), 'until it is promoted');
$standby->stop;

value('DROP TABLE sale');
await('SELECT NOT EXISTS (SELECT FROM gpu.auto_column_state WHERE table_oid NOT IN (SELECT oid FROM pg_class))', 'a table that is dropped is forgotten');
value('DROP TABLE own; DROP EXTENSION pg_gpu');
value(q{CREATE EXTENSION pg_gpu; CREATE TABLE again AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 100000) g; VACUUM ANALYZE again;
	CREATE FUNCTION slow() RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN IF current_setting('application_name') = '' THEN PERFORM pg_sleep(600); END IF; RETURN 5; END $$});
record('SELECT count(*) FROM again WHERE v = slow()');
record('SELECT v, sum(k) FROM again GROUP BY v');
await_action('again', 'made', 'the extension may go and come back, and a statement that nobody can plan is no obstacle');
unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal (?!9:)/, 'nothing crashed');

$node->stop;
done_testing();
