# gpu_grid: planted faults in entry pages and directories.
package PgGpuTest::Damage::Grid;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Damage';
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;

# Where things lie in an index on an int8 and an int4 column, as src/storage/format.h and src/grid/page.h have them.
use constant {
	ARRAYS => 5,
	BASES => 24 + 16,
	WIDTHS => 24 + 16 + 5 * 8,
	PACKED => 24 + 16 + 5 * 8 + 8,
	ROOT => 24 + 2 * 5 * 8,    # behind the summary
};

sub name { return 'gpu_grid'; }
sub flips { return few_or_many(8, rounds(12, 400)); }

sub rows
{
	return q{
CREATE TABLE rows AS SELECT i AS id, CASE WHEN i % 101 = 0 THEN NULL ELSE (i * 7919 % 50021)::int8 END AS k, i * 104729 % 1009 AS l
	FROM generate_series(1, 12000) AS i;
};
}

# The index has one run from the build with dead entries in it, sealed ones, and a tail.
sub table
{
	return q{
CREATE TABLE :t (id int8, k int8, l int4);
INSERT INTO :t SELECT * FROM rows WHERE id <= 10000;
CREATE INDEX :t_i ON :t USING gpu_grid (k, l);
DELETE FROM :t WHERE id BETWEEN 3000 AND 3200;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) :t;
INSERT INTO :t SELECT * FROM rows WHERE id > 10000 AND id <= 11700;
};
}

# Returns a block of a section of the run that the build made.
sub bitmap_block { my ($file) = @_; return section_block(built_run($file), 0); }
sub entry_block { my ($file, $number) = @_; return section_block(built_run($file), 1, $number); }
sub directory_block { my ($file) = @_; return section_block(built_run($file), 2); }

sub change_page { my ($file, $number, @what) = @_; change($file, entry_block($file, $number), @what); return; }
sub change_directory { my ($file, @what) = @_; change($file, directory_block($file), @what); return; }
sub more { my ($step) = @_; return sub { pack('Q<', unpack('Q<', $_[0]) + $step) }; }

# Returns the byte at which the root's cells begin: behind its two dimensions and their scales.
sub cells
{
	my ($file) = @_;
	my $page = read_page($file, directory_block($file));
	my @intervals = unpack('V x4 V', substr($page, ROOT, 16));
	return ROOT + 8 * (2 + $intervals[0] - 1 + $intervals[1] - 1);
}

# Makes all rows of cells like the first, so that what lies in one is found in each.
sub repeat_first_row
{
	my ($file) = @_;
	my $page = read_page($file, directory_block($file));
	my @intervals = unpack('V x4 V', substr($page, ROOT, 16));
	my $row = substr($page, cells($file), 16 * $intervals[1]);
	change_directory($file, cells($file), $intervals[0] * length $row, $row x $intervals[0]);
	return;
}

