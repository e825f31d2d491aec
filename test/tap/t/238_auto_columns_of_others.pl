# suite: check
# The worker of pg_gpu.auto_columns in a database of somebody else's: what the owner sets and makes there has nothing done with the rights of
# a superuser, nor keeps the worker from its work. And the extension may go while the worker is at work.

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

my $node = new_cluster('auto_others', conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\npg_gpu.auto_columns = on\npg_gpu.auto_columns_interval = 1s\n" .
	"max_worker_processes = 12\nmax_parallel_workers_per_gather = 0\npg_gpu.auto_columns_write_share = 1000\n");
sub value { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', "SET pg_stat_statements.track = none; $sql"); }
sub await { my ($sql, $name, $database) = @_; return ok($node->poll_query_until($database // 'postgres', $sql), $name); }
sub await_made
{
	my ($table, $database, $name) = @_;
	await("SELECT EXISTS (SELECT FROM gpu.auto_columns WHERE table_name = '$table'::regclass AND action = 'made')", $name, $database)
		or diag(value('TABLE gpu.auto_column_state', $database));
	return;
}

# ---- a path that the owner sets -------------------------------------------------------------------------------------

# Planning evaluates pi(), which is first PostgreSQL's and then whatever a search_path finds.
value('CREATE ROLE owner');
value('CREATE DATABASE lent OWNER owner');
value('ALTER DATABASE lent SET pg_gpu.auto_columns = off');
value(q{
	CREATE EXTENSION pg_gpu;
	CREATE EXTENSION pg_stat_statements;
	CREATE SCHEMA kept;
	CREATE TABLE kept.sale AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 50000) g;
	GRANT USAGE ON SCHEMA kept TO owner;
	GRANT SELECT ON kept.sale TO owner;
	VACUUM ANALYZE kept.sale;
	SET ROLE owner;
	CREATE SCHEMA trap;
	CREATE SEQUENCE trap.by_owner;
	CREATE SEQUENCE trap.by_others;
	ALTER DATABASE lent SET search_path = trap, public, kept, pg_catalog}, 'lent');
$node->safe_psql('lent', 'SELECT v, sum(k) FROM sale WHERE k > pi() GROUP BY v');
$node->safe_psql('lent', 'SET ROLE owner; SELECT v, max(k) FROM sale WHERE k > pi() GROUP BY v');
# For the owner, public is a place like any other.
value(qq{
	SET ROLE owner;
	CREATE FUNCTION $_.pi() RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS
		\$\$ BEGIN PERFORM nextval(CASE WHEN current_user = 'owner' THEN 'trap.by_owner' ELSE 'trap.by_others' END::regclass); RETURN 3; END \$\$}, 'lent')
	foreach qw(trap public);

# What the owner sets for sessions isn't for the worker either: the event trigger takes longer than a transaction may.
value(q{
	CREATE FUNCTION linger() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); END';
	CREATE EVENT TRIGGER linger ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION linger()}, 'lent');
value('ALTER DATABASE lent SET transaction_timeout = 1000') if $node->pg_version >= 17;
value('ALTER DATABASE lent SET default_transaction_read_only = on');
value('ALTER DATABASE lent RESET pg_gpu.auto_columns');
await_made('kept.sale', 'lent', 'a superuser\'s statement is planned where its names are those of superusers, and what a database sets for sessions is no obstacle');
is(value('SELECT is_called FROM trap.by_others', 'lent'), 'f', 'by no function of who owns the database');
is(value('SELECT is_called FROM trap.by_owner', 'lent'), 't', 'as the owner\'s statements are');

# ---- an extension that goes -----------------------------------------------------------------------------------------

value('CREATE DATABASE brief');
value(q{
	CREATE EXTENSION pg_gpu;
	CREATE EXTENSION pg_stat_statements;
	CREATE TABLE t AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 50000) g;
	VACUUM ANALYZE t;
	CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); END';
	CREATE EVENT TRIGGER hold ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION hold()}, 'brief');
my $holder = new_session($node, 'brief');
$holder->query_safe('SET pg_stat_statements.track = none; SELECT pg_advisory_lock(1)');
$node->safe_psql('brief', 'SELECT v, sum(k) FROM t GROUP BY v');
my $at_work = q{SELECT pid FROM pg_stat_activity WHERE datname = 'brief' AND backend_type = 'pg_gpu columns' AND wait_event = 'advisory'};
await("SELECT EXISTS ($at_work)", 'the worker is at work');
my $pid = value($at_work);
value('DROP EXTENSION pg_gpu', 'brief');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
await("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)", 'it ends when the extension went meanwhile');
unlike(slurp_file($node->logfile), qr/"gpu\.auto_column_state" does not exist/, 'and looks for nothing of it');
value('CREATE EXTENSION pg_gpu', 'brief');
await_made('t', 'brief', 'until it is back');
$holder->quit;

$node->stop;
done_testing();
