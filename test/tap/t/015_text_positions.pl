# suite: check host
# gpu_text with positions under a random history: random phrases, distances, weights, prefixes and NOTs as a sequential scan
# answers them, in bitmap scans, plain scans, ordered scans, counts and searches, and the same ranking as an index without
# positions gives; on the primary, after crashes, and on a standby whose replayed pages are compared with the primary's.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

note('PG_GPU_TEST_SEED=' . test_seed());
srand(test_seed() + 13);

my $primary = new_cluster('primary', streaming => 1, conf => "wal_consistency_checking = 'all'\nmaintenance_work_mem = 1MB\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# The second index is on the same documents, but no statement's condition is answered by it. Both are rebuilt together: scores count the
# entries of dead rows.
$primary->safe_psql('postgres', <<'SQL');
CREATE FUNCTION same(tsv tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN tsv; END';
CREATE TABLE doc (id int PRIMARY KEY, tsv tsvector, tenant int GENERATED ALWAYS AS (id % 37) STORED);
CREATE INDEX doc_tenant ON doc (tenant);
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv) WITH (positions = on);
CREATE INDEX doc_same ON doc USING gpu_text (same(tsv));
SQL

my @letters = ('a' .. 'e');
my $vocabulary = 40;

# A lexeme; low numbers are frequent. Prefixes of one or two characters have many.
sub lexeme { return $letters[ int(rand(@letters)) ] . int($vocabulary**rand()); }

# Returns a tsvector as an expression: NULL, empty, stripped, of one weight or of several, sent by a program that repeats lexemes, and
# now and then longer than a tail.
sub vector
{
	my $choice = int(rand(200));
	return 'NULL' if $choice < 2;
	return q{''::tsvector} if $choice < 4;
	my $words = join ' ', map { lexeme() } 1 .. 2 + int(rand(40));
	$words = join ' ', $words, map { "rare$_" } 1 .. 1500 if $choice == 4;
	$words = join ' ', map { lexeme() } 1 .. 3000 if $choice == 5;
	my $vector = "to_tsvector('simple', '$words')";
	return "strip($vector)" if $choice < 12;
	return "setweight($vector, '" . ('A', 'B', 'C')[ int(rand(3)) ] . "')" if $choice < 30;
	return "setweight($vector, 'A') || to_tsvector('simple', '" . join(' ', map { lexeme() } 1 .. 10) . "') || strip(to_tsvector('simple', '" . lexeme() . "'))" if $choice < 60;
	return $vector;
}

my $next_id = 1;

sub insert_rows
{
	my ($count) = @_;
	my $first = $next_id;
	my $rows = join ', ', map { "($_, " . vector() . ')' } $first .. $first + $count - 1;
	$next_id += $count;
	return "INSERT INTO doc VALUES $rows;";
}

sub some_id { return 1 + int(rand($next_id)); }

sub step
{
	my $choice = int(rand(12));
	if ($choice < 5) { return insert_rows(1 + int(rand(60))); }
	if ($choice < 7)
	{
		my ($low, $high) = sort { $a <=> $b } some_id(), some_id();
		my $divisor = 5 + int(rand(20));
		return "DELETE FROM doc WHERE id BETWEEN $low AND $high AND id % $divisor = 0;";
	}
	if ($choice < 9)
	{
		my ($id, $vector) = (some_id(), vector());
		return "UPDATE doc SET tsv = $vector WHERE id BETWEEN $id AND $id + 5;";
	}
	if ($choice < 10) { return 'VACUUM doc;'; }
	if ($choice < 11) { return "SELECT count(*) FROM gpu.merge('doc_tsv');"; }
	return 'CHECKPOINT;';
}

# ---- queries ------------------------------------------------------------------------------------------------

sub term
{
	my $choice = int(rand(20));
	my $word = $choice < 2 ? $letters[ int(rand(@letters)) ] : lexeme();
	my $flags = $choice < 4 ? '*' : '';
	$flags .= ('A', 'AB', 'D', 'CD')[ int(rand(4)) ] if int(rand(6)) == 0;
	return $flags eq '' ? $word : "$word:$flags";
}

# A tsquery's text: operators and operands as they come, also phrases of phrases and of NOTs.
sub expression
{
	my ($depth) = @_;
	return term() if $depth == 0 || rand() < 0.2;
	my ($a, $b) = (expression($depth - 1), expression($depth - 1));
	my $choice = int(rand(10));
	return "!($a)" if $choice == 0;
	return "($a) & ($b)" if $choice < 3;
	return "($a) | ($b)" if $choice < 5;
	return "($a) <-> ($b)" if $choice < 8;
	return "($a) <" . int(rand(5)) . "> ($b)";
}

sub check_all
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($wrong, $matched) = ('', 0);
	my @queries = (map({ lexeme() . ' <-> ' . lexeme() } 1 .. 3), map { expression(1 + int(rand(3))) } 1 .. few_or_many(12, 40));
	foreach my $query (@queries)
	{
		my $sql = "SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '') FROM doc WHERE tsv @@ '$query'";
		my $count = "SELECT count(*) FROM doc WHERE tsv @@ '$query'";
		my $among = "SELECT coalesce(string_agg(id || ':' || distance, ',' ORDER BY distance, id), '') FROM (SELECT id, tsv OPERATOR(gpu.<=>) gpu.query('doc_tsv', '$query') AS distance
			FROM doc WHERE tsv @@ '$query' AND tenant < 3 ORDER BY tsv OPERATOR(gpu.<=>) gpu.query('doc_tsv', '$query') OFFSET 0) AS x";
		my $different = "SELECT (SELECT count(*) FROM (SELECT tid, score FROM gpu.search('doc_tsv', '$query', 5000, 'query') EXCEPT SELECT tid, score FROM gpu.search('doc_same', '$query', 5000, 'query')) AS x)
			+ (SELECT count(*) FROM (SELECT tid, score FROM gpu.search('doc_same', '$query', 5000, 'query') EXCEPT SELECT tid, score FROM gpu.search('doc_tsv', '$query', 5000, 'query')) AS x)";
		my $answers = $node->safe_psql('postgres', join ';', 'SET enable_seqscan = off', 'SET enable_indexscan = off', $sql, $count,
			'SET enable_indexscan = on', 'SET enable_bitmapscan = off', $sql, $among, $different,
			'SET enable_seqscan = on', 'SET enable_indexscan = off', 'SET pg_gpu.enable_query = off', $sql, $count, $among);
		my ($bitmap, $counted, $plain, $ordered, $difference, $sequential, $all, $sorted) = split /\n/, $answers, -1;
		$matched++ if $sequential ne '';
		$wrong .= "bitmap scan: $query\n" if $bitmap ne $sequential;
		$wrong .= "plain scan: $query\n" if $plain ne $sequential;
		$wrong .= "count $counted, $all: $query\n" if $counted != $all;
		$wrong .= "ordered scan: $query: $ordered, $sorted\n" if $ordered ne $sorted;
		$wrong .= "search differs in $difference: $query\n" if $difference != 0;
	}
	is($wrong, '', "$what: matches of " . @queries . ' queries');
	cmp_ok($matched, '>', 3, "$what: some match");
	check_sound($node, "$what: gpu.verify finds nothing", 'doc_tsv');
	return;
}