my %faults = (
	# Counts look at the pages on a box's surface alone, where a place that is one too high or low makes no contradiction.
	'number of entries' => [ 'silent', sub { change_page($_[0], 1, CONTENT + 8, 2, sub { pack('v', unpack('v', $_[0]) - 1) }) } ],
	'no entries' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 8, 2, pack('v', 0)) } ],
	'too many entries' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 8, 2, pack('v', 60000)) } ],
	'first ordinal' => [ 'silent', sub { change_page($_[0], 2, CONTENT, 8, more(1)) } ],
	'first ordinal behind the run' => [ 'loud', sub { change_page($_[0], 2, CONTENT, 8, pack('Q<', 1 << 50)) } ],
	'number of arrays' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 10, 2, pack('v', 6)) } ],
	'width that is none' => [ 'loud', sub { change_page($_[0], 1, WIDTHS + 3, 1, chr(60)) } ],
	'width over the page' => [ 'loud', sub { change_page($_[0], 1, WIDTHS + 3, 1, chr(64)) } ],
	'two pages exchanged' => [ 'loud', sub {
		my ($one, $two) = map { entry_block($_[0], $_) } 1, 2;
		my ($first, $second) = map { read_page($_[0], $_) } $one, $two;
		write_page($_[0], $one, $second);
		write_page($_[0], $two, $first) } ],
	'directory zeroed' => [ 'loud', sub { write_page($_[0], directory_block($_[0]), "\0" x BLOCK_SIZE) } ],
	'intervals, too many' => [ 'loud', sub { change_directory($_[0], ROOT, 4, pack('V', 0xffffffff)) } ],
	'intervals, one more' => [ 'silent', sub { change_directory($_[0], ROOT, 8, more(1)) } ],
	'no intervals' => [ 'loud', sub { change_directory($_[0], ROOT, 8, pack('Q<', 0)) } ],
	'cell behind the run' => [ 'loud', sub { change_directory($_[0], cells($_[0]) + 16 * 3, 8, pack('Q<', 1 << 40)) } ],
	'page of a cell behind the run' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 8, 4, pack('V', 50_000)) } ],
	'grid of a cell behind the directory' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 12, 4, pack('V', 1 << 30)) } ],
	'grid of a cell that is its own' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 12, 4, pack('V', 2 * ARRAYS)) } ],
	'words of the directory' => [ 'loud', sub { change($_[0], 0, built_run($_[0])->{at} + 32, 8, pack('Q<', 5)) } ],

	'start of an interval' => [ 'silent', sub { change_directory($_[0], ROOT + 16, 8, more(5000)) } ],
	'rows of cells that are one' => [ 'silent', \&repeat_first_row ],
	'start of a cell' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 5, 8, more(1)) } ],
	'summary' => [ 'silent', sub { change_directory($_[0], CONTENT + 8 * 7, 8, more(-1)) } ],
	'base of a lane' => [ 'silent', sub { change_page($_[0], 1, BASES + 3 * 8, 8, more(1 << 30)) } ],
	'width of a lane' => [ 'silent', sub { change_page($_[0], 1, WIDTHS + 3, 1, sub { chr(ord($_[0]) - 1) }) } ],
	'base of the offsets' => [ 'silent', sub { change_page($_[0], 1, BASES + 8, 8, more(200)) } ],
	'base of the blocks' => [ 'silent', sub { change_page($_[0], 1, BASES, 8, more(1 << 20)) } ],
	'NULLs of columns that are not there' => [ 'silent', sub { change_page($_[0], 1, BASES + 16, 8, more(4)) } ],
	'an entry' => [ 'silent', sub { change_page($_[0], 1, PACKED + 3, 1, sub { $_[0] ^ "\x01" }) } ],
	'dead bit of a live entry' => [ 'silent', sub { change($_[0], bitmap_block($_[0]), CONTENT + 3, 1, "\xff") } ],
	'key in the tail' => [ 'silent', sub { change($_[0], 1, CONTENT + 8, 1, sub { $_[0] ^ "\x01" }) } ],
	'NULLs in the tail' => [ 'loud', sub { change($_[0], 1, CONTENT + 20, 1, "\xff") } ],);

sub faults { return %faults; }
# gpu.verify reads on behind what it finds, unless what it goes by is damaged.
sub verify_reads_on { my (undef, $name) = @_; return $name !~ /tail|words/; }

# Flips a few bytes anywhere in the file, in the metapage and the directory more often than their share.
sub random_fault
{
	my @where = map { [ rand() < 0.15 ? 0 : rand() < 0.3 ? -1 : undef, rand(), random_int(1, 255) ] } (1 .. random_int(1, 6));
	return sub {
		my ($file) = @_;
		foreach my $flip (@where)
		{
			my ($block, @rest) = @$flip;
			$block = directory_block($file) if defined $block && $block < 0;
			flip_anywhere($file, $block, @rest);
		}
	};
}

my @questions = (
	[ 'index-only', 'SET enable_bitmapscan = off;', q{SELECT count(k) || ':' || sum(k) FROM :t WHERE k >= 0} ],
	[ 'index', 'SET enable_bitmapscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k BETWEEN 1000 AND 40000 AND l < 700} ],
	[ 'bitmap', 'SET enable_indexscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k <= 45000 AND l BETWEEN 100 AND 900} ],
	[ 'nulls', 'SET enable_bitmapscan = off;', q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k IS NULL} ],
	[ 'count', '', q{SELECT count(*) FROM :t WHERE k BETWEEN 1000 AND 30000 AND l > 200} ],
	[ 'gpu.count', '', q{SELECT gpu.count(':t_i', ROW(1000, 201), ROW(30000))},
		'SELECT count(*) FROM :t WHERE k BETWEEN 1000 AND 30000 AND l > 200' ],);
my @writes = (
	[ 'insert', q{INSERT INTO :t SELECT id + 100000, k + 100000, l FROM rows WHERE id <= 1500} ],);

sub questions { return @questions; }
sub writes { return @writes; }

1;
