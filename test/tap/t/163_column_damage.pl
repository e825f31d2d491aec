# suite: check
# Damaged gpu_column files: bytes flipped at random in TIDs, dictionaries, codes, headers and sealed tails. The server must
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

my $node = new_damageable('column_damage');
my $count = rounds(24, 400) + 4;

# Headers that say of a column what its type can't be, as src/column/format.h has them: [ column, byte, what is written there ].
use constant { RUN_ROWS => 3500, RUN_COLUMNS => 4, COLUMN_HEADER => 112, DICTIONARY_BYTES => 40 };
sub change_header
{
	my ($column, $at, $bytes) = @_;
	return sub {
		my ($file) = @_;
		foreach my $block (0 .. index_blocks($file) - 1)
		{
			my $page = read_page($file, $block);
			next if substr($page, 24, 16) ne pack('Q V V', RUN_ROWS, RUN_COLUMNS, 0);
			substr($page, 24 + 16 + $column * COLUMN_HEADER + $at, length $bytes) = $bytes;
			write_page($file, $block, $page);
			return;
		}
		die 'there is no header';
	};
}
my %planted = (
	$count - 3 => change_header(1, 0, "\x02"),
	$count - 2 => change_header(1, 0, "\x03"),
	$count - 1 => change_header(0, DICTIONARY_BYTES, pack('Q', 100)),
	$count => change_header(3, 0, "\x02"));
my $script = q{
SET client_min_messages = warning;
CREATE TABLE rows AS SELECT i AS id, i * 7919 % 5003 AS k, CASE WHEN i % 13 > 0 THEN 'w' || i % 701 END AS t, i * 1000000007::int8 * 7 AS l,
	i % 40 / 4::numeric AS n FROM generate_series(1, 4000) AS i;
};
foreach my $number (1 .. $count)
{
	# One run from the build with dead entries in it, sealed tails, and a tail.
	$script .= "CREATE TABLE d$number (id int, k int, t text, l int8, n numeric);
INSERT INTO d$number SELECT * FROM rows WHERE id <= 3500;
CREATE INDEX d${number}_i ON d$number USING gpu_column (k, t, l, n);
DELETE FROM d$number WHERE id BETWEEN 700 AND 750;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) d$number;
INSERT INTO d$number SELECT * FROM rows WHERE id > 3500;\n";
}
$script .= "CREATE TABLE sound (LIKE d1); INSERT INTO sound SELECT * FROM d1; CREATE INDEX sound_i ON sound USING gpu_column (k, t, l, n);";
make_damaged($node, $count, $script, \%planted);

# Asked of the sound table too.
my @questions = (
	[ 'range', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE k BETWEEN 500 AND 3000} ],
	[ 'like', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t LIKE 'w1%' AND n > 2.5} ],
	[ 'null', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t IS NULL AND l > 1000000007} ],
	[ 'numeric', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE n = ANY ('{1.25,3}')} ],);
my @others = (
	[ 'count', q{SELECT gpu.count(':t_i', 'k < 1000 AND t > ''w3''')} ],
	[ 'histogram', q{SELECT count(*) FROM gpu.histogram(':t_i', 'l')} ],
	[ 'dictionary', q{SELECT count(*) FROM gpu.dictionary(':t_i', 't')} ],
	[ 'columns', q{SELECT count(*) FROM gpu.columns(':t_i')} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 10000, k, t, l, n FROM rows WHERE id <= 900} ],);
ask_damaged($node, $count, \@questions, \@others);
$node->stop;
done_testing();