my @codecs = ('bitpack', 'pfordelta', 'rice');
$primary->safe_psql('postgres', insert_rows(300));
for my $round (1 .. few_or_many(2, 2 * test_rounds()))
{
	my $codec = $codecs[ $round % 3 ];
	$primary->safe_psql('postgres', "ALTER INDEX doc_tsv SET (codec = $codec, fanout = " . (2 + int(rand(4))) . ')');
	$primary->safe_psql('postgres', 'REINDEX TABLE doc') if $round % 2 == 0;
	$primary->safe_psql('postgres', step()) foreach 1 .. 25;
	check_all($primary, "round $round");
	$primary->stop('immediate');
	$primary->start;
	check_all($primary, "round $round after a crash");
	$primary->wait_for_catchup($standby);
	check_all($standby, "round $round on the standby");
}

# A value that comes in binary may have a lexeme several times: of such a document the row is asked. What is COPYed out is what
# tsvectorrecv reads.
my $lexeme = sub { my ($word, @positions) = @_; return pack('Z* n n*', $word, scalar @positions, @positions); };
my @repeated = map { unpack('H*', pack('N', scalar @$_) . join '', @$_) } [ $lexeme->('a1', 1), $lexeme->('a1', 7), $lexeme->('b1', 2) ],
	[ $lexeme->('a1', 3, 9), $lexeme->('b1', 4), $lexeme->('b1', 5) ], [ $lexeme->('a1', 3), $lexeme->('b1', 4), $lexeme->('b2', 5) ];
my $values = join ', ', map { "($_, '\\x$repeated[$_ % 3]'::bytea)" } $next_id .. $next_id + 29;
$next_id += 30;
my $copied = $primary->basedir . '/repeated';
$primary->safe_psql('postgres', "COPY (VALUES $values) TO '$copied' (FORMAT binary); COPY doc (id, tsv) FROM '$copied' (FORMAT binary)");
is($primary->safe_psql('postgres', q{SELECT count(*) FROM doc WHERE tsv::text LIKE '%''a1'':1 ''a1'':7%'}), '10', 'lexemes come repeated');
check_all($primary, 'with repeated lexemes in the tail');
$primary->safe_psql('postgres', 'REINDEX TABLE doc');
check_all($primary, 'with repeated lexemes in a run');

# The option counts from the next REINDEX on.
$primary->safe_psql('postgres', 'ALTER INDEX doc_tsv SET (positions = off);' . insert_rows(50));
check_all($primary, 'after the option was turned off');
$primary->safe_psql('postgres', 'REINDEX TABLE doc; ALTER INDEX doc_tsv SET (positions = on);' . insert_rows(50));
check_all($primary, 'without positions');

$standby->stop;
$primary->stop;
done_testing();
