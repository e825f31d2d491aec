# suite: check
# Runs of gpu_text in parts on several engines: three host engines that divide every run, and stand-ins with so little memory that the host engine has the rest. Answers are those of
# pages: searches with scores, batches, prefixes, phrases, intersections and counts, of documents long and short, NULL and empty, with positions and without, while documents die and come; a load
# that is cancelled leaves nothing behind, and one of a damaged run says why it fails.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --kept-together 0 --divide-all --testing');
my $node = new_node('parts', conf => "autovacuum = off\njit = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
# Late documents are much longer than early ones. Lexemes are in all documents, in every one of so many, in a stretch of them, in one.
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE documents (id int8, v tsvector);
CREATE FUNCTION add(first int8, last int8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO documents SELECT i, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 89 = 0 THEN '' ELSE to_tsvector('simple',
		concat_ws(' ', 'all', 'w' || i % 7, 'w' || i % 7 + 1, 'x' || i % 400, 'near' || i / 64, 'far' || i / 3000, 'u' || i, repeat('often ', (i % 23)::int),
			CASE WHEN i > 6000 THEN (SELECT string_agg('l' || (i * j * 7919 + j) % 900, ' ') FROM generate_series(1, 30) AS j) END)) END
	FROM generate_series(first, last) AS i $$;
SELECT add(1, 9000);
CREATE INDEX documents_i ON documents USING gpu_text (v);
CREATE INDEX documents_p ON documents USING gpu_text (v) WITH (positions = on, codec = rice);
CREATE INDEX documents_r ON documents USING gpu_text (v) WITH (codec = bitpack);
SELECT add(9001, 12000);
SELECT add(12001, 12200);
CREATE TABLE single (v tsvector);
INSERT INTO single VALUES ('one two');
CREATE INDEX single_i ON single USING gpu_text (v);
CREATE TABLE nothing (v tsvector);
INSERT INTO nothing SELECT NULL FROM generate_series(1, 5000) AS i;
CREATE INDEX nothing_i ON nothing USING gpu_text (v);
});

my @indexes = qw(documents_i documents_p documents_r);
my @queries = ('all', 'all & w3', 'w3 | w5 | x17', 'x17 & x18', 'x17 & w3 & all', 'u5', 'u5 | u11999 | u9000', 'u5 & u6', 'near7', 'near7 | near140', 'far0', 'far3 & all', 'far0 & far3', 'none', 'none | w1', 'none & w1',
	'w1 & !w2', '!all', '!w1 & !often', 'l5 | l6', 'l5 & l6 & w1', 'often', 'x3 & (w1 | w2)', 'w3:*', 'l1:* & w2', 'near1:* | u119:*', 'w1 <-> w2', 'all <-> w3 & l7', '(l3 | l4) & !(x1 | x2)');
my $queries = 'ARRAY[' . join(', ', map { "'$_'" } @queries) . ']::tsquery[]';
my @questions;
foreach my $index (@indexes)
{
	foreach my $mode (qw(and or and_or query))
	{
		push @questions, map { "SELECT md5(string_agg(ordinal || ' ' || tid || ' ' || score, ',' ORDER BY ordinal, score DESC, tid)) FROM gpu.search_batch('$index', $queries, $_, '$mode')" } 1, 10, 1000;
	}
	push @questions, map { "SELECT md5(string_agg(tid || ' ' || score, ',')) FROM gpu.search('$index', '$_', 300, 'query')" } @queries;
	push @questions, map { "SELECT count(*), md5(string_agg(tid::text, ',' ORDER BY tid)) FROM gpu.intersect('$index', ARRAY[$_]) AS tid" } q{'all', 'w3'}, q{'x17'}, q{'u5', 'all'}, q{'far0', 'far3'}, q{'near7', 'w1', 'all'},
	  q{'l5', 'l6'}, q{'none', 'all'};
	push @questions, "SELECT md5(string_agg(d::text || id, ',')) FROM (SELECT id, v <=> gpu.query('$index', 'w3 | l5 | u77') AS d FROM documents ORDER BY v <=> gpu.query('$index', 'w3 | l5 | u77') LIMIT 700) AS q";
}
push @questions, map { "SELECT count(*), sum(id) FROM documents WHERE v @@ '$_'" } 'all & w3', 'w3 | x17', '!w1 & far2', 'l5 & w1', 'u5 | u11999', 'w1 <-> w2', 'none';
push @questions, "SELECT tid, score FROM gpu.search('single_i', 'one', 5)", "SELECT count(*) FROM gpu.search('nothing_i', 'one', 5)", "SELECT count(*) FROM gpu.search('nothing_i', '!one', 50, 'query')";

