# suite: check
# Other extensions in the same database: pg_gpu's operators lie in the schema that CREATE EXTENSION names, take nobody's place,
# and are found by search_path or by OPERATOR().

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('neighbours', extension => 0);
$node->safe_psql('postgres', 'CREATE DATABASE alone');

# Each statement's result before pg_gpu is there.
my @others = grep {
	$node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = '$_'")
} qw(pg_trgm cube earthdistance intarray hstore ltree btree_gist seg vector rum postgis);
my %statement = (
	pg_trgm => q{SELECT 'word' % 'words', 'word' <% 'two words', 'word' <-> 'words'},
	earthdistance => q{SELECT round(('(1,2)'::point <@> '(3,4)'::point)::numeric, 6), '(1,2)' <@> '(3,4)'::point IS NULL},
	cube => q{SELECT '(1,2)'::cube <-> '(3,4)'::cube, '(1,2)'::cube <@ '(0,0),(3,3)'::cube},
	intarray => q{SELECT '{1,2}'::int[] @@ '1&2'::query_int, '{1,2,3}'::int[] & '{2}'::int[]},
	hstore => q{SELECT 'a=>1'::hstore @> 'a=>1', 'a=>1'::hstore ? 'a'},
	ltree => q{SELECT 'a.b.c'::ltree @ 'b & c', 'a.b'::ltree <@ 'a'::ltree},
	btree_gist => q{SELECT 5 <-> 7},
	seg => q{SELECT '1..2'::seg <@ '0..3'::seg},
	vector => q{SELECT '[1,2]'::vector <=> '[2,1]'::vector},
	rum => q{SELECT to_tsvector('simple', 'a b') <=> to_tsquery('simple', 'b')},
	postgis => q{SELECT 'POINT(1 2)'::geometry <-> 'POINT(3 4)'::geometry});
my @built_in = (
	q{SELECT to_tsvector('simple', 'a b') @@@ to_tsquery('simple', 'b'), to_tsquery('simple', 'b') @@@ to_tsvector('simple', 'a b')},
	q{SELECT 'a b' @@ 'b', '(1,1)'::point <@ '(0,0),(2,2)'::box});
cmp_ok(scalar(@others), '>=', 8, 'the extensions that come with PostgreSQL are there');
$node->safe_psql('postgres', join(';', map { "CREATE EXTENSION $_" } @others));
my %before = map { $_ => $node->safe_psql('postgres', $_) } @built_in, @statement{@others};

$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA words;
CREATE EXTENSION pg_gpu SCHEMA words;
CREATE TABLE doc (id int, body text, tags text[], data jsonb);
INSERT INTO doc SELECT g, 'word' || g % 10 || ' common', ARRAY['tag' || g % 10], jsonb_build_object('a', 'value' || g % 10) FROM generate_series(1, 100) g;
CREATE INDEX doc_body ON doc USING gpu_text (body) WITH (configuration = 'simple');
CREATE INDEX doc_tags ON doc USING gpu_text (tags) WITH (configuration = 'simple');
CREATE INDEX doc_data ON doc USING gpu_text (data) WITH (configuration = 'simple');
SQL

my $owned = q{FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pg_gpu'};
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT oprnamespace::regnamespace::text || ' ' || oprname, ', ' ORDER BY oprnamespace::regnamespace::text || ' ' || oprname) $owned"),
	'gpu #<, gpu #<=, gpu #>, gpu #>=, gpu <=>, gpu @@?, words <@>, words @@@', 'the operators lie in the named schema');

for my $path ('public', 'words, public', 'public, words')
{
	for my $statement (sort keys %before)
	{
		is($node->safe_psql('postgres', "SET search_path = $path; $statement"), $before{$statement}, "$path: $statement");
	}
}

my $found = '3 13 23 33 43 53 63 73 83 93';
my $ids = q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM doc WHERE};
is($node->safe_psql('postgres', "SET search_path = public, words; $ids body @@@ 'word3'"), $found, 'found by search_path');
is($node->safe_psql('postgres', "$ids body OPERATOR(words.@@@) 'word3'"), $found, 'found by OPERATOR()');
is($node->safe_psql('postgres', "$ids tags OPERATOR(words.@@@) 'tag3'"), $found, 'in an array');
is($node->safe_psql('postgres', "$ids data OPERATOR(words.@@@) 'value3'"), $found, 'in jsonb');
like($node->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE body OPERATOR(words.@@@) 'word3'"),
	qr/doc_body/, 'the index answers OPERATOR()');
like($node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_sort = off; EXPLAIN (COSTS OFF) SELECT id FROM doc ORDER BY body OPERATOR(words.<@>) 'word3' LIMIT 3"),
	qr/Order By: \(body OPERATOR\(words\.<@>\)/, 'and the order by OPERATOR()');
my ($status, undef, $error) = $node->psql('postgres', "$ids body @@@ 'word3'");
isnt($status, 0, 'outside of search_path there is no such operator');
like($error, qr/operator does not exist: text @@@ unknown/, 'as PostgreSQL says');

# What a dump has is found without a search_path.
$node->safe_psql('postgres', q{SET search_path = public, words; CREATE VIEW found AS SELECT id FROM doc WHERE body @@@ 'word3'});
$node->safe_psql('postgres', 'ALTER TABLE doc ADD CONSTRAINT worded CHECK (length(body) > 0)');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '--no-sync', '-f', $dump, '-t', 'doc', '-t', 'found', '-e', 'pg_gpu', '-d', $node->connstr('postgres') ], 'dumped');
$node->safe_psql('alone', 'CREATE SCHEMA words');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('alone') ], 'restored');
is($node->safe_psql('alone', q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM found}), $found, 'and a view finds the same');

# Without a schema to create in, PostgreSQL's own error.
$node->safe_psql('postgres', 'CREATE DATABASE without_schema');
($status, undef, $error) = $node->psql('without_schema', q{SET search_path = ''; CREATE EXTENSION pg_gpu});
like($error, qr/no schema has been selected to create in/, 'a schema is needed');

done_testing();
