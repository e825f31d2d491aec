# suite: check
# Counts of ranges and boxes in tables of which few blocks aren't all-visible, so that entries are counted by ranks or by the grid's
# directory and those without a visible row are taken off, against random writers in changing places of the table: savepoints taken back, HOT updates, dead line pointers that are
# left, freed and used again, VACUUMs that are under way while others count, merges. Readers on a primary and a standby compare
# each count with a sequential scan in the same statement, on pages and by a server process that has all entries counted. Before that, a VACUUM
# that has marked dead entries and told nobody. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || few_or_many(3, rounds(4, 60));

my $path = ($ENV{PG_GPU_TEST_PATH} // '') eq 'cuda' ? 'cuda' : 'host';

my $primary = new_node('primary', streaming => 1, conf => "autovacuum = off\nsynchronous_commit = off\nshared_preload_libraries = 'pg_gpu'\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 512\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");

$primary->safe_psql('postgres', q{
CREATE TABLE beside (id int4, k int4, v int8, t text) WITH (fillfactor = 95);
INSERT INTO beside SELECT i, hashint4(i) % 5000 + 5000, nullif(i % 50, 7), 'x' FROM generate_series(1, 40000) AS i;
CREATE INDEX beside_k_gpu_kary ON beside USING gpu_kary (k) WITH (fanout = 3);
CREATE INDEX beside_vk_gpu_kary ON beside USING gpu_kary (v, k) WITH (fanout = 3);
CREATE INDEX beside_k_gpu_grid ON beside USING gpu_grid (k) WITH (fanout = 3);
CREATE INDEX beside_vk_gpu_grid ON beside USING gpu_grid (v, k) WITH (fanout = 3);
VACUUM ANALYZE beside;

-- The function is stable, so all of it sees what the calling statement sees. No index has k + 0. Two columns are an order of rows
-- to gpu_kary, and a box to gpu_grid.
CREATE FUNCTION check_beside(method text, low int, high int) RETURNS void STABLE LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	what text := format('%s of %s to %s', method, low, high);
	one_column text := 'beside_k_' || method;
	two_columns text := 'beside_vk_' || method;
	middle int := (low + high) / 2;
	least int := low % 50;
	expected text := (SELECT count(*) FROM beside WHERE k + 0 BETWEEN low AND high);
	ranges text := (SELECT concat_ws(' ', expected, count(*)) FROM beside WHERE k + 0 BETWEEN low AND middle);
	ordered text := (SELECT count(*) FROM beside WHERE v + 0 >= least);
	boxed text := (SELECT count(*) FROM beside WHERE v + 0 >= least AND k + 0 BETWEEN low AND high);
BEGIN
	FOR again IN 1 .. 2 LOOP
		PERFORM faults.must_equal('range, ' || what, expected, gpu.count(one_column, ARRAY[low], ARRAY[high])::text);
		PERFORM faults.must_equal('two ranges, ' || what, ranges, (SELECT string_agg(count::text, ' ' ORDER BY ordinal)
			FROM gpu.count_batch(one_column, ARRAY[[low], [low]], ARRAY[[high], [middle]])));
		IF method = 'gpu_kary' THEN
			PERFORM faults.must_equal('rows in order, ' || what, ordered, gpu.count(two_columns, ROW(least, NULL::int), NULL::record)::text);
		ELSE
			PERFORM faults.must_equal('box, ' || what, boxed, gpu.count(two_columns, ROW(least, low), ROW(1000, high))::text);
			PERFORM faults.must_equal('two boxes, ' || what, concat_ws(' ', boxed, ordered), (SELECT string_agg(count::text, ' ' ORDER BY ordinal)
				FROM gpu.count_batch(two_columns, ARRAY[[least, low], [least, 0]], ARRAY[[1000, high], [1000, 100000]])));
		END IF;
	END LOOP;
END $$;
});

# On a path that is forced all entries are counted, and those without a visible row are taken off. A mirror doesn't know of dead bits that a VACUUM has
# set which is under way, or was broken off, so entries with them may be counted or not.
my $forced = "SET pg_gpu.path = $path;";
foreach my $method (qw(gpu_kary gpu_grid))
{
	my $table = "marked_$method";
	$primary->safe_psql('postgres', "CREATE TABLE $table (k int4);
INSERT INTO $table SELECT generate_series(1, 60000);
CREATE INDEX ${table}_i ON $table USING $method (k);
VACUUM ANALYZE $table");
	# A run without dead entries that are known of is taken for one that has none.
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE k BETWEEN 50001 AND 50010");
	$primary->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON, PARALLEL 0) $table");
	wait_until(sub { return sql($primary, "$forced SELECT gpu.load('${table}_i')")->{code} eq '' }) or die 'no mirror';
	my $count = "gpu.count('${table}_i', ARRAY[100], ARRAY[59000])";
	my $expected = "SELECT count(*) FROM $table WHERE k + 0 BETWEEN 100 AND 59000";
	my $is_right = sub {
		my ($title) = @_;
		my $right = $primary->safe_psql('postgres', "SET pg_gpu.path = paged; SET pg_gpu.enable_query = off; $expected");
		foreach my $way ('SET pg_gpu.path = paged;', $forced)
		{
			# Twice in a session, which learns of dead line pointers meanwhile.
			is($primary->safe_psql('postgres', "$way SELECT $count, $count"), "$right|$right", "$method, $title: $way");
		}
	};
	my $answered = sub { return sql_value($primary, "SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path' AND request LIKE 'count%'") };
	my $before = $answered->();
	$is_right->('all-visible');
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE k BETWEEN 30001 AND 30040 OR k % 10007 = 0");
	$is_right->('deleted rows');
	$primary->safe_psql('postgres', "VACUUM (INDEX_CLEANUP OFF) $table");
	$is_right->('dead line pointers');
	cmp_ok($answered->(), '>', $before, "$method: the server process has answered");

	my $holder = new_session($primary);
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	my $vacuum = start_sql($primary, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_vacuum = 1; VACUUM (INDEX_CLEANUP ON, PARALLEL 0) $table");
	my $held = q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE 'VACUUM%'};
	wait_until(sub { return sql_value($primary, $held) ne '' }) or die 'VACUUM is not held';
	$is_right->('marked by a VACUUM that is under way');
	sql_value($primary, "SELECT pg_cancel_backend(pid) FROM ($held) AS s");
	isnt(finish_sql($vacuum)->{code}, '', "$method: VACUUM was broken off");
	$is_right->('marked by a VACUUM that was broken off');
	$primary->safe_psql('postgres', "INSERT INTO $table SELECT generate_series(30001, 30010)");
	$is_right->('rows with the same keys');
	$holder->quit;
	$primary->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON, PARALLEL 0) $table");
	$is_right->('dead entries that are known of');
	$primary->safe_psql('postgres', "INSERT INTO $table SELECT generate_series(30001, 30040); DELETE FROM $table WHERE k % 3 = 0 AND k BETWEEN 30001 AND 30040");
	$is_right->('their line pointers used again, and deleted again');
	is(sql_value($primary, "SELECT count(*) FROM gpu.verify('${table}_i')"), '0', "$method: the index is sound");
	$primary->safe_psql('postgres', "DROP TABLE $table");
}