# Answers all questions in one session, a line each, where it would rather look at the index than at the table.
sub answers
{
	my ($path) = @_;
	return split /\n/, sql_value($node, "SET search_path = public, gpu; SET enable_seqscan = off; SET enable_sort = off; SET pg_gpu.path = $path; " . join('; ', map { "SELECT coalesce(string_agg(q::text, ' '), 'none') FROM ($_) AS q" } @questions));
}
sub compare
{
	my ($path, $title) = @_;
	my $answered = "SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path'";
	my $before = sql_value($node, $answered);
	my @expected = answers('paged');
	my @found = answers($path);
	is(scalar(@found), scalar(@questions), "$title: all questions are answered");
	is(join("\n", map { $questions[$_] } grep { $found[$_] ne $expected[$_] } 0 .. $#questions), '', "$title: as on pages");
	cmp_ok(sql_value($node, $answered) - $before, '>=', @questions / 2, "$title: the server process has answered");
	return;
}
sub parts_of { my ($index) = @_; return sql_value($node, "SELECT coalesce(max(parts), 0) FROM gpu.mirrors WHERE index_name = '$index'::regclass"); }
sub wrong_parts
{
	my ($index) = @_;
	return sql_value($node, qq{SELECT count(*) FROM (SELECT m.run_id FROM gpu.mirrors AS m JOIN gpu.runs('$index') AS r USING (run_id) WHERE m.index_name = '$index'::regclass
		GROUP BY m.run_id, r.entries HAVING sum(m.entries) <> r.entries OR count(*) <> max(m.parts) OR count(DISTINCT (m.path, m.device)) <> count(*)) AS wrong});
}

# ---- three engines --------------------------------------------------------------------------------------------------------

compare('host', 'in parts');
foreach my $index (@indexes)
{
	is(parts_of($index), 3, "runs of $index are divided");
	is(wrong_parts($index), 0, "parts of $index are all of their run, each on another engine");
}
is(sql_value($node, q{SELECT min(entries) < max(entries) / 1.5 FROM gpu.mirrors WHERE index_name = 'documents_i'::regclass AND parts = 3 AND run_id = (SELECT run_id FROM gpu.runs('documents_i') ORDER BY entries DESC LIMIT 1)}),
	't', 'those with long documents have fewer');
is(parts_of('single_i'), 1, 'one document is not divided');
sql_value($node, 'DELETE FROM documents WHERE id % 9 = 0');
compare('host', 'after a DELETE');
$node->safe_psql('postgres', 'VACUUM documents');
compare('host', 'after VACUUM');
$node->safe_psql('postgres', 'DELETE FROM documents WHERE id BETWEEN 3000 AND 5000');
$node->safe_psql('postgres', 'VACUUM documents');
compare('host', 'with a later bitmap');
sql_value($node, 'SELECT add(12201, 14000)');
$node->safe_psql('postgres', "SELECT count(*) FROM gpu.merge('$_')") foreach @indexes;
is(sql_value($node, "SELECT count(*) FROM gpu.verify('$_')"), 0, "$_ is sound after a merge") foreach @indexes;
compare('host', 'after a merge');

# Sessions compare answers in one snapshot, which knows nothing of what happens meanwhile; scores do, so that all matches are wanted.
my $selective = q{ARRAY['x17', 'x17 & x18', 'x17 & w3', 'u5 | u11999 | u9000', 'near7 | near140', 'far0 & x3', 'x20 & !w2', 'l5 | l6', 'l5 & l6', 'often & x3', 'l77:* & x5', 'none']::tsquery[]};
my @compared = map { my $index = $_; map { "SELECT md5(string_agg(ordinal || ' ' || tid, ',' ORDER BY ordinal, tid)) FROM gpu.search_batch('$index', $selective, 10000, '$_')" } qw(query and) } 'documents_i', 'documents_p';
push @compared, map { "SELECT md5(string_agg(tid::text, ',' ORDER BY tid)) FROM gpu.intersect('documents_$_', ARRAY['all', 'w3']) AS tid" } 'i', 'p';
$node->safe_psql('postgres', 'CREATE FUNCTION compare() RETURNS void LANGUAGE plpgsql AS $compare$
DECLARE
	question text;
	found text;
	expected text;
BEGIN
	FOREACH question IN ARRAY ARRAY[' . join(', ', map { "\$\$$_\$\$" } @compared) . ']
	LOOP
		PERFORM set_config(\'pg_gpu.path\', \'host\', true);
		EXECUTE question INTO found;
		PERFORM set_config(\'pg_gpu.path\', \'paged\', true);
		EXECUTE question INTO expected;
		IF found IS DISTINCT FROM expected THEN
			RAISE EXCEPTION \'not the same answer to: %\', question;
		END IF;
	END LOOP;
END $compare$');
my $turn = 0;
under_load($node, 'while documents die',
	{
		seconds => few_or_many(6, 60),
		loaded => 'documents_i',
		start => sub {
			return start_clients($node, [ [ "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT compare();\nCOMMIT;\n", 1 ] ], clients => 4, seconds => shift);
		},
		check => sub { compare('host', 'afterwards'); }
	},
	sub {
		$turn++;
		sql_value($node, "DELETE FROM documents WHERE id % 53 = $turn");
		$node->safe_psql('postgres', 'VACUUM documents');
		sql_value($node, "SELECT gpu.evict('documents_i')") if $turn % 3 == 0;
		sql_value($node, "SELECT add($turn * 1000 + 50001, $turn * 1000 + 51000)") if $turn % 2 == 0;
	});

# A load that is cancelled at some point, or as soon as it begins.
my $memory = 'SELECT coalesce(sum(memory_used), 0) FROM gpu.devices()';
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
foreach my $milliseconds (1, 3, 8, 21, 34, 55, 89)
{
	sql($node, "SET pg_gpu.path = host; SET statement_timeout = $milliseconds; SELECT gpu.load('documents_i')");
	$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
	ok(wait_until(sub { return sql_value($node, $memory) == 0 }), "nothing is left of a load that was cancelled after $milliseconds ms, or wasn't");
}
sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('documents_i')");
is(wrong_parts('documents_i'), 0, 'gpu.load loads all parts');
compare('host', 'loaded again');

my $pid = wait_for_server($node);
kill 'USR1', $pid;
compare('host', 'one engine lost');
is(wrong_parts('documents_i'), 0, 'the others have its parts');

# Lists of a damaged run are cut as it is loaded, which fails then and says why.
my $file = $node->data_dir . '/' . sql_value($node, q{SELECT pg_relation_filepath('documents_r')});
$node->stop;
my $run = built_run($file);
change($file, section_block($run, 3), CONTENT, 2000, sub { ~$_[0] });
$node->start;
my ($status, undef, $error) = $node->psql('postgres', "SET pg_gpu.path = host; SELECT gpu.load('documents_r')");
isnt($status, 0, 'a damaged run is not loaded in parts');
like($error, qr/an inverted list contradicts itself/, 'and it is told why');
is(parts_of('documents_r'), 0, 'nothing of it is there');

# ---- devices and host -----------------------------------------------------------------------------------------------------

$ENV{PG_GPU_SERVER} = server_with('--engines host,stand-in,stand-in --kept-together 0 --move-milliseconds 1 --testing');
$node->append_conf('postgresql.conf', "pg_gpu.device_memory_limit = 1MB\npg_gpu.host_memory_limit = 64MB\n");
$node->safe_psql('postgres', q{
CREATE TABLE many (id int8, v tsvector);
INSERT INTO many SELECT i, to_tsvector('simple', concat_ws(' ', 'all', 'w' || i % 7, 'x' || hashint8(i) % 400, 'u' || i,
	(SELECT string_agg('l' || abs(hashint8(i * 64 + j)) % 3000, ' ') FROM generate_series(1, 24) AS j))) FROM generate_series(1, 60000) AS i;
CREATE INDEX many_i ON many USING gpu_text (v);
});
$node->restart;
@questions = ((map { "SELECT md5(string_agg(ordinal || ' ' || tid || ' ' || score, ',' ORDER BY ordinal, score DESC, tid)) FROM gpu.search_batch('many_i', ARRAY['all & w3', 'l5 | l6 | l7', 'u5 | x3', 'l9 & w1', 'w2 & !x7']::tsquery[], 50, '$_')" } qw(and or query)),
	(map { "SELECT md5(string_agg(tid || ' ' || score, ',')) FROM gpu.search('many_i', '$_', 300, 'query')" } 'l5 | l6 | w1', 'all & l77', 'l1:*'),
	q{SELECT count(*), md5(string_agg(tid::text, ',' ORDER BY tid)) FROM gpu.intersect('many_i', ARRAY['all', 'w3']) AS tid});
sub places { return sql_value($node, q{SELECT string_agg(DISTINCT coalesce(device::text, '-'), ' ') FROM gpu.mirrors WHERE path = 'cuda' AND index_name = 'many_i'::regclass}); }
compare('cuda', 'what no device has room for');
is(places(), '-', 'lies with the host');
my $bytes = sql_value($node, q{SELECT sum(bytes) FROM gpu.mirrors WHERE index_name = 'many_i'::regclass});
# Each has room for two thirds, and for what is kept free.
my $megabytes = int($bytes * 0.67 * 8 / 7 / 1048576) + 1;
change_setting($node, 'pg_gpu.device_memory_limit', "${megabytes}MB");
ok(wait_until(sub { return sql_value($node, 'SELECT min(memory_limit) > 1048576 FROM gpu.devices()') eq 't' }), 'a higher limit for the devices');
# A session is told by its first question, and moves the run with its next one.
$node->safe_psql('postgres', "SET pg_gpu.path = cuda; $questions[-1]; $questions[-1]; $questions[-1]");
is(places(), '0 1', 'it moves to the devices in parts');
is(parts_of('many_i'), 2, 'two of them');
compare('cuda', 'in parts on the devices');
sql_value($node, 'DELETE FROM many WHERE id % 5 = 0');
$node->safe_psql('postgres', 'VACUUM many');
compare('cuda', 'after VACUUM');
is(sql_value($node, 'SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit'), 0, 'no more than there is room for');

# What neither the devices nor the host could hold is divided between them.
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
my $few = int($bytes * 0.5 / 1048576);
my $rest = int($bytes * 0.9 / 1048576);
change_setting($node, 'pg_gpu.device_memory_limit', "${few}MB");
set_host_limit($node, "${rest}MB");
ok(wait_until(sub { return sql_value($node, "SELECT max(memory_limit) <= $few * 1048576 FROM gpu.devices()") eq 't' }), 'lower limits');
compare('cuda', 'devices and host');
is(places(), '- 0 1', 'all have parts');

done_testing();
