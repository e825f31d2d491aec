# suite: check
# Runs of gpu_grid in parts on several engines: three host engines that divide every run, and stand-ins with so little memory that the host engine has the rest. Answers are those of
# pages and of PostgreSQL's own plans, with NULLs, NaN, -0, equal points, boxes of nothing and of everything, dead rows; a load that is cancelled leaves nothing behind.

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

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --kept-together 0 --divide-all --testing');
my $node = new_node('parts', conf => "autovacuum = off\njit = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE points (id int8, a int4, b float8, c int8);
CREATE FUNCTION add(first int8, last int8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO points SELECT i, CASE WHEN i % 13 > 0 THEN i * 7919 % 400 END,
		CASE WHEN i % 17 = 0 THEN 'NaN' WHEN i % 19 = 0 THEN '-0' WHEN i % 23 = 0 THEN NULL WHEN i % 29 = 0 THEN '-Infinity' ELSE (i * 104729 % 1000) / 8.0 - 40 END,
		CASE WHEN i % 31 > 0 THEN i / 3 END
	FROM generate_series(first, last) AS i $$;
SELECT add(1, 9000);
INSERT INTO points SELECT i, 7, 7, 7 FROM generate_series(9001, 9500) AS i;
CREATE INDEX points_i ON points USING gpu_grid (a, b, c);
SELECT add(9501, 12000);
SELECT add(12001, 12200);
CREATE TABLE places (id int8, p point);
INSERT INTO places SELECT i, point(i * 7919 % 997 / 4.0, i * 104729 % 991 / 4.0) FROM generate_series(1, 5000) AS i;
CREATE INDEX places_i ON places USING gpu_grid (p);
CREATE TABLE single (k int8);
INSERT INTO single VALUES (5);
CREATE INDEX single_i ON single USING gpu_grid (k);
});

my $boxes = q{ARRAY(SELECT ROW((i * 37 % 400)::int4, CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN NULL ELSE i % 90 - 40.0 END::float8, NULL::int8) FROM generate_series(1, 60) AS i),
	ARRAY(SELECT ROW((i * 37 % 400 + 90)::int4, CASE i % 5 WHEN 0 THEN 0 WHEN 1 THEN 'NaN' ELSE i % 90 - 20.0 END::float8, (i * 60)::int8) FROM generate_series(1, 60) AS i)};
my $by_index = 'SET enable_seqscan = off; SET enable_indexscan = off';
my @questions = (
	"SELECT ordinal, count FROM gpu.count_batch('points_i', $boxes) ORDER BY 1",
	q{SELECT gpu.count('points_i', ROW(NULL::int4, NULL::float8, NULL::int8), ROW(NULL::int4, NULL::float8, NULL::int8))},
	q{SELECT gpu.count('points_i', ROW(10::int4, 5::float8, 1::int8), ROW(9::int4, 6::float8, 9::int8))},
	q{SELECT count(*), sum(ordinal), sum((l.tid::text::point)[1]), sum((l.tid::text::point)[0]) FROM gpu.lookup('points_i', ARRAY(SELECT ROW(a, b, c) FROM points WHERE id % 7 = 0)) AS l},
	q{SELECT count(*) FROM gpu.lookup('points_i', ARRAY[ROW(7::int4, 7::float8, 7::int8), ROW(7::int4, 7::float8, 8::int8), ROW(NULL::int4, 7::float8, 7::int8)])},
	(map { "$by_index; SELECT count(*), sum(id), min(id), max(id) FROM points WHERE $_" } 'a BETWEEN 20 AND 300 AND b >= 0', 'a IS NULL', 'b IS NULL AND c > 100', q{b = 'NaN'}, q{b <= '-0' AND b >= '0'},
		'a = 7 AND b = 7 AND c = 7', 'a = 7 AND b = 7 AND c = 8', 'a > 5 AND a < 5', 'c IS NOT NULL', q{b < '-Infinity'}),
	'SET enable_seqscan = off; SELECT count(*) FROM points WHERE a BETWEEN 20 AND 300 AND b >= 0',
	'SET enable_seqscan = off; SELECT a, b FROM points WHERE a BETWEEN 30 AND 33 ORDER BY 1, 2',
	"$by_index; SELECT count(*), sum(id) FROM places WHERE p <@ '(20,20,150,90)'::box",
	q{SET enable_seqscan = off; SELECT string_agg(d::text, ' ') FROM (SELECT p <-> '(50,50)' AS d FROM places ORDER BY p <-> '(50,50)' LIMIT 200) AS q},
	"$by_index; SELECT count(*) FROM single WHERE k = 5", "$by_index; SELECT count(*) FROM single WHERE k > 5");
my @own = ('SET pg_gpu.path = paged', 'SET pg_gpu.path = paged; SET pg_gpu.enable_count_scan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off');

