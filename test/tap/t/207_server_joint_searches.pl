# suite: check
# gpu_text: sessions whose searches wait for the server process at the same time share its calls. Each gets its own
# answer. A cancelled session, one that fails, a lack of memory and the end of the process do other sessions no harm.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $seconds = rounds(2, 30);

# There is one call at a time, so that requests that come meanwhile go into the next one.
local $ENV{PG_GPU_SERVER} = server_with('--joint-calls 1');

my $node = new_node('joint', conf => "pg_gpu.server_threads = 8\nmax_worker_processes = 16\n");
$node->safe_psql('postgres', q{
CREATE TABLE doc AS SELECT i AS id, (SELECT to_tsvector('simple', string_agg('w' || (hashint4(i * 37 + j) & 65535) % 100, ' '))
	FROM generate_series(1, 2 + i % 29) AS j) AS tsv FROM generate_series(1, 20000) AS i;
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv);
VACUUM doc;

CREATE FUNCTION answer(i int) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(tid::text || encode(float4send(score), 'hex'), ','))
	FROM gpu.search('doc_tsv', format('w%s & w%s', i % 100, i * 7 % 89)::tsquery, 1 + i % 50, CASE WHEN i % 3 = 0 THEN 'and' ELSE 'or' END)
$$;
SET pg_gpu.path = paged;
CREATE TABLE expected AS SELECT i, answer(i) FROM generate_series(0, 299) AS i;

CREATE FUNCTION check_answer(number int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text := answer(number);
	wanted text := (SELECT answer FROM expected WHERE i = number);
BEGIN
	IF found IS DISTINCT FROM wanted THEN
		RAISE EXCEPTION 'search % found % instead of %', number, found, wanted;
	END IF;
	RETURN 'same';
END $$;
-- This statement fails while it reads its answer.
CREATE FUNCTION fail_at(number int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 / (score - score)::int FROM gpu.search('doc_tsv', format('w%s', number % 100)::tsquery, 10, 'or');
	RETURN 'no error';
EXCEPTION WHEN division_by_zero THEN
	RETURN check_answer(number);
END $$;
});

my $scripts = [ [ "\\set i random(0, 299)\nSELECT check_answer(:i);\n", 8 ], [ "\\set i random(0, 299)\nSELECT fail_at(:i);\n", 1 ] ];
my %load = (
	start => sub { start_clients($node, $scripts, clients => 8, seconds => $seconds, options => HOST) },
	seconds => $seconds,
	loaded => 'doc_tsv',
	check => sub {
		is(sql_value($node, "SET pg_gpu.path = host; SELECT count(*) FROM generate_series(0, 299) AS i WHERE check_answer(i) = 'same'"),
			'300', "$_[0]: answers are those of pages");
	});

is(sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('doc_tsv') > 0"), 't', 'the index loads');
under_load($node, 'cancelled', \%load, sub {
	sql($node, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
		ORDER BY random() LIMIT 1");
}, errors => [qr/canceling statement due to user request/]);
cmp_ok(sql_value($node, "SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'search'"), '>', 300, 'the host engine answered');
my $reloads = 0;
under_load($node, 'little memory', \%load, sub { set_host_limit($node, $reloads++ % 2 ? '1MB' : 0) },
	settle => sub { set_host_limit($node, 0) });
under_load($node, 'killed', \%load, sub { my $pid = server_pid($node); kill 'KILL', $pid if $pid; });
$node->stop;
done_testing();