# Writers stay for a while where others are, so that not all blocks are changed before the next VACUUM.
my $variables = "\\set id random_gaussian(1, 40000, 5)\n\\set low random(0, 4000)\n\\set width random(2000, 10000)\n";
my $rows = 'SELECT ctid FROM beside WHERE id + 0 BETWEEN :id AND :id + 8 FOR UPDATE SKIP LOCKED';
my $delete = "DELETE FROM beside WHERE ctid = ANY (ARRAY($rows));";
my $hot = "UPDATE beside SET t = t || 'y' WHERE ctid = ANY (ARRAY($rows));";
my $move = "UPDATE beside SET k = :low WHERE ctid = ANY (ARRAY($rows));";
my $checks = join('', map { "SELECT check_beside('$_', :low, :low + :width);\n" } qw(gpu_kary gpu_grid));
my $insert = 'INSERT INTO beside SELECT :id, :low + i, nullif(i, 3), \'new\' FROM generate_series(1, 8) AS i;';
my $wait = '\\sleep 5 ms';
my %writes = (
	insert => [ $insert, 6 ],
	delete => [ $delete, 5 ],
	hot => [ $hot, 4 ],
	move => [ $move, 4 ],
	abort => [ "BEGIN;\n$insert\n$delete\n$hot\n$wait\nROLLBACK;", 3 ],
	taken_back => [ "BEGIN;\n$insert\nSAVEPOINT s;\n$delete\n$hot\n$wait\nROLLBACK TO s;\n$move\nCOMMIT;", 3 ],
	own => [ "BEGIN;\n$delete\n$insert\n${checks}SAVEPOINT s;\n$move\n${checks}ROLLBACK TO s;\n${checks}COMMIT;", 1 ],
	prune => [ 'VACUUM (INDEX_CLEANUP OFF) beside;', 4 ],
	vacuum => [ 'VACUUM (INDEX_CLEANUP ON) beside;', 4 ],);
my @writes = map { [ $variables . $writes{$_}[0] . "\n", $writes{$_}[1] ] } sort keys %writes;

my @checks = (
	[ $variables . $checks, 4 ],
	[ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\n$checks$wait\n${checks}COMMIT;\n", 2 ],);

# Before, it would have kept rows that were deleted a moment ago (hot_standby_feedback).
$standby->start;
wait_for_standby($primary, $standby);
my @runs = (start_clients($primary, \@writes, clients => 2, seconds => $seconds));
foreach my $node ($primary, $standby)
{
	push @runs, start_clients($node, \@checks, clients => 1, seconds => $seconds, options => $_) foreach ('-c pg_gpu.path=paged', "-c pg_gpu.path=$path");
}
finish_clients($_) foreach @runs;
is(client_errors(\@runs), '', 'no wrong answers, and no errors');
cmp_ok(client_transactions([$_]), '>', 0, 'there was work going on') foreach @runs;
is(bad_log_lines($_), '', 'no process died') foreach ($primary, $standby);
is(sql_value($primary, "SELECT count(*) FROM pg_index, gpu.verify(indexrelid::regclass) WHERE indrelid = 'beside'::regclass"),
	'0', 'the indexes are sound');

done_testing();