sub compare
{
	my ($path, $title) = @_;
	my $answered = "SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path'";
	my $before = sql_value($node, $answered);
	foreach my $number (0 .. $#questions)
	{
		my $question = $questions[$number];
		my $found = sql_value($node, "SET pg_gpu.path = $path; $question");
		is($found, sql_value($node, "$own[0]; $question"), "$title: question $number as on pages");
		# Without what it says of plans.
		my $plain = $question =~ s/^(SET [a-z_]+ = off; )+//r;
		is($found, sql_value($node, "$own[1]; $plain"), "$title: question $number as by PostgreSQL");
	}
	# It is not asked for what nothing can be in.
	cmp_ok(sql_value($node, $answered) - $before, '>=', @questions - 4, "$title: the server process has answered");
	return;
}
sub wrong_parts
{
	return sql_value($node, q{SELECT count(*) FROM (SELECT m.run_id FROM gpu.mirrors AS m JOIN gpu.runs('points_i') AS r USING (run_id)
		GROUP BY m.run_id, r.entries HAVING sum(m.entries) <> r.entries OR count(*) <> max(m.parts) OR count(DISTINCT (m.path, m.device)) <> count(*)) AS wrong});
}

# ---- three engines --------------------------------------------------------------------------------------------------------

compare('host', 'in parts');
is(sql_value($node, q{SELECT max(parts) FROM gpu.mirrors WHERE index_name = 'points_i'::regclass}), 3, 'runs are divided');
is(sql_value($node, q{SELECT count(*) FROM gpu.mirrors WHERE index_name = 'single_i'::regclass}), 1, 'one row is not');
is(wrong_parts(), 0, 'parts are all of their run, each on another engine');
sql_value($node, 'DELETE FROM points WHERE id % 9 = 0');
compare('host', 'after a DELETE');
$node->safe_psql('postgres', 'VACUUM points');
compare('host', 'after VACUUM');
sql_value($node, 'UPDATE points SET a = a + 1 WHERE id % 500 = 0');
compare('host', 'beside changed blocks');
$node->safe_psql('postgres', 'DELETE FROM points WHERE id % 9 = 1');
$node->safe_psql('postgres', 'VACUUM points');
compare('host', 'with a later bitmap');
$node->safe_psql('postgres', "SELECT count(*) FROM gpu.merge('points_i')");
is(sql_value($node, q{SELECT count(*) FROM gpu.verify('points_i')}), 0, 'it is sound after a merge');
compare('host', 'after a merge');

# A load that is cancelled at some point, or as soon as it begins.
my $memory = 'SELECT coalesce(sum(memory_used), 0) FROM gpu.devices()';
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
foreach my $milliseconds (1, 2, 3, 5, 8)
{
	sql($node, "SET pg_gpu.path = host; SET statement_timeout = $milliseconds; SELECT gpu.load('points_i')");
	$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
	ok(wait_until(sub { return sql_value($node, $memory) == 0 }), "nothing is left of a load that was cancelled after $milliseconds ms, or wasn't");
}
compare('host', 'loaded again');

my $pid = wait_for_server($node);
kill 'USR1', $pid;
compare('host', 'one engine lost');
is(wrong_parts(), 0, 'the others have its parts');

# ---- devices and host -----------------------------------------------------------------------------------------------------

$ENV{PG_GPU_SERVER} = server_with('--engines host,stand-in,stand-in --kept-together 0 --move-milliseconds 1 --testing');
$node->append_conf('postgresql.conf', "pg_gpu.device_memory_limit = 1MB\npg_gpu.host_memory_limit = 64MB\n");
$node->safe_psql('postgres', q{
CREATE TABLE many (id int8, a int4, b float8);
INSERT INTO many SELECT i, CASE WHEN i % 13 > 0 THEN hashint8(i) % 1000 END, CASE WHEN i % 17 > 0 THEN hashint8(i * 3) / 1000.0 ELSE 'NaN' END FROM generate_series(1, 95000) AS i;
CREATE INDEX many_i ON many USING gpu_grid (a, b);
});
$node->restart;
@questions = (map { "$by_index; SELECT count(*), sum(id), min(id), max(id) FROM many WHERE $_" } 'a BETWEEN -200 AND 300 AND b >= 0', 'a IS NULL', q{b = 'NaN' AND a > 0}, 'a = 7', 'true OR a = 1 AND a = 2');
$questions[-1] = q{SELECT count(*), sum(count) FROM gpu.count_batch('many_i', ARRAY(SELECT ROW(i, NULL::float8) FROM generate_series(-900, 900, 7) AS i), ARRAY(SELECT ROW(i + 3, NULL::float8) FROM generate_series(-900, 900, 7) AS i))};
sub places { return sql_value($node, q{SELECT string_agg(DISTINCT coalesce(device::text, '-'), ' ') FROM gpu.mirrors WHERE path = 'cuda' AND index_name = 'many_i'::regclass}); }
compare('cuda', 'what no device has room for');
is(places(), '-', 'lies with the host');
change_setting($node, 'pg_gpu.device_memory_limit', '4MB');
ok(wait_until(sub { return sql_value($node, 'SELECT min(memory_limit) > 1048576 FROM gpu.devices()') eq 't' }), 'a higher limit for the devices');
# A session is told by its first question, and moves the run with its next one.
$node->safe_psql('postgres', "SET pg_gpu.path = cuda; $questions[-1]; $questions[-1]; $questions[-1]");
is(places(), '0 1', 'it moves to the devices in parts');
is(sql_value($node, q{SELECT max(parts) FROM gpu.mirrors WHERE index_name = 'many_i'::regclass}), 2, 'two of them');
compare('cuda', 'in parts on the devices');
sql_value($node, 'DELETE FROM many WHERE id % 5 = 0');
$node->safe_psql('postgres', 'VACUUM many');
compare('cuda', 'after VACUUM');
is(sql_value($node, 'SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit'), 0, 'no more than there is room for');

# What neither the devices nor the host could hold is divided between them.
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
change_setting($node, 'pg_gpu.device_memory_limit', '2MB');
set_host_limit($node, '4MB');
ok(wait_until(sub { return sql_value($node, 'SELECT max(memory_limit) <= 2097152 FROM gpu.devices()') eq 't' }), 'lower limits');
compare('cuda', 'devices and host');
is(places(), '- 0 1', 'all have parts');

done_testing();
