# suite: check
# Damaged gpu_text files: bytes flipped at random in dictionaries, lists, documents and sealed tails. The server must
# neither crash nor hang; a statement that notices raises a corruption error with a hint to REINDEX; whatever changes
# an answer is found by gpu.verify, which leaves nothing behind; and REINDEX mends the index. What all access methods
# share is damaged by 160_damage.pl.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();

my $node = new_damageable('text_damage');
my $count = rounds(24, 400);
my $script = q{
SET client_min_messages = warning;
CREATE TABLE rows AS SELECT i AS id, to_tsvector('simple',
	(SELECT string_agg('w' || (i * j * 7919 + j * j) % (37 * j + 11), ' ') FROM generate_series(1, 12) AS j)) AS tsv
	FROM generate_series(1, 3000) AS i;
};
foreach my $number (1 .. $count)
{
	my $codec = (qw(bitpack pfordelta rice))[$number % 3];
	# One run from the build with dead entries in it, sealed tails, and a tail.
	$script .= "CREATE TABLE d$number (id int, tsv tsvector);
INSERT INTO d$number SELECT * FROM rows WHERE id <= 2500;
CREATE INDEX d${number}_i ON d$number USING gpu_text (tsv) WITH (codec = $codec);
DELETE FROM d$number WHERE id BETWEEN 700 AND 750;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) d$number;
INSERT INTO d$number SELECT * FROM rows WHERE id > 2500;\n";
}
$script .= "CREATE TABLE sound (LIKE d1); INSERT INTO sound SELECT * FROM d1; CREATE INDEX sound_i ON sound USING gpu_text (tsv);";
make_damaged($node, $count, $script);

# Asked of the sound table too. Scores depend on N and df, which damage may change: the rows do not.
my @questions = (
	[ 'and', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w1 & w2'} ],
	[ 'or', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w3 | w40 | w200'} ],
	[ 'not', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w5 & !w6'} ],
	[ 'prefix', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE tsv @@ 'w12:*'} ],);
my @others = (
	[ 'search', q{SELECT count(*) FROM gpu.search(':t_i', 'w1 | w2 | w3', 50, 'or')} ],
	[ 'intersect', q{SELECT count(*) FROM gpu.intersect(':t_i', ARRAY['w1', 'w2'])} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 10000, tsv FROM rows WHERE id <= 900} ],);
ask_damaged($node, $count, \@questions, \@others);
$node->stop;
done_testing();
