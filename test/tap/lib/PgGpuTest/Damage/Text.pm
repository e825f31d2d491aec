# gpu_text: bytes flipped at random.
package PgGpuTest::Damage::Text;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Damage';
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;

sub name { return 'gpu_text'; }
sub flips { return few_or_many(12, rounds(24, 400)); }

sub rows
{
	return q{
CREATE TABLE rows AS SELECT i AS id, to_tsvector('simple',
	(SELECT string_agg('w' || (i * j * 7919 + j * j) % (37 * j + 11), ' ') FROM generate_series(1, 12) AS j)) AS tsv
	FROM generate_series(1, 3000) AS i;
};
}

# The index has one run from the build with dead entries in it, sealed tails, and a tail.
sub table
{
	my (undef, $number) = @_;
	my $codec = (qw(bitpack pfordelta rice))[ $number % 3 ];
	my $positions = (qw(on off))[ $number % 2 ];
	return qq{
CREATE TABLE :t (id int, tsv tsvector);
INSERT INTO :t SELECT * FROM rows WHERE id <= 2500;
CREATE INDEX :t_i ON :t USING gpu_text (tsv) WITH (codec = $codec, positions = $positions);
DELETE FROM :t WHERE id BETWEEN 700 AND 750;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) :t;
INSERT INTO :t SELECT * FROM rows WHERE id > 2500;
};
}

# Flips bytes of dictionaries, lists, positions, documents and sealed tails.
sub random_fault { return flip_runs(); }

# Scores depend on N and df, which damage may change: the rows do not.
my @questions = (
	[ 'and', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w1 & w2'} ],
	[ 'or', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w3 | w40 | w200'} ],
	[ 'not', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w5 & !w6'} ],
	[ 'prefix', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w12:*'} ],
	[ 'phrase', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w1 <2> w2'} ],
	[ 'prefix in a phrase', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w1:* <-> !w2'} ],
	[ 'weights', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w1:D & !w2:A'} ],);
my @writes = (
	[ 'search', q{SELECT count(*) FROM gpu.search(':t_i', 'w1 | w2 | w3', 50, 'or')} ],
	[ 'intersect', q{SELECT count(*) FROM gpu.intersect(':t_i', ARRAY['w1', 'w2'])} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 10000, tsv FROM rows WHERE id <= 900} ],);

sub questions { return @questions; }
sub writes { return @writes; }

1;
