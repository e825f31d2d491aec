# suite: check
# A database with indexes of all access methods is dumped and restored, backed up, and recovered to a point in time.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('origin');
$node->init(has_archiving => 1, allows_streaming => 1, extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->append_conf('postgresql.conf', "pg_gpu.path = $ENV{PG_GPU_TEST_PATH}\n") if $ENV{PG_GPU_TEST_PATH};
$node->start;
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../../every_method.sql"));
# The indexes have runs of several sizes, a tail, and dead entries, some of which are marked.
$node->safe_psql('postgres', 'SELECT every.insert(1, 20000)');
$node->safe_psql('postgres', 'DELETE FROM every.item WHERE id % 10 = 0');
$node->safe_psql('postgres', 'VACUUM ANALYZE every.item');
$node->safe_psql('postgres', 'SELECT every.insert(20001, 20100); DELETE FROM every.item WHERE id % 10 = 1');

# Of a text search configuration that has been renamed since, a dump has the new name.
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA app;
CREATE TEXT SEARCH CONFIGURATION app.mine (COPY = english);
CREATE TEXT SEARCH CONFIGURATION app.parts (COPY = english);
CREATE TABLE app.note AS SELECT g AS id, 'running dogs ' || g AS body FROM generate_series(1, 200) AS g;
CREATE INDEX note_body ON app.note USING gpu_text (body) WITH (configuration = 'app.mine');
CREATE INDEX note_words ON app.note USING gpu_text (to_tsvector('app.mine', body));
CREATE TABLE app.part (id int, body text) PARTITION BY RANGE (id);
CREATE INDEX part_body ON app.part USING gpu_text (body) WITH (configuration = 'app.parts');
CREATE TABLE app.part_low PARTITION OF app.part FOR VALUES FROM (0) TO (1000);
INSERT INTO app.part SELECT * FROM app.note;
ALTER SCHEMA app RENAME TO application;
ALTER TEXT SEARCH CONFIGURATION application.mine RENAME TO "Ours";
SQL
my $search = q{SELECT count(*) FROM application.note WHERE body @@@ 'dog'; SELECT count(*) FROM application.part WHERE body @@@ 'run'};
is($node->safe_psql('postgres', $search), "200\n200", 'renamed: searches');

sub check_sound_and_same
{
	my ($where, $database, $name) = @_;
	return is($where->safe_psql($database, 'SELECT * FROM every.differences()'), '', "$name: the indexes are sound and answer");
}
my $everything = 'SELECT count(*), sum(hashtextextended(i::text, 0)) FROM every.item AS i';
check_sound_and_same($node, 'postgres', 'at first');

# ---- dump and restore ---------------------------------------------------------------------------------------

my $definitions = q{SELECT string_agg(indexdef, E'\n' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = 'every'};
my $folder = PostgreSQL::Test::Utils::tempdir;
foreach my $format ('custom', 'plain')
{
	my $dump = "$folder/$format";
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	$node->command_ok([ 'pg_dump', '--format', $format, '--file', $dump, 'postgres' ], "pg_dump, $format");
	$node->command_ok(
		$format eq 'custom'
		? [ 'pg_restore', '--exit-on-error', '--jobs', '2', '--dbname', $format, $dump ]
		: [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $format, '-f', $dump ],
		"restored, $format");
	is($node->safe_psql($format, $definitions), $node->safe_psql('postgres', $definitions), "$format: the indexes are defined as they were");
	is($node->safe_psql($format, $everything), $node->safe_psql('postgres', $everything), "$format: the rows are there");
	$node->safe_psql($format, 'ANALYZE every.item');
	check_sound_and_same($node, $format, $format);
	is($node->safe_psql($format, $search), "200\n200", "$format: by a configuration that has been renamed");
	like(($node->psql($format, 'DROP TEXT SEARCH CONFIGURATION application.parts'))[2], qr/index application.part_body depends on/, "$format: the indexes depend on theirs");
}

# ---- base backup --------------------------------------------------------------------------------------------

my $backup = $node->backup_dir . '/base';
my ($output, $errors);
my $status = IPC::Run::run(
	[ 'pg_basebackup', '-D', $backup, '-h', $node->host, '-p', $node->port, '--checkpoint', 'fast', '--no-sync', '-X', 'stream' ],
	'>', \$output, '2>', \$errors);
ok($status, 'pg_basebackup');
is($errors, '', 'it has nothing to warn of');
command_ok([ 'pg_verifybackup', '--quiet', $backup ], 'the backup is what its manifest says');

# ---- recovery to a point in time ----------------------------------------------------------------------------

$node->safe_psql('postgres', 'SELECT every.insert(30001, 36000); UPDATE every.item SET k = k + 1 WHERE id % 9 = 0');
$node->safe_psql('postgres', q{VACUUM every.item; SELECT gpu.merge('every.item_kary'); SELECT gpu.merge('every.item_column')});
$node->safe_psql('postgres', 'SELECT every.insert(36001, 36050)');
my $then = $node->safe_psql('postgres', $everything);
$node->safe_psql('postgres', q{SELECT pg_create_restore_point('then')});
$node->safe_psql('postgres', 'DELETE FROM every.item WHERE id % 3 <> 0; SELECT every.insert(40001, 42000)');
$node->safe_psql('postgres', 'VACUUM every.item');
foreach my $index ('kary', 'grid', 'column', 'text')
{
	$node->safe_psql('postgres', "SELECT gpu.merge('every.item_$index')");
}
check_sound_and_same($node, 'postgres', 'later');
$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
$node->stop;

my $recovered = PostgreSQL::Test::Cluster->new('recovered');
$recovered->init_from_backup($node, 'base', has_restoring => 1, standby => 0);
$recovered->append_conf('postgresql.conf', "recovery_target_name = 'then'\nrecovery_target_action = 'promote'\narchive_mode = off\n");
$recovered->start;
$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
is($recovered->safe_psql('postgres', $everything), $then, 'the rows are those of then');
check_sound_and_same($recovered, 'postgres', 'then');
$recovered->safe_psql('postgres', 'SELECT every.insert(50001, 52000)');
$recovered->safe_psql('postgres', 'VACUUM ANALYZE every.item');
check_sound_and_same($recovered, 'postgres', 'a timeline on');
$recovered->stop;

done_testing();
