# gpu_text: whatever happens to the server process while sessions load runs, rank and intersect, every statement gives the
# right answer, scores are those of pages, and PostgreSQL doesn't restart because of it.

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

my $seconds = rounds(3, 60);

my $node = new_node('faults', conf => "pg_gpu.request_timeout = 300ms\nmax_worker_processes = 16\npg_gpu.server_threads = 8\n");
$node->safe_psql('postgres', q{
CREATE TABLE doc (id bigserial, tsv tsvector, filler text);
CREATE FUNCTION fill(low int, rows int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO doc (tsv)
	SELECT CASE WHEN i % 97 > 0 THEN (SELECT to_tsvector('simple', string_agg('w' || (hashint4(low + i * 37 + j) & 65535) % 100, ' '))
		FROM generate_series(1, 2 + i % 13) AS j) END
	FROM generate_series(1, rows) AS i;
$$;
SELECT fill(0, 20000);
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv) WITH (fanout = 2);

-- The same questions in each way the index can answer them, under one snapshot. Statistics are those of the moment, so that
-- scores are compared where nobody writes.
CREATE FUNCTION faults.check_text(low int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	lexemes text[] := ARRAY['w' || low % 100, 'w' || low % 89 + 5];
	wanted text := format('%s & %s', lexemes[1], lexemes[2]);
	of_rows text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8(id)), 0) FROM doc WHERE ';
	of_found text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8(id)), 0) FROM doc JOIN ';
	all_rows text := faults.by_seq(of_rows || format('tsv @@ %L', wanted));
	any_rows text := faults.by_seq(of_rows || format('tsv @@ %L', replace(wanted, '&', '|')));
	found text;
BEGIN
	IF current_setting('transaction_isolation') <> 'repeatable read' THEN
		RAISE EXCEPTION 'begin REPEATABLE READ first';
	END IF;
	PERFORM pg_sleep(pause);
	PERFORM faults.must_equal('bitmap scan, ' || wanted, all_rows, faults.by_bitmap(of_rows || format('tsv @@ %L', wanted), 'doc_tsv'));
	EXECUTE of_found || 'gpu.search(''doc_tsv'', $1, 10000, ''and'') AS f ON ctid = tid' INTO found USING wanted::tsquery;
	PERFORM faults.must_equal('search of all, ' || wanted, all_rows, found);
	EXECUTE of_found || 'gpu.search(''doc_tsv'', $1, 10000, ''or'') AS f ON ctid = tid' INTO found USING wanted::tsquery;
	-- A search returns 10,000 rows at most, and clients may have inserted more by now.
	IF split_part(any_rows, ':', 1)::int > 10000 THEN
		PERFORM faults.must_equal('rows of any, ' || wanted, '10000', split_part(found, ':', 1));
	ELSE
		PERFORM faults.must_equal('search of any, ' || wanted, any_rows, found);
	END IF;
	EXECUTE of_found || 'gpu.intersect(''doc_tsv'', $1) AS f (tid) ON ctid = tid' INTO found USING lexemes;
	PERFORM faults.must_equal('intersect, ' || wanted, all_rows, found);
	SELECT string_agg(c::text, ' ' ORDER BY n) INTO found FROM (SELECT n, count(tid) AS c FROM generate_series(1, 20) AS n
		LEFT JOIN gpu.search_batch('doc_tsv', array_fill(wanted::tsquery, ARRAY[20]), 10000, 'and') ON ordinal = n GROUP BY n) AS x;
	PERFORM faults.must_equal('batch, ' || wanted, array_to_string(array_fill(split_part(all_rows, ':', 1), ARRAY[20]), ' '), found);
	RETURN 'same';
END $$;

-- Rows and scores, by the path that is set.
CREATE FUNCTION answers(path text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_gpu.path', path, true);
	RETURN (SELECT md5(string_agg(ordinal || tid::text || encode(float4send(score), 'hex'), ',')) FROM gpu.search_batch('doc_tsv',
		(SELECT array_agg(format('w%s & w%s', g, g * 7 % 100)::tsquery) FROM generate_series(0, 99) AS g), 100, 'or'));
END $$;
});

