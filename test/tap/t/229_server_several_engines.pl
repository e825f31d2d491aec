# suite: long
# Three host engines in one server process stand for devices: runs are shared out among them, questions are asked of all that
# have runs, and the answers are added up; an engine that is lost ends alone; limits are so small that no engine could hold
# all of an index.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::EveryRequest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --colocated-bytes 0 --testing');
my $node = new_node('engines', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
make_every_index($node);
my @indexes = every_index();
my @questions = every_question();

sub compare { return compare_with_pages($node, 'host', @_); }

sub engines_in_use { return sql_value($node, q{SELECT string_agg(DISTINCT device::text, ' ' ORDER BY device::text) FROM gpu.mirrors}); }

compare('shared out');
is(engines_in_use(), '0 1 2', 'each engine has runs');
is(sql_value($node, q{SELECT count(*) FROM (SELECT index_name FROM gpu.mirrors GROUP BY index_name HAVING count(DISTINCT device) = 3) AS spread}),
	4, 'of each index');
is(sql_value($node, q{SELECT string_agg(DISTINCT index_name::text, ' ') FROM gpu.mirrors WHERE parts > 1}), 't_column', 'runs of gpu_column are divided');
is(sql_value($node, q{SELECT count(*) FROM (SELECT m.run_id FROM gpu.mirrors AS m JOIN gpu.runs('t_column') AS r USING (run_id)
	GROUP BY m.run_id, r.entries HAVING sum(m.entries) <> r.entries OR count(*) <> max(m.parts) OR count(DISTINCT m.device) <> count(*)) AS wrong}),
	0, 'and their parts are all of them, each on another engine');
is(sql_value($node, q{SELECT string_agg(concat_ws(' ', device, name, engine, state, reason, memory_limit > memory_used, memory_used > 0), '; ' ORDER BY device) FROM gpu.devices()}),
	'0 host host ready t t; 1 host host ready t t; 2 host host ready t t', 'gpu.devices tells of each');

# Entries that are dead, on blocks that aren't all-visible, and those on blocks that are.
sql_value($node, 'DELETE FROM t WHERE k % 9 = 0');
compare('after a DELETE');
$node->safe_psql('postgres', 'VACUUM t');
compare('after VACUUM');
sql_value($node, 'UPDATE t SET n = n + 1 WHERE k % 500 = 0');
compare('beside changed blocks');

# A merge of runs that are on several engines.
$node->safe_psql('postgres', "SET pg_gpu.path = host; SELECT gpu.load('$_')") foreach @indexes;
$node->safe_psql('postgres', "SET pg_gpu.path = host; SELECT count(*) FROM gpu.merge('$_')") foreach @indexes;
is(sql_value($node, "SELECT count(*) FROM gpu.verify('$_')"), 0, "$_ is sound after a merge") foreach @indexes;
compare('after a merge');
sql_value($node, "SELECT add($_ * 1000 + 1, $_ * 1000 + 1000)") foreach 18 .. 22;
compare('with new runs');

# ---- an engine is lost --------------------------------------------------------------------------------------------------

my $pid = wait_for_server($node);
my $states = q{SELECT string_agg(state, ' ' ORDER BY device) FROM gpu.devices()};
kill 'USR1', $pid;
compare('one engine lost');
is(sql_value($node, $states), 'ready ready lost', 'which is told');
isnt(sql_value($node, q{SELECT reason FROM gpu.devices() WHERE state = 'lost'}), '', 'with a reason');
is(engines_in_use(), '0 1', 'the others have its runs');
kill 'USR1', $pid;
compare('two engines lost');
is(sql_value($node, $states), 'ready lost lost', 'the last one serves');
is(wait_for_server($node), $pid, 'by the same server process');
kill 'USR1', $pid;
my $lookup = $questions[0];
is(sql_value($node, "SET pg_gpu.path = host; $lookup"), sql_value($node, "SET pg_gpu.path = paged; $lookup"), 'pages answer when the last one is lost');
$pid = wait_for_server($node, $pid);
ok(wait_until(sub { return sql_value($node, $states) eq 'ready ready ready' }), 'and a new server process has all of them');
ok(wait_until(sub { return sql($node, q{SET pg_gpu.path = host; SELECT gpu.load('t_kary')})->{code} eq '' }), 'which loads again');
compare('in a new server process');

# ---- no engine could hold it all ----------------------------------------------------------------------------------------

my $bytes = sql_value($node, q{SELECT sum(bytes) FROM gpu.mirrors WHERE index_name = 't_text'::regclass});
my $largest = sql_value($node, q{SELECT max(bytes) FROM gpu.mirrors});
my $limit = int(($bytes / 2 > $largest * 1.5 ? $bytes / 2 : $largest * 1.5) / 1024) + 64;
set_host_limit($node, "${limit}kB");
is(sql_value($node, "SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit"), 0, 'limits hold at once')
  if wait_until(sub { return sql_value($node, 'SELECT max(memory_limit) FROM gpu.devices()') <= 1048576 * (int($limit / 1024) + 1) });
foreach my $question (@questions)
{
	is(sql_value($node, "SET pg_gpu.path = host; $question"), sql_value($node, "SET pg_gpu.path = paged; SET pg_gpu.enable_query = off; $question"),
		'with little memory, the same answer');
}
is(sql_value($node, 'SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit'), 0, 'and no engine has more than it may');

# ---- the setting --------------------------------------------------------------------------------------------------------

foreach my $wrong ('first', '0,0', '0,', 'GPU-12', '-1')
{
	like(query_error($node, "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.devices = '$wrong'"), qr/invalid value for parameter "pg_gpu.devices"/, "'$wrong' is no list of devices");
}
my $from = -s $node->logfile;
$node->safe_psql('postgres', "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.devices = '0, GPU-00000000-0000-0000-0000-00000000000a'");
$node->reload;
ok(wait_for_log($node, qr/ended: pg_gpu.devices was changed/, $from), 'a change restarts the server process');
wait_for_server($node, $pid);
compare('with a list of devices');

# So many groups stay where they were found until it is known whether a device merges them. None does here, so that they are read then.
$node->safe_psql('postgres', q{
CREATE TABLE many (k int8, x int8);
INSERT INTO many SELECT i, i % 977 FROM generate_series(1, 90000) AS i;
CREATE INDEX many_i ON many USING gpu_column (k, x);
INSERT INTO many SELECT i, i % 977 FROM generate_series(60000, 150000) AS i;
});
$node->safe_psql('postgres', 'VACUUM ANALYZE many');
foreach my $question ('SELECT k, sum(x) FROM many GROUP BY k ORDER BY sum(x) DESC, k LIMIT 9', 'SELECT count(DISTINCT k) FROM many',
	'SELECT count(*), sum(hashint8(k) * s) FROM (SELECT k, sum(x) AS s FROM many GROUP BY k) AS g')
{
	my $expected = sql_value($node, "SET pg_gpu.path = paged; SET pg_gpu.enable_query = off; $question");
	my $by_host = "SET enable_seqscan = off; SET pg_gpu.path = host";
	like(sql_value($node, "$by_host; EXPLAIN $question"), qr/GpuQuery/, "a node answers: $question");
	is(sql_value($node, "$by_host; $question"), $expected, 'and adds up groups of several engines');
}
cmp_ok(sql_value($node, q{SELECT count(DISTINCT device) FROM gpu.mirrors WHERE index_name = 'many_i'::regclass AND entries > 20000}), '>', 1,
	'more than one of them has many');

done_testing();
