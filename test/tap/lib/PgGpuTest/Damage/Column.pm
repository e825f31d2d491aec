# gpu_column: planted faults in headers.
package PgGpuTest::Damage::Column;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Damage';
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;

use constant { RUN_ROWS => 3500, RUN_COLUMNS => 5, COLUMN_HEADER => 112, DICTIONARY_BYTES => 40, SCALE => 3, HIGHEST => 16 };

sub name { return 'gpu_column'; }
sub flips { return few_or_many(12, rounds(24, 400)); }

sub rows
{
	return q{
CREATE TABLE rows AS SELECT i AS id, i * 7919 % 5003 AS k, CASE WHEN i % 13 > 0 THEN 'w' || i % 701 END AS t, i * 1000000007::int8 * 7 AS l,
	i % 40 / 4::numeric AS n, i * 7919.25 AS m FROM generate_series(1, 4000) AS i;
};
}

# The index has one run from the build with dead entries in it, sealed tails, and a tail.
sub table
{
	return q{
LOAD 'pg_gpu_test';
SET pg_gpu_test.listed_numerics = 0;
CREATE TABLE :t (id int, k int, t text, l int8, n numeric, m numeric(12,2));
INSERT INTO :t SELECT * FROM rows WHERE id <= 3500;
CREATE INDEX :t_i ON :t USING gpu_column (k, t, l, n, m) WITH (scaled_numerics = on);
DELETE FROM :t WHERE id BETWEEN 700 AND 750;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) :t;
INSERT INTO :t SELECT * FROM rows WHERE id > 3500;
};
}

# These headers say of a column what its type can't be, as src/column/format/format.h has them. Each has a column's number, a
# byte of its header, and what is written there.
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

my %faults = (
	'a column of another kind' => [ 'loud', change_header(1, 0, "\x02") ],
	'a column of a kind that is none' => [ 'loud', change_header(1, 0, "\x03") ],
	'bytes of a dictionary of integers' => [ 'unused', change_header(0, DICTIONARY_BYTES, pack('Q', 100)) ],
	'a column without a dictionary' => [ 'loud', change_header(3, 0, "\x02") ],
	'integers that would be numerics' => [ 'loud', change_header(0, 0, "\x04") ],
	'numerics that would be integers' => [ 'loud', change_header(4, 0, "\x02") ],
	'digits behind the point that are too many' => [ 'loud', change_header(4, SCALE, "\x13") ],
	'digits behind the point of a dictionary' => [ 'loud', change_header(3, SCALE, "\x02") ],
	'numerics out of bounds' => [ 'loud', change_header(4, HIGHEST, pack('Q', 100)) ],);

sub faults { return %faults; }

# Flips bytes of TIDs, dictionaries, codes, headers and sealed tails.
sub random_fault { return flip_runs(); }

my @questions = (
	[ 'range', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE k BETWEEN 500 AND 3000} ],
	[ 'like', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t LIKE 'w1%' AND n > 2.5} ],
	[ 'null', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t IS NULL AND l > 1000000007} ],
	[ 'numeric', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE n = ANY ('{1.25,3}')} ],
	[ 'scaled', '', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE m > 1000000.255 AND m <> 7919250} ],);
my @writes = (
	[ 'count', q{SELECT gpu.count(':t_i', 'k < 1000 AND t > ''w3''')} ],
	[ 'histogram', q{SELECT count(*) FROM gpu.histogram(':t_i', 'l')} ],
	[ 'dictionary', q{SELECT count(*) FROM gpu.dictionary(':t_i', 't')} ],
	[ 'numbers', q{SELECT count(*) FROM gpu.dictionary(':t_i', 'm')} ],
	[ 'columns', q{SELECT count(*) FROM gpu.columns(':t_i')} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 10000, k, t, l, n, m FROM rows WHERE id <= 900} ],);

sub questions { return @questions; }
sub writes { return @writes; }

1;
