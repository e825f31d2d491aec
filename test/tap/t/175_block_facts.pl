# suite: check
# What sessions know of heap blocks, against random writers: savepoints taken back, row locks of several transactions,
# HOT updates, prepared transactions, VACUUM with and without freezing. Readers at three isolation levels, on pages and with the
# server process, compare each kind of question with a sequential scan in the same statement, on a primary and a
# standby. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || rounds(3, 60);

# With checksums hint bits are logged, without them they aren't. A preloaded library has sessions share what they know. Where there are few
# buffers, pages leave theirs and come back all the time.
my $checksums = random_int(0, 1);
my $buffers = random_pick('2MB', '16MB');
note "checksums $checksums, shared_buffers $buffers";
my $shared = random_int(0, 1) ? "shared_preload_libraries = 'pg_gpu'\n" : '';
my $primary = new_node('primary', streaming => 1, checksums => $checksums, conf => $shared . qq{
shared_buffers = $buffers
autovacuum = off
max_prepared_transactions = 10
work_mem = 64kB
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

$primary->safe_psql('postgres', q{
CREATE TABLE changing (k int4, v int4, t text);
INSERT INTO changing SELECT i, i % 10, 'x' FROM generate_series(1, 5000) AS i;
CREATE INDEX changing_k ON changing USING gpu_kary (k);
CREATE INDEX changing_g ON changing USING gpu_grid (k, v);
CREATE INDEX changing_c ON changing USING gpu_column (k, v);

-- The function is stable, so all of it sees what the calling statement sees. No index has k + 0.
CREATE FUNCTION check_changing(low int, high int) RETURNS void STABLE LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	what text := format('%s to %s', low, high);
	filter text := format('k >= %s AND k <= %s', low, high);
	middle int := (low + high) / 2;
	expected text := (SELECT count(*) FROM changing WHERE k + 0 BETWEEN low AND high);
	ranges text := (SELECT concat_ws(' ', expected, count(*)) FROM changing WHERE k + 0 BETWEEN low AND middle);
	boxes text := (SELECT concat_ws(' ', count(*) FILTER (WHERE v <= 5), count(*) FILTER (WHERE v >= 3))
		FROM changing WHERE k + 0 BETWEEN low AND high);
	bins text := (SELECT coalesce(string_agg(bin || ':' || rows, ' ' ORDER BY bin), '')
		FROM (SELECT width_bucket(v, 0, 10, 5) AS bin, count(*) AS rows FROM changing WHERE k + 0 BETWEEN low AND high GROUP BY 1) AS b);
	summary text := (SELECT concat_ws(' ', count(*), count(DISTINCT v), min(v), max(v), sum(v)) FROM changing WHERE k + 0 BETWEEN low AND high);
BEGIN
	FOR again IN 1 .. 2 LOOP
		PERFORM faults.must_equal('gpu_kary, ' || what, expected, gpu.count('changing_k', ARRAY[low], ARRAY[high])::text);
		PERFORM faults.must_equal('gpu_grid, ' || what, expected,
			gpu.count('changing_g', ROW(low, NULL::int), ROW(high, NULL::int))::text);
		PERFORM faults.must_equal('gpu_column, ' || what, expected,
			gpu.count('changing_c', filter)::text);
		PERFORM faults.must_equal('gpu_kary, two ranges, ' || what, ranges, (SELECT string_agg(count::text, ' ' ORDER BY ordinal)
			FROM gpu.count_batch('changing_k', ARRAY[[low], [low]], ARRAY[[high], [middle]])));
		PERFORM faults.must_equal('gpu_grid, two boxes, ' || what, boxes, (SELECT string_agg(count::text, ' ' ORDER BY ordinal)
			FROM gpu.count_batch('changing_g', ARRAY[[low, NULL], [low, 3]], ARRAY[[high, 5], [high, NULL]])));
		PERFORM faults.must_equal('histogram, ' || what, bins, (SELECT coalesce(string_agg(bin || ':' || count, ' ' ORDER BY bin), '')
			FROM gpu.histogram('changing_c', 'v', 5, 0, 10, filter) WHERE count > 0));
		PERFORM faults.must_equal('summary, ' || what, summary, (SELECT concat_ws(' ', count, distinct_values, minimum, maximum, sum)
			FROM gpu.summary('changing_c', 'v', filter)));
		PERFORM faults.must_equal('index-only scan, ' || what, expected,
			(SELECT count(*) FILTER (WHERE k >= 0) FROM changing WHERE k BETWEEN low AND high)::text);
	END LOOP;
END $$;
});

my $variables = "\\set low random(0, 5000)\n\\set width random(1, 100)\n\\set all random(1, 5000)\n";
my $rows = 'SELECT ctid FROM changing WHERE k BETWEEN :low AND :low + :width';
my $delete = "DELETE FROM changing WHERE ctid = ANY (ARRAY($rows LIMIT 20 FOR UPDATE SKIP LOCKED));";
my $hot = "UPDATE changing SET t = t || 'y' WHERE ctid = ANY (ARRAY($rows LIMIT 20 FOR NO KEY UPDATE SKIP LOCKED));";
my $move = "UPDATE changing SET k = :low WHERE ctid = ANY (ARRAY($rows LIMIT 20 FOR UPDATE SKIP LOCKED));";
my $insert = "INSERT INTO changing SELECT :low + i % 100, i % 10, 'new' FROM generate_series(1, 20) AS i;";
my $share = "SELECT count(*) FROM ($rows LIMIT 20 FOR KEY SHARE SKIP LOCKED) AS locked;";
my $wait = '\\sleep 5 ms';
my %writes = (
	insert => [ $insert, 6 ],
	delete => [ $delete, 4 ],
	hot => [ $hot, 6 ],
	move => [ $move, 3 ],
	abort => [ "BEGIN;\n$insert\n$delete\n$hot\n$wait\nROLLBACK;", 3 ],
	share => [ "BEGIN;\n$share\n$wait\nCOMMIT;", 4 ],
	share_and_change => [ "BEGIN;\n$share\n$hot\n$wait\nCOMMIT;", 3 ],
	taken_back => [ "BEGIN;\n$insert\nSAVEPOINT s;\n$delete\n$hot\n$wait\nROLLBACK TO s;\n$move\nCOMMIT;", 4 ],
	kept => [ "BEGIN;\nSAVEPOINT s;\n$delete\nSAVEPOINT t;\n$hot\nROLLBACK TO t;\n$insert\nRELEASE s;\n$wait\nCOMMIT;", 3 ],
	own => [ "BEGIN;\n$delete\n$insert\nSELECT check_changing(:low, :low + :all);\nSAVEPOINT s;\n$hot\n$delete\n"
		. "SELECT check_changing(:low, :low + :all);\nROLLBACK TO s;\nSELECT check_changing(:low, :low + :all);\nCOMMIT;", 2 ],
	vacuum => [ 'VACUUM (INDEX_CLEANUP ON) changing;', 1 ],
	freeze => [ 'VACUUM (FREEZE, INDEX_CLEANUP ON) changing;', 1 ],);
my @writes = map { [ $variables . $writes{$_}[0] . "\n", $writes{$_}[1] ] } sort keys %writes;

my $check = "SELECT check_changing(:low, :low + :all);\n";
my @checks = (
	[ $variables . $check, 3 ],
	[ $variables . "BEGIN;\n$check$wait\n$check" . "COMMIT;\n", 1 ],
	[ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\n$check$wait\n$check$wait\n$check" . "COMMIT;\n", 3 ],);
my @primary_checks = (@checks, [ $variables . "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;\n$check$wait\n$check" . "COMMIT;\n", 1 ]);

my @runs = (start_clients($primary, \@writes, clients => 4, seconds => $seconds));
push @runs, start_clients($primary, \@primary_checks, clients => 1, seconds => $seconds, options => "-c pg_gpu.path=$_")
	foreach ('paged', 'host');
$primary->wait_for_catchup($standby);
push @runs, start_clients($standby, \@checks, clients => 1, seconds => $seconds, options => '-c pg_gpu.path=paged');
# One prepared transaction follows the other, and each is open while others write.
foreach my $number (1 .. 3)
{
	$primary->safe_psql('postgres', "BEGIN; UPDATE changing SET t = 'prepared' WHERE ctid = ANY (ARRAY(SELECT ctid FROM changing LIMIT 50 FOR UPDATE SKIP LOCKED));
DELETE FROM changing WHERE ctid = ANY (ARRAY(SELECT ctid FROM changing OFFSET 500 LIMIT 50 FOR UPDATE SKIP LOCKED)); PREPARE TRANSACTION 'p$number';");
	my $prepared = next_transaction($primary);
	wait_until(sub { return next_transaction($primary) > $prepared + 20 || !$runs[0]{handle}->pumpable });
	$primary->safe_psql('postgres', ($number == 2 ? 'ROLLBACK' : 'COMMIT') . " PREPARED 'p$number'");
}
finish_clients($_) foreach @runs;
is(client_errors(\@runs), '', 'no wrong answers, and no errors');
cmp_ok(client_transactions([$_]), '>', 0, 'there was work going on') foreach @runs;
is(bad_log_lines($_), '', 'no process died') foreach ($primary, $standby);

# At rest all blocks are known after the first question, since no snapshot is in the way.
$primary->safe_psql('postgres', q{UPDATE changing SET t = 'last'});
$primary->wait_for_catchup($standby);
foreach my $node ($primary, $standby)
{
	is(sql_value($node, "SELECT check_changing(0, 10000);\nSELECT gpu.stat_reset();\nSELECT check_changing(0, 10000);\n"
			. "SELECT items > 0 FROM gpu.stat WHERE request = 'block facts'") =~ s/\s+//gr,
		't', 'what is known is used');
}

# Nor is a transaction in the way that has written and doesn't end, of another session or of its own. Pages that were changed
# after it began are known as well, once whoever changed them has ended.
my $tables = 0;
sub is_known_after_change
{
	my ($what, $session) = @_;
	my $table = 'updated_' . ++$tables;
	$primary->safe_psql('postgres', "CREATE TABLE $table (k int4, t text) WITH (fillfactor = 40);
INSERT INTO $table SELECT i, 'x' FROM generate_series(1, 5000) AS i;
CREATE INDEX ${table}_k ON $table USING gpu_kary (k)");
	$primary->safe_psql('postgres', "UPDATE $table SET t = 'z'");
	$primary->wait_for_catchup($standby);
	my $count = "SELECT gpu.count('${table}_k', ARRAY[1], ARRAY[4000])";
	# Room for all blocks. The session looks entries up itself, which on other paths the server process does.
	$session->query_safe(q{SET pg_gpu.path = paged; SET work_mem = '8MB'; SELECT check_changing(0, 10000)});
	is($session->query_safe($count) . $session->query_safe($count), 40004000, "$what: counts are right");
	$session->query_safe('SELECT gpu.stat_reset()');
	is($session->query_safe($count), 4000, "$what: again");
	return cmp_ok($session->query_safe(q{SELECT coalesce(sum(items), 0) FROM gpu.stat WHERE request = 'block facts'}), '>', 0, "$what: rows are known");
}
my $open = $primary->background_psql('postgres', on_error_stop => 1);
$open->query_safe("BEGIN; INSERT INTO changing VALUES (1, 1, 'open')");
foreach my $node ($primary, $standby)
{
	my $session = new_session($node);
	is_known_after_change('beside an open transaction, on the ' . $node->name, $session);
	$session->quit;
}
$open->quit;
my $own = new_session($primary);
$own->query_safe('BEGIN; SELECT pg_current_xact_id()');
is_known_after_change("in a transaction that has an id, change $_", $own) foreach 1, 2;
# Blocks that it writes itself are looked at, and its next snapshot sees what it has taken back.
$own->query_safe("SAVEPOINT s; UPDATE changing SET t = 'own' WHERE k % 5 = 0; DELETE FROM changing WHERE k % 7 = 0; SELECT check_changing(0, 10000)");
$own->query_safe('ROLLBACK TO s; SELECT check_changing(0, 10000); SELECT check_changing(0, 10000)');
$own->query_safe('COMMIT; SELECT check_changing(0, 10000)');
$own->quit;

$standby->stop;
$primary->stop;
done_testing();