my $variables = "\\set low random(0, 9999)\n\\set rows random(1, 700)\n";
my $some_rows = 'SELECT ctid FROM doc WHERE id % 211 = :low % 211 FOR UPDATE SKIP LOCKED';
my %writes = (
	insert => [ 'SELECT fill(:low, :rows);', 8 ],
	insert_one => [ 'SELECT fill(:low, 1);', 6 ],
	abort => [ "BEGIN;\nSELECT fill(:low, :rows);\nROLLBACK;", 2 ],
	delete => [ "DELETE FROM doc WHERE ctid = ANY (ARRAY($some_rows));", 6 ],
	update => [ "UPDATE doc SET tsv = tsv || 'w7 w8'::tsvector WHERE ctid = ANY (ARRAY($some_rows LIMIT 50));", 4 ],
	touch => [ "UPDATE doc SET filler = 'x' WHERE ctid = ANY (ARRAY($some_rows LIMIT 50));", 3 ],
	vacuum => [ 'VACUUM (INDEX_CLEANUP ON) doc;', 3 ],
	merge => [ "SELECT count(*) FROM gpu.merge('doc_tsv');", 1 ],);
my $scripts = [ (map { [ $variables . $writes{$_}[0] . "\n", $writes{$_}[1] ] } sort keys %writes),
	[ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT faults.check_text(:low, 0);\nCOMMIT;\n", 12 ] ];

sub check_text_answers
{
	my ($what) = @_;
	local $ENV{PGOPTIONS} = HOST;
	check_sound($node, "$what: gpu.verify finds nothing", 'doc_tsv');
	my $result = sql($node, "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
		. join('', map { 'SELECT faults.check_text(' . random_int(0, 9000) . ", 0);\n" } 1 .. 3) . 'COMMIT;');
	is($result->{err} . $result->{out}, "same\nsame\nsame", "$what: answers equal a sequential scan's");
	# A session may be late with its first request to a busy server, and pages answer then: it must not stay so.
	my ($same, $by_host);
	wait_until(sub {
		(undef, $same, $by_host) = split /\n/, sql_value($node, "SELECT gpu.stat_reset(); SELECT answers('host') = answers('paged');
			SELECT count(*) FROM gpu.stat WHERE path = 'host' AND request = 'search' AND requests > 0");
		return $same ne 't' || $by_host eq '1';
	});
	is($same, 't', "$what: scores are those of pages");
	is($by_host, '1', "$what: by the host engine");
	return;
}

my %load = (
	start => sub { start_clients($node, $scripts, clients => 6, seconds => $seconds, options => HOST) },
	seconds => $seconds,
	loaded => 'doc_tsv',
	check => sub { check_text_answers($_[0]) });
my $reloads = 0;

under_load($node, 'killed', \%load, sub { my $pid = server_pid($node); kill 'KILL', $pid if $pid; });
under_load($node, 'stopped', \%load, sub { my $pid = server_pid($node); kill 'STOP', $pid if $pid; });
under_load($node, 'little memory', \%load, sub { set_host_limit($node, $reloads++ % 2 ? '1MB' : 0) },
	settle => sub { set_host_limit($node, 0) });
under_load($node, 'evictions', \%load, sub { sql($node, "SELECT gpu.evict('doc_tsv')") });
under_load($node, 'cancelled', \%load, sub {
	sql($node, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
		ORDER BY random() LIMIT 1");
}, errors => [qr/canceling statement due to user request/, qr/canceling autovacuum/]);

# Nothing of what the clients loaded is left in the making, and what is there answers.
is(sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('doc_tsv') IS NOT NULL"), 't', 'the index loads');
sql_value($node, 'SELECT gpu.stat_reset()');
is(sql_value($node, "SET pg_gpu.path = host; SELECT count(*) FROM gpu.search('doc_tsv', 'w1 & w2', 10, 'or')"), '10', 'a search');
cmp_ok(sql_value($node, "SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'search'"), '>', 0, 'which the host engine answered');
$node->stop;
done_testing();
